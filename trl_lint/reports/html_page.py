"""The frame of every page that trl-lint writes: one file that asks for nothing from elsewhere.

All that comes from an analysed file goes through `told` or `prose`. The policy of a page names its own style and script
by their hashes, so a browser runs and loads nothing else, whatever an analysed file has got into the text.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from html import escape
from typing import Literal

from trl_lint import __version__
from trl_lint.finding import Severity
from trl_lint.paths import repository_around
from trl_lint.reports import visible

# Told apart by sign and word too, so that nobody depends on seeing the colours.
_LEVELS = {"error": "✖ error", "warning": "▲ warning", "info": "● hint"}
_LONGEST = 400  # characters of a line that an excerpt shows
_TAB = 4


def title_of(what: str, folder: str) -> str:
    """The title of a page about the project that a folder is in: ten open pages must not be called alike."""
    root = repository_around(folder) or folder
    return f"{what}: {visible(os.path.basename(root))}" if os.path.basename(root) else what


def page(title: str, parts: Iterable[str], script: Literal["filter", "compare"] | None = None) -> str:
    """A whole page of HTML parts; `title` is plain text, and `script` only adds to what can be read without it."""
    style, code = _asset("page.css"), _asset(f"{script}.js") if script else ""
    runs = f"<script>{code}</script>\n" if code else ""
    allowed = _digest(code) if code else "'none'"
    policy = (
        f"default-src 'none'; style-src {_digest(style)}; script-src {allowed}; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{told(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        + "\n".join(filter(None, parts))
        + f"\n<footer>trl-lint {escape(__version__)}</footer>\n{runs}</body>\n</html>\n"
    )


@cache
def _asset(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), "assets", name), encoding="utf-8") as stream:
        return stream.read()


def _digest(text: str) -> str:
    import hashlib

    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def told(text: str) -> str:
    """Text of any origin as part of a page: nothing in it is markup, hidden, or reordered."""
    return escape(visible(text))


def prose(text: str) -> str:
    """A message; what it quotes between backticks is set as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return told(text)
    return "".join(f"<code>{told(part)}</code>" if index % 2 else told(part) for index, part in enumerate(parts))


def lines_told(text: str) -> str:
    """Text of several lines, for a `pre`."""
    return "\n".join(map(told, text.split("\n")))


def level_told(level: Severity) -> str:
    """A level as sign and word."""
    return f'<span class="level {level}">{_LEVELS[level]}</span>'


def code_told(line: str, start: int = 0, stop: int = 0) -> str:
    """A line of a file with the characters from `start` to `stop` marked; of a long one the part around the mark."""
    first = max(0, min(start - _LONGEST // 4, len(line) - _LONGEST))
    last = first + _LONGEST
    stop = min(stop, last)
    pieces = [_spaced(line[first:start]), _spaced(line[start:stop]), _spaced(line[max(start, stop) : last])]
    if stop > start:
        pieces[1] = f"<mark>{pieces[1]}</mark>"
    return ("…" if first else "") + "".join(pieces) + ("…" if last < len(line) else "")


def _spaced(text: str) -> str:
    return told(text.replace("\t", " " * _TAB))


def folded(summary: str, body: str, kind: str = "", is_open: bool = False) -> str:
    """A part that opens and closes without a script; `summary` and `body` are HTML."""
    return f'<details class="{kind}"{" open" * is_open}><summary>{summary}</summary>{body}</details>'


def choice(name: str, label: str, choices: Iterable[tuple[str, str]], nothing: str = "all") -> str:
    """A list to choose from, for a script to read; the choices are (value, text)."""
    options = "".join(f'<option value="{escape(value)}">{told(text)}</option>' for value, text in choices)
    first = f'<option value="">{nothing}</option>' if nothing else ""
    return f'<label>{label} <select name="{name}">{first}{options}</select></label>'
