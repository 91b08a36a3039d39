"""Classes and functions that a config names for a program: `_target_` of Hydra, `_component_` of torchtune."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.drift._imports import home_of_gone
from trl_lint.checks.drift._renamed_names import renamed
from trl_lint.finding import Fix
from trl_lint.project.documents import Document
from trl_lint.project.stack import PACKAGES, Choice
from trl_lint.regexes import regex
from trl_lint.sources.nodes import Scalar, walk

KEYS = ("_target_", "_component_")
_DOTTED = regex(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")


def named_objects(document: Document) -> Iterator[Scalar]:
    """The values of these keys that are dotted names of a known package, written out."""
    if document.mapping is None or not any(key in document.source.text for key in KEYS):
        return
    for path, value in walk(document.mapping):
        is_named = path[-1:] and path[-1] in KEYS and isinstance(value.value, str)
        if is_named and _DOTTED.fullmatch(str(value.value)) and str(value.value).partition(".")[0] in PACKAGES:
            yield value


def node_of(value: Scalar) -> ast.Constant:
    """A node of code that stands for the value."""
    return ast.Constant(value.value)


def edit_named(value: Scalar, dotted: str, chosen: Choice, document: Document) -> Fix | None:
    """Name the object by where it is now, on the proof that an import needs; `dotted`: what is gone of its name."""
    home, _, name = dotted.rpartition(".")
    found = home_of_gone(home, name, chosen)
    if found is not None:
        new, is_proved = f"{found.module}.{found.name}", found.is_proved
    else:
        other = renamed(home, name, chosen)
        if other is None:
            return None
        new, is_proved = f"{home}.{other.name}", other.is_alias
    at = value.raw.find(dotted)
    if value.alias or at < 0:
        return None
    start = value.start + at
    is_safe = is_proved and chosen.complete and not chosen.assumed
    edits = (document.source.edit(start, start + len(dotted), new),)
    return Fix(f"Name `{new}`", "safe" if is_safe else "unsafe", edits)
