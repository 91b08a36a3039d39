"""Nothing is looked at behind the back of the record: what the system is asked during a run stands in it."""

from __future__ import annotations

import ast
import builtins
import io
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cached import Cached, copy_project
from fixture_cases import FIXTURES, ROOT

from trl_lint.cache import store
from trl_lint.cache.shelf import NAME
from trl_lint.tracked import Record

PROJECTS = int(os.environ.get("TRL_LINT_TEST_PROJECTS", "40"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Every path that is handed to the system while a test runs."""
    found: set[str] = set()

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any = ".", *arguments: Any, **named: Any) -> Any:
            if isinstance(path, (str, bytes, os.PathLike)):
                found.add(os.path.join(os.getcwd(), os.fsdecode(path)))
            return function(path, *arguments, **named)

        return call

    for name in ("stat", "lstat", "listdir", "scandir", "readlink", "access", "open"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    opening = watched(builtins.open)
    monkeypatch.setattr(builtins, "open", opening)
    monkeypatch.setattr(io, "open", opening)
    return found


def test_everything_is_recorded(
    tmp_path: Path, cached: Cached, monkeypatch: pytest.MonkeyPatch, asked: set[str]
) -> None:
    kept: list[Record] = []
    keep = store.Memory.keep

    def seen(self: store.Memory, *arguments: Any) -> bool:
        kept.append(self.record)
        return keep(self, *arguments)

    monkeypatch.setattr(store.Memory, "keep", seen)
    chance = random.Random(8)
    number_kept = 0
    for number, fixture in enumerate(chance.sample(sorted(FIXTURES.glob("TRL*/*/")), PROJECTS)):
        folder = copy_project(fixture, tmp_path / f"p{number}" / "project")
        if number % 3 == 0:
            (folder / ".git").mkdir()
            (folder / "link.py").symlink_to(next(folder.rglob("*.*")))
        monkeypatch.chdir(folder)
        asked.clear()
        kept.clear()
        cached("--select", "ALL", "--output-format", "json")
        if not kept:  # status 2
            continue
        record = kept[0]
        known = {*record.files, *record.folders, *(path for _, path in record.answers)}
        mine = {path for path in asked if path.startswith(str(tmp_path)) and NAME not in path}
        unknown = {path for path in mine if path not in known and os.path.normpath(path) not in known}
        # The way to a path that is asked for without its links.
        real = [path for question, path in record.answers if question == "real"]
        unknown -= {path for path in unknown if any(other.startswith(os.path.join(path, "")) for other in real)}
        assert mine and not unknown, fixture
        number_kept += 1
    assert number_kept > PROJECTS / 2


def test_a_file_that_changes_while_we_look_is_not_kept(tmp_path: Path) -> None:
    from trl_lint import tracked

    path = tmp_path / "train.py"
    path.write_text("a = 1\n", "utf-8")
    record = Record()
    with tracked.recording(record):
        tracked.read(str(path))
        assert not record.is_inconsistent
        path.write_text("a = 22\n", "utf-8")
        tracked.read(str(path))
    assert record.is_inconsistent


def test_an_answer_that_contradicts_a_listing_is_not_kept(tmp_path: Path) -> None:
    from trl_lint import tracked

    record = Record()
    with tracked.recording(record):
        tracked.names(str(tmp_path))
        (tmp_path / "new.py").touch()
        assert tracked.is_file(str(tmp_path / "new.py"))
    list(store._needed_answers(record))
    assert record.is_inconsistent


def test_patterns_as_the_shell_understands_them(tmp_path: Path) -> None:
    import glob

    from trl_lint import tracked

    for name in ("a/x.yaml", "a/y.yml", "b/x.yaml", "b/c/x.yaml", ".h/x.yaml", "a/.x.yaml", "b/[1].yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "l").symlink_to("a")
    for pattern in ("a/*", "*/x.yaml", "*/*", "*/c/*.yaml", "?/x.*", ".*/x.yaml", "b/[[]1].yaml", "*/../a/*", "no/*"):
        expected = sorted(glob.glob(os.path.join(glob.escape(str(tmp_path)), pattern)))
        assert sorted(tracked.matching(str(tmp_path), pattern)) == expected, pattern


# Parts of the tool that no report of `check` rests on, or whose files are those of the tool itself.
NOT_RECORDED = (
    "cache/", "dependency_record.py", "tracked.py", "stamps.py", "streams.py", "fixes/", "writing.py", "editors/",
    "diagnose/", "knowledge/", "cli.py", "review/", "upgrade/", "commands/review.py", "commands/clean.py",
    "commands/init.py", "commands/diagnose.py", "commands/runs.py", "commands/server.py", "commands/since.py",
    "commands/suppressions.py", "commands/upgrade.py", "commands/why.py", "checks/registry.py",
    "selection.py", "windows.py", "workers.py", "reports/html_page.py",
)  # fmt: skip
AROUND = {
    "os": {"stat", "lstat", "scandir", "listdir", "walk", "environ", "getenv", "access", "readlink", "open"},
    "os.path": {"exists", "lexists", "isfile", "isdir", "islink", "realpath", "getsize", "getmtime", "samefile"},
    "glob": {"glob", "iglob"},
}


def test_nothing_goes_around_the_record() -> None:
    found = []
    for path in sorted((ROOT / "trl_lint").rglob("*.py")):
        name = path.relative_to(ROOT / "trl_lint").as_posix()
        if name.startswith(NOT_RECORDED):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in AROUND.get(ast.unparse(node.value), ()):
                found.append(f"{name}:{node.lineno}: {ast.unparse(node)}")
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func) == "open"
                and "output_file" not in ast.unparse(node)
            ):
                found.append(f"{name}:{node.lineno}: {ast.unparse(node)}")
    assert not found


# Who says what is taken from a file, and so spares others after a change of it, and why that is right. All else that is
# read counts as used by every file.
NARROW = {
    "checks/configs/_data_entries.py": "a data file is read for the index that names it",
    "checks/configs/_data_rows.py": "a data file is read for the config that lists it",
    "checks/configs/_deepspeed_match.py": "a script that names a config is judged with that config alone",
    "checks/distribution/_callers.py": "what a module is asked for stays with the module that asks",
    "checks/distribution/_device_imports.py": "what a module imports stays with that module",
    "project/own_copy.py": "whether a package defines a name is a question that is asked again",
    "run/columns/files.py": "a data file is read for the script that names it",
    "project/foreign.py": "whether a folder is a copy of a package is asked of its setup alone",
    "project/modules.py": "what a module imports stays with that module",
    "run/questions.py": "the questions that are asked again",
    "run/runs.py": "a script that nobody starts is judged by itself",
    "project/templates.py": "of the file that is checked",
    "workspace.py": "what a file holds is compared with what it held",
    "project/reached.py": "how a file is used by modules of its project is asked again",
    "project/launch_table.py": "a file is read ahead, and dropped if it holds nothing",
    "project/readings.py": "a file that says nothing of a kind is asked again whether it does",
    "run/trainer/names.py": "what a module imports stays with that module",
    "run/trainer/parameters.py": "what a module is called with stays with that module",
    "python/version_guards.py": "what stands beside a module stays with that module",
}
NOT_ABOUT_CHECKS = (
    "tracked.py",
    "sources/files.py",
    "checker.py",
    "engine.py",
    "fingerprints.py",
    "reports/",
    "editors/",
    "upgrade/",
    "commands/why.py",
)


def test_no_rule_says_by_itself_what_was_taken_from_a_file_unless_it_is_listed() -> None:
    found = set()
    for path in sorted((ROOT / "trl_lint").rglob("*.py")):
        name = path.relative_to(ROOT / "trl_lint").as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and not name.startswith(NOT_ABOUT_CHECKS):
                is_note = isinstance(node.func, ast.Attribute) and node.func.attr in (
                    "note_use", "note_content", "for_itself", "own"
                )  # fmt: skip
                if is_note or any(keyword.arg == "by" for keyword in node.keywords):
                    found.add(name)
    assert found == NARROW.keys()
