"""The table of rules in the user guide, written from the rule pages.

python -m trl_lint.knowledge.tables docs/rules.md            exit 1 if the table is stale
python -m trl_lint.knowledge.tables --write docs/rules.md    rewrite it
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from trl_lint.knowledge.pages import Page, all_pages

BEGIN = "<!-- rules: begin (make docs) -->\n"
END = "<!-- rules: end -->\n"
TOPICS = {
    "0": "The tool itself",
    "1": "Placement and distribution",
    "2": "Pins",
    "3": "API drift",
    "4": "Config files",
    "5": "Launch",
    "6": "Numerics",
    "7": "Algorithm and trainer semantics",
    "8": "Inference engine",
    "9": "Opinions, off by default",
}


def rules_tables(pages: Sequence[Page]) -> str:
    """One Markdown table for each topic that has rules."""
    parts = []
    for digit, topic in TOPICS.items():
        rows = [table_row(page) for page in pages if page.code[3] == digit]
        if rows:
            parts.append(f"## {topic}\n\n| code | what it finds | level | impact | fix |\n|---|---|---|---|---|\n")
            parts.append("".join(rows) + "\n")
    return "\n" + "".join(parts)


def table_row(page: Page) -> str:
    code = f"[{page.code}](../rules/pages/{page.code}-{page.name}.md)"
    title = page.title.replace("|", "\\|")
    return f"| {code} | {title} | {page.severity} | {page.impact} | {fix_words(page)} |\n"


def fix_words(page: Page) -> str:
    """When a fix is offered, and how far it can be trusted."""
    return "" if page.fix == "none" else f"{page.fix}, {page.fix_safety}"


def with_tables(text: str, pages: Sequence[Page]) -> str:
    """The text with what stands between its markers replaced. Raises ValueError if it has no markers."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"no place for the rule tables: {BEGIN.strip()} … {END.strip()}")
    return head + begin + rules_tables(pages) + end + tail


def main(argv: Sequence[str]) -> int:
    write = "--write" in argv
    stale = False
    for path in (arg for arg in argv if arg != "--write"):
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        new = with_tables(text, all_pages())
        if new == text:
            continue
        if write:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(new)
        else:
            stale = True
            print(f"{path}: the rule tables are stale; run `make docs`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
