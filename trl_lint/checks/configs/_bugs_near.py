"""The rows of `rules/bugs` that concern the releases in use: all that most projects are asked."""

from __future__ import annotations

from trl_lint.checks.verdict import Verdict, judge_pins
from trl_lint.knowledge.bugs import Entry, entries, indexed
from trl_lint.project.environment import Environment
from trl_lint.records import NamedTuple
from trl_lint.run.runs import Run


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


def may_concern(run: Run) -> bool:
    """Whether a row may concern a run that builds a trainer, by the class and the words of its files alone."""
    known = near(run.environment)
    if not run.arguments_class or not known:
        return bool(known)
    rows = [one for place, ones in known.items() if _is_about(place, run.arguments_class) for one in ones]
    return bool(rows) and any(not one.entry.words or _holds_word(run, one.entry.words) for one in rows)


def _is_about(place: str, config: str) -> bool:
    """Whether a class may be met by a run whose arguments are of a class: its trainer, or one that all are built on."""
    if not place.endswith("Trainer"):
        return place == config
    return place.startswith("transformers.") or _stem(place) == _stem(config)


def _stem(dotted: str) -> str:
    return dotted.rpartition(".")[2].removesuffix("Trainer").removesuffix("Config")


def _holds_word(run: Run, words: tuple[str, ...]) -> bool:
    """Whether one of these stands in what says the settings of a run."""
    texts = [run.launch.source.text]
    if run.script is not None:
        texts.append(run.script.module.source.text)
    if run.recipe is not None:
        texts.append(run.recipe.source.text)
    return any(word in text for text in texts for word in words)
