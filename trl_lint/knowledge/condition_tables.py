"""The table of what the releases themselves state, on the pages of the rules that read it: written by `make docs`.

python -m trl_lint.knowledge.condition_tables            exit 1 if a page is stale
python -m trl_lint.knowledge.condition_tables --write    rewrite the pages
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from trl_lint.knowledge import rules_dir
from trl_lint.knowledge.conditions import PACKAGES, conditions_of, recorded_classes, recorded_releases
from trl_lint.knowledge.pages import page_files
from trl_lint.records import NamedTuple

CODES = ("TRL402", "TRL403")
LEAD = "What the releases themselves state, by class, with the releases that have it and the numbers in the newest one:"
HEAD = "| package | class | releases | refuses | warns |\n|---|---|---|---|---|\n"
_MOST_ROWS = 6  # for one package; the others are counted together
_SECTION = "## Versions\n"


class Row(NamedTuple):
    """What a config and its trainer state in the newest release, in sentences that differ."""

    package: str
    names: tuple[str, ...]
    refuses: int
    warns: int


def table() -> str:
    """The table of all packages, the classes that state most first."""
    return HEAD + "".join(line for package in PACKAGES for line in _lines(package))


def rows_of(package: str) -> list[Row]:
    """The classes of a package that state anything in its newest release, a config together with its trainer."""
    newest = recorded_releases(package)[-1]
    groups: dict[str, list[str]] = {}
    for name in recorded_classes(package):
        groups.setdefault(name.removesuffix("Config").removesuffix("Trainer") or name, []).append(name)
    found = []
    for names in groups.values():
        said = [one for name in names for one in conditions_of(package, name, newest)]
        refuses = {one.sentence for one in said if one.kind.endswith("refuse")}
        warns = {one.sentence for one in said if one.kind.endswith("warn")}
        if refuses or warns:
            found.append(Row(package, tuple(names), len(refuses), len(warns)))
    return sorted(found, key=lambda row: (-row.refuses, -row.warns, row.names))


def _lines(package: str) -> Iterator[str]:
    rows = rows_of(package)
    for row in rows[:_MOST_ROWS]:
        yield f"| {package} | {', '.join(row.names)} | {_span(package, row.names)} | {row.refuses} | {row.warns} |\n"
    rest = rows[_MOST_ROWS:]
    if rest:
        names = [name for row in rest for name in row.names]
        refuses, warns = sum(row.refuses for row in rest), sum(row.warns for row in rest)
        yield f"| {package} | {len(names)} others | {_span(package, names)} | {refuses} | {warns} |\n"


def _span(package: str, names: Sequence[str]) -> str:
    """The oldest and the newest release in which one of these classes states anything."""
    found = [
        version
        for version in recorded_releases(package)
        if any(conditions_of(package, name, version) for name in names)
    ]
    return f"{found[0]} to {found[-1]}"


def with_table(text: str) -> str:
    """A page with the table at the end of its section on releases. Raises ValueError if there is no such section."""
    before, found, rest = text.partition(_SECTION)
    if not found:
        raise ValueError(f"no section {_SECTION.strip()}")
    section, mark, after = rest.partition("\n## ")
    own = section.partition(LEAD)[0].rstrip("\n")
    return f"{before}{found}{own}\n\n{LEAD}\n\n{table()}{mark}{after}"


def main(argv: Sequence[str]) -> int:
    stale = False
    for code in CODES:
        path = os.path.join(rules_dir(), page_files()[code])
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        new = with_table(text)
        if new != text and "--write" in argv:
            with open(path, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(new)
        elif new != text:
            stale = True
            print(f"{path}: the table of conditions is stale; run `make docs`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
