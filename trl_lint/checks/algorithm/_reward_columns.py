"""What columns of a dataset do to a reward function: names that none of them fills, completions that are messages."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.rule import Site
from trl_lint.knowledge.rewards import reward_calls
from trl_lint.project.columns import Columns, columns_of
from trl_lint.project.trainercall import is_absent, trainer_calls
from trl_lint.python.module import FunctionNode, nodes_in
from trl_lint.records import NamedTuple

# Methods of texts that lists do not have.
_OF_TEXTS = frozenset(
    {
        "strip", "lstrip", "rstrip", "lower", "upper", "split", "rsplit", "splitlines", "startswith", "endswith",
        "replace", "find", "rfind", "partition", "rpartition", "encode", "isdigit", "removeprefix", "removesuffix",
    }
)  # fmt: skip
# Functions of `re` with the place of the text.
_SEARCHES = {"match": 1, "search": 1, "fullmatch": 1, "findall": 1, "finditer": 1, "split": 1, "sub": 2, "subn": 2}
# With these the trainer passes what no dataset holds.
_MORE_NAMES = ("environment_factory", "rollout_func", "tools")


class ColumnFault(NamedTuple):
    """What is wrong beside the columns of the dataset; `is_remembered`: by the table of datasets on the hub."""

    message: str
    is_remembered: bool


def column_faults(site: Site, function: FunctionNode, required: set[str], trainer: str) -> Iterator[ColumnFault]:
    """The faults that the columns of the dataset tell. `required`: the parameters of the function without default."""
    table = reward_calls()
    passed = {name for row in table.of(trainer) for name in row.names}
    asked = sorted(required - passed - table.withheld - {"environments", "self"})
    text = _use_as_text(function)
    if not asked and text is None:
        return
    datasets = _datasets(site)
    if not datasets:
        return
    short = trainer.rpartition(".")[2]
    is_remembered = any(one.is_remembered for one in datasets)
    missing = [name for name in asked if all(one.lacks(name) for one in datasets)]
    if missing:
        names = list(dict.fromkeys(name for one in datasets for name in one.names))
        shown = ", ".join(f"`{name}`" for name in names[:6]) + (" …" if len(names) > 6 else "")
        yield ColumnFault(f"needs `{missing[0]}`, which is no column of the dataset ({shown})", is_remembered)
    if text is not None and all(one.certain.get("prompt") == "messages" for one in datasets):
        message = (
            f"takes a completion for a text (`{text}`): the prompts are lists of messages, and so is what "
            f'{short} passes; the text is `completion[0]["content"]`'
        )
        yield ColumnFault(message, is_remembered)


def _datasets(site: Site) -> tuple[Columns, ...]:
    """The possibilities for the dataset of the trainer; none where nothing certain is known of one."""
    call = next((one for one in trainer_calls(site.module, site.project) if one.call is site.call), None)
    if call is None or not call.is_certain or call.own is not None:
        return ()
    if any(not is_absent(call.given(name)) for name in _MORE_NAMES):
        return ()
    given = call.given("train_dataset")
    found = () if is_absent(given) else columns_of(given)
    return found if all(one.complete or one.certain for one in found) else ()


def _use_as_text(function: FunctionNode) -> str | None:
    """A completion used as a text: `completion.strip()`, `re.match(p, completion)`; None where there is none."""
    names = _items(function)
    if not names:
        return None
    for statement in function.body:
        for node in nodes_in(statement):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id in names and node.func.attr in _OF_TEXTS:
                return f"{owner.id}.{node.func.attr}()"
            place = _SEARCHES.get(node.func.attr)
            is_search = place is not None and isinstance(owner, ast.Name) and owner.id == "re"
            if is_search and place is not None and len(node.args) > place:
                text = node.args[place]
                if isinstance(text, ast.Name) and text.id in names:
                    return f"re.{node.func.attr}(…, {text.id})"
    return None


def _items(function: FunctionNode) -> set[str]:
    """The names of the items in loops over `completions`, unless something else is bound to them as well."""
    found: list[str] = []
    stored: list[str] = []
    for statement in function.body:
        for node in nodes_in(statement):
            if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                found += _looped(node.target, node.iter)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                stored.append(node.id)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                return set()  # it tells the kinds apart itself
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
