"""Text of others in Markdown: shown and never obeyed.

No mention, no link, no reference to an issue, no HTML and no fence can be made of it. Code spans are literal in
Markdown; outside of them every character with a meaning is escaped, and where GitHub looks for names and links in the
finished text, a zero-width space breaks them.
"""

from __future__ import annotations

import re

from trl_lint.regexes import regex
from trl_lint.reports import visible

SPACE = "\u200b"
_SPECIAL = regex(r"[\\`*_{}\[\]()+\-!|~^=]")
_NUMBER = regex(r"\A([ ]*\d+)\.")  # of a list, where it stands first
_BREAKS = regex(r"@|#|\$|://|(?i:www\.|gh-|mailto:|xmpp:)|:(?=[\w+-]+:)")


def escaped(text: str) -> str:
    """A message in one line: what stands between backticks as code, everything else as nothing but text."""
    parts = visible(text).lstrip().split("`")
    if len(parts) % 2 == 0:  # a backtick without a partner
        parts[-2:] = [f"{parts[-2]}`{parts[-1]}"]
    found = ""
    for number, part in enumerate(parts):
        piece = code(part) if number % 2 else _plain(part)
        # Two spans side by side would become one.
        found += f"{SPACE}{piece}" if found.endswith("`") and piece.startswith("`") else piece
    return found


def code(text: str) -> str:
    """A code span that holds a text whatever is in it."""
    text = visible(text).replace("<!--", f"<!{SPACE}--")
    if not text.strip():
        return _plain(f"`{text}`")
    fence = "`" * (longest_run(text) + 1)
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _plain(text: str) -> str:
    text = _BREAKS.sub(_broken, text)
    text = _NUMBER.sub(r"\1\\.", _SPECIAL.sub(r"\\\g<0>", text))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("#", "\\#")


def _broken(match: re.Match[str]) -> str:
    found = match[0]
    return f"{found[0]}{SPACE}{found[1:]}" if len(found) > 1 else f"{found}{SPACE}"


def longest_run(text: str) -> int:
    """How many backticks stand side by side at most."""
    return max((len(run) for run in re.findall("`+", text)), default=0)
