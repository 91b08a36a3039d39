"""How fixes are written to files, and shown as a diff."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from trl_lint import writing
from trl_lint.fixes.diff import painted
from trl_lint.reports.colors import Palette
from trl_lint.reports.diffs import unified
from trl_lint.writing import WriteError, unwritable, write_file

# -- writing --------------------------------------------------------------------------------------------------------


def test_mode_and_link_are_kept(tmp_path: Path):
    target = tmp_path / "real" / "a.sh"
    target.parent.mkdir()
    target.write_bytes(b"old")
    target.chmod(0o750)
    link = tmp_path / "a.sh"
    link.symlink_to(target)
    write_file(str(link), b"new", b"old")
    assert link.is_symlink() and target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o750
    assert os.listdir(target.parent) == ["a.sh"]


def test_a_read_only_file_stays(tmp_path: Path):
    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    path.chmod(0o444)
    assert unwritable(str(path)) == "is read-only, so it was left as it is"
    with pytest.raises(WriteError, match="read-only"):
        write_file(str(path), b"new", b"old")
    assert path.read_bytes() == b"old"


def test_a_file_that_changed_meanwhile_stays(tmp_path: Path):
    path = tmp_path / "a.py"
    path.write_bytes(b"edited by somebody")
    with pytest.raises(WriteError, match="has changed"):
        write_file(str(path), b"new", b"old")
    assert path.read_bytes() == b"edited by somebody"


@pytest.fixture(params=["nameless", "named"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that has files without a name, and one that does not."""
    if request.param == "named":
        monkeypatch.delattr(writing.os, "O_TMPFILE", raising=False)


@pytest.mark.usefixtures("system")
def test_a_name_as_long_as_the_system_allows(tmp_path: Path):
    path = tmp_path / ("模" * 84 + ".py")
    path.write_bytes(b"old")
    write_file(str(path), b"new", b"old")
    assert path.read_bytes() == b"new" and len(os.listdir(tmp_path)) == 1


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="the system has no files without a name")
def test_a_kill_while_writing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    seen: list[list[str]] = []
    monkeypatch.setattr(writing.os, "fsync", lambda handle: seen.append(os.listdir(tmp_path)))
    write_file(str(path), b"new", b"old")
    assert seen == [["a.py"]]


@pytest.mark.usefixtures("system")
def test_a_failure_half_way_leaves_the_old_file_and_no_rubbish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.py"
    path.write_bytes(b"old")

    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", fail)
    with pytest.raises(WriteError, match="no space left"):
        write_file(str(path), b"new", b"old")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.py"]


# -- diff -----------------------------------------------------------------------------------------------------------


def test_diff_keeps_carriage_returns_and_missing_line_ends():
    lines = "".join(unified("a.py", "x\r\ny", "x\r\nz"))
    assert lines.endswith(" x\r\n-y\n\\ No newline at end of file\n+z\n\\ No newline at end of file\n")
    assert lines.startswith("--- a/a.py\n+++ b/a.py\n")


def test_a_diff_for_a_terminal_cannot_steer_it():
    shown = "".join(painted(unified("a.py", "x\n", "\x1b]0;owned\x07\n"), Palette(False)))
    assert "\x1b" not in shown and "\\x1b]0;owned\\x07" in shown


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="only Linux names files late")
def test_what_a_killed_run_left_is_swept_up(tmp_path: Path):
    target = tmp_path / "a.yaml"
    target.write_bytes(b"old")
    gone, living, fresh = (tmp_path / f".trl-lint-{pid}.tmp" for pid in (2**22 + 1, os.getppid(), 2**22 + 2))
    for path in (gone, living, fresh):
        path.write_bytes(b"new")
    for path in (gone, living):
        os.utime(path, (0, 0))
    write_file(str(target), b"new", b"old")
    assert sorted(tmp_path.iterdir()) == sorted([target, living, fresh]) and target.read_bytes() == b"new"
