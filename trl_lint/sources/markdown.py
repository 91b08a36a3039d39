"""The fenced code blocks of a Markdown text."""

from __future__ import annotations

import re
from collections.abc import Callable

from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.excerpt import Excerpt
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.text import SourceFile

LANGUAGES = {
    "python": "python",
    "py": "python",
    "python3": "python",
    "bash": "shell",
    "sh": "shell",
    "shell": "shell",
    "zsh": "shell",
    "console": "shell",
    "shell-session": "shell",
    "terminal": "shell",
    "yaml": "yaml",
    "yml": "yaml",
    "toml": "toml",
    "json": "json",
}

_LINE = regex(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
# What may stand before a fence: indentation, quote marks, the bullet of a list item.
_OPENING = regex(r"(?P<before>(?:[ \t]|>|[-*+][ \t]|\d{1,9}[.)][ \t])*)(?P<fence>`{3,}|~{3,})(?P<info>[^\r\n]*)")
_CLOSING = regex(r"[ \t>]*(?P<fence>`{3,}|~{3,})[ \t]*$")
_QUOTE = regex(r"[ \t]{0,3}>[ \t]?")
_INFO_WORD = regex(r"[{.\s]*([\w+-]+)")
_PROMPT = regex(r"[ \t]*\$[ \t]+")


def _never(text: str) -> bool:
    return False


class Fence(Excerpt):
    """The content of a fenced block; `info` is all that stands behind the opening fence."""

    __slots__ = ("info",)

    def __init__(self, file: SourceFile, language: str, pieces: Pieces, info: str) -> None:
        super().__init__(file, language, pieces)
        self.info = info


def fences(source: Source, is_shell: Callable[[str], object] = _never) -> list[Fence]:
    """The fenced blocks whose info string names a language we read, in order; indentation around them is taken off.

    In shell blocks that show prompts, only the commands behind `$ ` remain. `source` must be a whole file. `is_shell`
    says of the text of a block that names no language whether it holds commands.
    """
    text = source.text
    found = []
    opening: re.Match[str] | None = None
    lines: list[tuple[int, int]] = []
    for line in _LINE.finditer(text):
        content = line[0].rstrip("\r\n")
        if opening is None:
            match = _OPENING.match(content)
            if match and not (match["fence"][0] == "`" and "`" in match["info"]):
                opening, lines = match, []
        elif _closes(opening, content):
            found.append((opening, lines))
            opening = None
        else:
            start = line.start() + _indent(opening["before"], content)
            lines.append((start, line.end()))
    if opening is not None:  # a fence that is never closed runs to the end of the text
        found.append((opening, lines))
    read = (_fence(source.file, match, body, is_shell) for match, body in found)
    return [fence for fence in read if fence is not None]


def _closes(opening: re.Match[str], content: str) -> bool:
    match = _CLOSING.match(content)
    return match is not None and match["fence"].startswith(opening["fence"])


def _indent(before: str, content: str) -> int:
    """How many characters of a line belong to what the block stands in, not to the block."""
    taken = 0
    for _ in range(before.count(">")):
        match = _QUOTE.match(content, taken)
        if match is None:
            return taken
        taken = match.end()
    while taken < min(len(before), len(content)) and content[taken] in " \t":
        taken += 1
    return taken


def _fence(
    file: SourceFile, opening: re.Match[str], lines: list[tuple[int, int]], is_shell: Callable[[str], object]
) -> Fence | None:
    word = _INFO_WORD.match(opening["info"])
    language = LANGUAGES.get(word[1].lower()) if word else None
    if not opening["info"].strip() and lines and is_shell(file.text[lines[0][0] : lines[-1][1]]):
        language = "shell"
    if language is None:
        return None
    if language == "shell":
        lines = _commands(file.text, lines)
    pieces = Pieces()
    for start, end in lines:
        pieces.copy(file.text, start, end)
    return Fence(file, language, pieces, opening["info"].strip())


def _commands(text: str, lines: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The commands of a block with prompts; all of a block that shows none."""
    if not any(_PROMPT.match(text, start, end) for start, end in lines):
        return lines
    commands = []
    continued = False
    for start, end in lines:
        prompt = _PROMPT.match(text, start, end)
        if prompt or continued:
            commands.append((prompt.end() if prompt else start, end))
            continued = text[start:end].rstrip("\r\n").endswith("\\")
    return commands
