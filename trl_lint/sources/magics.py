"""IPython's additions to Python in a notebook cell: `!command`, `%magic`, `%%cell magic`, `name?`.

They count only where a logical line begins: a `%` at the start of a line inside brackets or a string is Python.
"""

from __future__ import annotations

import re

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

# As in ruff: cell magics whose body is Python that runs (or is timed) in place.
PYTHON_CELLS = frozenset(("capture", "debug", "ipytest", "prun", "pypy", "python", "python3", "time", "timeit"))
SHELL_CELLS = frozenset(("bash", "sh", "shell", "system", "sx", "!"))
_SHELL_WORDS = frozenset(("pip", "conda", "mamba", "micromamba", "uv"))
_SHELL_PREFIXES = frozenset(("sx", "system"))

_CELL = regex(r"\s*%%(?P<name>!|[\w.]+)(?P<rest>[^\r\n]*)(?:\r\n|\r|\n|\Z)")
# Lines of blanks before the first line are taken away before its indentation is.
_FIRST_LINE = regex(r"(?:[ \t]*\r?\n)*(?P<indent>[ \t]*)(?=[^\s])")
_MAGIC = regex(r"(?P<indent>[ \t]*)(?P<sign>!!?|%%?|\?\??)(?!=)")
_ASSIGNED = regex(r"""(?P<indent>[ \t]*)(?P<target>[A-Za-z_][\w.,\[\] \t'"*]*=[ \t]*)(?P<sign>[!%])""")
_HELP = regex(r"(?P<indent>[ \t]*)%{0,2}[\w.*]+\?\??[ \t]*(?=[\r\n]|\Z)")
_REST = regex(r"(?:[^\r\n\\]|\\(?!\r|\n)|\\(?:\r\n|\r|\n))*")
_WORD = regex(r"[ \t]*(?P<word>[\w.]+)[ \t]*")
_LINE_END = regex(r"[\r\n]")
_STOP = regex(r"""["'#\[\](){}\\\r\n]""")
_CLOSING = {
    '"': regex(r'(?:[^"\\\r\n]|\\(?:.|\Z))*"?', re.DOTALL),
    "'": regex(r"(?:[^'\\\r\n]|\\(?:.|\Z))*'?", re.DOTALL),
    '"""': regex(r'(?:[^"\\]|\\(?:.|\Z)|"(?!""))*(?:""")?', re.DOTALL),
    "'''": regex(r"(?:[^'\\]|\\(?:.|\Z)|'(?!''))*(?:''')?", re.DOTALL),
}


class CellMagic(NamedTuple):
    """The `%%name` that a cell begins with; its first line ends at `end` (behind the line end)."""

    name: str
    end: int
    is_python: bool
    is_shell: bool


class Magic(NamedTuple):
    """A stretch that is no Python, and what stands for it. `shell_start` is where its shell command begins, if any."""

    start: int
    end: int
    replacement: str
    shell_start: int | None


def cell_magic(text: str) -> CellMagic | None:
    """The cell magic of a cell, None where it has none."""
    match = _CELL.match(text)
    if match is None:
        return None
    name = match["name"]
    runs_shell = name in SHELL_CELLS or (name == "script" and match["rest"].split()[:1] in (["bash"], ["sh"]))
    return CellMagic(name, match.end(), name in PYTHON_CELLS, runs_shell)


def magics(text: str) -> list[Magic]:
    """The stretches of a cell that only IPython understands, in order; a Python cell magic's line is one of them.

    The blanks before the first line are among them, and wherever another line begins with the same ones.
    """
    stripped = _stripped(text)
    if not any(sign in text for sign in "!%?"):
        return stripped
    found = _found(text)
    if not stripped:
        return found
    apart: list[Magic] = []
    for one in sorted([*found, *stripped]):
        if not apart or one.start >= apart[-1].end:  # no indentation inside a magic of several lines
            apart.append(one)
    return apart


def _stripped(text: str) -> list[Magic]:
    """The indentation that IPython takes from a whole cell (IPython.core.inputtransformer2, `leading_indent`)."""
    first = _FIRST_LINE.match(text)
    if first is None or not first["indent"]:
        return []
    indent, found, start = first["indent"], [], first.start("indent")
    while start >= 0:
        if text.startswith(indent, start):
            found.append(Magic(start, start + len(indent), "", None))
        start = _next_line(text, start)
    return found


def _next_line(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return end + 1 if 0 <= end < len(text) - 1 else -1


def _found(text: str) -> list[Magic]:
    found = []
    offset = 0
    while offset < len(text):
        magic = _magic_at(text, offset)
        if magic is not None:
            found.append(magic)
        offset = _next_logical_line(text, offset if magic is None else magic.end)
    return found


def _magic_at(text: str, offset: int) -> Magic | None:
    if match := _ASSIGNED.match(text, offset):
        # A call, and not a constant, because nothing is known about the value.
        start = match.start("sign")
        return Magic(start, _end(text, start), "input()", _shell_start(text, match["sign"], match.end()))
    if match := _HELP.match(text, offset):
        return Magic(match.end("indent"), match.end(), "pass", None)
    if match := _MAGIC.match(text, offset):
        start = match.end("indent")
        return Magic(start, _end(text, start), "pass", _shell_start(text, match["sign"], match.end()))
    return None


def _end(text: str, offset: int) -> int:
    """The end of a magic: of its line, or of the last line it is continued on with a backslash."""
    match = _REST.match(text, offset)
    return match.end() if match else len(text)


def _shell_start(text: str, sign: str, offset: int) -> int | None:
    if sign in ("!", "!!"):
        return offset
    word = _WORD.match(text, offset)
    if sign != "%" or word is None:
        return None
    if word["word"] in _SHELL_WORDS:
        return word.start("word")
    return word.end() if word["word"] in _SHELL_PREFIXES else None


def _next_logical_line(text: str, offset: int) -> int:
    """The start of the next logical line: behind a line end that no bracket, string or backslash joins."""
    depth = 0
    while match := _STOP.search(text, offset):
        sign, offset = match[0], match.end()
        if sign in "\r\n":
            if sign == "\r" and text.startswith("\n", offset):
                offset += 1
            if depth <= 0:
                return offset
        elif sign == "#":
            line_end = _LINE_END.search(text, offset)
            offset = line_end.start() if line_end else len(text)
        elif sign == "\\":
            offset += 2 if text.startswith("\r\n", offset) else 1
        elif sign in "\"'":
            quote = sign * 3 if text.startswith(sign * 2, offset) else sign
            closing = _CLOSING[quote].match(text, offset + len(quote) - 1)
            offset = closing.end() if closing else len(text)
        else:
            depth += 1 if sign in "[({" else -1
    return len(text)
