"""What columns of a dataset do to a reward function: names that none of them fills, completions that are messages."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.rule import Site
from trl_lint.knowledge.rewards import reward_calls
from trl_lint.memos import per_module
from trl_lint.project import Project
from trl_lint.python.guards import last_name
from trl_lint.python.module import FunctionNode, PythonModule, nodes_in, own_nodes
from trl_lint.python.reaching import Place, place_of
from trl_lint.records import NamedTuple
from trl_lint.run.columns import Columns, columns_of
from trl_lint.run.trainer import is_absent, trainers_by_call

# Methods of texts that lists do not have.
_OF_TEXTS = frozenset(
    {
        "strip", "lstrip", "rstrip", "lower", "upper", "split", "rsplit", "splitlines", "startswith", "endswith",
        "replace", "find", "rfind", "partition", "rpartition", "encode", "isdigit", "removeprefix", "removesuffix",
    }
)  # fmt: skip
# Functions of `re` with the place of the text.
_SEARCHES = {"match": 1, "search": 1, "fullmatch": 1, "findall": 1, "finditer": 1, "split": 1, "sub": 2, "subn": 2}
# What a function asks that is given texts or messages, and knows of both.
_TELLING = frozenset({"callable", "getattr", "hasattr", "is_conversational", "isinstance", "issubclass", "type"})
# With these the trainer passes what no dataset holds.
_MORE_NAMES = ("environment_factory", "rollout_func", "tools")
_NEVER = (1 << 30, 0)


class ColumnFault(NamedTuple):
    """What is wrong beside the columns of the dataset; `is_remembered`: by the table of datasets on the hub.

    `parameter`: the name in the function that no column fills, "" for another fault.
    """

    message: str
    is_remembered: bool
    parameter: str = ""


def column_faults(
    site: Site, module: PythonModule, function: FunctionNode, required: set[str], trainer: str
) -> Iterator[ColumnFault]:
    """The faults that the columns of the dataset tell of a function of `module`.

    `required`: its parameters without default.
    """
    table = reward_calls()
    passed = {name for row in table.of(trainer) for name in row.names}
    asked = sorted(required - passed - table.withheld - {"environments", "self"})
    text = _use_as_text(module, function)
    if not asked and text is None:
        return
    datasets = _datasets(site.module, site.call, site.project)
    if not datasets:
        return
    short = trainer.rpartition(".")[2]
    is_remembered = any(one.is_remembered for one in datasets)
    missing = [name for name in asked if all(one.lacks(name) for one in datasets)]
    if missing:
        names = list(dict.fromkeys(name for one in datasets for name in one.names))
        shown = ", ".join(f"`{name}`" for name in names[:6]) + (" …" if len(names) > 6 else "")
        message = f"needs `{missing[0]}`, which is no column of the dataset ({shown})"
        yield ColumnFault(message, is_remembered, missing[0])
    if text is not None and all(one.certain.get("prompt") == "messages" for one in datasets):
        message = (
            f"takes a completion for a text (`{text}`): the prompts are lists of messages, and so is what "
            f'{short} passes; the text is `completion[0]["content"]`'
        )
        yield ColumnFault(message, is_remembered)


@per_module
def _datasets(module: PythonModule, call: ast.Call, project: Project) -> tuple[Columns, ...]:
    """The possibilities for the dataset of a trainer; none where nothing certain is known of one."""
    trainer = trainers_by_call(module, project).get(call)
    if trainer is None or not trainer.is_certain or trainer.own is not None:
        return ()
    if any(not is_absent(trainer.given(name)) for name in _MORE_NAMES):
        return ()
    given = trainer.given("train_dataset")
    found = () if is_absent(given) else columns_of(given)
    return found if all(one.complete or one.certain for one in found) else ()


@per_module
def _use_as_text(module: PythonModule, function: FunctionNode) -> str | None:
    """A completion that is used as a text in any case: `completion.strip()`, `re.match(p, completion)`; else None."""
    names = _items(function)
    for node in own_nodes(function) if names else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            told = _told(node, node.func, names)
            if told is not None and _is_certain(node, function, module):
                return told
    return None


def _told(call: ast.Call, func: ast.Attribute, names: set[str]) -> str | None:
    """How a call uses one of some names as a text."""
    owner = func.value
    if not isinstance(owner, ast.Name):
        return None
    if owner.id in names and func.attr in _OF_TEXTS:
        return f"{owner.id}.{func.attr}()"
    place = _SEARCHES.get(func.attr)
    if place is not None and owner.id == "re" and len(call.args) > place:
        text = call.args[place]
        if isinstance(text, ast.Name) and text.id in names:
            return f"re.{func.attr}(…, {text.id})"
    return None


def _is_certain(use: ast.AST, function: FunctionNode, module: PythonModule) -> bool:
    """Whether a function comes to a use whatever the completions are: under no test, and after none that leaves."""
    if place_of(use) > _first_left(module, function):
        return False
    child: ast.AST = use
    for parent in module.ancestors(use):
        if parent is function:
            return True
        if isinstance(parent, (ast.If, ast.IfExp, ast.While)):
            is_open = child is not parent.test
        elif isinstance(parent, ast.BoolOp):
            is_open = child is not parent.values[0]
        elif isinstance(parent, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            is_open = any(one.ifs for one in parent.generators) and not isinstance(child, ast.comprehension)
        elif isinstance(parent, ast.comprehension):
            is_open = child in parent.ifs[1:]
        elif isinstance(parent, (ast.With, ast.AsyncWith)):
            is_open = any(last_name(item.context_expr) == "suppress" for item in parent.items)
        else:
            is_open = isinstance(parent, (ast.Try, ast.Match))
        if is_open:
            return False
        child = parent
    return False


@per_module
def _first_left(module: PythonModule, function: FunctionNode) -> Place:
    """Where a test is first that may leave a block of a function, unless it asks whether there is anything at all."""
    first, names = _NEVER, {"completions", *_items(function)}
    for node in own_nodes(function):
        if isinstance(node, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
            for parent in module.ancestors(node):
                if parent is function:
                    break
                if isinstance(parent, ast.If) and not _asks_whether_empty(parent.test, names):
                    first = min(first, place_of(parent.body[0]))
    return first


def _asks_whether_empty(test: ast.expr, names: set[str]) -> bool:
    asked = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else None
    return isinstance(asked, ast.Name) and asked.id in names


def _items(function: FunctionNode) -> set[str]:
    """The names of the items in loops over `completions`, unless something else is bound to them as well.

    None where the function tells apart itself what it gets.
    """
    found: list[str] = []
    stored: list[str] = []
    for statement in function.body:
        for node in nodes_in(statement):
            if isinstance(node, (ast.Name, ast.Attribute)) and last_name(node) in _TELLING:
                return set()
    for node in own_nodes(function):
        if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            found += _looped(node.target, node.iter)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stored.append(node.id)
    return {name for name in found if stored.count(name) == found.count(name)} if "completions" not in stored else set()


def _looped(target: ast.expr, source: ast.expr) -> list[str]:
    """The names that hold one completion in `for … in completions`, `zip(completions, …)`, `enumerate(completions)`."""
    if isinstance(source, ast.Name):
        return [target.id] if source.id == "completions" and isinstance(target, ast.Name) else []
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and isinstance(target, ast.Tuple):
        if source.func.id == "enumerate" and len(target.elts) == 2 and source.args:
            return _looped(target.elts[1], source.args[0])
        if source.func.id == "zip" and len(target.elts) == len(source.args):
            pairs = zip(target.elts, source.args, strict=True)
            return [name for each, part in pairs for name in _looped(each, part)]
    return []
