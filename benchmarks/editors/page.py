"""What docs/editors.md says is to be run and written, and what it says was tried."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "editors.md"
RESULTS = ROOT / "benchmarks" / "results" / "editors.json"
_BEGIN = "<!-- `make editors` writes this -->\n"
_END = "<!-- end -->"


def said(title: str, text: str | None = None) -> str:
    """What the page says is to be written into a file, or run below a heading: the first fenced block of that name.

    Raises ValueError where the page has none.
    """
    heading = ""
    inside: list[str] | None = None
    for line in (PAGE.read_text("utf-8") if text is None else text).splitlines(keepends=True):
        if inside is not None:
            if line.startswith("```"):
                return "".join(inside)
            inside.append(line)
        elif line.startswith("```"):
            is_it = f'title="{title}"' in line or (heading == title and line.strip() == "```sh")
            inside = [] if is_it else None
        elif line.startswith("#"):
            heading = line.strip("# \n")
    raise ValueError(f"docs/editors.md says nothing of {title}")


def digest(titles: Iterable[str], text: str | None = None) -> str:
    """What tells one state of some blocks from another."""
    return hashlib.sha256("\0".join(said(title, text) for title in titles).encode()).hexdigest()[:16]


def results() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
    return found


def with_results(text: str, found: dict[str, Any]) -> str:
    """The page with the table of what was tried."""
    head, begin, rest = text.partition(_BEGIN)
    _, end, tail = rest.partition(_END)
    if not begin or not end:
        raise ValueError("docs/editors.md has no place for what was tried")
    rows = [
        f"| {one['editor']} {one['version']} | {' | '.join('yes' if one['seen'][name] else 'no' for name in SEEN)} |"
        for one in found["tried"]
    ]
    columns = " | ".join(SEEN.values())
    table = [f"| tried on {found['date']} | {columns} |", "|---|" + "---|" * len(SEEN), *rows, ""]
    return head + begin + "\n".join(table) + end + tail


SEEN = {
    "once": "each finding once, where the command line has it",
    "hover": "hover",
    "fix": "quick fix writes what `--fix` writes, and the finding goes",
    "others": "recipe and pins",
    "settings": "changed settings count at once",
}
