"""What a run builds dies when nobody needs it: the garbage collector is off, so what refers to itself would stay."""

from __future__ import annotations

import ast
import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType

import pytest

from trl_lint import project
from trl_lint.engine import check
from trl_lint.project import launch_table, readings
from trl_lint.project.launch_table import all_launches
from trl_lint.python.module import PythonModule
from trl_lint.run.runs import _Runs, all_runs
from trl_lint.settings import Settings

FIXTURES = Path(__file__).parent.parent / "fixtures"


@contextmanager
def unreachable() -> Iterator[Counter[str]]:
    """What of ours only a collector would have found, by its type, of all that is built inside."""
    found: Counter[str] = Counter()
    enabled, flags = gc.isenabled(), gc.get_debug()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        for item in gc.garbage:
            if isinstance(item, ast.AST) or type(item).__module__.startswith("trl_lint"):
                found[type(item).__qualname__] += 1
            elif isinstance(item, FunctionType) and "<locals>" in item.__qualname__:  # one that calls itself
                found[item.__qualname__] += str(item.__module__).startswith("trl_lint")
    finally:
        gc.set_debug(flags)
        gc.garbage.clear()
        if enabled:
            gc.enable()


def test_what_refers_to_itself_is_seen():
    with unreachable() as left:
        node = ast.parse("x")
        node.parent = node
        del node
    assert left["Module"] == 1


@pytest.mark.parametrize("step", [200, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("most", [100, 3])  # the second drops nearly every module while the run goes on
def test_no_tree_outlives_its_run(most: int, step: int, monkeypatch: pytest.MonkeyPatch):
    """Every 200th fixture, each time others, or all."""
    monkeypatch.setattr(readings, "_MOST_MODULES", most)
    folders = list(map(str, sorted(FIXTURES.glob("TRL*/*/"))[most % step :: step]))
    with unreachable() as left:
        result = check(folders, Settings(root=str(FIXTURES)))  # holds the projects, whose parts hold each other
    assert result.findings
    assert not +left


def test_a_module_that_is_not_kept_is_let_go(tmp_path: Path):
    (tmp_path / "train.py").write_text("x = 1\n")
    files = project.Files()
    here = project.Project(str(tmp_path), files, Settings(root=str(tmp_path)))
    kept = here.module_in(str(tmp_path / "train.py"))
    other = PythonModule(kept.source)
    for module in (kept, other):
        module.memo["fact", module.tree] = module
        here.readings.let_go(module)
    assert kept.memo
    assert not other.memo


def test_what_holds_no_launch_is_not_kept_beyond_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for number in range(4):
        (tmp_path / f"script{number}.sh").write_text("echo hello # python\n")
    (tmp_path / "train.sh").write_text("python train.py\n")
    monkeypatch.setattr(launch_table, "_MOST_READ_AHEAD", 50)
    files = project.Files()
    here = project.Project(str(tmp_path), files, Settings(root=str(tmp_path)))
    assert len(all_launches(here)) == 1
    assert [Path(path).name for path in files.opened()] == ["script0.sh", "script1.sh", "train.sh"]


def test_a_candidate_that_is_none_is_not_remembered(tmp_path: Path):
    (tmp_path / "train.py").write_text("x = 1\n")
    (tmp_path / "train.sh").write_text("python train.py\n")
    here = project.Project(str(tmp_path), project.Files(), Settings(root=str(tmp_path)))
    (run,) = all_runs(here)
    assert run.candidates == ()
    assert list(here.part(_Runs).known) == [run.launch]
