"""Whatever is nested or chained too deeply to be read is said: a fault inside is found, or there is a notice."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.settings import Settings

SFT = "trl sft --model_name_or_path x --dataset_name y --output_dir o"
FAULT = f"{SFT} --max_seq_length 5"


def in_shells(depth: int) -> str:
    text = FAULT
    for _ in range(depth):
        text = f"bash -c {shlex.quote(text)}"
    return text


def in_make_variables(depth: int) -> str:
    names = "".join(f"A{number + 1} = $(A{number})\n" for number in range(depth))
    return f"A0 = --max_seq_length 5\n{names}\nall:\n\t{SFT} $(A{depth})\n"


def in_classes(depth: int) -> str:
    classes = "".join(f"class A{number + 1}(A{number}):\n    pass\n" for number in range(depth))
    return f"from trl import SFTConfig as A0\n{classes}A{depth}(output_dir='o', max_seq_length=5)\n"


def around(opening: str, closing: str) -> Callable[[int], str]:
    return lambda depth: f"{opening * depth}{FAULT}{closing * depth}\n"


# A text of a depth, its file, a depth at which the fault is found, and those at which it was once lost without a word.
KINDS: dict[str, tuple[Callable[[int], str], str, int, tuple[int, ...]]] = {
    "subshells": (around("( ", " )"), "run.sh", 95, (130, 400)),
    "groups": (around("{ ", "; }"), "run.sh", 95, (130, 400)),
    "branches": (around("if true; then ", "; fi"), "run.sh", 95, (130, 400)),
    "loops": (around("for i in 1 2; do ", "; done"), "run.sh", 30, (60, 300)),
    "while loops": (around("while true; do ", "; done"), "run.sh", 30, (60, 300)),
    "functions": (around("f() { ", "; }"), "run.sh", 30, (60, 300)),
    "substitutions": (around("$( ", " )"), "run.sh", 30, (60, 300)),
    "cases": (around("case a in a) ", ";; esac"), "run.sh", 30, (130, 300)),
    "defaults": (lambda n: f"{FAULT} --seed {'${A:-' * n}1{'}' * n}\n", "run.sh", 100, (200, 900)),
    "strings in substitutions": (lambda n: f"{FAULT} --seed {'$(echo ' * n}1{')' * n}\n", "run.sh", 20, (130, 300)),
    "shells": (in_shells, "run.sh", 4, (7,)),
    "a README": (lambda n: f"```bash\n{around('( ', ' )')(n)}```\n", "README.md", 95, (130,)),
    "a recipe": (lambda n: f"all:\n\t{around('( ', ' )')(n)}", "Makefile", 95, (130,)),
    "an image": (lambda n: f"FROM x\nRUN {around('( ', ' )')(n)}", "Dockerfile", 90, (130,)),
    "variables of make": (in_make_variables, "Makefile", 15, (22, 30, 300)),
    "classes": (in_classes, "train.py", 3, (9, 30)),
}
CASES = [(kind, depth) for kind, (_, _, found, deep) in KINDS.items() for depth in (found, *deep)]


@pytest.mark.parametrize(("kind", "depth"), CASES)
def test_a_fault_is_found_or_something_is_said(kind: str, depth: int, tmp_path: Path):
    text, name, found_at, _ = KINDS[kind]
    (tmp_path / "requirements.txt").write_text("trl==0.20.0\n")
    (tmp_path / name).write_text(text(depth))
    result = check([str(tmp_path)], Settings(root=str(tmp_path)))
    found = "TRL301" in {one.code for one in result.findings}
    said = [one for one in result.notices if one.kind == "budget"]
    assert found or said or "TRL001" in {one.code for one in result.findings}
    if depth == found_at:
        assert found and not said
    for notice in said:
        assert notice.location is not None and notice.location.path.endswith(name)
        assert any(char.isdigit() for char in notice.message)


def test_the_place_is_that_of_what_was_left_out(tmp_path: Path):
    (tmp_path / "run.sh").write_text(f"echo a\n{around('( ', ' )')(130)}")
    (notice,) = check([str(tmp_path)], Settings(root=str(tmp_path))).notices
    assert notice.location is not None
    assert (tmp_path / "run.sh").read_text()[notice.location.start - 2 :].startswith("( ")


def test_a_text_that_several_files_have_is_said_of_each(tmp_path: Path):
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(f"```bash\n{around('( ', ' )')(130)}```\n")
    notices = check([str(tmp_path)], Settings(root=str(tmp_path))).notices
    assert [Path(one.location.path).name for one in notices if one.location] == ["a.md", "b.md"]


@pytest.mark.parametrize("pin", ["trl==" + "1" * 300, "trl>=0." + "1" * 300, "trl==1." + "9" * 5000])
def test_a_release_of_endless_digits_is_said(pin: str, tmp_path: Path):
    (tmp_path / "requirements.txt").write_text(f"{pin}\n")
    (tmp_path / "train.py").write_text("from trl import SFTConfig\nSFTConfig(output_dir='o', max_seq_length=5)\n")
    result = check([str(tmp_path)], Settings(root=str(tmp_path)))
    assert result.notices and not [one for one in result.findings if one.severity == "error"]


@pytest.mark.parametrize("steps", [3, 11, 15, 18, 30, 60])
def test_lists_of_setup_py_that_double_are_read_or_said(steps: int, tmp_path: Path):
    lines = "".join(f"a{number + 1} = a{number} + a{number}\n" for number in range(steps))
    head = "from setuptools import setup\na0 = ['trl==0.20.0']\n"
    (tmp_path / "setup.py").write_text(f"{head}{lines}setup(name='x', install_requires=a{steps})\n")
    (tmp_path / "train.py").write_text("from trl import SFTConfig\nSFTConfig(output_dir='o', max_seq_length=5)\n")
    begun = time.process_time()
    result = check([str(tmp_path)], Settings(root=str(tmp_path)))
    assert time.process_time() - begun < 4
    said = [one for one in result.notices if one.kind == "budget"]
    assert "TRL301" in {one.code for one in result.findings} or said
    assert bool(said) == (steps > 11)


@pytest.mark.parametrize(
    ("name", "text", "last"),
    [
        ("train.py", "from trl import GRPOConfig\n{}", "GRPOConfig(output_dir='o', max_seq_length={})\n"),
        ("train.py", "from trl import GRPOConfig\nGRPOConfig(output_dir='o'{})\n", ", no_such_{}=1"),
        ("run.sh", f"{SFT}{{}}\n", " --no_such_{} 1"),
    ],
)
@pytest.mark.parametrize("count", [900, 1400])
def test_more_findings_than_anybody_reads_are_not_looked_for(
    name: str, text: str, last: str, count: int, tmp_path: Path
):
    (tmp_path / "requirements.txt").write_text("trl==0.20.0\n")
    (tmp_path / name).write_text(text.format("".join(last.format(number) for number in range(count))))
    found = check([str(tmp_path)], Settings(str(tmp_path)))
    assert sum(finding.code == "TRL301" for finding in found.findings) == min(count, 1000)
    said = [notice.message for notice in found.notices if "finding number 1,000" in notice.message]
    assert bool(said) == (count > 1000)
