"""`make rule`: what it writes works at once, and says what is still to be written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documents import ROOT
from new_rule import WrongError, to_fill_in, with_line, write_rule

CODE, NAME = "TRL699", "some-name-nobody-has"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the tool that a rule can be written into."""
    shutil.copytree(ROOT / "trl_lint", tmp_path / "trl_lint", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "rules" / "pages", tmp_path / "rules" / "pages")
    for path in (ROOT / "rules").iterdir():
        if path.name != "pages":
            (tmp_path / "rules" / path.name).symlink_to(path)
    for name in ("CHANGELOG.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def run(*arguments: str, root: Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder or root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        encoding="utf-8",
    )


def test_a_new_rule_works_and_says_what_is_to_be_filled_in(checkout: Path):
    written = write_rule(CODE, NAME, checkout)
    assert all(path.is_file() for path in written)
    fixtures = checkout / "fixtures" / CODE
    for folder in sorted(fixtures.iterdir()):
        done = run("trl_lint", "--no-cache", "--isolated", "train.py", root=checkout, folder=folder)
        assert (done.returncode, CODE in done.stdout) == ((1, True) if folder.name.startswith("bad") else (0, False))
    assert len(list(fixtures.glob("ok_*"))) == 2
    module = str(checkout / "trl_lint/checks/numerics/some_name_nobody_has.py")
    for arguments in (("ruff", "check", module), ("ruff", "format", "--check", module)):
        done = run(*arguments, root=checkout)
        assert done.returncode == 0, done.stdout
    places = to_fill_in(checkout)
    assert {place.partition(":")[0] for place in places} == {path.relative_to(checkout).as_posix() for path in written}
    assert f"rules/pages/{CODE}-{NAME}.md:14: Reports a call of `torch.fill_in`." in places
    assert f"CHANGELOG.md:{_line(checkout)}: * {CODE}: FILL IN: what it finds" in places


def _line(checkout: Path) -> int:
    lines = (checkout / "CHANGELOG.md").read_text("utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.startswith(f"* {CODE}:"))


def test_a_rule_without_a_page_says_so(checkout: Path):
    write_rule(CODE, NAME, checkout)
    (checkout / "rules" / "pages" / f"{CODE}-{NAME}.md").unlink()
    folder = checkout / "fixtures" / CODE / "bad_fill_in"
    done = run("trl_lint", "--no-cache", "--isolated", "train.py", root=checkout, folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"trl-lint: {CODE} has no page: write rules/pages/{CODE}-<name>.md, named after the module of the rule "
        "(a fault of trl-lint and of no file here)\n"
    )


@pytest.mark.parametrize(
    ("code", "name", "said"),
    [
        ("TRL6", "x", "'TRL6' is no code"),
        ("TRL999", "x", "'TRL999' is no code"),
        (CODE, "Some_Name", "'Some_Name' is no name"),
        ("TRL602", "x", "there is TRL602-fp16-for-rl.md already"),
        (CODE, "fp16-for-rl", "there is TRL602-fp16-for-rl.md already"),
    ],
)
def test_what_cannot_be_written_is_told(code: str, name: str, said: str):
    with pytest.raises(WrongError, match=said):
        write_rule(code, name)


def test_the_line_stands_behind_those_before_it():
    log = "# Log\n\n* TRL101: a\n* TRL103: b\n  and c\n* TRL201: d\n"
    assert with_line(log, "TRL104") == log.replace("* TRL201", "* TRL104: FILL IN: what it finds\n* TRL201")
    with pytest.raises(WrongError):
        with_line("# Log\n", "TRL104")
