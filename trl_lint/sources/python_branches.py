"""The branches of `if` and `try` that a line of Python stands in, by indentation alone: the text may hold magics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trl_lint.regexes import regex
from trl_lint.sources.shell_options import new_decision

_LINE = regex(r"(?P<indent>[ \t]*)(?:(?P<word>if|elif|else|try|except|finally)\b)?(?P<rest>[^\r\n]*)(?:\r\n|\r|\n|\Z)")

Branch = tuple[tuple[int, int], ...]


def branches_of(text: str, offsets: Iterable[int]) -> Iterator[Branch]:
    """For each offset, in ascending order, the branches around its line, outermost first: (decision, way taken)."""
    open_ones: list[tuple[int, int, int]] = []  # indentation, number of the decision, way
    position = 0
    around: Branch = ()
    for offset in offsets:
        while position <= offset and position < len(text):
            line = _LINE.match(text, position)
            if line is None:
                break
            around = _enter(open_ones, line["indent"], line["word"] or "", line["rest"], around)
            position = max(line.end(), position + 1)
        yield around


def _enter(open_ones: list[tuple[int, int, int]], indent: str, word: str, rest: str, before: Branch) -> Branch:
    """Note what a line opens and closes; returns the branches that the line itself stands in."""
    if (not word and not rest.strip()) or rest.lstrip().startswith("#"):
        return before
    width = len(indent.expandtabs(8))
    while open_ones and open_ones[-1][0] > width:
        open_ones.pop()
    last = open_ones[-1] if open_ones and open_ones[-1][0] == width else None
    if last is not None:
        open_ones.pop()
    around = tuple((number, way) for _, number, way in open_ones)
    if word in ("if", "try"):
        open_ones.append((width, new_decision(), 0))
    elif word in ("elif", "else", "except") and last is not None:
        open_ones.append((width, last[1], last[2] + 1))
    return around
