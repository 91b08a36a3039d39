"""docs/demo.svg, the picture of README.md: what `trl-lint trainers.py` prints in fixtures/demo, in a drawn terminal.

`python tests/picture.py` writes it (so does `make docs`), and a test compares it with what the tool prints today.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from html import escape
from itertools import groupby

from documents import DEMO, ROOT

PICTURE = ROOT / "docs" / "demo.svg"
_COMMAND = "trl-lint trainers.py --select TRL101"
_COLUMNS = 104
_WIDTH, _HEIGHT = 8.4, 19  # of a character, in the units of the picture
_COLORS = {"31": "#e5484d", "33": "#c98a00", "34": "#6b9eff", "36": "#3db8b8", "32": "#46a758"}
_ESCAPE = re.compile(r"\x1b\[([\d;]*)m")


def printed() -> str:
    """What the tool prints, with its colours."""
    from trl_lint.cli import main

    out = io.StringIO()
    here = os.getcwd()
    os.chdir(DEMO)
    try:
        with contextlib.redirect_stdout(out):
            main([*_COMMAND.split()[1:], "--color", "always", "--no-cache"])
    finally:
        os.chdir(here)
    return out.getvalue()


def drawn(text: str) -> str:
    """A text with colour codes as SVG; longer lines go on in the next one."""
    lines = [("$ " + _COMMAND, [""] * (len(_COMMAND) + 2)), *map(_cells, text.rstrip("\n").split("\n"))]
    rows = [row for line in lines for row in _wrapped(*line)]
    width, height = _COLUMNS * _WIDTH + 32, len(rows) * _HEIGHT + 52
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" role="img" '
        'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">',
        f"<title>What {escape(_COMMAND)} prints</title>",
        f'<rect width="{width:g}" height="{height}" rx="8" fill="#16181d"/>',
        *(f'<circle cx="{x}" cy="18" r="5" fill="{color}"/>' for x, color in _BUTTONS),
    ]
    for number, (words, styles) in enumerate(rows):
        y = 50 + number * _HEIGHT
        for style, group in groupby(range(len(words)), styles.__getitem__):
            places = list(group)
            run = "".join(words[place] for place in places)
            if run.strip():
                x = 16 + places[0] * _WIDTH
                out.append(
                    f'<text x="{x:g}" y="{y}" textLength="{len(run) * _WIDTH:g}" xml:space="preserve"'
                    f"{_attributes(style)}>{escape(run)}</text>"
                )
    return "\n".join([*out, "</svg>", ""])


_BUTTONS = ((18, "#e5484d"), (36, "#c98a00"), (54, "#46a758"))


def _cells(line: str) -> tuple[str, list[str]]:
    """The characters of a line, and the style of each."""
    text, styles, style = "", [], ""
    parts = _ESCAPE.split(line)
    for place, part in enumerate(parts):
        if place % 2:
            style = "" if part == "0" else part
        else:
            text += part
            styles += [style] * len(part)
    return text, styles


def _wrapped(text: str, styles: list[str]) -> list[tuple[str, list[str]]]:
    rows = []
    while len(text) > _COLUMNS:
        end = text.rfind(" ", 40, _COLUMNS) + 1 or _COLUMNS
        rows.append((text[:end], styles[:end]))
        text, styles = "    " + text[end:], [""] * 4 + styles[end:]
    return [*rows, (text, styles)]


def _attributes(style: str) -> str:
    codes = style.split(";")
    color = next((_COLORS[code] for code in codes if code in _COLORS), "#e6e6e6")
    return f' fill="{color}"' + (' font-weight="bold"' if "1" in codes else "")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    PICTURE.write_text(drawn(printed()), "utf-8")
