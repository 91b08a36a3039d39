"""Data that a project prepares for verl with a `data_source` that has no reward function.

`default_compute_score` of verl/utils/reward_score/__init__.py chooses by that name and raises NotImplementedError for
the others, at the first answer (0.3.0 to 0.9.1). A script of the project makes the data of a run where it writes a
Parquet file of that name, in a folder that it names.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator

from trl_lint.checks.configs._asserts import Problem
from trl_lint.checks.configs._hydra import Tree, apply_all, find
from trl_lint.checks.configs._verl import VerlRun, read_run
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge
from trl_lint.finding import Location
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.programs import is_scored
from trl_lint.memos import per_project
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.project.callers import files_calling
from trl_lint.project.runs import Run
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple
from trl_lint.sources import SourceError
from trl_lint.sources.shell import Word
from trl_lint.sources.shell_values import HOLE

_STARTED = "verl.trainer.main_ppo"
_SOURCE = "data_source"
_FILES = ("data.train_files", "data.val_files")
# Whatever stands here scores the answers itself, or names the source in another way.
_OTHERWISE = {
    "custom_reward_function.path": (None,),
    "reward.custom_reward_function.path": (None,),
    "reward_model.enable": (False,),
    "reward.reward_model.enable": (False,),
    "reward_model.reward_manager": ("naive", "dapo"),
    "reward.reward_manager.name": ("naive", "dapo"),
    "reward.reward_manager.source": ("register",),
    "reward.custom_reward_manager.path": (None,),
    "data.reward_fn_key": (_SOURCE,),
    "data.custom_cls.path": (None,),
}


class Made(NamedTuple):
    """A script that makes data: the names of Parquet files and of folders in it, and its one value of `data_source`."""

    files: frozenset[str]
    folders: frozenset[str]
    source: str
    place: Location


def unscored(run: Run, rule: Rule) -> Iterator[Problem]:
    """The values of `data_source` in the data of a run for which the releases in use have no reward function."""
    if run.framework != "verl":
        return
    verl = read_run(run.launch, run.project)
    if verl is None or verl.own is not None or verl.module != _STARTED or "verl" not in verl.choices:
        return
    if not _is_scored_by_name(verl):
        return
    level = Level(rule, is_mild=True, of_code=False)
    points = {"verl": frozenset(range(len(releases("verl"))))}
    for name, place in dict.fromkeys(_sources_of(verl, run.project)):
        verdict = judge(verl.choices, points, lambda at, name=name: is_scored(name, at["verl"]), level, "verl")  # type: ignore[misc]
        if verdict is not None:
            message = (
                f"verl has no reward function for the `{_SOURCE}` {name!r} and stops at the first answer "
                "(NotImplementedError): give one with `custom_reward_function.path`, or use a name that it knows "
                f"({verdict.scope})"
            )
            yield Problem(place, message, verdict.severity, verdict.related)  # once, however many runs there are


def _is_scored_by_name(run: VerlRun) -> bool:
    tree = run.tree(run.choices["verl"].newest)
    if tree is None or run.line.takes_more or any(True for _ in apply_all(tree, run.overrides)):
        return False
    return all(_is_one_of(tree, key, values) for key, values in _OTHERWISE.items())


def _is_one_of(tree: Tree, key: str, values: tuple[object, ...]) -> bool:
    value = find(tree, key)
    return value is ABSENT or value in values


def _sources_of(run: VerlRun, project: Project) -> Iterator[tuple[str, Location]]:
    for each in run.overrides:
        tail = _tail(each.word) if each.key in _FILES else None
        for made in _makers(project).get(tail[0], ()) if tail is not None else ():
            if tail is not None and tail[1] in made.files:
                yield made.source, made.place


def _tail(word: Word) -> tuple[str, str] | None:
    """The folder and the name of a data file, as far as they are known."""
    text = (word.text or word.template).rpartition("=")[2].strip("'\"")
    folder, name = posixpath.split(text)
    above = posixpath.basename(folder)
    if not above or not name.endswith(".parquet") or HOLE in f"{above}{name}" or "," in text:
        return None
    return above, name


@per_project
def _makers(project: Project) -> dict[str, list[Made]]:
    """The scripts of a project that write Parquet files with one `data_source`, by the folders that they name."""
    found: dict[str, list[Made]] = {}
    for path in files_calling("to_parquet(", project):
        try:
            if not project.files.holds(path, _SOURCE.encode()):
                continue
            made = _made(project.module_in(path))
        except (OSError, SourceError):
            continue
        if made is None:
            continue
        for folder in made.folders:
            found.setdefault(folder, []).append(made)
    return found


def _made(module: PythonModule) -> Made | None:
    sources = []
    for node in module.of(ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == _SOURCE:
                name = module.value(value)
                if not isinstance(name, str):
                    return None
                sources.append((name, module.location(_written(value, module))))
    stored = any(
        isinstance(node.slice, ast.Constant) and node.slice.value == _SOURCE and isinstance(node.ctx, ast.Store)
        for node in module.of(ast.Subscript)
    )
    if stored:
        return None
    texts = [node.value for node in module.of(ast.Constant) if isinstance(node.value, str)]
    files = frozenset(text.rpartition("/")[2] for text in texts if text.endswith(".parquet"))
    folders = frozenset(part for text in texts for part in text.split("/"))
    if len({name for name, _ in sources}) != 1 or not files:
        return None  # which of them a file gets is not known
    return Made(files, folders, *sources[0])


def _written(value: ast.expr, module: PythonModule) -> ast.expr:
    """Where a value is written: the literal behind a name."""
    from trl_lint.python.guards import bindings

    values = bindings(module).get(value.id, []) if isinstance(value, ast.Name) else []
    return values[0] if len(values) == 1 else value
