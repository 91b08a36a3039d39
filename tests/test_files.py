"""What stands on the disk is not as it should be: modes, kinds, names, disks, and changes while we look."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cached import Cached, entries
from command_line import FIXED, SCRIPT, Shell, process
from documents import ROOT
from odd_files import make_odd
from unprivileged import unprivileged

from trl_lint.cache import entry as cache_entry

CONCISE = ["--output-format", "concise", "--isolated"]
SHOWN = "train.py:6:17: TRL103"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A folder with one script that has one finding, TRL103, with a safe fix."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(SCRIPT, "utf-8")
    yield folder
    for path in (folder, *folder.glob("*")):
        if not path.is_symlink() and path.is_dir():
            path.chmod(0o755)


# -- modes ------------------------------------------------------------------------------------------------------------

ADVICE = "make it readable, or leave it out with `--extend-exclude`"


def lines_about(name: str, done: subprocess.CompletedProcess[str]) -> list[str]:
    assert "Traceback" not in done.stdout + done.stderr
    return [line for line in (done.stdout + done.stderr).splitlines() if name in line]


def test_a_file_that_is_not_ours_to_read(project: Path):
    (project / "secret.py").write_text(SCRIPT, "utf-8")
    (project / "secret.py").chmod(0)
    done = unprivileged([".", *CONCISE, "--fix"], project)
    (line,) = lines_about("secret.py", done)
    assert line.startswith(f"secret.py:1:1: TRL001 error: cannot be read: permission denied; {ADVICE}")
    assert done.returncode == 1
    assert (project / "train.py").read_text("utf-8") == FIXED
    done = unprivileged(["secret.py", "train.py", *CONCISE], project)
    assert lines_about("secret.py", done) == ["trl-lint: secret.py: cannot be read: permission denied"]
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("mode", "about", "line"),
    [
        (0o311, "locked", "locked:1:1: TRL001 error: cannot be listed: permission denied"),
        (0o644, "locked", "locked/other.py:1:1: TRL001 error: cannot be read: permission denied"),
        (0o000, "locked", "locked:1:1: TRL001 error: cannot be listed: permission denied"),
    ],
    ids=["no reading", "no search", "neither"],
)
def test_a_folder_that_is_not_ours(mode: int, about: str, line: str, project: Path):
    (project / "locked").mkdir()
    (project / "locked" / "other.py").write_text(SCRIPT, "utf-8")
    (project / "locked").chmod(mode)
    done = unprivileged([".", *CONCISE], project)
    (found,) = lines_about(about, done)
    assert found.startswith(f"{line}; {ADVICE}")
    assert done.returncode == 1 and SHOWN in done.stdout
    # What the user names says the same in an error.
    done = unprivileged(["locked/other.py", *CONCISE], project)
    assert done.returncode == (1 if mode == 0o311 else 2)
    assert mode == 0o311 or lines_about("locked", done) == ["trl-lint: locked/other.py: permission denied"]


def test_settings_that_are_not_ours_to_read(project: Path):
    for name, text in (
        ("trl-lint.toml", 'ignore = ["TRL103"]'),
        ("pyproject.toml", '[tool.trl-lint]\nignore = ["TRL103"]'),
    ):
        (project / name).write_text(text, "utf-8")
        (project / name).chmod(0)
        done = unprivileged(["train.py", "--output-format", "concise"], project)
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr.splitlines()[0] == (
            f"trl-lint: {name}: permission denied; make it readable, or check with `--isolated`"
        )
        (project / name).unlink()


def test_what_others_say_and_we_may_not_read(project: Path):
    """A file that no rule checks, but that would have been asked: what it says is missing, and that is said."""
    (project / "requirements.txt").write_text("-r more.txt\ntrl==0.15.2\n", "utf-8")
    (project / "more.txt").write_text("vllm==0.3.0\n", "utf-8")
    (project / ".gitignore").write_text("train.py\n", "utf-8")
    (project / "more.txt").chmod(0)
    (project / ".gitignore").chmod(0)
    done = unprivileged([".", *CONCISE], project)
    message = "note: not taken into account: it cannot be read: permission denied"
    assert lines_about("more.txt", done) == [f"more.txt:1:1: {message}"]
    assert lines_about(".gitignore", done) == [f".gitignore:1:1: {message}"]
    assert done.returncode == 1
    document = json.loads(unprivileged([".", "--isolated", "--output-format", "json"], project).stdout)
    assert {(notice["kind"], notice["path"]) for notice in document["notices"]} == {
        ("unread-file", "more.txt"), ("unread-file", ".gitignore"),
    }  # fmt: skip


@pytest.mark.parametrize("command", [["environment", "."], ["runs", "."]], ids=["environment", "runs"])
def test_other_commands_say_what_they_may_not_read(command: list[str], project: Path):
    (project / "run.sh").write_text("accelerate launch train.py\n", "utf-8")
    (project / "run.sh").chmod(0)
    done = unprivileged(command, project)
    assert lines_about("run.sh", done) == ["trl-lint: run.sh: cannot be read: permission denied; make it readable"]
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--baseline", "given"], "given: permission denied"),
        (["--baseline", "given", "--write-baseline"], "given: cannot be written: permission denied"),
        (["--output-file", "given"], "given: cannot be written: permission denied"),
        (["--output-file", "new"], "new: cannot be written: permission denied"),
        (["--fix"], "train.py: stands in a read-only folder, so it was left as it is"),
        (["--add-noqa"], "train.py: stands in a read-only folder, so it was left as it is"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_may_not_be_written_stays(arguments: list[str], message: str, project: Path):
    (project / "given").write_text("before", "utf-8")
    (project / "given").chmod(0)
    project.chmod(0o555)
    done = unprivileged(["train.py", *CONCISE, *arguments], project)
    assert done.returncode == 2
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("trl-lint: "))
    assert line.endswith(message)
    assert sorted(path.name for path in project.iterdir()) == ["given", "train.py"]
    assert (project / "train.py").read_text("utf-8") == SCRIPT


def test_many_processes_say_it_once(project: Path):
    for number in range(70):
        (project / f"module{number}.py").write_text("x = 1\n", "utf-8")
    (project / "requirements.txt").write_text("-r more.txt\ntrl==0.15.2\n", "utf-8")
    for name in ("more.txt", "module3.py"):
        (project / name).write_text("", "utf-8")
        (project / name).chmod(0)
    done = unprivileged([".", *CONCISE, "--jobs", "3"], project)
    assert len(lines_about("more.txt", done)) == len(lines_about("module3.py", done)) == 1
    assert done.returncode == 1 and SHOWN in done.stdout


def test_a_cache_folder_that_is_read_only(project: Path):
    project.chmod(0o555)
    done = [unprivileged([".", *CONCISE], project, TRL_LINT_NO_CACHE="") for _ in range(2)]
    assert {(one.returncode, one.stdout, one.stderr) for one in done} == {(1, done[0].stdout, "")}
    assert SHOWN in done[0].stdout and os.listdir(project) == ["train.py"]


# -- a full disk ------------------------------------------------------------------------------------------------------


def on_a_full_disk(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the tool where no file takes a single byte."""
    pytest.importorskip("resource")
    command = f'ulimit -f 0 && exec "{sys.executable}" -B -m trl_lint "$@"'
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TRL_LINT_NO_CACHE": ""}
    return subprocess.run(
        ["bash", "-c", command, "trl-lint", *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fix"], "train.py: cannot be written: file too large; it was left as it is"),
        (["--add-noqa"], "train.py: cannot be written: file too large; it was left as it is"),
        (["--baseline", "given", "--write-baseline"], "given: cannot be written: file too large"),
        (["--baseline", "new", "--write-baseline"], "new: cannot be written: file too large"),
        (["--output-file", "given"], "given: cannot be written: file too large"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_full_disk_costs_nobody_a_file(arguments: list[str], message: str, project: Path):
    before = "" if "--write-baseline" in arguments else "before"  # what is no baseline is never written over
    (project / "given").write_text(before, "utf-8")
    done = on_a_full_disk(["train.py", *CONCISE, "--no-cache", *arguments], project)
    assert done.returncode == 2
    assert [line for line in done.stderr.splitlines() if line.endswith(message)]
    left = {path.name: path.read_text("utf-8") for path in project.iterdir()}
    assert left == {"given": before, "train.py": SCRIPT}


def test_a_full_disk_keeps_no_cache(project: Path):
    done = on_a_full_disk([".", *CONCISE], project)
    assert (done.returncode, done.stderr) == (1, "") and SHOWN in done.stdout
    assert [path for path in (project / ".trl_lint_cache").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("number", [28, 30], ids=["ENOSPC", "EROFS"])
def test_a_cache_that_cannot_be_written(
    number: int, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("TRL_LINT_NO_CACHE", raising=False)
    monkeypatch.chdir(project)
    cached = Cached(capsys, monkeypatch)
    plain = cached.plain(".", *CONCISE)

    def fail(source: str, target: str) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(cache_entry.os, "replace", fail)
    for _ in range(2):
        assert cached.fresh(".", *CONCISE) == plain
    assert entries(project) == [] and not list((project / ".trl_lint_cache").rglob("*.tmp"))


# -- kinds ------------------------------------------------------------------------------------------------------------

NAMES = (
    "pyproject.toml", ".trl-lint.toml", ".gitignore", ".git", "requirements.txt", "setup.py", "setup.cfg", "uv.lock",
    "environment.yml", "run.sh", "Makefile", "Dockerfile", "accelerate.yaml", "ds.json", "nb.ipynb", "README.md",
)  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "loop", "dangling", "folder"])
def test_nothing_waits_for_what_is_no_file(kind: str, project: Path):
    launch = "accelerate launch --config_file acc.yaml other.py --config recipe.yml\nsource env.sh\n"
    for name in (*NAMES, "other.py", "acc.yaml", "recipe.yml", "env.sh", "more.txt"):
        make_odd(project / name, kind)
    make_odd(project / "sub" / ".git" / "info" / "exclude", kind)
    (project / "sub" / "start.sh").write_text(launch.replace("acc", "../acc").replace("other", "../other"), "utf-8")
    (project / "start.sh").write_text(launch, "utf-8")
    (project / "constraints.txt").write_text("-r more.txt\ntrl==0.15.2\n", "utf-8")
    done = process([".", "--output-format", "concise", "--jobs", "1"], project, timeout=60)
    assert (done.returncode, done.stderr) == (1, b"")
    assert [line.split(b" ")[0] for line in done.stdout.splitlines() if b"TRL" in line] == [b"train.py:6:17:"]
    for command in (["environment", "."], ["runs", "."]):
        done = process(command, project, timeout=60)
        assert done.returncode == 0 and b"Traceback" not in done.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
@pytest.mark.parametrize("option", ["--config", "--baseline"])
def test_a_pipe_for_a_file(option: str, project: Path):
    os.mkfifo(project / "pipe")
    done = process(["train.py", option, "pipe"], project, timeout=60)
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[0].endswith("pipe: not a regular file")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
def test_a_kept_report_does_not_wait_either(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("TRL_LINT_NO_CACHE", raising=False)
    monkeypatch.chdir(project)
    cached = Cached(capsys, monkeypatch)
    cached.fresh(".", *CONCISE)
    cached.warm(".", *CONCISE)
    (project / "train.py").unlink()
    os.mkfifo(project / "train.py")
    assert "Nothing to check" in cached.fresh(".", *CONCISE).out


# -- names ------------------------------------------------------------------------------------------------------------

FORMATS = ("full", "concise", "json", "sarif", "gitlab", "github", "junit", "rdjson", "html")


def test_names_that_are_no_text_in_every_format(sh: Shell):
    folder = os.path.join(os.fsencode(sh.folder), b"caf\xe9")
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("the file system takes only Unicode names")
    with open(os.path.join(folder, b"tra\xefn.py"), "wb") as stream:
        stream.write(SCRIPT.encode())
    with open(os.path.join(folder, b"run\xff.sh"), "wb") as stream:
        stream.write(b"accelerate launch tra\xefn.py\n")
    for name in FORMATS:
        run = sh(".", "--isolated", "--output-format", name, "--output-file", "out")
        assert (run.status, run.err) == (1, "")
        assert (sh.folder / "out").read_bytes().decode("utf-8").count("TRL103") >= 2
        (sh.folder / "out").unlink()
    for arguments in (["runs", ".", "--html", "out"], ["runs", "."], ["environment", "."]):
        assert sh(*arguments).status == 0
    run = sh(".", "--isolated", "--fix", "--show-fixes")
    assert run.status == 0 and "not in UTF-8" in run.out  # a note about the launch
    with open(os.path.join(folder, b"tra\xefn.py"), "rb") as stream:
        assert stream.read() == FIXED.encode()


def test_a_path_that_is_too_long(project: Path):
    long = "d" * 200
    here = os.open(project, os.O_RDONLY)
    for _ in range(30):
        os.mkdir(long, dir_fd=here)
        below = os.open(long, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    done = process([".", *CONCISE], project)
    assert done.returncode == 1 and done.stderr == b""
    (line,) = (line for line in done.stdout.decode().splitlines() if "TRL001" in line)
    assert "cannot be read: file name too long; leave it out with" in line and SHOWN in done.stdout.decode()
    done = process([f"{long * 30}.py", *CONCISE], project)
    assert done.returncode == 2 and done.stderr.decode().rstrip().endswith(": file name too long")
    shutil.rmtree(project)  # which goes step by step, where a name as a whole is too long
