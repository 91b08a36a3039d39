"""Parts of conditions and whole sentences that many lines of `rules/conditions` have: written once, by name.

A part is text, and stands for itself wherever its name stands: `$k3f and beta < 0`. Its name is made of what it says,
so that a new release changes no other name. Reading: `trl_lint.knowledge.condition_shared`.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable

_SHORTEST = 40  # characters of a part
_LEAST_SAVED = 180  # characters in the file, the definition counted
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_NAME = 3  # characters of a name after `$`


def share(conditions: list[str], sentences: list[str]) -> tuple[list[str], list[str], dict[str, str]]:
    """Both with parts in the place of what repeats, and the parts by name, which may hold others. No text has a line
    break.
    """
    texts = [text.replace("$", "$$") for text in (*conditions, *sentences)]
    written = "\n".join(texts)
    names: dict[str, str] = {}
    for part in _candidates(conditions, sentences):
        count = written.count(part)
        if (count - 1) * len(part) - (count + 1) * (_NAME + 2) < _LEAST_SAVED:
            continue
        name = _name(part, names)
        names[name] = part
        written = f"{written.replace(part, name)}\n{part}"
    lines = written.split("\n")
    start = len(texts)
    parts = dict(zip(names, lines[start:], strict=True))
    return lines[: len(conditions)], lines[len(conditions) : start], parts


def _candidates(conditions: Iterable[str], sentences: Iterable[str]) -> list[str]:
    """What may be a part, the longest first: an expression, or a sentence."""
    found = {text for text in sentences if len(text) >= _SHORTEST}
    for text in set(conditions):
        encoded = text.encode()
        for node in ast.walk(ast.parse(text, mode="eval")):
            if isinstance(node, ast.expr) and node.end_col_offset is not None:
                part = encoded[node.col_offset : node.end_col_offset].decode()
                if len(part) >= _SHORTEST:
                    found.add(part)
    return sorted((part for part in found if "$" not in part), key=lambda part: (-len(part), part))


def _name(part: str, taken: dict[str, str]) -> str:
    number = int.from_bytes(hashlib.sha256(part.encode()).digest()[:8], "big")
    while True:
        name, rest = "$", number
        for _ in range(_NAME):
            rest, digit = divmod(rest, len(_DIGITS))
            name += _DIGITS[digit]
        if name not in taken:
            return name
        number += 1
