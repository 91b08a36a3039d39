"""What to do about an argument or a field that is gone or going: what is recorded, else what a release announced.

Imported where a finding is written.
"""

from __future__ import annotations

import ast

from trl_lint.checks.drift._calls import accepts, signature_of
from trl_lint.checks.drift._classes import Argument, Callee
from trl_lint.checks.drift._moves import edit_removal
from trl_lint.checks.drift._past import Past
from trl_lint.finding import Fix
from trl_lint.knowledge.remedies import remedy_of_argument, row_of_argument, use_instead, with_own_of_argument
from trl_lint.knowledge.renames import move_of
from trl_lint.python.module import PythonModule

_DOES_SOMETHING = (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


def remedy_of_keyword(callee: Callee, name: str, successor: str, versions: dict[str, str]) -> str:
    """What to do about a keyword of a call, "" if nobody knows.

    `successor`: what a release announced to use instead, "" if nothing. `versions`: the releases to be right for.
    """
    config = callee.dotted.removesuffix("Trainer") + "Config"
    said = with_own_of_argument(_recorded(callee, config, name, successor, versions), callee.dotted, name, versions)
    return said if config == callee.dotted else with_own_of_argument(said, config, name, versions)


def _recorded(callee: Callee, config: str, name: str, successor: str, versions: dict[str, str]) -> str:
    said = remedy_of_argument(callee.dotted, name, versions)
    if successor and accepts(callee.dotted, successor, versions):
        said = use_instead(callee.dotted, name, successor, said)
    if said:
        return said
    if not callee.name.endswith("Trainer") or signature_of(config, versions) is None:
        return ""
    move = move_of(callee.package, callee.name, name)
    names = (name, successor, *(move.arguments[name] if move else ()))
    if wanted := next((n for n in names if n and accepts(config, n, versions)), ""):
        return f"set `{wanted}` of `{config.rpartition('.')[2]}`"
    return remedy_of_argument(config, name, versions)


def edit_left_out(
    call: ast.Call,
    argument: Argument,
    callee: Callee,
    past: Past | None,
    versions: dict[str, str],
    module: PythonModule,
) -> Fix | None:
    """Leave out an argument of a config, or of the trainer that once wrote it there, of which a remedy says so."""
    config = callee.dotted.removesuffix("Trainer") + "Config" if callee.name.endswith("Trainer") else callee.dotted
    row = row_of_argument(callee.dotted, argument.name, versions) or row_of_argument(config, argument.name, versions)
    node = argument.node
    if (
        row is None
        or not row.leave_out
        or past is None
        or not isinstance(node, ast.keyword)
        or node not in call.keywords
    ):
        return None
    if any(isinstance(part, _DOES_SOMETHING) for part in ast.walk(node.value)):
        return None
    edit = edit_removal(call, node, module)
    return Fix(f"Leave `{argument.name}` out", "unsafe", (edit,)) if edit is not None else None


def remedy_of_field(dotted: str, name: str, successor: str, versions: dict[str, str]) -> str:
    """What to do about an attribute that is read from an object of a class, "" if nobody knows."""
    said = remedy_of_argument(dotted, name, versions, "attribute")
    said = use_instead(dotted, name, successor, said) if successor else said
    return with_own_of_argument(said, dotted, name, versions, "attribute")
