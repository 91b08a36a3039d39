"""Data that a project prepares for verl with a `data_source` that has no reward function.

`default_compute_score` of verl/utils/reward_score/__init__.py chooses by that name and raises NotImplementedError for
the others, at the first answer (0.3.0 to 0.9.1). A script of the project makes the data of a run where it writes a
Parquet file of that name, in a folder that it names.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator

from trl_lint import budget
from trl_lint.checks.configs._asserts import Problem
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge
from trl_lint.finding import Location
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.programs import is_scored
from trl_lint.memos import per_project
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.project.callers import files_calling
from trl_lint.python.guards import last_name
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple
from trl_lint.run.readers.hydra import Tree, find
from trl_lint.run.readers.verl import VerlRun, read_run
from trl_lint.run.runs import Run
from trl_lint.sources import SourceError
from trl_lint.sources.shell import Word
from trl_lint.sources.shell_values import HOLE

_MOST_FILES = 1000  # of one script, in any of its folders
_LONGEST_NAME = 255  # of a folder, on all common file systems
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
    # A loop of the project may give the rewards itself: agent_loop.py of 0.6.1, `AgentLoopOutput.reward_score`.
    "actor_rollout_ref.rollout.agent.agent_loop_config_path": (None,),
    "actor_rollout_ref.rollout.agent.default_agent_loop": ("single_turn_agent", "tool_agent"),
}
# A module that verl imports before all else, and that may put its own functions in (verl/__init__.py).
_PATCHES = "VERL_USE_EXTERNAL_MODULES"


class Made(NamedTuple):
    """A script that makes data: the Parquet files that it may write, each with its folder, and its one value of
    `data_source`, "" where that is not certain.
    """

    files: frozenset[tuple[str, str]]
    source: str
    place: Location


def unscored(run: Run, rule: Rule) -> Iterator[Problem]:
    """The values of `data_source` in the data of a run for which the releases in use have no reward function."""
    if run.framework != "verl":
        return
    verl = read_run(run.launch, run.project)
    if verl is None or verl.own is not None or verl.module != _STARTED or "verl" not in verl.choices:
        return
    if _PATCHES in run.launch.env or not _is_scored_by_name(verl):
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
    tree = run.composed(run.choices["verl"].newest)
    if tree is None or run.line.takes_more:
        return False
    return all(_is_one_of(tree, key, values) for key, values in _OTHERWISE.items())


def _is_one_of(tree: Tree, key: str, values: tuple[object, ...]) -> bool:
    value = find(tree, key)
    return value is ABSENT or value in values


def _sources_of(run: VerlRun, project: Project) -> Iterator[tuple[str, Location]]:
    tree = run.composed(run.choices["verl"].newest) or {}
    never = find(tree, "trainer.test_freq") == -1 and find(tree, "trainer.val_before_train") is False
    for each in run.overrides:
        is_read = each.key in _FILES and not (never and each.key == "data.val_files")
        tail = _tail(each.word) if is_read else None
        makers = _makers(project).get(tail, []) if tail is not None else []
        if len({made.source for made in makers}) == 1 and makers[0].source:
            yield makers[0].source, makers[0].place


def _tail(word: Word) -> tuple[str, str] | None:
    """The folder and the name of a data file, as far as they are known."""
    text = (word.text or word.template).rpartition("=")[2].strip("'\"")
    above, name = _ends(text)
    if not above or not name.endswith(".parquet") or HOLE in f"{above}{name}" or "," in text:
        return None
    return above, name


@per_project
def _makers(project: Project) -> dict[tuple[str, str], list[Made]]:
    """The scripts of a project that write Parquet files with a `data_source`, by folder and file."""
    found: dict[tuple[str, str], list[Made]] = {}
    for path in files_calling("to_parquet(", project):
        try:
            if not project.files.holds(path, _SOURCE.encode()):
                continue
            made = data_made(project.module_in(path))
        except (OSError, SourceError):
            continue
        for file in made.files:
            found.setdefault(file, []).append(made)
    return found


def data_made(module: PythonModule) -> Made:
    """What a script writes with a `data_source`: its texts name the files and the folders."""
    sources: dict[str, Location] = {}
    beside: set[ast.AST] = set()  # texts that name no folder
    is_open = any(keyword.arg == _SOURCE for call in module.calls for keyword in call.keywords)
    for node in module.of(ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == _SOURCE:
                name = module.value(value)
                beside |= {key, value}
                if isinstance(name, str):
                    sources.setdefault(name, module.location(_written(value, module)))
                is_open = is_open or not isinstance(name, str)
    for call in module.calls:
        if last_name(call.func) == "load_dataset":
            beside.update(each for argument in (*call.args, *call.keywords) for each in ast.walk(argument))
    texts = [node for node in module.of(ast.Constant) if isinstance(node.value, str) and node not in beside]
    # Where it stands for itself somebody sets, renames or drops the column.
    is_open = is_open or any(node.value == _SOURCE and not _is_read(node, module) for node in texts)
    values = [node.value for node in texts if isinstance(node.value, str)]
    named = [value for value in values if value.endswith(".parquet")]
    folders = {part for value in values if not value.endswith(".parquet") for part in value.split("/")} - set(sources)
    folders = {part for part in folders if len(part) <= _LONGEST_NAME and "\n" not in part}
    files = {_ends(value) for value in named if "/" in value}
    bare = [value for value in named if "/" not in value]
    if len(bare) * len(folders) <= _MOST_FILES:
        files |= {(folder, value) for value in bare for folder in folders}
    else:
        budget.note(module.path, "it names too many folders and Parquet files to tell which data of verl it makes")
    is_one = len(sources) == 1 and not is_open
    source, place = next(iter(sources.items())) if is_one else ("", module.source.location(0, 0))
    return Made(frozenset(files), source, place)


def _ends(path: str) -> tuple[str, str]:
    """The last folder and the name of a file."""
    folder, name = posixpath.split(path)
    return posixpath.basename(folder), name


def _is_read(node: ast.AST, module: PythonModule) -> bool:
    parent = module.parents[node]
    return isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load)


def _written(value: ast.expr, module: PythonModule) -> ast.expr:
    """Where a value is written: the literal behind a name."""
    from trl_lint.python.guards import bindings

    values = bindings(module).get(value.id, []) if isinstance(value, ast.Name) else []
    return values[0] if len(values) == 1 else value
