"""What to do about an argument or a field that is gone or going: what is recorded, else what a release announced.

Imported where a finding is written.
"""

from __future__ import annotations

from trl_lint.checks.drift._calls import accepts, signature_of
from trl_lint.checks.drift._classes import Callee
from trl_lint.knowledge.remedies import remedy_of_argument
from trl_lint.knowledge.renames import move_of


def remedy_of_keyword(callee: Callee, name: str, successor: str, versions: dict[str, str]) -> str:
    """What to do about a keyword of a call, "" if nobody knows.

    `successor`: what a release announced to use instead, "" if nothing. `versions`: the releases to be right for.
    """
    if found := remedy_of_argument(callee.dotted, name, versions):
        return found
    if successor and accepts(callee.dotted, successor, versions):
        return f"use `{successor}`"
    config = callee.dotted.removesuffix("Trainer") + "Config"
    if not callee.name.endswith("Trainer") or signature_of(config, versions) is None:
        return ""
    move = move_of(callee.package, callee.name, name)
    names = (name, successor, *(move.arguments[name] if move else ()))
    if wanted := next((n for n in names if n and accepts(config, n, versions)), ""):
        return f"set `{wanted}` of `{config.rpartition('.')[2]}`"
    return remedy_of_argument(config, name, versions)


def remedy_of_field(dotted: str, name: str, successor: str, versions: dict[str, str]) -> str:
    """What to do about an attribute that is read from an object of a class, "" if nobody knows."""
    return remedy_of_argument(dotted, name, versions, "attribute") or (f"use `{successor}`" if successor else "")
