"""The cache folder: what is in it, who may write it, what survives a kill, and what is never believed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cached import Cached, entries
from command_line import SCRIPT, process
from documents import ROOT

from trl_lint.cache import folder as cache_folder_module
from trl_lint.cache.entry import Entry, read_entry, write_entry
from trl_lint.cache.folder import prepare, prune
from trl_lint.cache.shelf import NAME, VERSION

ON = {"TRL_LINT_NO_CACHE": "0"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(SCRIPT, "utf-8")
    monkeypatch.chdir(folder)
    return folder


def one_entry(folder: Path) -> Path:
    (found,) = entries(folder)
    return found


# -- where ------------------------------------------------------------------------------------------------------------


def test_it_hides_itself(project: Path, cached: Cached) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    cached.fresh()
    tag = (project / NAME / "CACHEDIR.TAG").read_text("utf-8")
    assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    said = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, check=True)
    assert said.stdout == "?? train.py\n"


def test_it_stands_beside_the_settings(project: Path, cached: Cached, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "trl-lint.toml").touch()
    (project / "inner").mkdir()
    monkeypatch.chdir(project / "inner")
    cached.fresh("..")
    cached.warm("..")
    assert entries(project)
    assert not (project / "inner" / NAME).exists()


@pytest.mark.parametrize("way", ["option", "variable", "setting"])
def test_it_stands_where_it_is_wanted(
    way: str, project: Path, tmp_path: Path, cached: Cached, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = []
    if way == "option":
        arguments = ["--cache-dir", "../elsewhere"]
    elif way == "variable":
        monkeypatch.setenv("TRL_LINT_CACHE_DIR", str(tmp_path / "elsewhere"))
    else:
        (project / "trl-lint.toml").write_text('cache-dir = "../elsewhere"\n', "utf-8")
    first = cached.fresh(*arguments)
    assert list((tmp_path / "elsewhere" / VERSION).iterdir())
    assert not (project / NAME).exists()
    assert (tmp_path / "elsewhere" / ".gitignore").read_text("utf-8") == "*\n"
    with monkeypatch.context() as patch:
        patch.setattr("trl_lint.engine.check", None)
        assert cached(*arguments) == first


def test_a_folder_of_somebody_else_is_not_hidden_from_git(project: Path, tmp_path: Path, cached: Cached) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").touch()
    cached.fresh("--cache-dir", "../mine")
    cached.warm("--cache-dir", "../mine")
    assert not (tmp_path / "mine" / ".gitignore").exists()


@pytest.mark.parametrize("arguments", [["--no-cache"], ["-n"], ["--fix"], ["--diff"], ["--verbose"], ["--add-noqa"]])
def test_runs_that_keep_nothing(arguments: list[str], project: Path, cached: Cached) -> None:
    cached.fresh(*arguments)
    cached.fresh(*arguments)
    assert not (project / NAME).exists()


def test_fixing_sees_the_file_as_it_is(project: Path, cached: Cached) -> None:
    cached.fresh()
    cached.warm()
    (project / "trl-lint.toml").write_text("fix = true\n", "utf-8")
    assert "1 problem" in cached.fresh().out
    (project / "train.py").write_text(SCRIPT, "utf-8")
    assert "1 problem" in cached.fresh().out


def test_a_folder_that_cannot_be_made(project: Path, cached: Cached) -> None:
    (project / NAME).write_text("a file\n", "utf-8")
    assert cached.fresh() == cached.plain()
    assert cached.fresh() == cached.plain()


def test_links_do_not_lead_out(project: Path, tmp_path: Path, cached: Cached) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / NAME).symlink_to(outside)
    assert cached.fresh() == cached.plain()
    assert not list(outside.iterdir())
    (project / NAME).unlink()
    (project / NAME).mkdir()
    (project / NAME / VERSION).symlink_to(outside)
    cached.fresh()
    cached.fresh()
    assert not list(outside.iterdir())


# -- what is believed -------------------------------------------------------------------------------------------------


def test_damaged_entries_are_no_entries(project: Path, cached: Cached) -> None:
    expected = cached.fresh()
    path = one_entry(project)
    data = path.read_bytes()
    damaged = [data[:length] for length in range(0, len(data), len(data) // 40)]
    damaged += [data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :] for place in range(0, len(data), 997)]
    damaged += [b"", b"\0", b"trl-lint cache 1\n", os.urandom(5000), data + b"x", b"{}", data * 2]
    for content in damaged:
        path.write_bytes(content)  # the same file, with the same number
        if path.stat().st_size == len(data) and content == data:
            continue
        assert read_entry(str(path)) is None
    assert cached.fresh() == expected
    assert cached.warm() == expected


def test_an_entry_from_elsewhere_is_none(project: Path, cached: Cached) -> None:
    expected = cached.fresh()
    path = one_entry(project)
    forged = read_entry(str(path))
    assert forged is not None
    forged.answers, forged.looks = [], [look for look in forged.looks if look[0] == "s"]
    forged.output = [("o", "All checks passed!\n")]
    other = project / "forged"
    assert write_entry(str(other), forged)
    path.write_bytes(other.read_bytes())  # as a checkout would bring it
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "add", "-f", NAME], check=True)
    assert cached.fresh() == expected
    other.unlink()


@pytest.mark.parametrize("kind", ["folder", "pipe", "link", "others"])
def test_what_stands_in_the_place_of_an_entry(
    kind: str, project: Path, cached: Cached, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = cached.fresh()
    path = one_entry(project)
    if kind == "others":
        if not hasattr(os, "geteuid"):
            pytest.skip("files have no owners here")
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    elif kind == "link":
        path.rename(project / "moved")
        path.symlink_to(project / "moved")
    else:
        path.unlink()
        path.mkdir() if kind == "folder" else os.mkfifo(path)
    assert cached.fresh() == expected


# -- parallel runs and kills ------------------------------------------------------------------------------------------


def test_parallel_runs(project: Path) -> None:
    environment = {**os.environ, **ON, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "trl_lint"]
    for _ in range(2):
        running = [
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(6)
        ]
        said = {process.communicate() for process in running}
        assert {process.returncode for process in running} == {1}
        assert len(said) == 1
    assert len(entries(project)) == 1
    assert not list((project / NAME).glob("*/*.tmp"))


def test_a_kill_at_any_moment(project: Path) -> None:
    expected = process([], project, env={"TRL_LINT_NO_CACHE": "1"}).stdout
    environment = {**os.environ, **ON, "PYTHONPATH": str(ROOT)}
    start = time.perf_counter()
    process([], project, env=ON)
    whole = time.perf_counter() - start
    for number in range(12):
        for path in entries(project):
            path.unlink()
        victim = subprocess.Popen(
            [sys.executable, "-m", "trl_lint"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(whole * (0.6 + number / 30))
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        assert all(read_entry(str(path)) is not None for path in entries(project))
        assert process([], project, env=ON).stdout == expected
    assert (project / NAME / ".gitignore").read_text("utf-8") == "*\n"


def test_a_kill_while_it_writes(project: Path, cached: Cached) -> None:
    """Between the first byte and the last step there is nothing but a temporary file, which goes after an hour."""
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    for step in range(2):
        child = os.fork()
        if child == 0:
            if step == 1:
                prepare(str(project / NAME))
            os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
            prepare(str(project / NAME))  # killed in here first
            empty = Entry([], ["/", "/"], "", "", 0, [], [], [], [])
            write_entry(str(project / NAME / VERSION / "00000000.report"), empty)
            os._exit(0)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert list((project / NAME).rglob("*.tmp"))
    assert cached.fresh() == cached.plain()
    assert (project / NAME / ".gitignore").read_text("utf-8") == "*\n"


# -- bounds -----------------------------------------------------------------------------------------------------------


def test_it_stays_small(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project / NAME
    assert prepare(str(folder))
    old, present = folder / "trl-lint-0.0.1", folder / VERSION
    old.mkdir()
    now = time.time()

    def put(place: Path, name: str, age: float, size: int = 10) -> Path:
        path = place / name
        path.write_bytes(b"x" * size)
        os.utime(path, (now - age, now - age))
        return path

    month = 31 * 24 * 3600
    stale = [
        put(old, "00000000.report", month), put(present, "00000001.report", month),
        put(present, "00000002.report.77.tmp", 2 * 3600), put(present, "00000009.report", 500, 600),
    ]  # fmt: skip
    kept = [
        put(present, "00000003.report.78.tmp", 10), put(present, "00000004.report", 10, 600),
        put(present, "notes.txt", month), put(folder, "notes.txt", month),
    ]  # fmt: skip
    monkeypatch.setattr(cache_folder_module, "_MOST_BYTES", 1000)
    prune(str(folder))
    assert not any(path.exists() for path in stale)
    assert not old.exists()
    assert all(path.exists() for path in kept)
    for number in range(120):
        put(present, f"{number:08x}.report", number, 1)
    prune(str(folder))
    assert {path.name for path in entries(project)} == {f"{number:08x}.report" for number in range(100)}


def test_entries_in_use_stay(project: Path, cached: Cached) -> None:
    cached.fresh()
    path = one_entry(project)
    os.utime(path, (time.time() - 40 * 24 * 3600,) * 2)
    cached.warm()
    prune(str(project / NAME))
    cached.warm()


# -- clean ------------------------------------------------------------------------------------------------------------


def test_clean(project: Path, cached: Cached, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "inner").mkdir()
    (project / "inner" / "trl-lint.toml").touch()
    (project / "inner" / "requirements.txt").write_text("trl==1.16.0\n", "utf-8")
    cached.fresh()
    cached.fresh("inner")
    assert (project / NAME).exists() and (project / "inner" / NAME).exists()
    said = cached("clean")
    assert (said.status, sorted(said.out.splitlines())) == (0, [f"Removed {NAME}", f"Removed inner/{NAME}"])
    assert sorted(path.name for path in project.rglob("*")) == [
        "inner",
        "requirements.txt",
        "train.py",
        "trl-lint.toml",
    ]
    assert cached("clean") == (0, "", "")
    assert cached("clean", "nowhere").status == 2


def test_clean_leaves_what_is_not_its_own(project: Path, tmp_path: Path, cached: Cached) -> None:
    outside = tmp_path / "outside"
    (outside / VERSION).mkdir(parents=True)
    (outside / VERSION / "00000000.report").touch()
    cached.fresh()
    (project / NAME / "mine.txt").touch()
    (project / NAME / "trl-lint-9").symlink_to(outside / VERSION)
    said = cached("clean")
    assert said.status == 2 and "not removed" in said.err
    assert {"mine.txt", "trl-lint-9"} <= set(os.listdir(project / NAME))
    assert (outside / VERSION / "00000000.report").exists()
    cached("clean", "--cache-dir", str(project))
    assert (project / "train.py").exists()


def test_a_warm_run_imports_nothing(project: Path) -> None:
    code = (
        "import sys; before = set(sys.modules); sys.argv = ['trl-lint']\n"
        "from trl_lint.__main__ import main; status = main()\n"
        "print(*sorted(set(sys.modules) - before), file=sys.stderr); sys.exit(status)"
    )
    for _ in range(3):
        time.sleep(0.2)
        said = subprocess.run(
            [sys.executable, "-c", code], cwd=project, env={**os.environ, **ON, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert said.returncode == 1
    loaded = {name for name in said.stderr.split() if name.startswith("trl_lint")}
    ours = {"trl_lint", "trl_lint.__main__", "trl_lint.stamps", "trl_lint.streams", "trl_lint.cache"}
    assert loaded == ours | {"trl_lint.cache.entry", "trl_lint.cache.replay", "trl_lint.cache.shelf"}
    assert not {"re", "typing", "argparse", "json", "hashlib", "enum"} & set(said.stderr.split())
