"""How many statements of each release `rules/conditions` expresses: `rules/coverage/<package>.txt`, in no wheel.

    # trl: written by `python -m trl_lint.knowledge.refresh conditions trl`, not by hand
    construct refuse | 0.15.0 6 6 0 | 1.16.0 76 76 0
    because a slice | 0.15.0 3 | 1.1.0 -

A line is what is counted, then each release at which the number becomes another: statements, fully expressed, partly
(decided for some values), by when they are reached and what they do; and why the others are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trl_lint.knowledge.refresher.conditions import Condition
from trl_lint.knowledge.refresher.tables import read_table

Coverage = dict[str, dict[str, str]]
"""By release: what is counted, and the numbers."""


def count(found: Iterable[Condition]) -> dict[str, str]:
    """Statements by when and kind: all, fully expressed, partly (decided for some values); then why not, by reason."""
    grades: dict[tuple[str, str], dict[tuple[str, int], int]] = {}
    reasons: dict[str, set[tuple[str, int]]] = {}
    for fact in found:
        if fact.kind in ("refuse", "warn"):
            statement = (fact.holder, fact.line)
            grade = 2 if fact.is_full else 1 if fact.condition else 0
            known = grades.setdefault((fact.when, fact.kind), {})
            known[statement] = max(known.get(statement, 0), grade)
            if grade < 2:
                reasons.setdefault(fact.reason, set()).add(statement)
    lines = {
        f"{when} {kind}": f"{len(known)} {list(known.values()).count(2)} {list(known.values()).count(1)}"
        for (when, kind), known in sorted(grades.items())
    }
    full = {s for known in grades.values() for s, grade in known.items() if grade == 2}
    for reason, places in sorted(reasons.items()):
        if places - full:
            lines[f"because {reason}"] = str(len(places - full))
    return lines


def render(package: str, coverage: Coverage, releases: Sequence[str]) -> str:
    """The text of the counts of these releases, oldest first."""
    lines = [f"# {package}: written by `python -m trl_lint.knowledge.refresh conditions {package}`, not by hand"]
    for name in sorted({name for counted in coverage.values() for name in counted}):
        lines.append(name + _changes([coverage.get(version, {}).get(name, "-") for version in releases], releases))
    return "\n".join(lines) + "\n"


def _changes(values: Iterable[str], releases: Iterable[str]) -> str:
    """` | RELEASE VALUE` wherever the value becomes another; `-` where there is none any more."""
    text, last = "", "-"
    for version, value in zip(releases, values, strict=True):
        if value != last:
            text += f" | {version} {value}"
            last = value
    return text


def parse(text: str, releases: Sequence[str]) -> Coverage:
    """What `render` wrote of these releases."""
    coverage: Coverage = {}
    for line in text.splitlines()[1:]:
        name, *changes = line.split(" | ")
        values = dict(change.split(" ", 1) for change in changes)
        last = "-"
        for version in releases:
            last = values.get(version, last)
            if last != "-":
                coverage.setdefault(version, {})[name] = last
    return coverage


def statements(package: str, version: str, releases: Sequence[str]) -> dict[str, tuple[int, int, int]]:
    """By `construct refuse`, `trainer warn` …: statements that a release has, fully expressed, partly expressed."""
    found: dict[str, tuple[int, int, int]] = {}
    for name, value in parse(read_table("coverage", package), releases).get(version, {}).items():
        if not name.startswith("because "):
            every, full, partly = map(int, value.split())
            found[name] = (every, full, partly)
    return found
