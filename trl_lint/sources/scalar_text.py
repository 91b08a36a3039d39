"""The text in a scalar of YAML, JSON or TOML, with the place of each of its characters in the file."""

from __future__ import annotations

import re
from collections.abc import Callable

from trl_lint.regexes import regex
from trl_lint.sources.nodes import Scalar
from trl_lint.sources.pieces import Pieces

_LINE = regex(r"[^\n]*(?:\n|\Z)")
# In a flow scalar of YAML: a backslash with what it stands for, and a line end with the blanks around it.
_ESCAPE = regex(r"\\(?:(\r?\n)[ \t]*|(.))|(?P<fold>\n[ \t\r\n]*)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "/": "/", "'": "'", " ": " "}
_OPENING = regex(r"(\"\"\"|''')(?:\r?\n)?")


def script_of(text: str, scalar: Scalar) -> Pieces:
    """The value of a scalar with the places of its characters; where they cannot be told, all of it is one place."""
    value = str(scalar.value)
    pieces = Pieces()
    if scalar.raw[:1] in ("|", ">"):
        _copy_block(text, scalar, value, pieces)
    elif opening := _OPENING.match(scalar.raw):  # of TOML, where line ends stay
        pieces.copy(text, scalar.start + opening.end(), scalar.end - 3)
    elif scalar.quoted:
        _copy(text, scalar.start + 1, scalar.end - 1, scalar.raw[:1] == '"', pieces)
    else:
        _copy(text, scalar.start, scalar.end, False, pieces)
    if pieces.text.rstrip() == value.rstrip():
        return pieces
    whole = Pieces()
    whole.put(value, scalar.start, scalar.end)
    return whole


def _copy(text: str, start: int, end: int, has_escapes: bool, pieces: Pieces) -> None:
    for match in _ESCAPE.finditer(text, start, end):
        if match["fold"] is None and not has_escapes:
            continue
        stop = match.start()
        if match["fold"] is not None:
            stop = start + len(text[start:stop].rstrip(" \t\r"))
            value = "\n" * (match["fold"].count("\n") - 1) or " "
        else:
            value = _ESCAPED.get(match[2], match[0]) if match[2] else ""
        pieces.copy(text, start, stop)
        pieces.put(value, stop, match.end())
        start = match.end()
    pieces.copy(text, start, end)


def _copy_block(text: str, scalar: Scalar, value: str, pieces: Pieces) -> None:
    header = _LINE.match(text, scalar.start)
    assert header is not None
    lines = []
    position = header.end()
    while position < scalar.end:
        line = _LINE.match(text, position)
        assert line is not None
        lines.append((line.start(), line.end()))
        position = max(line.end(), position + 1)
    filled = [index for index, (start, end) in enumerate(lines) if text[start:end].strip()]
    if not filled:
        return
    first, last = lines[filled[0]], filled[-1]
    first_value = value.lstrip("\n").split("\n", 1)[0]
    indent = len(text[slice(*first)].rstrip("\r\n")) - len(first_value) if scalar.raw[0] == "|" else None
    if indent is None:
        indent = len(text[slice(*first)]) - len(text[slice(*first)].lstrip(" "))
    for index, (start, end) in enumerate(lines):
        content_end = start + len(text[start:end].rstrip("\r\n"))
        pieces.copy(text, min(start + indent, content_end), content_end)
        if end > content_end:
            folded = scalar.raw[0] == ">" and content_end > start and index < last
            next_is_blank = folded and not text[slice(*lines[index + 1])].strip()
            pieces.put("" if next_is_blank else " " if folded else "\n", content_end, end)


def filled(found: re.Pattern[str], script: Pieces, fill: Callable[[str], str]) -> Pieces:
    """A script with what is filled in before the shell starts: `fill` gives the text for what is found."""
    text = script.text
    result = Pieces(script)
    position = 0
    for match in found.finditer(text):
        result.copy(text, position, match.start())
        result.put(fill(match[0]), match.start(), match.end())
        position = match.end()
    result.copy(text, position, len(text))
    return result
