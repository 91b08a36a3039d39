"""A tree for a Python file that is written for a newer Python than the one that runs trl-lint.

LibCST knows the grammar up to Python 3.14. What it finds of newer constructs is written as this interpreter takes it,
with the same number of bytes on each line, so that every place in the tree is that of the original text:

| original | lowered |
|---|---|
| `def f[T](x: T)`, `class A[T]` | without the type parameters |
| `type X = int` | an assignment |
| `except A, B:` | a tuple again in the tree |
| `except* A:`, `x[*ts]` before Python 3.11 | without the star |
| `f"{d["a"]}"`, `t"{a}"` | an f-string with a value that nobody knows |
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from typing import Any

from trl_lint.python.newer_syntax import is_harmless
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources.text import LineIndex

# Without one of these a text that is refused is no text for a newer Python.
_NEWER = regex(
    r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+\w+[ \t]*\[|\btype[ \t]+\w+[ \t]*[=\[]|\bexcept\b[^:\n]{0,200}[,*]|\[\*"
    r"|(?:\b|_)(?:[fF][rR]?|[rR][fF]|[tT][rR]?|[rR][tT])[\"']",
    re.MULTILINE,
)


class _Change(NamedTuple):
    """What stands instead of a piece of the text, by offsets in it."""

    start: int
    end: int
    text: str


def lowered_tree(text: str) -> ast.Module | None:
    """The tree of a text that `ast` refuses and LibCST reads; None where that is none, or cannot be lowered."""
    if not _NEWER.search(text) or not is_harmless(text):
        return None
    lowered = _lowered(text)
    if lowered is None or lowered[0] == text:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(lowered[0])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.lineno in lowered[1] and isinstance(node.type, ast.BinOp):
            first, last = node.type, node.type
            kinds = [last.right]
            while isinstance(last.left, ast.BinOp):
                last = last.left
                kinds.append(last.right)
            node.type = ast.copy_location(ast.Tuple([last.left, *reversed(kinds)], ast.Load()), first)
    return tree


def _lowered(text: str) -> tuple[str, frozenset[int]] | None:
    """The text in older words, and the lines on which several errors are caught without brackets."""
    import libcst as cst
    from libcst.metadata import MetadataWrapper, PositionProvider

    try:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        places = wrapper.resolve(PositionProvider)
    except Exception:  # it raises several types on hopeless input; all of them mean no
        return None
    lines = LineIndex(text)
    changes: list[_Change] = []
    caught = set[int]()
    inside_text = -1  # the end of the last text with expressions: what is in it goes with it
    for node, place in sorted(places.items(), key=lambda item: (item[1].start.line, item[1].start.column)):
        start = lines.offset(place.start.line, place.start.column + 1)
        end = lines.offset(place.end.line, place.end.column + 1)
        if start < inside_text:
            continue
        change: _Change | None
        if isinstance(node, (cst.FormattedString, cst.TemplatedString)):
            if isinstance(node, cst.FormattedString) and not _is_of_new_grammar(node, text[start:end]):
                continue
            inside_text = end
            change = _of_text(node, text, start, end)
        elif isinstance(node, cst.TypeParameters):
            change = _Change(start, end, _blank(text[start:end]))
        elif isinstance(node, cst.TypeAlias):
            change = _Change(start, start + 5, "0   ;") if text.startswith(("type ", "type\t"), start) else None
        elif isinstance(node, cst.ExceptHandler) and isinstance(node.type, cst.Tuple) and not node.type.lpar:
            caught.add(place.start.line)
            changes += _commas(node.type, places, lines)
            continue
        elif isinstance(node, cst.ExceptStarHandler):
            if isinstance(node.type, cst.Tuple) and not node.type.lpar:
                caught.add(place.start.line)
                changes += _commas(node.type, places, lines)
            at = text.find("*", start, end)
            if sys.version_info < (3, 11) and at >= 0:
                changes.append(_Change(at, at + 1, " "))
            continue
        elif isinstance(node, cst.Index) and node.star and sys.version_info < (3, 11):
            change = _Change(start, start + 1, " ")
        else:
            continue
        if change is None:
            return None
        changes.append(change)
    return _applied(text, changes), frozenset(caught)


def _applied(text: str, changes: list[_Change]) -> str:
    pieces, at = [], 0
    for change in sorted(changes):
        if change.start < at:
            continue
        pieces += [text[at : change.start], change.text]
        at = change.end
    return "".join([*pieces, text[at:]])


def _commas(node: Any, places: Any, lines: LineIndex) -> list[_Change]:
    """`A, B` as `A+ B`: one expression, of which the tree makes a tuple again."""
    import libcst as cst

    found = []
    for element in node.elements:
        if isinstance(element.comma, cst.Comma):
            place = places[element.comma].start
            at = lines.text.index(",", lines.offset(place.line, place.column + 1))
            found.append(_Change(at, at + 1, "+"))
    return found


def _blank(text: str) -> str:
    """Blanks for a text in brackets; where it has several lines, they are joined as those in brackets are."""
    found = []
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        blanks = " " * len(bare.encode())
        found.append(blanks if bare == line else blanks[:-1] + "\\" + line[len(bare) :])
    return "".join(found)


def _is_of_new_grammar(node: Any, text: str) -> bool:
    """Whether an expression in an f-string has what it could not have before Python 3.12: its own quotes, `\\`, `#`."""
    import libcst as cst

    if sys.version_info >= (3, 12):
        return False
    quote = node.quote
    inner = text[len(node.start) : len(text) - len(node.end)]
    literal = "".join(part.value for part in node.parts if isinstance(part, cst.FormattedStringText))
    return (
        quote in inner
        or inner.count("\\") > literal.count("\\")
        or inner.count("#") > literal.count("#")
        or (len(quote) == 1 and inner.count("\n") > literal.count("\n"))
    )


def _of_text(node: Any, text: str, start: int, end: int) -> _Change | None:
    """An f-string of the same bytes with a value that nobody knows."""
    opening, quote = node.start.replace("t", "f").replace("T", "F"), node.end
    lines = text[start:end].splitlines(keepends=True)
    new, value = [], "{_}"
    for number, line in enumerate(lines):
        bare = line.rstrip("\r\n")
        begins = opening if number == 0 else ""
        ends = quote if number == len(lines) - 1 else ("\\" if len(quote) == 1 else "")
        room = len(bare.encode()) - len(begins) - len(ends)
        if room >= len(value):
            begins, room, value = begins + value, room - len(value), ""
        if room < 0:
            return None
        new.append(begins + " " * room + ends + line[len(bare) :])
    return None if value else _Change(start, end, "".join(new))
