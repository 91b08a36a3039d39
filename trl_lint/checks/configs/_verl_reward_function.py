"""A reward function that a command of verl names, and that its file does not have, or whose file is not there.

verl imports the file and asks it for the name: `get_custom_reward_fn`, in 0.3.0 in trainer/main_ppo.py, later in
trainer/ppo/reward.py (0.3.0 to 0.9.1; in 0.7.1 already through `load_module` of utils/import_utils.py). It raises
FileNotFoundError where there is no file, and AttributeError where there is no such name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.configs._asserts import Problem
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level
from trl_lint.finding import Location
from trl_lint.memos import per_project
from trl_lint.project import Project
from trl_lint.records import NamedTuple
from trl_lint.run.named_files import NamedFile, absent
from trl_lint.run.readers.hydra import find
from trl_lint.run.readers.verl import read_run
from trl_lint.run.runs import Run
from trl_lint.sources import SourceError
from trl_lint.sources.shell import Word

_STARTED = "verl.trainer.main_ppo"
_BLOCKS = ("custom_reward_function", "reward.custom_reward_function")


class _Named(NamedTuple):
    """A file and its function as the keys of a block say, with the words that say it; `name` None where unknown."""

    block: str
    path: str
    name: str | None
    word: Word
    name_word: Word
    says_name: bool
    takes_more: bool


# A module with one of these may have names that nobody can read in it.
_OPEN = (b"globals", b"setattr", b"__getattr__", b"exec", b"__dict__", b"vars(", b"sys.modules", b"global ")


def missing_function(run: Run, rule: Rule) -> Iterator[Problem]:
    """The reward function that a command names and that its file does not define, in any release."""
    for named in _named_in(run):
        file = run.launch.file_named(named.path)
        names = defined_in(file, run.project) if file is not None else None
        if file is None or names is None or named.name is None or named.name in names:
            continue
        by_default = "" if named.says_name else ", the name by default"
        level = Level(rule, named.takes_more or run.launch.is_mild, of_code=False)
        yield Problem(
            run.launch.source.location(named.name_word.start, named.name_word.end),
            f"verl stops at start (AttributeError): `{named.path}` defines no `{named.name}`{by_default}; say which "
            f"function it is with `{named.block}.name`",
            level.severity,
            (Location(file, 0, 0, "this file is imported"),),
        )


def missing_files(run: Run) -> Iterator[NamedFile]:
    """The files of reward functions that a command names, and of which none is found."""
    for named in _named_in(run):
        if not run.launch.files_named(named.path):
            yield absent("reward", named.word, named.path, run.launch)


def _named_in(run: Run) -> Iterator[_Named]:
    """The Python files with a reward function that a command of the release's own trainer names."""
    verl = read_run(run.launch, run.project) if run.framework == "verl" else None
    if verl is None or verl.own is not None or verl.module != _STARTED or "verl" not in verl.choices:
        return
    words = {override.key: override.word for override in verl.overrides}
    for block in _BLOCKS:
        word = words.get(f"{block}.path")
        tree = verl.composed(verl.choices["verl"].newest) if word is not None else None
        if word is None or tree is None:
            continue
        path, name = find(tree, f"{block}.path"), find(tree, f"{block}.name")
        if isinstance(path, str) and path.endswith(".py"):
            own = words.get(f"{block}.name")
            known = name if isinstance(name, str) else None
            yield _Named(block, path, known, word, own or word, own is not None, verl.line.takes_more)


@per_project
def defined_in(path: str, project: Project) -> frozenset[str] | None:
    """The names that a module has once it is imported; None where they cannot all be read in it."""
    try:
        if project.files.holds(path, *_OPEN):
            return None
        waiting: list[ast.AST] = [project.module_in(path).tree]
    except (OSError, SourceError):
        return None
    found: set[str] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            if any(alias.name == "*" for alias in node.names):
                return None
            found.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)) and node.name:
            found.add(node.name)
        waiting.extend(ast.iter_child_nodes(node))
    return frozenset(found)
