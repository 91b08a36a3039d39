"""Blanks that somebody still fills in, as a shell does not read them: `--dataset <path to data> --lr 1`.

For a shell `<path` and `> --lr` are redirections. Whoever wrote it means one value that nobody knows yet, and the words
around it as they stand.
"""

from __future__ import annotations

from bisect import bisect_right

from trl_lint.regexes import regex
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.shell_values import HOLE

_LONGEST = 200  # characters
_BLANK = regex(
    r"""(?<![^\s=/,:@_\[({-])<(?P<name>[A-Za-z](?:[^<>\n"'`$|&;\\]{0,200}[^<>\n"'`$|&;\\\s])?)>(?![^\s/\\,.:;&|\])}_-])"""
)
_SIGN = regex(
    r"""\\[\s\S]|['"]|\#|\n"""
)  # what begins or ends a quotation or a comment, or takes the sense from what does
# What has one value behind it, or is a part of one.
_BEFORE_VALUE = regex(r"(?:(?:\A|\s)--?[A-Za-z][\w.-]*(?:=|[ \t]+|[ \t]*\\\r?\n[ \t]*)|[\w.\]+~-]=|/|[,:@\[({])\Z")
_SEVERAL = regex(r"(?i:\b(?:arg|argument|option|flag|override|other|more|additional|extra|etc)s?\b|\.\.\.)")


def _quoted(text: str) -> list[tuple[int, int]]:
    """The stretches of a text that stand in quotes or in comments, in their order."""
    found: list[tuple[int, int]] = []
    sign, began = "", 0
    for match in _SIGN.finditer(text):
        one, at = match[0], match.start()
        if not sign and (one in ("'", '"') or (one == "#" and (at == 0 or text[at - 1].isspace()))):
            sign, began = one if one != "#" else "\n", at
        elif sign and (one == sign or (sign == "'" and one == "\\'")):
            found.append((began, match.end()))
            sign = ""
    return [*found, (began, len(text))] if sign else found


def fill_blanks(text: str, pieces: Pieces | None) -> Pieces | None:
    """A text with what nobody knows in place of its blanks, and the way back to `text`; None where it has none."""
    blanks = list(_BLANK.finditer(text)) if "<" in text else []
    quoted = _quoted(text) if blanks else []
    filled = None
    position = 0
    for match in blanks:
        name, (start, end) = match["name"], match.span()
        at = bisect_right(quoted, (start, len(text)))
        if at and quoted[at - 1][1] > start:
            continue
        before = text[max(0, start - _LONGEST) : start]
        is_value = _BEFORE_VALUE.search(before) is not None
        if not is_value and ("." in name or "/" in name):
            continue  # `prog <data.txt> out.txt` is a redirection
        if filled is None:
            filled = Pieces(pieces)
        filled.copy(text, position, start)
        # In quotes it is one value; without, it may be more words than one.
        filled.put(f'"{HOLE}"' if is_value and not _SEVERAL.search(name) else HOLE, start, end)
        position = end
    if filled is not None:
        filled.copy(text, position, len(text))
    return filled
