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
from trl_lint.words import listed

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
# What leaves no other columns than those of the dict, and what may bring others.
_WHOLE = ("remove_columns", "DataFrame(", "from_list(", "from_dict(")
_CHANGED = ("rename_column", "add_column", ".assign(", ".update(", ".rename(", "setdefault(", "concat(", "merge(")
# A module that verl imports before all else, and that may put its own functions in (verl/__init__.py).
_PATCHES = "VERL_USE_EXTERNAL_MODULES"


class Rows(NamedTuple):
    """The rows of data, as the one dict that makes them tells: all their `columns`, None where there may be others.

    `truth`: whether `reward_model` has a `ground_truth`, None where nobody knows. The places are those of the dicts.
    """

    columns: frozenset[str] | None
    place: Location
    truth: bool | None
    truth_place: Location


class Made(NamedTuple):
    """A script that makes data: the Parquet files that it may write, each with its folder, and its one value of
    `data_source`, "" where that is not certain. `rows`: None where more than one dict may make them.
    """

    files: frozenset[tuple[str, str]]
    source: str
    place: Location
    rows: Rows | None = None


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
    values += [text for node in module.of(ast.JoinedStr) for text in _in_loop(node, module)]
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
    return Made(frozenset(files), source, place, _rows(module))


def _rows(module: PythonModule) -> Rows | None:
    dicts = [node for node in module.of(ast.Dict) if _SOURCE in _keys(node)]
    if len(dicts) != 1:
        return None
    (node,) = dicts
    keys = _keys(node)
    is_whole = None not in keys and any(word in module.text for word in _WHOLE)
    is_whole = is_whole and not any(word in module.text for word in _CHANGED)
    # A column that is set later.
    is_whole = is_whole and not any(isinstance(each.ctx, ast.Store) for each in module.of(ast.Subscript))
    reward = next((value for key, value in zip(keys, node.values, strict=True) if key == "reward_model"), None)
    if isinstance(reward, (ast.List, ast.ListComp)):  # a column of them
        reward = reward.elt if isinstance(reward, ast.ListComp) else next(iter(reward.elts), None)
    truth = None
    if isinstance(reward, ast.Dict) and None not in _keys(reward):
        truth = "ground_truth" in _keys(reward) or "ground_truth" in module.text
    columns = frozenset(key for key in keys if key is not None) if is_whole else None
    place = module.location(next(key for key in node.keys if isinstance(key, ast.Constant)))
    return Rows(columns, place, truth, module.location(reward) if isinstance(reward, ast.Dict) else place)


def _keys(node: ast.Dict) -> list[str | None]:
    """The keys of a dict, None for one that is no text."""
    return [key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None for key in node.keys]


def misread_rows(run: Run, rule: Rule) -> Iterator[Problem]:
    """Columns that verl asks for by name, and that the script which makes the data of a run does not write.

    `self.prompt_key` of verl/utils/dataset/rl_dataset.py and `["reward_model"]["ground_truth"]` of the reward managers
    naive and dapo (0.3.0 to 0.9.1).
    """
    verl = read_run(run.launch, run.project) if run.framework == "verl" else None
    if verl is None or verl.own is not None or verl.module != _STARTED or "verl" not in verl.choices:
        return
    tree = verl.composed(verl.choices["verl"].newest)
    if tree is None or verl.line.takes_more or not _is_one_of(tree, "data.custom_cls.path", (None,)):
        return
    key = find(tree, "data.prompt_key")
    managers = ("reward_model.reward_manager", "reward.reward_manager.name")
    reads_truth = all(_is_one_of(tree, name, _OTHERWISE[name]) for name in managers)
    level = Level(rule, is_mild=True, of_code=False).severity
    for made in dict.fromkeys(_makers_of(verl, run.project)):
        rows = made.rows
        if rows is None:
            continue
        if isinstance(key, str) and rows.columns is not None and key not in rows.columns:
            words = {each.key: each.word for each in verl.overrides}
            word = words.get("data.prompt_key")
            other = run.launch.source.location(word.start, word.end) if word is not None else run.launch.location
            message = (
                f"verl reads the prompts from the column `{key}` (`data.prompt_key`), and the rows that this script "
                f"writes have {listed([f'`{name}`' for name in sorted(rows.columns)])}: KeyError at the first row"
            )
            at = (other, rows.place) if word is not None else (rows.place, other)
            yield Problem(at[0], message, level, (at[1],))
        if rows.truth is False and reads_truth:
            message = (
                "the reward manager reads `ground_truth` of `reward_model`, which these rows do not have: KeyError at "
                "the first answer"
            )
            yield Problem(rows.truth_place, message, level, (run.launch.location,))


def _makers_of(run: VerlRun, project: Project) -> Iterator[Made]:
    """The one script that makes each data file of a run."""
    for each in run.overrides:
        tail = _tail(each.word) if each.key in _FILES else None
        makers = _makers(project).get(tail, []) if tail is not None else []
        if len(makers) == 1:
            yield makers[0]


def _in_loop(joined: ast.JoinedStr, module: PythonModule) -> list[str]:
    """The texts that an f-string with one name is in a loop over texts: `for part in ("train", "test")`."""
    holes = [part.value for part in joined.values if isinstance(part, ast.FormattedValue)]
    name = holes[0].id if len(holes) == 1 and isinstance(holes[0], ast.Name) else ""
    around = (parent for parent in module.ancestors(joined) if isinstance(parent, ast.For))
    loop = next((each for each in around if isinstance(each.target, ast.Name) and each.target.id == name), None)
    items = loop.iter.elts if loop is not None and isinstance(loop.iter, (ast.Tuple, ast.List)) else ()
    found = [module.value(item) for item in items]
    start, end = ("".join(_constants(joined, is_end)) for is_end in (False, True))
    return [f"{start}{text}{end}" for text in found if isinstance(text, str)]


def _constants(joined: ast.JoinedStr, is_end: bool) -> Iterator[str]:
    """The texts of an f-string with one hole, before it or behind it."""
    is_behind = False
    for part in joined.values:
        is_behind = is_behind or isinstance(part, ast.FormattedValue)
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and is_behind is is_end:
            yield part.value


def _ends(path: str) -> tuple[str, str]:
    """The last folder and the name of a file."""
    folder, name = posixpath.split(path)
    return posixpath.basename(folder), name


def _is_read(node: ast.AST, module: PythonModule) -> bool:
    parent = module.parents[node]
    return isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load)


def _written(value: ast.expr, module: PythonModule) -> ast.expr:
    """Where a value is written: the literal behind a name, which stands for nothing else."""
    from trl_lint.python.guards import bindings

    values = bindings(module).get(value.id, []) if isinstance(value, ast.Name) else []
    is_shared = isinstance(value, ast.Name) and len(module.named(value.id)) > 2
    return values[0] if len(values) == 1 and not is_shared else value
