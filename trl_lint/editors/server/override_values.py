"""The values that verl takes for an override: those outside of which a class or check of the release refuses it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.configs._verl_refusals import settings_of
from trl_lint.knowledge.condition_language import parse
from trl_lint.knowledge.conditions import conditions_of
from trl_lint.run.readers.verl import VerlRun


def values_of_override(run: VerlRun, key: str, version: str) -> list[str]:
    """The words that may stand behind a dotted key, in the order of the release; none where it names none.

    Read from the conditions of the release (`rules/conditions`), such as `mode not in ['sync', 'async']`.
    """
    settings = settings_of(run, version, is_mild=False)
    found: dict[str, None] = {}
    for reading in settings.readings if settings is not None else ():
        above = f"{reading.block.path}." if reading.block.path else ""
        if not key.startswith(above):
            continue
        for condition in conditions_of("verl", reading.owner, version):
            if condition.kind == "refuse" and key[len(above) :] in condition.condition:
                found.update(dict.fromkeys(_allowed(condition.condition, key[len(above) :])))
    return list(found)


def _allowed(condition: str, name: str) -> Iterator[str]:
    """The texts outside of which a field alone makes a condition true: of several together, others may be fine."""
    tree = parse(condition)
    if not isinstance(tree, ast.Compare) or len(tree.ops) > 1 or not isinstance(tree.ops[0], ast.NotIn):
        return
    items = tree.comparators[0]
    if ast.unparse(tree.left) == name and isinstance(items, (ast.List, ast.Tuple, ast.Set)):
        yield from (one.value for one in items.elts if isinstance(one, ast.Constant) and isinstance(one.value, str))
