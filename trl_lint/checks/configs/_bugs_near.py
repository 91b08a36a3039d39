"""The rows of `rules/bugs` that concern the releases in use: all that most projects are asked."""

from __future__ import annotations

from trl_lint.checks.verdict import Verdict, judge_pins
from trl_lint.knowledge.bugs import Entry, entries, indexed
from trl_lint.project.environment import Environment
from trl_lint.records import NamedTuple


class Near(NamedTuple):
    """A row that concerns the releases in use, and what the pins prove."""

    entry: Entry
    verdict: Verdict


def near(environment: Environment) -> dict[str, list[Near]]:
    """The rows that concern the releases of an environment, by each place of their `where`."""
    return environment.choices.remembered(("TRL206",), lambda: _near(environment))


def _near(environment: Environment) -> dict[str, list[Near]]:
    found: dict[str, list[Near]] = {}
    for name in indexed():
        package = environment.package(name)
        # A release that nobody names is no reason to speak of its faults, and the main branch may be past them.
        if package.source in ("assumed", "unknown") or package.is_own or package.is_tip:
            continue
        for entry in entries(name):
            verdict = judge_pins(environment, {name: entry.releases, **entry.beside}, "warning")
            if verdict is not None and not verdict.only_old:
                for place in entry.where:
                    found.setdefault(place, []).append(Near(entry, verdict))
    return found
