"""A tree that stands elsewhere, with a cache that came along: warm where everything holds, and never led astray."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cached import Cached, copy_project, entries
from command_line import SCRIPT
from fixture_cases import FIXTURES

from trl_lint import engine
from trl_lint.cache import brought
from trl_lint.cache.brought import is_believable
from trl_lint.cache.entry import Entry, read_entry, write_entry
from trl_lint.cache.shelf import NAME
from trl_lint.cache.tool import tool_identity

PROJECTS = int(os.environ.get("TRL_LINT_TEST_PROJECTS", "40"))

Bring = Callable[..., Path]


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "first" / "project"
    (folder / "inner").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "train.py").write_text(SCRIPT, "utf-8")
    (folder / "inner" / "other.py").write_text("import torch\n", "utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def bring(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bring:
    """Copy the project with its cache to another place, with other times and numbers, and go there."""

    def copy(place: str = "a/b/elsewhere") -> Path:
        target = tmp_path / place
        shutil.copytree(project, target, symlinks=True, copy_function=shutil.copyfile)
        for path in target.rglob("*"):
            os.utime(path, (1_600_000_000, 1_600_000_000), follow_symlinks=False)
        monkeypatch.chdir(target)
        return target

    return copy


def test_a_copied_tree_is_warm(project: Path, cached: Cached, bring: Bring, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = cached.fresh("--output-format", "json")
    bring()
    assert cached.plain("--output-format", "json") == expected
    with monkeypatch.context() as patch:
        patch.setattr(engine, "check", None)  # nothing is checked, so nothing is parsed
        assert cached.warm("--output-format", "json") == expected
        patch.setattr(brought, "brought_report", None)
        assert cached.warm("--output-format", "json") == expected  # by now it is at home here


def test_caches_of_tools_change_nothing(project: Path, cached: Cached, bring: Bring) -> None:
    expected = cached.fresh()
    there = bring()
    for name in (".ruff_cache", ".mypy_cache", ".pytest_cache", "__pycache__"):
        (there / name).mkdir()
        (there / "inner" / name).mkdir()
    assert cached.warm() == expected == cached.plain()


def test_a_restored_cache_is_warm(
    project: Path, tmp_path: Path, cached: Cached, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a service does it: the same place, a fresh checkout, the cache out of an archive."""
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "add", "train.py", "inner"], check=True)
    monkeypatch.setenv("CI", "true")
    expected = cached.fresh()
    shutil.copytree(project, tmp_path / "kept")
    for path in sorted(project.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    shutil.copytree(tmp_path / "kept", project, dirs_exist_ok=True, copy_function=shutil.copyfile)
    assert cached.warm() == expected


def test_a_tree_that_has_changed_on_the_way(project: Path, cached: Cached, bring: Bring) -> None:
    """With the size and the time that it had: only what is in it tells."""
    (project / "train.py").write_text(SCRIPT, "utf-8")
    os.utime(project / "train.py", (1_600_000_000, 1_600_000_000))
    before = cached.fresh()
    there = bring()
    changed = SCRIPT.replace("max_grad_norm=0.0", "max_grad_norm=1.0")
    changed = changed if changed != SCRIPT else SCRIPT.upper()
    assert len(changed) == len(SCRIPT)
    (there / "train.py").write_text(changed, "utf-8")
    os.utime(there / "train.py", (1_600_000_000, 1_600_000_000))
    said = cached.fresh()
    assert said == cached.plain() and said != before


@pytest.mark.parametrize(
    "change",
    [
        "file in folder",
        "folder gone",
        "settings",
        "settings above",
        "settings far above",
        "repository",
        "variable",
        "name",
    ],
)
def test_what_is_not_as_it_was(
    change: str, project: Path, cached: Cached, bring: Bring, monkeypatch: pytest.MonkeyPatch
) -> None:
    if change == "name":
        (project / "README.md").write_text("```sh\ncd elsewhere && python train.py\n```\n", "utf-8")
    cached.fresh()
    there = bring()
    if change == "file in folder":
        (there / "inner" / "new.py").write_text(SCRIPT, "utf-8")
    elif change == "folder gone":
        shutil.rmtree(there / "inner")
    elif change == "settings":
        (there / "trl-lint.toml").write_text('ignore = ["ALL"]\n', "utf-8")
    elif change == "settings above":
        (there.parent / "trl-lint.toml").write_text('select = ["TRL5"]\n', "utf-8")
    elif change == "settings far above":
        (there.parent.parent / "trl-lint.toml").write_text('select = ["TRL5"]\n', "utf-8")
    elif change == "repository":
        (there / ".git").rename(there.parent / ".git")
    elif change == "variable":
        monkeypatch.setenv("COLUMNS", "50")
    assert cached.fresh() == cached.plain()


def test_an_answer_at_home_is_asked_for_where_the_tree_is_now(project: Path, cached: Cached, bring: Bring) -> None:
    cached.fresh()
    there = bring()
    cached.warm()
    (there.parent.parent / "trl-lint.toml").write_text('select = ["TRL5"]\n', "utf-8")
    assert cached.fresh() == cached.plain()


def test_a_tree_that_names_its_place(project: Path, cached: Cached, bring: Bring) -> None:
    (project / "run.sh").write_text(f"python {project}/train.py\n", "utf-8")
    cached.fresh()
    cached.warm()
    bring()
    assert cached.fresh() == cached.plain()


def test_a_folder_inside_of_a_repository(
    project: Path, tmp_path: Path, cached: Cached, bring: Bring, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    (project / "requirements.txt").write_text("trl==0.20.0\n", "utf-8")
    monkeypatch.chdir(project / "inner")
    expected = cached.fresh("..", "--output-format", "json")
    there = bring()
    monkeypatch.chdir(there / "inner")
    assert cached.warm("..", "--output-format", "json") == expected == cached.plain("..", "--output-format", "json")


def test_after_a_change_only_that_is_checked_again(project: Path, cached: Cached, bring: Bring) -> None:
    cached.fresh()
    there = bring()
    (there / "inner" / "other.py").write_text("import torch\n" + SCRIPT, "utf-8")
    found = brought.brought_entries(str(there / NAME), *_asked(there))
    assert [changed for _, changed in found] == [{str(there / "inner" / "other.py")}]
    assert cached.fresh() == cached.plain()


def _asked(there: Path) -> tuple[list[str], list[str]]:
    (path,) = entries(there)
    entry = read_entry(str(path), str(there))
    assert entry is not None
    return entry.key, entry.place


def test_another_tool_writes_its_own(project: Path, cached: Cached, bring: Bring) -> None:
    cached.fresh()
    there = bring()
    (path,) = entries(there)
    entry = read_entry(str(path))
    assert entry is not None
    entry.looks = [
        (kind, name, "1 2 3 4" if kind == "s" else stamp, digest) for kind, name, stamp, digest in entry.looks
    ]
    write_entry(str(path), entry)
    assert cached.fresh() == cached.plain()


def test_a_report_in_a_file(project: Path, cached: Cached, bring: Bring, tmp_path: Path) -> None:
    arguments = ("--output-format", "json", "--output-file", "../said.json", "--", ".")
    first = cached.fresh(*arguments)
    text = (project.parent / "said.json").read_text("utf-8")
    there = bring()
    assert cached.warm(*arguments) == first
    assert (there.parent / "said.json").read_text("utf-8") == text != ""
    (there.parent / "said.json").unlink()
    (there.parent / "said.json").mkdir()
    assert cached.fresh(*arguments).status == 2
    empty = ("--silent", "--select", "TRL504", "--output-format", "concise", "--output-file=../empty.txt")
    cached.fresh(*empty)
    (there.parent / "empty.txt").unlink()
    cached.warm(*empty)
    assert (there.parent / "empty.txt").read_text("utf-8") == "No errors or warnings: 2 files.\n"


# -- whom to believe --------------------------------------------------------------------------------------------------


def put(path: Path, entry: Entry) -> None:
    """Write an entry as a checkout would: whole, and with another number than it says."""
    assert write_entry(str(path.with_suffix(".1")), entry)
    path.with_suffix(".2").write_bytes(path.with_suffix(".1").read_bytes())
    path.with_suffix(".2").replace(path)
    path.with_suffix(".1").unlink()


def forge(folder: Path) -> None:
    (path,) = entries(folder)
    entry = read_entry(str(path))
    assert entry is not None
    entry.output, entry.status = [("o", "All checks passed!\n")], 0
    put(path, entry)


@pytest.mark.parametrize(
    "way", ["tracked", "other case", "submodule", "index 4", "mercurial", "archive", "archive in CI", "broken"]
)
def test_a_report_out_of_the_repository_is_not_believed(
    way: str, project: Path, cached: Cached, bring: Bring, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached.fresh()
    there = bring()
    subprocess.run(["git", "init", "-q"], check=True)
    if way == "mercurial":
        (there / ".hg").mkdir()
    elif way.startswith("archive"):
        shutil.rmtree(there / ".git")
        if way == "archive in CI":
            monkeypatch.setenv("CI", "true")
    elif way == "broken":
        (there / ".git" / "index").write_bytes(b"DIRC")
    elif way == "submodule":
        subprocess.run(["git", "init", "-q", NAME], check=True)
        subprocess.run(["git", "add", "train.py"], check=True)
    elif way == "other case":
        (there / NAME.upper()).mkdir()
        (there / NAME.upper() / "x").touch()
        subprocess.run(["git", "add", "-f", NAME.upper()], check=True)
    else:
        subprocess.run(["git", "add", "-f", NAME], check=True)
        if way == "index 4":
            subprocess.run(["git", "update-index", "--index-version", "4"], check=True)
    forge(there)
    assert not is_believable(str(there / NAME))
    said = cached.fresh()
    assert said.status == 1
    assert said == cached.plain()


def test_a_worktree_has_its_own_list_of_files(project: Path, tmp_path: Path, cached: Cached) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "train.py"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tmp_path / "tree")], check=True)
    assert (tmp_path / "tree" / ".git").is_file()
    folder = tmp_path / "tree" / NAME
    folder.mkdir()
    assert is_believable(str(folder))
    (folder / "x").touch()
    subprocess.run([*git, "-C", str(tmp_path / "tree"), "add", "-f", NAME], check=True)
    assert not is_believable(str(folder))


def test_a_brought_report_drives_no_terminal(project: Path, cached: Cached, bring: Bring) -> None:
    cached.fresh()
    there = bring()
    (path,) = entries(there)
    entry = read_entry(str(path))
    assert entry is not None
    for text in ("\x1b[2J", "\u202e", "\r", "\x9b"):
        entry.output = [("o", f"All checks passed!{text}\n")]
        put(path, entry)
        assert cached.fresh().status == 1
        for found in entries(there):
            found.unlink()


def test_damaged_reports_from_elsewhere(project: Path, cached: Cached, bring: Bring) -> None:
    cached.fresh()
    there = bring()
    (path,) = entries(there)
    data = path.read_bytes()
    expected = cached.plain()
    path.unlink()
    for place in range(30, len(data), len(data) // 20):
        other = path.with_name(f"{path.name[:9]}00000000.report")
        other.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert cached.fresh() == expected
        for found in entries(there):
            found.unlink()


# -- which tool -------------------------------------------------------------------------------------------------------


def test_a_tool_is_known_by_what_its_installer_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trl_lint.cache import tool

    def install(folder: Path) -> None:
        package = folder / "trl_lint"
        (package / "rules").mkdir(parents=True)
        (package / "a.py").write_text("a = 1\n", "utf-8")
        (package / "rules" / "b.md").write_text("b\n", "utf-8")
        for name in ("libcst", "packaging", "yaml", "tree_sitter", "tree_sitter_bash"):
            (folder / name).mkdir()
            (folder / f"{name.replace('yaml', 'PyYAML')}-1.0.dist-info").mkdir()
        (folder / "trl_lint-0.1.0.dist-info").mkdir()
        lines = "trl_lint/a.py,sha256=x,6\ntrl_lint/rules/b.md,sha256=y,2\ntrl_lint/__pycache__/a.pyc,,\n"
        (folder / "trl_lint-0.1.0.dist-info" / "RECORD").write_text(lines, "utf-8")

    def identity(folder: Path) -> str:
        with monkeypatch.context() as patch:
            patch.setattr(tool, "_package", lambda: str(folder / "trl_lint"))
            patch.setattr(tool, "_rules", lambda: str(folder / "trl_lint" / "rules"))
            return tool_identity([str(tmp_path), str(folder)])

    one, two = tmp_path / "one", tmp_path / "two"
    install(one)
    install(two)
    assert identity(one) == identity(two) != ""
    (two / "libcst-1.0.dist-info").rename(two / "libcst-2.0.dist-info")
    assert identity(two) not in ("", identity(one))
    (two / "yaml.py").touch()
    (two / "trl_lint" / "rules" / "b.md").write_text("bc\n", "utf-8")
    assert identity(two) == ""  # somebody has changed it
    (tmp_path / "yaml.py").touch()  # found first, and nobody knows what it is
    assert identity(one) == ""


# -- many projects ----------------------------------------------------------------------------------------------------


def test_projects_in_two_places(tmp_path: Path, cached: Cached, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown again in another place, under another name, is what is found there."""
    chance = random.Random(15)
    shown = 0
    for number, fixture in enumerate(chance.sample(sorted(FIXTURES.glob("TRL*/*/")), PROJECTS)):
        first = copy_project(fixture, tmp_path / f"p{number}" / "project")
        (first / ".git").mkdir(exist_ok=True)
        monkeypatch.chdir(first)
        arguments = ("--output-format", chance.choice(["json", "full", "sarif", "github"]), "--select", "ALL")
        cached(*arguments)
        second = tmp_path / "q" / str(number) / chance.choice(["trl", "verl", "work", "openrlhf", "tests"])
        shutil.copytree(first, second, symlinks=True)
        monkeypatch.chdir(second)
        said = cached(*arguments)
        shown += cached.was_replayed
        assert said == cached.plain(*arguments), fixture
    assert shown > PROJECTS / 2
