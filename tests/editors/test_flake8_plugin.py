"""flake8 as a process, the way editors and CI start it, and the checker by itself for what a process cannot show."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from fixture_cases import FIXTURES

from trl_lint.cli import main
from trl_lint.editors import context
from trl_lint.editors.flake8_plugin import Asked, Flake8Checker, _file_on_disk, findings, python_path
from trl_lint.python.module import PythonModule
from trl_lint.sources import Source

FAULT = """import torch
from accelerate import Accelerator


def mask(ids: torch.Tensor):
    return torch.arange(ids.size(1)) <= ids
"""
# A name that no release of TRL has ever taken.
PINNED = "from trl import GRPOConfig\n\nconfig = GRPOConfig(output_dir='out', max_completion_len=8)\n"
HINT = "from trl import GRPOConfig\n\nconfig = GRPOConfig(output_dir='out', fp16=True)\n"
FSDP = """from transformers import AutoModelForCausalLM
from trl import GRPOTrainer


class Trainer(GRPOTrainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        ref_model = AutoModelForCausalLM.from_pretrained("x")
        self.ref_model = self.accelerator.prepare_model(ref_model, evaluation_mode=True)
"""


def flake8(*args: str, cwd: Path, stdin: str | None = None) -> list[str]:
    command = [sys.executable, "-m", "flake8", "--isolated", "--select=TRL,E9,F", *args]
    done = subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr and done.returncode in (0, 1)
    return done.stdout.splitlines()


def statused(*args: str, cwd: Path) -> tuple[int, list[str]]:
    command = [sys.executable, "-m", "flake8", "--isolated", "--select=TRL", *args]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def ours(lines: list[str]) -> list[str]:
    return [line for line in lines if ": TRL" in line]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository, and nothing kept from other tests."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    context.forget()
    return tmp_path


def codes(path: Path, text: str | None = None) -> list[str]:
    return [
        message.split()[0] for _, _, message in findings(str(path), path.read_text("utf-8") if text is None else text)
    ]


# -- as a process ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("registered")
class TestProcess:
    def test_the_findings_of_the_command_line_at_its_columns(self, project: Path):
        (project / "train.py").write_text(FAULT)
        (line,) = ours(flake8("train.py", cwd=project))
        assert line.startswith("train.py:6:12: TRL103 `torch.arange(…)` makes a tensor on the CPU")

    @pytest.mark.parametrize("name", ["train.py", "{folder}/train.py"], ids=["relative", "absolute"])
    def test_the_buffer_counts_and_not_the_file(self, project: Path, name: str):
        (project / "train.py").write_text("x = 1\n")
        shown = name.format(folder=project)
        found = flake8("-", "--stdin-display-name", shown, cwd=project, stdin="\n" + FAULT)
        assert [entry.split(":")[-3] for entry in found if "TRL103" in entry] == ["7"]

    def test_a_buffer_without_a_name_is_python_of_this_folder(self, project: Path):
        (project / "requirements.txt").write_text("trl==0.18.0\n")
        (line,) = ours(flake8("-", cwd=project, stdin=PINNED))
        assert line.startswith("stdin:3:39: TRL301") and "0.18.0" in line

    def test_noqa_is_honoured(self, project: Path):
        (project / "train.py").write_text(FAULT.replace("<= ids", "<= ids  # noqa: TRL103"))
        assert ours(flake8("train.py", cwd=project)) == []

    @pytest.mark.parametrize("comment", ["  # noqa", "  # noqa: TRL103", "\n# flake8: noqa"])
    def test_disable_noqa(self, project: Path, comment: str):
        (project / "train.py").write_text(FAULT.replace("<= ids\n", f"<= ids{comment}\n"))
        assert ours(flake8("train.py", cwd=project)) == []
        (line,) = ours(flake8("--disable-noqa", "train.py", cwd=project))
        assert line.startswith("train.py:6:12: TRL103")

    def test_hints_are_shown_when_asked_for(self, project: Path):
        """flake8 and the command line agree whether a file with hints only is fine."""
        (project / "requirements.txt").write_text("trl==0.18.0\n")
        (project / "train.py").write_text(HINT)
        assert main(["train.py", "--output-format", "concise"]) == 0
        status, found = statused("train.py", cwd=project)
        assert (status, ours(found)) == (0, [])
        status, found = statused("--trl-hints", "train.py", cwd=project)
        (line,) = ours(found)
        assert status == 1 and "TRL602" in line

    def test_hints_can_be_asked_for_in_the_configuration_of_flake8(self, project: Path):
        (project / "requirements.txt").write_text("trl==0.18.0\n")
        for number in range(4):
            (project / f"train_{number}.py").write_text(HINT)
        (project / ".flake8").write_text("[flake8]\nselect = TRL\ntrl-hints = true\n")
        for jobs in ("--jobs=1", "--jobs=3"):
            command = [sys.executable, "-m", "flake8", jobs, "."]
            done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
            assert len(ours(done.stdout.splitlines())) == 4

    @pytest.mark.parametrize("setting", ["hints = true", 'fail-on = "info"'])
    def test_hints_can_be_asked_for_in_the_settings(self, project: Path, setting: str):
        (project / "requirements.txt").write_text("trl==0.18.0\n")
        (project / "train.py").write_text(HINT)
        (project / "trl-lint.toml").write_text(f"{setting}\n")
        assert len(ours(flake8("train.py", cwd=project))) == 1

    def test_settings_of_the_project_hold(self, project: Path):
        (project / "train.py").write_text(FAULT)
        (project / "trl-lint.toml").write_text('ignore = ["TRL103"]\n')
        assert ours(flake8("train.py", cwd=project)) == []

    def test_a_mistake_in_the_settings_is_one_finding_and_the_run_goes_on(self, project: Path):
        (project / "train.py").write_text("import os\n" + FAULT)
        (project / "trl-lint.toml").write_text("ignor = []\n")
        found = flake8("train.py", cwd=project)
        (mistake,) = ours(found)
        assert any("F401 'os'" in line for line in found)
        assert "TRL003 trl-lint failed" in mistake and "did you mean `ignore`?" in mistake

    @pytest.mark.parametrize("text", ["", "\n", "\n\n", "\f\n", "# only this\n"])
    def test_an_empty_file_has_nothing(self, project: Path, text: str):
        (project / "train.py").write_text(text)
        assert flake8("train.py", cwd=project) == []

    @pytest.mark.parametrize("option", ["--ignore=W291", "--extend-ignore=W291", "--extend-select=TRL9"])
    def test_selections_of_flake8_switch_on_nothing_that_our_settings_leave_off(self, project: Path, option: str):
        (project / "train.py").write_text(FAULT)
        (project / "trl-lint.toml").write_text('select = ["TRL2"]\n')
        command = [sys.executable, "-m", "flake8", "--isolated", option, "train.py"]
        assert b"TRL" not in subprocess.run(command, cwd=project, capture_output=True, check=False).stdout

    def test_several_processes_find_what_one_finds(self, project: Path):
        (project / "requirements.txt").write_text("trl==0.18.0\n")
        for number in range(12):
            (project / f"train_{number}.py").write_text(FAULT if number % 2 else PINNED)
        alone = sorted(ours(flake8("--jobs=1", ".", cwd=project)))
        assert len(alone) == 12
        assert sorted(ours(flake8("--jobs=3", ".", cwd=project))) == alone

    def test_what_the_settings_exclude_stays_out(self, project: Path):
        (project / "old").mkdir()
        (project / "old" / "train.py").write_text(FAULT)
        (project / "trl-lint.toml").write_text('extend-exclude = ["old"]\n')
        assert ours(flake8(".", cwd=project)) == []

    def test_a_yaml_document_that_passes_for_python_has_no_findings(self, project: Path):
        text = "model_name_or_path: model\nlearning_rate: 0\nmax_grad_norm: 0\noutput_dir: out\n"
        (project / "recipe.yaml").write_text(text)
        assert ours(flake8("recipe.yaml", cwd=project)) == []
        assert ours(flake8("-", "--stdin-display-name", "recipe.yaml", cwd=project, stdin=text)) == []


# -- the buffer -----------------------------------------------------------------------------------------------------


def test_cells_that_an_editor_has_joined_are_python(project: Path):
    (project / "nb.ipynb").write_text("{}")
    assert [line for line, _, _ in findings("nb.ipynb", "\n" + FAULT)] == [7]


def test_names_of_python_and_of_nothing_else(project: Path):
    assert python_path("a/train.py") == str(project / "a" / "train.py")
    assert python_path("/x/stubs.pyi") == "/x/stubs.pyi"
    assert python_path("bin/train") == str(project / "bin" / "train.py")
    for name in ("recipe.yaml", "requirements.txt", "Makefile", "README.md", "run.sh", "pyproject.toml"):
        assert python_path(name) is None


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-8-sig"])
@pytest.mark.parametrize("saved", [True, False])
def test_columns_are_right_in_every_encoding(project: Path, encoding: str, saved: bool):
    cookie = "# coding: latin-1\n" if encoding == "latin-1" else "# é\n"
    text = cookie + FAULT.replace("return torch", "return 'é' != torch")
    (project / "train.py").write_bytes(text.encode(encoding) if saved else b"x = 1\n")
    assert [(line, column) for line, column, _ in findings("train.py", text)] == [(7, 18)]


def test_line_ends_make_no_difference(project: Path):
    (project / "train.py").write_bytes(FAULT.replace("\n", "\r\n").encode())
    for text in (FAULT, FAULT.replace("\n", "\r\n"), FAULT.replace("\n", "\r")):
        assert [(line, column) for line, column, _ in findings("train.py", text)] == [(6, 11)]


def test_no_finding_is_past_the_end(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trl_lint.editors.flake8_plugin.findings", lambda *_: [(0, 0, "TRL1 a"), (99, 0, "TRL1 b")])
    found = Flake8Checker(ast.parse(""), "train.py", ["x = 1\n", "y = 2\n"]).run()
    assert [line for line, _, _, _ in found] == [1, 2]


def test_another_file_that_explains_a_finding_is_named(project: Path):
    (project / "train.py").write_text(FSDP)
    (project / "configs").mkdir()
    (project / "configs" / "fsdp.yaml").write_text("distributed_type: FSDP\nnum_processes: 2\n")
    (project / "run.sh").write_text("accelerate launch --config_file configs/fsdp.yaml train.py\n")
    (entry,) = [entry for entry in findings("train.py", FSDP) if "TRL101" in entry[2]]
    assert entry[:2] == (9, 25) and entry[2].endswith("[configs/fsdp.yaml:1: this run uses FSDP]")


# -- the tree of flake8 ---------------------------------------------------------------------------------------------


def of_flake8(path: Path) -> tuple[list[str], ast.AST]:
    """The lines that flake8 hands over for a file, and the tree that it makes of them."""
    from flake8.processor import FileProcessor

    options = SimpleNamespace(hang_closing=False, indent_size=4, max_line_length=79, max_doc_length=None, verbose=0)
    processor = FileProcessor(str(path), options)  # type: ignore[arg-type]
    return processor.lines, processor.build_ast()


VARIANTS: dict[str, Callable[[str], bytes]] = {
    "plain": lambda text: text.encode(),
    "CR LF": lambda text: text.replace("\n", "\r\n").encode(),
    "CR": lambda text: text.replace("\n", "\r").encode(),
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "latin-1": lambda text: ("# coding: latin-1\n# \xe9\n" + text).encode("latin-1", "replace"),
    "form feeds": lambda text: ("\f\n" + text.replace("\n\n", "\n\f\n\f")).encode(),
    "wide characters": lambda text: ("'\U0001f600'; " + text).encode(),
    "mixed line ends": lambda text: text.replace("\n", "\r\n", 3).replace("\n", "\r", 1).encode(),
}


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("variant", VARIANTS)
def test_its_tree_is_ours_node_by_node(project: Path, variant: str, step: int):
    """In every kind of line end and encoding, for every eighth fixture, or each, that parses so."""
    compared = 0
    path = project / "train.py"
    for fixture in sorted(FIXTURES.rglob("*.py"))[::step]:
        path.write_bytes(VARIANTS[variant](fixture.read_text("utf-8")))
        try:
            lines, tree = of_flake8(path)
        except SyntaxError:  # `from __future__` and such have to come first
            continue
        file = _file_on_disk(str(path), "".join(lines))
        assert file is not None
        own = PythonModule(Source(file, "python"))
        assert ast.dump(own.tree, include_attributes=True) == ast.dump(tree, include_attributes=True)
        file.tree = tree  # type: ignore[assignment]
        given = PythonModule(Source(file, "python"))
        assert given.tree is tree and [given.span(call) for call in given.calls] == list(map(own.span, own.calls))
        compared += 1
    assert compared > 300 // step


def test_nothing_is_parsed_again(project: Path, monkeypatch: pytest.MonkeyPatch):
    path = project / "train.py"
    path.write_bytes(("# \xe9\n" + FAULT).replace("\n", "\r\n").encode())
    lines, tree = of_flake8(path)
    monkeypatch.setattr("trl_lint.python.module.parse", None)
    found = list(Flake8Checker(tree, "train.py", lines).run())
    assert [(line, column, text[:6]) for line, column, text, _ in found] == [(7, 11, "TRL103")]


def test_a_tree_is_not_that_of_the_file_where_the_buffer_is_another_text(project: Path):
    (project / "train.py").write_text("x = 1\n")
    found = findings("train.py", FAULT, ast.parse(FAULT))
    assert [message[:6] for _, _, message in found] == ["TRL103"]
    assert codes(project / "train.py") == []


def test_a_file_that_changed_after_its_project_read_it_is_read_anew(project: Path):
    """Another file has the whole project read, this one with it; its tree is then of another text than the one held."""
    train = project / "train.py"
    train.write_text("\n" + FAULT)
    age(project)
    assert codes(train) == ["TRL103"]
    known = context.context_for(str(train))
    assert known.workspace.files.is_open(str(train))
    train.write_text(FAULT)
    known._next_look = time.monotonic() + 60
    found = findings("train.py", FAULT, ast.parse(FAULT))
    assert [(line, message[:6]) for line, _, message in found] == [(6, "TRL103")]


def test_a_large_file_that_names_nothing_is_still_said_to_be_unread(project: Path):
    text = "x = 1\n" * 400_000
    (project / "data.py").write_text(text)
    assert findings("data.py", text, ast.parse("x = 1\n")) == []  # nor does the command line fail for it
    ((line, _, message),) = findings("data.py", text, ast.parse("x = 1\n"), Asked(hints=True))
    assert line == 1 and message.startswith("TRL001 not checked")


# -- the project around it ------------------------------------------------------------------------------------------


def age(folder: Path) -> None:
    """Make everything a minute older, as it would be in the second run of an editor."""
    past = time.time() - 60
    for base, _, names in os.walk(folder):
        for path in [base, *(os.path.join(base, name) for name in names)]:
            os.utime(path, (past, past))


def test_a_project_is_read_once_for_all_its_files(project: Path, monkeypatch: pytest.MonkeyPatch):
    (project / "requirements.txt").write_text("trl==0.18.0\n")
    for number in range(3):
        (project / f"train_{number}.py").write_text(PINNED)
    age(project)
    kept = []
    for number in range(3):
        assert codes(project / f"train_{number}.py") == ["TRL301"]
        kept.append(context.context_for(str(project / "train_0.py")).workspace.project(str(project / "train_0.py")))
    assert kept[0] is kept[1] is kept[2]


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "requirements.txt").write_text("trl==1.16.0\n"),
        lambda folder: (folder / "requirements.txt").unlink(),
        lambda folder: (folder / "notes.txt").write_text("trl==0.17.0\n"),
        lambda folder: (folder / "trl-lint.toml").write_text('ignore = ["TRL301"]\n'),
        lambda folder: (folder / "README.md").write_text("```\npip install trl==0.17.0\n```\n"),
    ],
    ids=["changed", "gone", "other", "settings", "README"],
)
def test_it_is_read_anew_when_something_changes(project: Path, change):
    (project / "requirements.txt").write_text("trl==0.18.0\n")
    path = project / "train.py"
    path.write_text(PINNED)
    age(project)

    def messages() -> list[str]:
        return [message for _, _, message in findings(str(path), PINNED)]

    before = messages()
    assert messages() == before and "pinned: trl 0.18.0" in before[0]
    change(project)
    context.context_for(str(path))._next_look = 0.0
    after = messages()
    context.forget()
    assert after == messages()
    assert (after != before) is not any((project / name).exists() for name in ("README.md", "notes.txt"))


def test_what_lies_outside_of_the_project_is_watched_too(project: Path):
    inner = project / "inner"
    (inner / ".git").mkdir(parents=True)
    (inner / "requirements.txt").write_text("-r ../common.txt\n")
    (inner / "train.py").write_text("from trl import GRPOConfig\n")
    seen = []
    for release in ("0.13.0", "0.18.0"):
        (project / "common.txt").write_text(f"trl=={release}\n")
        age(project)
        seen.append(codes(inner / "train.py"))
        context.context_for(str(inner / "train.py"))._next_look = 0.0
    assert seen == [["TRL302"], []]


def releases(path: Path) -> set[str]:
    """The releases that the findings in a file name."""
    return {
        word for _, _, message in findings(str(path), path.read_text()) for word in re.findall(r"0\.1\d\.0", message)
    }


def test_a_run_sees_one_state_of_the_project_and_who_comes_back_a_new_one(project: Path):
    pins = project / "requirements.txt"
    pins.write_text("trl==0.18.0\n")
    for name in ("a.py", "b.py"):
        (project / name).write_text(PINNED)
    age(project)
    assert releases(project / "a.py") == {"0.18.0"}
    pins.write_text("trl==0.17.0\n")
    assert releases(project / "b.py") == {"0.18.0"}
    context.context_for(str(project / "b.py"))._next_look = 0.0
    assert releases(project / "a.py") == {"0.17.0"}  # it was there before


def test_after_a_break_every_file_is_checked_with_a_new_state(project: Path):
    pins = project / "requirements.txt"
    pins.write_text("trl==0.18.0\n")
    for name in ("a.py", "b.py"):
        (project / name).write_text(PINNED)
    age(project)
    assert releases(project / "a.py") == {"0.18.0"}
    first = context.context_for(str(project / "a.py"))
    pins.write_text("trl==0.17.0\n")
    first._last_use -= 60
    first._next_look = 0.0
    assert releases(project / "b.py") == {"0.17.0"}


def test_a_changed_pin_changes_the_findings(project: Path):
    pins = project / "requirements.txt"
    train = project / "train.py"
    train.write_text(FAULT)
    pins.write_text("trl==0.18.0\n")
    assert "TRL203" not in codes(train)
    train.write_text(PINNED.replace("max_completion_len", "use_liger_loss"))
    seen = []
    for release in ("0.18.0", "0.13.0", "0.18.0"):
        pins.write_text(f"trl=={release}\n")
        seen.append(codes(train))
    assert seen[0] == seen[2] != seen[1]


def test_an_unsaved_buffer_leaves_nothing_behind(project: Path):
    train = project / "train.py"
    train.write_text("x = 1\n")
    age(project)
    assert codes(train) == []
    assert codes(train, FAULT) == ["TRL103"]
    assert codes(train) == []


def test_the_baseline_of_the_project_holds(project: Path):
    from trl_lint.cli import main

    (project / "train.py").write_text(FAULT)
    (project / "trl-lint.toml").write_text('baseline = "known.json"\n')
    assert main(["--write-baseline", "--quiet"]) == 0
    assert codes(project / "train.py") == []
    assert codes(project / "train.py", FAULT + FAULT.replace("mask", "other")) == ["TRL103"]


@pytest.mark.parametrize("error", [ValueError("a\nb"), RecursionError("deep"), MemoryError(), KeyError("x")])
def test_a_crash_of_ours_is_one_finding(project: Path, monkeypatch: pytest.MonkeyPatch, error: Exception):
    def crash(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("trl_lint.workspace.check_state", crash)
    (project / "train.py").write_text(FAULT)
    ((line, column, message, _),) = Flake8Checker(ast.parse(FAULT), "train.py", FAULT.splitlines(True)).run()
    assert (line, column) == (1, 0)
    assert message.startswith(f"TRL003 trl-lint failed: {type(error).__name__}") and "\n" not in message
