"""Fixes: which go together, and what is proved about them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from trl_lint.finding import Edit, Finding, Fix, Location, Notice, Severity
from trl_lint.fixes.apply import compatible, edited, is_sound, moves
from trl_lint.fixes.repair import Repair, repair
from trl_lint.fixes.verify import objection
from trl_lint.sources.files import Files, open_file
from trl_lint.sources.text import SourceFile


def edit(start: int, end: int, content: str, path: str = "a") -> Edit:
    return Edit(path, start, end, content)


def fixable(*edits: Edit, code: str = "TRL103", safety: str = "safe") -> Finding:
    fix = Fix("Repair it", safety, edits)  # type: ignore[arg-type]
    return Finding(code, "wrong", Location(edits[0].path, edits[0].start, edits[0].end), "error", fix=fix)


# -- applying -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "content", "expected"),
    [
        ("a\nb\n", "x\ny\n", "x\ny\na\nb\n"),
        ("a\r\nb\r\n", "x\ny\n", "x\r\ny\r\na\r\nb\r\n"),
        ("a\rb\r", "x\n", "x\ra\rb\r"),
        ("a\r\nb\n", "x\r\n", "x\r\na\r\nb\n"),
        ("a", "x\n", "x\na"),
    ],
)
def test_inserted_lines_end_as_the_others_do(text: str, content: str, expected: str):
    assert edited(text, [edit(0, 0, content)]) == expected


def test_edits_that_touch_wait_for_the_next_round():
    first, second, apart = fixable(edit(0, 4, "x")), fixable(edit(4, 6, "y")), fixable(edit(7, 8, "z"))
    assert compatible([first, second, apart]) == [first, apart]


def test_a_fix_is_all_or_nothing():
    first = fixable(edit(0, 2, "x"))
    both = fixable(edit(1, 1, "y"), edit(9, 9, "y"))
    free = fixable(edit(9, 9, "z"))
    assert compatible([first, both, free]) == [first, free], "what was kept back leaves its other places free"


def test_two_fixes_may_share_an_edit():
    one = fixable(edit(0, 0, "import torch\n"), edit(20, 21, "x"))
    two = fixable(edit(0, 0, "import torch\n"), edit(30, 31, "y"))
    assert compatible([one, two]) == [one, two]


def test_unsound_fixes():
    assert is_sound(fixable(edit(0, 2, "x"), edit(2, 3, "y")).fix, {"a": 3})  # type: ignore[arg-type]
    assert not is_sound(fixable(edit(0, 2, "x"), edit(1, 3, "y")).fix, {"a": 3})  # type: ignore[arg-type]
    assert not is_sound(fixable(edit(0, 4, "x")).fix, {"a": 3})  # type: ignore[arg-type]
    assert not is_sound(Fix("nothing", "safe", ()), {})


def test_places_move_with_the_edits():
    text = "0123456789"
    changes = moves(text, [edit(2, 4, "abc"), edit(6, 6, "XY")])
    after = edited(text, [edit(2, 4, "abc"), edit(6, 6, "XY")])
    assert after == "01abc45XY6789"
    assert [after[changes.start(at)] for at in (0, 1, 4, 5, 7, 9)] == list("014579")
    assert (changes.start(3), changes.end(3)) == (2, 5), "inside a replaced stretch: the new one"
    assert changes.ranges() == [(2, 5), (7, 9)]


# -- proving --------------------------------------------------------------------------------------------------------


def verdict(name: str, before: str, old: str, new: str) -> str | None:
    """What speaks against replacing `old` by `new`."""
    start = before.index(old)
    file = open_file(f"/project/{name}", before.encode())
    change = [Edit(file.path, start, start + len(old), new)]
    return objection(file, edited(before, change), change)


SCRIPT = """\
import torch
from accelerate import Accelerator

def build(model):
    acc = Accelerator()
    ref = acc.prepare_model(model, evaluation_mode=True)
    mask = torch.arange(3)
    return ref, mask
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("evaluation_mode=True", "device_placement=True, evaluation_mode=True"),
        ("torch.arange(3)", "torch.arange(3, device=model.device)"),
        ("acc = Accelerator()", "acc = Accelerator()\n    extra = len([n for n in (1, 2)])"),
        ("import torch\n", "import torch\nimport os\n"),
        ("    mask = torch.arange(3)\n    return ref, mask", "    return ref, torch.arange(3)"),
        ("def build(model):", "def build(model, device=None):"),
    ],
)
def test_python_that_is_fine(old: str, new: str):
    assert verdict("a.py", SCRIPT, old, new) is None


@pytest.mark.parametrize("name", ["text", "tree"])
def test_texts_and_trees_prove_the_same(name: str, monkeypatch: pytest.MonkeyPatch):
    """Every edit of the fixtures below is judged alike whether statements are told by their texts or by their trees."""
    if name == "tree":
        monkeypatch.setattr("trl_lint.fixes.verify_python._text_of", lambda statement, code: ast.dump(statement))
    for before, old, new, is_fine in PROOFS:
        assert (verdict("a.py", before, old, new) is None) is is_fine, (old, new)


_MATCH = "match a:\n    case 1:\n        b = 1\n    case 2:\n        c = 2\n"
_DECORATED = "a = b = print\n@a\ndef f():\n    return 1\n@b\ndef g():\n    return 2\n"
_SAME = "a = 1\na = 1\nprint(a)\na = 1\n"
PROOFS = [
    (_MATCH, "c = 2", "c = 3", True),
    (_MATCH, "    case 2:\n        c = 2\n", "", True),
    (_MATCH, "b = 1\n    case 2:\n", "b = 1\n", True),
    (_DECORATED, "return 2", "return 3", True),
    (_DECORATED, "return 1\n@b\n", "return 1\n", True),
    (_DECORATED, "    return 1\n@b\ndef g():\n", "", True),
    (_SAME, "print(a)", "print(a, a)", True),
    (_SAME, "print(a)\n", "if a:\n    print(a)\n    ", False),
    ("if 1:\n    3\nelif 2:\n    4\n", "if 1:\n    3\nelif", "if", True),
    ("x = 1\nfor y in ():\n    x\n    y\n", "    x\n", "x\n", False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("torch.arange(3)", "torch.arange(3", "would not parse"),
        ("torch.arange(3)", "torch.arange(3, device=device)", "the name `device` is not bound"),
        ("torch.arange(3)", "torch.arange(3, device=self.device)", "the name `self` is not bound"),
        ("import torch\n", "", "the name `torch` is not bound"),
        ("import torch\n", "import torch\nx = 1\nif x:\n    ", "code beside the edited place"),
        ("    ref = acc", "    return None\n\ndef later():\n    ref = Accelerator()", None),
    ],
)
def test_python_that_is_not(old: str, new: str, reason: str | None):
    found = verdict("a.py", SCRIPT, old, new)
    assert found is not None and (reason is None or reason in found)


def test_a_string_that_swallows_code_is_refused():
    before = "f('a')\nx = 1\ny = '''z'''\n"
    assert verdict("a.py", before, "'a'", "'''a") is not None


def test_a_name_of_another_function_is_not_bound():
    before = "def f():\n    import torch\n    return torch\n\ndef g():\n    return h()\n\ndef h(): ...\n"
    found = verdict("a.py", before, "return h()", "return torch.h()")
    assert found is not None and "`torch` is not bound" in found


@pytest.mark.parametrize(
    ("name", "before", "old", "new"),
    [
        ("a.yaml", "a: 1\nb: 2\n", "1", "1.0"),
        ("a.yaml", "a: 1\nb: 2\n", "a: 1\n", "a: 1\nc: 3\n"),
        ("a.yaml", "a: 1  # noqa: TRL103\nb: 2\n", "  # noqa: TRL103", ""),
        ("a.json", '{"a": 1, "b": [1, 2]}', "2]", "3]"),
        ("a.toml", "[x]\na = ['trl']\n", "'trl'", "'trl==1.0'"),
        ("requirements.txt", "trl\nvllm==0.9\n", "trl", "trl==1.0"),
        ("run.sh", "python a.py\n", "python", "accelerate launch"),
        ("t.yaml", "a: {{ x }}\nb: 1\n", "1", "2"),  # did not parse before either
    ],
)
def test_values_that_may_change(name: str, before: str, old: str, new: str):
    assert verdict(name, before, old, new) is None


@pytest.mark.parametrize(
    ("name", "before", "old", "new", "reason"),
    [
        ("a.yaml", "a: 1\nb: 2\n", "1", "[1", "could not be parsed"),
        ("a.yaml", "a: x\nb: 2\n", "x", "|\n  x", None),
        ("a.yaml", "a: x\nb:\n  c: 2\n", "x", "x #", None),
        ("a.yaml", "a: &n 1\nb: 2\nc: *n\n", "1", "3", "`c` would change as well"),
        ("a.json", '{"a": 1, "b": 2}', "1", "1,", "could not be parsed"),
        ("a.toml", "a = 1\nb = 2\n", "1", "1\n[x]", "`b` would change as well"),
        ("requirements.txt", "trl==1.0\nvllm==0.9\n", "1.0", "1.0 \\", None),
        ("requirements.txt", "trl==1.0\n", "1.0", "1.0 !", "pip would refuse"),
    ],
)
def test_values_that_may_not(name: str, before: str, old: str, new: str, reason: str | None):
    found = verdict(name, before, old, new)
    if reason is None:  # harmless after all, or refused: but never a silent change of the neighbour
        return
    assert found is not None and reason in found


LAUNCH = "#!/bin/bash\nCUDA_VISIBLE_DEVICES=0,1 python -u train.py --lr 1\naccelerate launch other.py\n"


@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [
        ("run.sh", "python -u", "accelerate launch --no_python python -u", None),
        ("run.sh", "python -u", "torchrun --nproc_per_node 1 --no_python python -u", None),
        ("run.sh", "--lr 1", "--lr 2 --bf16", None),
        ("run.sh", "CUDA_VISIBLE_DEVICES=0,1 ", "", None),
        ("run.sh", "python -u", "accelerate launch --unheard_of python -u", "`train.py`"),
        ("run.sh", "train.py", "train.yaml", "`train.py`"),
        ("run.sh", "0,1 python", "0,1 # python", "1 programs instead of 2"),
        ("run.sh", "--lr 1\n", "--lr 1 \\\n", "1 programs instead of 2"),
        ("README.md", "#!/bin/bash", "hello", None),
        ("notes.txt", "train.py", "nothing", None),
    ],
)
def test_commands_that_have_to_stay_understood(name: str, old: str, new: str, reason: str | None):
    found = verdict(name, LAUNCH, old, new)
    assert found is None if reason is None else found is not None and reason in found


def test_commands_of_other_files_that_have_to_stay_understood():
    dockerfile = 'FROM x\nCMD ["python", "train.py"]\n'
    assert verdict("Dockerfile", dockerfile, '"python"', '"accelerate", "launch"') is None
    found = verdict("Dockerfile", dockerfile, '"python"', '"/bin/what"')
    assert found is not None and "0 programs" in found


def test_an_encoding_that_lacks_the_character():
    file = open_file("/project/a.py", b"# coding: latin-1\nx = '\xe9'\n")
    change = [Edit(file.path, 22, 25, "'\u4e2d'")]
    found = objection(file, edited(file.text, change), change)
    assert found is not None and "latin-1" in found


# -- the loop -------------------------------------------------------------------------------------------------------


class FakeResult(NamedTuple):
    findings: list[Finding]
    files: Files
    problems: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()
    parts: None = None


Judge = Callable[[SourceFile], list[Finding]]


def run(path: Path, judge: Judge, unsafe: bool = False) -> tuple[str, Repair]:
    def check(contents: dict[str, bytes]) -> FakeResult:
        files = Files(contents)
        return FakeResult(judge(files.get(str(path))), files)

    done = repair(check, lambda result: result.findings, unsafe)  # type: ignore[arg-type]
    return done.changed.get(str(path), path.read_bytes()).decode("utf-8", "replace"), done


def at_each(word: str, content: str, safety: str = "safe", severity: Severity = "error") -> Judge:
    """A rule that finds a word everywhere and wants it replaced."""

    def judge(file: SourceFile) -> list[Finding]:
        found, at = [], file.text.find(word)
        while at >= 0:
            place = Location(file.path, at, at + len(word))
            fix = Fix(f"Write {content}", safety, (Edit(file.path, at, at + len(word), content),))  # type: ignore[arg-type]
            found.append(Finding("TRL103", f"{word} is wrong", place, severity, fix=fix))
            at = file.text.find(word, at + 1)
        return found

    return judge


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "a.sh"
    path.write_bytes(b"bad one\nbad two\n")
    return path


def test_all_is_repaired_and_nothing_is_written(script: Path):
    text, done = run(script, at_each("bad", "good"))
    assert (text, len(done.fixed)) == ("good one\ngood two\n", 2)
    assert done.result.findings == []
    assert script.read_text("utf-8") == "bad one\nbad two\n"


def test_unsafe_fixes_need_to_be_asked_for(script: Path):
    judge = at_each("bad", "good", safety="unsafe")
    assert run(script, judge)[1].fixed == []
    assert len(run(script, judge, unsafe=True)[1].fixed) == 2


def test_one_repair_makes_room_for_the_next(script: Path):
    def judge(file: SourceFile) -> list[Finding]:
        return at_each("bad", "better")(file) + at_each("better", "best")(file)

    text, done = run(script, judge)
    assert text == "best one\nbest two\n"
    assert done.result.findings == []


def test_a_fix_that_leaves_its_finding_is_dropped(script: Path):
    text, done = run(script, at_each("bad", "bad bad"))
    assert (text, done.changed, done.fixed) == ("bad one\nbad two\n", {}, [])
    assert "still be there" in done.refused[0].reason


def test_a_fix_that_brings_an_error_is_dropped_and_others_are_kept(script: Path):
    def judge(file: SourceFile) -> list[Finding]:
        found = at_each("one", "1")(file) + at_each("two", "2")(file)
        if "1" in file.text:
            found.append(Finding("TRL501", "a new fault", Location(file.path, 0, 0), "error"))
        return found

    text, done = run(script, judge)
    assert text == "bad one\nbad 2\n"
    assert [refusal.reason for refusal in done.refused] == ["it would bring a new error: TRL501 a new fault"]


def test_an_error_that_shows_behind_another_and_has_a_repair_is_made_room_for(script: Path):
    """A call is judged once its import is right: `two` is seen when `one` has gone."""

    def judge(file: SourceFile) -> list[Finding]:
        if "one" in file.text:
            return at_each("one", "1")(file)
        return at_each("two", "2", severity="error")(file)

    text, done = run(script, judge)
    assert text == "bad 1\nbad 2\n"
    assert done.refused == []


def test_an_error_behind_another_with_an_unsafe_repair_is_none_without_it(script: Path):
    def judge(file: SourceFile) -> list[Finding]:
        if "one" in file.text:
            return at_each("one", "1")(file)
        return at_each("two", "2", safety="unsafe")(file)

    text, done = run(script, judge)
    assert text == "bad one\nbad two\n"
    assert len(done.refused) == 1
    assert run(script, judge, unsafe=True)[0] == "bad 1\nbad 2\n"


def test_what_is_at_fault_in_one_file_does_not_hold_up_the_others(tmp_path: Path):
    paths = [str(tmp_path / name) for name in "abcdefgh"]
    for path in paths:
        Path(path).write_bytes(b"bad one\n")
    checks = 0

    def check(contents: dict[str, bytes]) -> FakeResult:
        nonlocal checks
        checks += 1
        files, found = Files(contents), list[Finding]()
        for path in paths:
            found += at_each("one", "1")(files.get(path))
        if "1" in files.get(paths[3]).text:
            found.append(Finding("TRL501", "a new fault", Location(paths[3], 0, 0), "error"))
        return FakeResult(found, files)

    done = repair(check, lambda result: result.findings, False)  # type: ignore[arg-type]
    assert sorted(done.changed) == [path for path in paths if path != paths[3]]
    assert checks == 4  # as it is, all, all but one, that one


def test_a_new_warning_is_no_reason(script: Path):
    def judge(file: SourceFile) -> list[Finding]:
        warning = Finding("TRL501", "a new thought", Location(file.path, 0, 0), "warning")
        return at_each("bad", "good")(file) + ([warning] if "good" in file.text else [])

    assert run(script, judge)[0] == "good one\ngood two\n"


def test_fixes_that_quarrel_come_to_an_end(script: Path):
    def judge(file: SourceFile) -> list[Finding]:
        return at_each("bad", "good", severity="warning")(file) + at_each("good", "bad", severity="warning")(file)

    text, _ = run(script, judge)
    assert text in ("bad one\nbad two\n", "good one\ngood two\n")


def test_a_file_that_would_not_parse_stays(tmp_path: Path):
    path = tmp_path / "a.py"
    path.write_bytes(b"bad = 1\nx = bad\n")
    text, done = run(path, at_each("bad = 1", "bad = (1"))
    assert text == "bad = 1\nx = bad\n"
    assert "would not parse" in done.refused[0].reason


def test_bom_encoding_and_line_ends_survive(tmp_path: Path):
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbfbad = '\xc3\xa9'\r\n")
    _, done = run(path, at_each("bad = ", "x = 1\ngood = "))
    assert done.changed[str(path)] == b"\xef\xbb\xbfx = 1\r\ngood = '\xc3\xa9'\r\n"
    path.write_bytes(b"# coding: latin-1\nbad = '\xe9'\n")
    _, done = run(path, at_each("bad", "good"))
    assert done.changed[str(path)] == b"# coding: latin-1\ngood = '\xe9'\n"
