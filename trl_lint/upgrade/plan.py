"""The plan of an upgrade as Markdown: what is left to do, ticked off as it is done.

The first line says between which releases the project moves, so that a later run, when the pins have moved, still
knows where it came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.reports import Report, page_of
from trl_lint.reports.markdown import code, escaped
from trl_lint.upgrade.decision import Decision, Kind

TITLES: dict[Kind, str] = {
    "code": "Code and configs",
    "behaviour": "Behaves differently now",
    "pin": "Pins",
    "lock": "Locks",
}
MOST_PLACES = 8  # shown; the row counts the others
_FIRST = "<!-- trl-lint upgrade from: "
_HEAD = f"{_FIRST}{{}} to: {{}} -->"
_ITEM = regex(r"- \[(?P<tick>[ xX])\] (?P<text>.+)")
_BETWEEN = " · "  # the text of an item ends here, its places follow


class Plan(NamedTuple):
    """What an earlier run wrote: the releases it started from, and its items in their order, with their ticks."""

    old: dict[str, str]
    items: dict[str, bool]


def read_plan(text: str) -> Plan | None:
    """A plan that `markdown` wrote and people may have ticked; None for any other text."""
    lines = text.splitlines()
    if not lines or not lines[0].startswith(_FIRST):
        return None
    old = lines[0].removeprefix(_FIRST).partition(" to:")[0]
    pairs = (pair.partition("==") for pair in old.split())
    items = {}
    for line in lines:
        match = _ITEM.match(line.strip())
        if match is not None:
            items[match["text"].partition(_BETWEEN)[0]] = match["tick"] != " "
    return Plan({name: version for name, _, version in pairs if version}, items)


def markdown(
    old: Mapping[str, str],
    new: Mapping[str, str],
    decisions: Sequence[Decision],
    summary: str,
    report: Report,
    earlier: Plan | None = None,
) -> str:
    """The plan; items of an earlier one that are no longer found are ticked, and what people ticked stays so."""
    done = dict(earlier.items) if earlier is not None else {}
    head = _HEAD.format(_pairs(old), _pairs(new))
    lines = [head, "", f"# Upgrade to {', '.join(f'{name} {version}' for name, version in new.items())}", "", summary]
    for kind, title in TITLES.items():
        mine = [decision for decision in decisions if decision.kind == kind]
        if mine:
            lines += ["", f"## {title}", ""]
        for decision in mine:
            text = item_text(decision)
            lines.append(_line(text, done.pop(text, False), [*_places(decision, report), *_links(decision, new)]))
    if done:
        lines += ["", "## Done", "", *(_line(text, True, []) for text in done)]
    return "\n".join(lines) + "\n"


def open_decisions(decisions: Iterable[Decision], earlier: Plan | None) -> list[Decision]:
    """Those that nobody has ticked by hand."""
    done = earlier.items if earlier is not None else {}
    return [decision for decision in decisions if not done.get(item_text(decision), False)]


def item_text(decision: Decision) -> str:
    """The words of an item, by which a later run knows it again."""
    rule = f"{decision.code}: " if decision.code else ""
    return " ".join(f"{rule}{escaped(decision.text)}".replace(_BETWEEN, " ").split())


def releases_url(package: str, version: str) -> str:
    """Where a package tells what a release brings; "" if nobody knows."""
    from trl_lint.knowledge.compat import repositories, tags

    names, tag = repositories().get(package, ()), tags().get(package, "")
    return f"https://github.com/{names[0]}/releases/tag/{tag.format(version=version)}" if names and tag else ""


def _line(text: str, is_done: bool, rest: Sequence[str]) -> str:
    return f"- [{'x' if is_done else ' '}] {_BETWEEN.join([text, *rest])}"


def _places(decision: Decision, report: Report) -> list[str]:
    shown = [code(report.place(place)) for place in decision.places[:MOST_PLACES]]
    more = len(decision.places) - len(shown)
    return [", ".join(shown) + (f" and {more} more" if more > 0 else "")] if shown else []


def _links(decision: Decision, new: Mapping[str, str]) -> list[str]:
    if decision.code and page_of(decision.code) is not None:
        way = ["`--unsafe-fixes` rewrites it"] if decision.is_unsafe else []
        return [*way, f"`trl-lint rule {decision.code}`"]
    url = releases_url(decision.package, new[decision.package]) if decision.package in new else ""
    return [f"<{url}>"] if url else []


def _pairs(releases: Mapping[str, str]) -> str:
    return " ".join(f"{name}=={re.sub('[<>]', '', version)}" for name, version in releases.items())
