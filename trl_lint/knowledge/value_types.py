"""Whether pydantic takes a value of a file for a type, in its lax mode: `"3"` and 3.0 are an int, 3.5 is none.

Types are written as `trl_lint.knowledge.refresher.conditions_types` says. What a text stands for is not asked where it
may be a number or a truth: readers of YAML differ there.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from trl_lint.knowledge.condition_language import UNKNOWN, Block

_WORDS = {
    "bool": "true or false", "int": "a whole number", "float": "a number", "str": "a text", "dict": "a mapping",
    "list": "a list", "None": "null",
}  # fmt: skip


@lru_cache(maxsize=1024)
def members(text: str) -> tuple[str, ...]:
    """What a union is made of: the parts between bars that stand outside of brackets and quotes."""
    found, depth, quoted, start = [], 0, "", 0
    for at, letter in enumerate(text):
        if quoted:
            quoted = "" if letter == quoted else quoted
        elif letter in "'\"":
            quoted = letter
        elif letter == "|" and not depth:
            found.append(text[start:at])
            start = at + 1
        else:
            depth += (letter == "[") - (letter == "]")
    return (*found, text[start:])


def fits(value: object, text: str) -> bool | None:
    """Whether a value is of a type; None where that is not known."""
    if value is UNKNOWN:
        return None
    answers = [_fits_one(value, each) for each in members(text)]
    return True if True in answers else None if None in answers else False


def _fits_one(value: object, kind: str) -> bool | None:
    if kind[:1] in "'\"":
        return bool(value == ast.literal_eval(kind))
    if kind == "None":
        return value is None
    if kind == "dict":
        return isinstance(value, (Block, dict))
    if kind == "list" or kind.startswith("list["):
        if not isinstance(value, list):
            return False
        inner = kind[len("list[") : -1]
        answers = [fits(item, inner) for item in value] if inner else []
        return False if False in answers else None if None in answers else True
    if kind == "str":
        return isinstance(value, str)
    if kind not in ("bool", "int", "float"):
        return None
    if isinstance(value, str):
        return False  # it is no number and no truth, or it would not be known
    if isinstance(value, bool):
        return True
    if kind == "bool":
        return isinstance(value, (int, float)) and value in (0, 1)
    if kind == "int" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, (int, float))


def shown(text: str) -> str:
    """A type in words."""
    said = [_WORDS.get(each.partition("[")[0], f"`{each}`") for each in members(text)]
    return " or ".join(dict.fromkeys(said))
