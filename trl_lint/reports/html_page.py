"""The frame of every page that trl-lint writes: one file that asks for nothing from elsewhere.

All that comes from an analysed file goes through `told` or `prose`. The policy of a page names its own style and script
by their hashes, so a browser runs and loads nothing else, whatever an analysed file has got into the text.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from html import escape

from trl_lint import __version__
from trl_lint.finding import Severity
from trl_lint.reports import visible
from trl_lint.reports.html_style import STYLE

# Told apart by sign and word too, so that nobody depends on seeing the colours.
_LEVELS = {"error": "✖ error", "warning": "▲ warning", "info": "● hint"}
_LONGEST = 400  # characters of a line that an excerpt shows
_TAB = 4


def page(title: str, parts: Iterable[str], script: str = "") -> str:
    """A whole page of HTML parts; `title` is plain text, and `script` only adds to what can be read without it."""
    runs = f"<script>{script}</script>\n" if script else ""
    allowed = _digest(script) if script else "'none'"
    policy = (
        f"default-src 'none'; style-src {_digest(STYLE)}; script-src {allowed}; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{told(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(filter(None, parts))
        + f"\n<footer>trl-lint {escape(__version__)}</footer>\n{runs}</body>\n</html>\n"
    )


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
