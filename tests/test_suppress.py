"""`# noqa`: the same reading as flake8 in Python, the same comment elsewhere, and what becomes of stale ones."""

from __future__ import annotations

import argparse
import json
from typing import NamedTuple

import pytest
from flake8.processor import FileProcessor
from flake8.violation import Violation
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from trl_lint.finding import Finding, Location
from trl_lint.fixes.apply import edited
from trl_lint.selection import Selection
from trl_lint.settings import Settings
from trl_lint.sources.files import open_file
from trl_lint.sources.text import SourceFile
from trl_lint.suppress import Noqas, apply, mentions


class FakePackage(NamedTuple):
    name: str
    resolved: Version | None
    source: str = "pin"

    def holds(self, specifier: str) -> str:
        if self.resolved is None:
            return "unknown"
        return "all" if SpecifierSet(specifier).contains(self.resolved) else "none"


class FakeEnvironment:
    def __init__(self, **versions: str) -> None:
        self.versions = versions
        self.source = "pin"

    def package(self, name: str) -> FakePackage:
        version = self.versions.get(name)
        return FakePackage(name, Version(version) if version else None, self.source)


def no_environment(path: str) -> FakeEnvironment:
    return FakeEnvironment()


def source(name: str, text: str) -> SourceFile:
    return open_file(f"/project/{name}", text.encode())


def finding(file: SourceFile, needle: str, code: str = "TRL103") -> Finding:
    start = file.text.index(needle)
    return Finding(code, "wrong", Location(file.path, start, start + len(needle)), "error")


def codes(name: str, text: str, needle: str, code: str = "TRL103", **versions: str) -> list[str]:
    """The codes that are left of one finding at `needle`."""
    file = source(name, text)
    kept, _ = apply([finding(file, needle, code)], file, Settings(), lambda path: FakeEnvironment(**versions))
    return [f.code for f in kept]


# -- Python, as flake8 reads it --------------------------------------------------------------------------------------

TRICKY = [
    "x = 1  # noqa\n",
    "x = 1  # noqa: TRL103\n",
    "x = 1  # noqa:TRL103,E501\n",
    "x = 1  # noqa: E501 TRL103 because\n",
    "x = 1  # NoQA: TRL1\n",
    "x = 1  # noqa: trl103\n",
    "x = 1  # noqa : TRL103\n",
    "x = 1  # noqa:  TRL202\n",
    "x = 1  # noqa: TRL\n",
    "x = 1  # noqa:TRL[202]\n",
    "x = 1  #noqa\n",
    "x = 1  #  noqa\n",
    "x = 1  # type: ignore # noqa: TRL103\n",
    "x = 1  # noqa: E501  # noqa: TRL103\n",
    "x = 1  # noqa: TRL202 until trl>=0.16\n",
    "x = 1  # noqa: TRL103E501\n",
    "f(\n    1,  # noqa: TRL103\n    2,\n)  # noqa\n",
    "f(  # noqa\n    1,\n    2)\n",
    'x = """one\ntwo\nthree"""  # noqa: TRL103\ny = 2\n',
    'x = """one # noqa: TRL103\ntwo\nthree"""\ny = 2\n',
    'f(a, """\n# noqa: TRL103,\nE501\n""", b)\n',
    "x = 1 + \\\n    2  # noqa: TRL103\ny = 3\n",
    "s = '# noqa: TRL103'\n",
    "def f():\n    '''Doc # noqa\n    more'''\n    return 1\n",
    "x = (1,\n",  # does not tokenize
    "x = '''open  # noqa\ny = 1\n",
    "x = 1  # noqa: TRL103\r\ny = 2\r\n",
    "x = 1  # noqa\ry = 2\r",
    "x = f'''{\n1\n}'''  # noqa: TRL103\n",
    "# flake8: noqa\nx = 1\n",
    "    # flake8: noqa: TRL202\nx = 1\n",
    "x = 1  # flake8: noqa\n",
    "# FLAKE8= NOQA\nx = 1\n",
    "\n\n\nx = 1",
]


def flake8_keeps(text: str, line: int, code: str) -> bool:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").splitlines(keepends=True)
    options = argparse.Namespace(
        hang_closing=False, indent_size=4, max_line_length=79, max_doc_length=None, verbose=0, disable_noqa=False
    )
    processor = FileProcessor("t.py", options, lines)
    if processor.should_ignore_file():
        return False
    # flake8 asks linecache for a line that its mapping lacks.
    physical = processor.noqa_line_for(line) or (lines[line - 1] if line <= len(lines) else "")
    return not Violation(code, "t.py", line, 1, "wrong", physical).is_inline_ignored(False)


@pytest.mark.parametrize("text", TRICKY)
@pytest.mark.parametrize("code", ["TRL103", "TRL202"])
def test_python_is_read_as_flake8_reads_it(text: str, code: str):
    file = source("train.py", text)
    for line in range(1, len(file.lines) + 1):
        start = file.lines.starts[line - 1]
        place = Finding(code, "wrong", Location(file.path, start, start), "error")
        kept, _ = apply([place], file, Settings(), no_environment)
        assert (place in kept) == flake8_keeps(text, line, code), f"line {line}"


# -- other languages -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "needle"),
    [
        ("a.yaml", "max_grad_norm: 0  # noqa: TRL103\n", "max"),
        ("a.yaml", "x: 'it''s'  # noqa: TRL1, E501\n", "x"),
        ("a.yaml", "run: |  # noqa: TRL103\n  python a.py\n", "run"),
        ("ci.yml", "run: |\n  python train.py  # noqa: TRL103\n", "python"),
        ("ci.yml", "run: |\n  python train.py \\\n    --fp16  # noqa: TRL103\n", "python"),
        ("t.yaml", "a: {{ x }}\nb: 1  # noqa: TRL103\n", "b"),
        ("pyproject.toml", 'dependencies = ["trl"]  # noqa: TRL103\n', "trl"),
        ("a.toml", "x = '''\na'''  # noqa: TRL103\n", "x"),
        ("run.sh", "python train.py  # noqa: TRL103\n", "python"),
        ("run.sh", "python train.py \\\n  --fp16  # noqa: TRL103\n", "python"),
        ("run.sh", "python train.py 'a\nb'  # noqa: TRL103\n", "python"),
        ("job.slurm", "srun python train.py # noqa\n", "srun"),
        ("Makefile", "train:\n\tpython train.py  # noqa: TRL103\n", "python"),
        ("Dockerfile", "RUN pip install trl \\\n  vllm  # noqa: TRL103\n", "trl"),
        ("Dockerfile", "RUN pip install trl \\\n# noqa: TRL103\n  vllm\n", "trl"),
        ("requirements.txt", "trl==0.9.6  # noqa: TRL103\n", "trl"),
        ("requirements-dev.in", "trl==0.9.6 \\\n  --hash=x  # noqa: TRL103\n", "trl"),
        ("README.md", "Text\n```bash\npython train.py  # noqa: TRL103\n```\n", "python"),
        ("a.yaml", "# flake8: noqa\nx: 1\n", "x"),
    ],
)
def test_the_comment_counts(name: str, text: str, needle: str):
    assert codes(name, text, needle) == []


@pytest.mark.parametrize(
    ("name", "text", "needle"),
    [
        ("a.yaml", "x: 'a # noqa: TRL103'\n", "x"),
        ("a.yaml", 'x: "a\n  # noqa: TRL103"\n', "x"),
        ("a.yaml", "x: a# noqa: TRL103\n", "x"),
        ("a.yaml", "x: 1\ny: 2  # noqa: TRL103\n", "x"),
        ("a.toml", 'x = "# noqa: TRL103"\n', "x"),
        ("a.toml", "x = '''\n# noqa: TRL103\n'''\n", "x"),
        ("run.sh", "echo '# noqa: TRL103'\n", "echo"),
        ("run.sh", "echo a# noqa: TRL103\n", "echo"),
        ("run.sh", "python a.py\necho b  # noqa: TRL103\n", "python"),
        ("run.sh", "cat <<EOF\n# noqa: TRL103\nEOF\n", "cat"),
        ("requirements.txt", "trl @ git+https://x/trl#egg=trl\n# noqa: TRL103\n", "trl"),
        ("a.json", '{"x": "# noqa: TRL103"}\n', "x"),
        ("README.md", "python train.py  # noqa: TRL103\n", "python"),
        ("a.yaml", "x: '# flake8: noqa'\n", "x"),
    ],
)
def test_text_that_is_no_comment_does_not_count(name: str, text: str, needle: str):
    assert "TRL103" in codes(name, text, needle)


def notebook(*cells: str) -> str:
    code = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    return json.dumps({"cells": code, "metadata": {}, "nbformat": 4}, indent=1)


def test_notebook_cells():
    text = notebook("first = 1  # noqa: TRL103\nsecond = 2\n")
    assert codes("nb.ipynb", text, "first") == []
    assert codes("nb.ipynb", text, "second") == ["TRL002", "TRL103"]


def test_shell_lines_of_a_notebook():
    text = notebook("!pip install trl  # noqa: TRL103\n")
    assert codes("nb.ipynb", text, "pip") == []


def test_a_crashed_rule_cannot_be_silenced():
    assert codes("a.py", "# flake8: noqa\nx = 1  # noqa\n", "x", "TRL003") == ["TRL003"]


def test_a_file_without_the_word_is_not_looked_at():
    assert mentions(b"x = 1  # NOQA") and not mentions(b"x = 1  # no qa")


def test_an_undecodable_file_keeps_its_findings():
    file = SourceFile("/project/a.py", b"x = '\xff'  # noqa\n")
    broken = Finding("TRL001", "not valid utf-8", Location(file.path, 0, 0), "error")
    assert apply([broken], file, Settings(), no_environment) == ([broken], None)


# -- unused suppressions ---------------------------------------------------------------------------------------------


def repaired(name: str, text: str, settings: Settings | None = None, **versions: str) -> str:
    """The text after the fixes of TRL002 and TRL004 in a file without other findings."""
    file = source(name, text)
    found, _ = apply([], file, settings or Settings(), lambda path: FakeEnvironment(**versions))
    assert {f.code for f in found} <= {"TRL002", "TRL004"}
    edits = [edit for f in found if f.fix for edit in f.fix.edits]
    return edited(file.text, edits)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # noqa: TRL103\n", "x = 1\n"),
        ("x = 1  # noqa: TRL103, TRL405\n", "x = 1\n"),
        ("x = 1  # noqa: TRL103, E501\n", "x = 1  # noqa: E501\n"),
        ("x = 1  # noqa: E501,TRL103\n", "x = 1  # noqa: E501\n"),
        ("x = 1  # noqa: E501 TRL103 too long\n", "x = 1  # noqa: E501 too long\n"),
        ("x = 1  # noqa: TRL103 - upstream wants it\n", "x = 1  # upstream wants it\n"),
        ("x = 1  # noqa: TRL103  # pragma: no cover\n", "x = 1  # pragma: no cover\n"),
        ("x = 1  # type: ignore  # noqa: TRL103\n", "x = 1  # type: ignore\n"),
        ("x = 1\n# noqa: TRL103\ny = 2\n", "x = 1\ny = 2\n"),
        ("x = 1\r\n    # noqa: TRL103\r\ny = 2\r\n", "x = 1\r\ny = 2\r\n"),
        ("x = 1  # noqa: TRL103 until trl>=9\n", "x = 1\n"),
        ("x = 1  # noqa", "x = 1  # noqa"),
        ("x = 1  # noqa: TRL103", "x = 1"),
    ],
)
def test_what_is_unused_is_removed_and_nothing_else(before: str, after: str):
    assert repaired("train.py", before) == after
    assert repaired("train.py", after) == after


@pytest.mark.parametrize("name", ["a.yaml", "a.toml", "requirements.txt", "run.sh", "Makefile", "Dockerfile"])
def test_unused_ones_are_found_in_every_language(name: str):
    assert repaired(name, "x  # noqa: TRL103\n" if name != "a.toml" else "x = 1  # noqa: TRL103\n") in (
        "x\n",
        "x = 1\n",
    )


def test_unused_in_a_notebook_leaves_valid_json():
    text = repaired("nb.ipynb", notebook("x = 1  # noqa: TRL103\ny = 2\n"))
    assert json.loads(text)["cells"][0]["source"] == ["x = 1\n", "y = 2\n"]


@pytest.mark.parametrize(
    "text",
    [
        "s = '''\nx  # noqa: TRL103\n'''\n",  # text in a string
        "x = 1  # noqa: E501\n",  # another tool's
        "x = 1  # noqa: TRL901\n",  # no such rule, and off by default
        "x = 1  # noqa: TRL103, TRL002\n",  # accepted
        "x = (1,  # noqa: TRL103\n",  # nothing ran on a file that does not parse
    ],
)
def test_what_may_not_be_judged(text: str):
    assert repaired("train.py", text) == text


def test_a_rule_that_did_not_run_is_not_judged():
    text = "x = 1  # noqa: TRL103\n"
    only = Settings(layers=[Selection(select=("TRL2", "TRL0"))])
    assert repaired("train.py", text, only) == text
    whole_topic = Settings(layers=[Selection(ignore=("TRL103",))])
    assert repaired("train.py", "x = 1  # noqa: TRL1\n", whole_topic) == "x = 1  # noqa: TRL1\n"


def test_what_another_release_needs_is_not_judged():
    text = "x = 1  # noqa: TRL103\n"
    assert repaired("train.py", text, Settings(targets={"trl": "1.16.0"}, is_what_if=True)) == text


def test_used_ones_stay():
    assert codes("a.py", "x = 1  # noqa: TRL103\n", "x") == []
    assert codes("a.py", "x = 1  # noqa: TRL103, TRL405\n", "x") == ["TRL002"]


# -- until -----------------------------------------------------------------------------------------------------------


def test_until_holds_as_long_as_the_release_is_not_reached():
    text = "max_grad_norm: 0  # noqa: TRL103 until trl>=0.16\n"
    assert codes("a.yaml", text, "max", trl="0.15.2") == []
    assert codes("a.yaml", text, "max", trl="0.16.0") == ["TRL103", "TRL004"]
    assert codes("a.yaml", text, "max") == [], "an unknown release never ends it"


def test_until_with_several_clauses():
    text = "x: 1  # noqa: TRL103 until Deep_Speed>=0.16,<0.17 then remove\n"
    assert codes("a.yaml", text, "x", **{"deep-speed": "0.16.4"}) == ["TRL103", "TRL004"]
    assert codes("a.yaml", text, "x", **{"deep-speed": "0.17"}) == []


def test_expired_ones_are_removed():
    text = "x: 1  # noqa: E501, TRL103 until trl>=0.16 see issue 7\n"
    assert repaired("a.yaml", text, trl="1.0") == "x: 1  # noqa: E501 see issue 7\n"
    assert repaired("a.yaml", "x: 1  # noqa: TRL103 until trl>=0.16\n", trl="1.0") == "x: 1\n"


def test_an_assumed_release_lowers_the_level():
    file = source("a.yaml", "x: 1  # noqa: TRL103 until trl>=0.16\n")
    environment = FakeEnvironment(trl="1.16.0")
    environment.source = "assumed"
    (expired,), _ = apply([], file, Settings(), lambda path: environment)
    assert (expired.code, expired.severity) == ("TRL004", "info")
    assert "nothing pins it" in expired.message


def test_a_condition_that_cannot_be_read_is_said_and_holds():
    text = "x: 1  # noqa: TRL103 until trl=0.16\n"
    assert codes("a.yaml", text, "x", trl="1.0") == ["TRL004"]


def test_a_reason_is_no_condition():
    assert codes("a.yaml", "x: 1  # noqa: TRL103 until we upgrade\n", "x", trl="1.0") == []


def test_until_says_what_it_waited_for():
    file = source("a.yaml", "x: 1  # noqa: TRL103 until trl>=0.16\n")
    (expired,), _ = apply([], file, Settings(), lambda path: FakeEnvironment(trl="1.0"))
    assert expired.message.startswith("`until trl>=0.16` is reached (the pins now give trl 1.0)")
    assert file.text[expired.location.start : expired.location.end] == "until trl>=0.16"


def test_directives_know_their_codes():
    noqas = Noqas(source("a.py", "x = 1  # noqa: TRL103, E501\n"))
    (directive,) = noqas.all()
    assert [code.text for code in directive.codes or ()] == ["TRL103", "E501"]


# -- files that are switched off --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "needle"),
    [
        ("a.py", "import trl\n\n  # flake8: noqa\nx = 1\n", "x"),
        ("a.yaml", "x: 1\n# flake8: noqa: E501\n", "x"),
    ],
)
def test_what_a_switched_off_file_hides_is_said(name: str, text: str, needle: str) -> None:
    file = source(name, text)
    found = [finding(file, needle), finding(file, needle, "TRL202")._replace(severity="warning")]
    kept, notice = apply(found, file, Settings(), no_environment)
    assert kept == [] and notice is not None and notice.location is not None
    assert notice.kind == "skipped-file" and notice.message.endswith("hides 1 error, 1 warning")
    assert file.text[notice.location.start : notice.location.end].strip() == "# flake8: noqa"


def test_nothing_is_said_of_a_switched_off_file_that_is_clean() -> None:
    assert apply([], source("a.py", "# flake8: noqa  TRL\n"), Settings(), no_environment) == ([], None)


def test_a_setting_judges_switched_off_files() -> None:
    file = source("a.py", "# flake8: noqa\nx = 1\ny = 2  # noqa\n")
    found = [finding(file, "x"), finding(file, "y")]
    kept, notice = apply(found, file, Settings(respect_file_noqa=False), no_environment)
    assert (kept, notice) == (found[:1], None)
