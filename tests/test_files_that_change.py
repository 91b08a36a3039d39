"""Files that come, go and change between listing, reading and repairing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command_line import FIXED, SCRIPT, Shell
from odd_files import make_odd

from trl_lint import tracked, writing
from trl_lint.writing import put_file, write_together

CONCISE = ["--output-format", "concise", "--isolated"]
SHOWN = "train.py:6:17: TRL103"


class Meanwhile:
    """Does something right after the folders were listed and before anything is read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, what: object) -> None:
        real, done = tracked.read, []

        def read(path: str, by: str | None = None) -> bytes:
            if not done:
                done.append(path)
                what()  # type: ignore[operator]
            return real(path, by)

        monkeypatch.setattr(tracked, "read", read)
        self.done = done


CAME = "note: not checked: this file came, went or changed its kind meanwhile; run again"


@pytest.mark.parametrize("kind", ["gone", "folder", "pipe"])
def test_a_file_that_is_another_by_the_time_it_is_read(kind: str, sh: Shell, monkeypatch: pytest.MonkeyPatch):
    if not hasattr(os, "mkfifo") and kind == "pipe":
        pytest.skip("the system has no pipes with names")
    for name in ("a.py", "z.py", "z.yaml", "z.sh", "z.json", "z.ipynb", "requirements.txt"):
        sh.write(name, SCRIPT)
    changed = ("z.py", "z.yaml", "z.sh", "z.json", "z.ipynb", "requirements.txt", "train.py")

    def change() -> None:
        for name in changed:
            (sh.folder / name).unlink()
            if kind != "gone":
                make_odd(sh.folder / name, kind)

    meanwhile = Meanwhile(monkeypatch, change)
    run = sh(".", *CONCISE)
    assert meanwhile.done
    assert run.err == "" and run.status == 1
    lines = run.out.splitlines()
    assert next(line for line in lines if "TRL" in line).startswith("a.py:6:17: TRL103")
    assert sorted(line for line in lines if "note:" in line) == sorted(f"{name}:1:1: {CAME}" for name in changed)


def test_a_folder_that_goes(sh: Shell, monkeypatch: pytest.MonkeyPatch):
    sh.write("sub/deep/a.py", SCRIPT)
    real = os.scandir

    def scandir(path: str) -> object:
        if os.path.basename(path) == "deep":
            (sh.folder / "sub" / "deep" / "a.py").unlink()
            (sh.folder / "sub" / "deep").rmdir()
        return real(path)

    monkeypatch.setattr(tracked.os, "scandir", scandir)
    run = sh(".", *CONCISE)
    assert run.status == 1 and run.err == ""
    assert f"sub/deep:1:1: {CAME}" in run.out.splitlines()


def test_a_file_that_changes_before_it_is_repaired(sh: Shell, monkeypatch: pytest.MonkeyPatch):
    """Each one is said once, nothing is overwritten, and the report is about what stands there now."""
    sh.write("other.py", SCRIPT)
    real = writing.write_together

    def late(contents: object, before: object, fixes: object) -> object:
        sh.write("train.py", "# edited meanwhile\n" + SCRIPT)
        (sh.folder / "gone.py").unlink()
        return real(contents, before, fixes)  # type: ignore[arg-type]

    sh.write("gone.py", SCRIPT)
    monkeypatch.setattr(writing, "write_together", late)
    run = sh(".", *CONCISE, "--fix")
    assert run.status == 2
    assert run.err.splitlines() == [
        "trl-lint: gone.py: cannot be written: no such file or directory",
        "trl-lint: train.py: has changed since it was read, so it was left as it is; run again",
    ]
    assert sh.read("train.py") == "# edited meanwhile\n" + SCRIPT
    assert sh.read("other.py") == FIXED and not (sh.folder / "gone.py").exists()
    assert "train.py:7:17: TRL103" in run.out and "Fixed 1 problem" in run.out


def test_what_one_fix_changes_is_written_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    names = ("a", "b", "c", "d", "e")
    paths = {name: str(tmp_path / name) for name in names}
    before = dict.fromkeys(paths.values(), b"old")
    contents = dict.fromkeys(paths.values(), b"new")
    for path in paths.values():
        Path(path).write_bytes(b"old")
    Path(paths["b"]).write_bytes(b"edited")
    fixes = [{paths["a"], paths["b"]}, {paths["a"], paths["c"]}, {paths["d"], paths["e"]}]
    left = write_together(contents, before, fixes)
    assert {os.path.basename(path): text for path, text in left.items()} == {
        "a": "shares a fix with b, which was not written, so it was left as it is",
        "b": "has changed since it was read, so it was left as it is; run again",
        "c": "shares a fix with b, which was not written, so it was left as it is",
    }
    assert [Path(paths[name]).read_bytes() for name in names] == [b"old", b"edited", b"old", b"new", b"new"]


def test_what_was_written_already_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first, second = str(tmp_path / "a"), str(tmp_path / "b")
    for path in (first, second):
        Path(path).write_bytes(b"old")
    real = writing._replace

    def full(target: str, data: bytes, status: os.stat_result) -> None:
        if target == second:
            raise OSError(28, "No space left on device")
        real(target, data, status)

    monkeypatch.setattr(writing, "_replace", full)
    left = write_together({first: b"new", second: b"new"}, {first: b"old", second: b"old"}, [{first, second}])
    assert left == {
        first: "shares a fix with b, which was not written, so it was left as it is",
        second: "cannot be written: no space left on device; it was left as it is",
    }
    assert Path(first).read_bytes() == Path(second).read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_a_file_of_our_own_is_put_in_place(tmp_path: Path):
    path, link, twin = tmp_path / "a.json", tmp_path / "link.json", tmp_path / "twin.json"
    put_file(str(path), b"one")
    link.symlink_to(path)
    path.chmod(0o640)
    put_file(str(link), b"two")
    assert link.is_symlink() and path.read_bytes() == b"two" and path.stat().st_mode & 0o777 == 0o640
    os.link(path, twin)
    put_file(str(path), b"three")
    assert twin.read_bytes() == b"three"
    put_file(os.devnull, b"four")
    assert not os.path.isfile(os.devnull)
