"""A fingerprint names one finding of one run, and the same one in the next."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from trl_lint.finding import Finding, Location
from trl_lint.fingerprints import fingerprints
from trl_lint.sources.files import Files


def prints(path: Path, text: str, code: str = "TRL103") -> list[str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    starts = [index for index in range(len(text)) if text.startswith("bad", index)]
    found = [Finding(code, f"wrong at {at}", Location(str(path), at, at + 3), "error") for at in starts]
    return [str(print) for print in fingerprints(found, str(path.parent), Files())]


BEFORE = "def f():\n    x = bad(1)\n    y = bad(2)\n"


@pytest.mark.parametrize(
    "after",
    [
        "import os\n\n\n" + BEFORE,
        BEFORE.replace("    ", "    if True:\n        "),
        BEFORE.replace("bad(1)", "bad(1)  # noqa: E501"),
        BEFORE.replace("\n", "\r\n"),
    ],
    ids=["moved", "indented", "commented", "line ends"],
)
def test_they_survive_what_happens_around(after: str, tmp_path: Path):
    assert prints(tmp_path / "a.py", BEFORE) == prints(tmp_path / "a.py", after)


def test_equal_lines_are_numbered_and_a_new_one_below_disturbs_none(tmp_path: Path):
    one, two = prints(tmp_path / "a.py", "bad()\nbad()\n")
    assert (one.partition(":")[2], two.partition(":")[2]) == ("1", "2")
    assert one.partition(":")[0] == two.partition(":")[0]
    assert prints(tmp_path / "a.py", "bad()\n\nbad()\nbad()\n")[:2] == [one, two]


def test_rule_file_function_and_text_tell_them_apart(tmp_path: Path):
    (first,) = prints(tmp_path / "a.py", "bad(1)\n")
    others = [
        prints(tmp_path / "a.py", "bad(1)\n", code="TRL104"),
        prints(tmp_path / "b.py", "bad(1)\n"),
        prints(tmp_path / "a.py", "bad(2)\n"),
        prints(tmp_path / "a.py", "def f():\n    bad(1)\n"),
    ]
    assert len({first, *(print for (print,) in others)}) == 5


def test_the_folder_does_not_count(tmp_path: Path):
    assert prints(tmp_path / "one" / "a.py", "bad\n") == prints(tmp_path / "two" / "a.py", "bad\n")


def test_a_file_that_is_gone_has_one_too(tmp_path: Path):
    found = [Finding("TRL504", "missing", Location(str(tmp_path / "gone.py"), 0, 0), "error")]
    assert len(fingerprints(found, str(tmp_path), Files())) == 1


def test_a_line_of_blanks_costs_no_more_than_its_length(tmp_path: Path):
    start = time.process_time()
    assert len(prints(tmp_path / "a.sh", f"bad{' ' * 200_000}b  # noqa: TRL101\n")) == 1
    assert time.process_time() - start < 1
