"""A number at which something is left out is said by `budget.limit` or `budget.note`, or explained where it stands.

A comment explains it where nothing is lost without a word: beyond the number something is refused, counted in a
message, kept no longer, or unknown in a value that ends in many other ways too.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1] / "trl_lint"
LIMIT = re.compile(
    r"^(_?(?:MOST|MAX|MAXIMUM|DEEP|DEEPEST|LONGEST|LARGEST)(?:_[A-Z_]+)?|_?[A-Z_]+_DEEP) = [\d_<( ]", re.MULTILINE
)
# What only shows things, and what only those use who work on the tool.
SHOWING = ("reports/", "editors/", "commands/", "knowledge/refresher/", "causes.py", "words.py", "diagnose/", "cache/")


def unsaid() -> set[str]:
    found = set()
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text("utf-8")
        lines = text.splitlines()
        for match in LIMIT.finditer(text):
            number = text.count("\n", 0, match.start())
            is_explained = "#" in lines[number] or (number and lines[number - 1].startswith("#"))
            is_said = (
                re.search(rf"(?:budget\.(?:limit|note)|too_intricate)\([^)]*\b{match[1]}\b", text, re.DOTALL)
                is not None
            )
            if not (is_explained or is_said or name.startswith(SHOWING)):
                found.add(f"{name}: {match[1]}")
    return found


def test_every_limit_is_said_or_explained():
    assert sorted(unsaid()) == [], "say it with `budget.limit`, or why nothing is lost in a comment"
