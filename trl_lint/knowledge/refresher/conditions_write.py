"""The text of `rules/conditions/<package>.txt`, and reading it again to add a release.

    # trl: written by `python -m trl_lint.knowledge.refresh conditions trl`, not by hand
    releases
     0.15.0 0.15.1 …
    shared
     $k3f isinstance(loss_type, str)
    at GRPOConfig.__post_init__
     refuse ValueError: GRPO requires at least 2 …
      num_generations < 2<tab>~+ThirdConfig 0.14.0, OtherConfig 1.2.0 1.4.0

Below `at`, the function that has the statement, stands what happens and when (`refuse`, `warn`: when the config is
made, `trainer-refuse`, `trainer-warn`: when the trainer is; `before`, `after`: what a field is then; `base`: a class
of another package whose constructor runs; `flag`: the texts that a command may give a field; `type`: a type, and the
fields that are of it) and the sentence or field.
Below that, one line is one fact: the condition, and the classes with the stretches of releases, `FROM` or `FROM UNTIL`
(which does not have it any more); classes with the same stretches stand together, and `~` is the class of the
function. A condition that changed stands beside what it was. `shared` are texts that stand
where their names stand (`conditions_shared`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from trl_lint.knowledge.condition_shared import OWN, SAME, classes_of, expanded, owner_of
from trl_lint.knowledge.refresher.conditions import Condition
from trl_lint.knowledge.refresher.conditions_coverage import Coverage, count
from trl_lint.knowledge.refresher.conditions_shared import share
from trl_lint.records import NamedTuple

_LONGEST_SENTENCE = 160
_LONGEST_PARTLY = 320
_COMPUTED = re.compile(r"(?<!\{)\{\w{0,200}[^{}\w][^{}]{0,500}\}")  # more than a name stands in the hole


class Key(NamedTuple):
    """What is one line."""

    holder: str
    kind: str
    condition: str
    sentence: str


class History(NamedTuple):
    """The facts of releases: `facts` by line and class, the releases that have it; `coverage` as `count` tells it, by
    release.
    """

    releases: list[str]
    facts: dict[Key, dict[str, set[str]]]
    coverage: Coverage


def add_release(
    history: History,
    version: str,
    found: Iterable[Condition],
    is_written: Callable[[Condition], bool] = lambda condition: True,
) -> None:
    """Add what a release says. What cannot be told to hold is counted and not written, as is what is not asked for."""
    found = list(found)
    history.coverage[version] = count(found)
    for fact in filter(is_written, _agreed(found)):
        kind = f"trainer-{fact.kind}" if fact.when == "trainer" else fact.kind
        condition = fact.condition or "_"
        if fact.reason and fact.when == "trainer" and len(condition) > _LONGEST_PARTLY:
            continue  # many, long, and nearly never decided
        sentence = fact.sentence
        if len(_COMPUTED.sub("{}", sentence)) > _LONGEST_SENTENCE:
            sentence = _closed(sentence[:_LONGEST_SENTENCE].rsplit(" ", 1)[0]) + " …"
        key = Key(fact.holder, kind, condition, sentence.replace("\t", " "))
        history.facts.setdefault(key, {}).setdefault(fact.owner, set()).add(version)


def _closed(text: str) -> str:
    """A template that was cut, without a half brace."""
    start = text.rfind("{")
    return text if start < 0 or "}" in text[start:] else text[:start].rstrip()


def _agreed(found: list[Condition]) -> list[Condition]:
    """The facts to write. Two classes of one name (one is kept for old imports): only what both say."""
    kept = [fact for fact in found if fact.condition or fact.kind in ("before", "after", "base")]
    homes: dict[str, set[str]] = {}
    by_fact: dict[tuple[str, ...], set[str]] = {}
    for fact in kept:
        homes.setdefault(fact.owner, set()).add(fact.home)
        by_fact.setdefault((fact.owner, fact.kind, fact.condition, fact.sentence), set()).add(fact.home)
    return [
        fact for fact in kept
        if by_fact[fact.owner, fact.kind, fact.condition, fact.sentence] == homes[fact.owner]
    ]  # fmt: skip


def render(package: str, history: History) -> str:
    """The text of a history."""
    lines = [f"# {package}: written by `python -m trl_lint.knowledge.refresh conditions {package}`, not by hand"]
    lines.append("releases")
    series: dict[str, list[str]] = {}
    for version in history.releases:
        series.setdefault(".".join(version.split(".")[:2]), []).append(version)
    lines += [" " + " ".join(versions) for versions in series.values()]
    keys = sorted(history.facts, key=lambda key: (key.holder, key.kind, key.sentence, key.condition))
    conditions, sentences, parts = share([key.condition for key in keys], [key.sentence for key in keys])
    if parts:
        lines += ["shared", *sorted(f" {name} {part}" for name, part in parts.items())]
    before = Key("", "", "", "")
    for key, condition, sentence in zip(keys, conditions, sentences, strict=True):
        if key.holder != before.holder:
            lines.append(f"at {key.holder}")
        if key._replace(condition="") != before._replace(condition=""):
            lines.append(f" {key.kind} {sentence}")
        before = key
        lines.append(f"  {condition}\t{_told(key.holder, history.facts[key], history.releases)}")
    return "\n".join(lines) + "\n"


def _told(holder: str, classes: dict[str, set[str]], releases: list[str]) -> str:
    """The classes of a fact with their releases, those of the same releases together."""
    groups: dict[str, list[str]] = {}
    for name in sorted(classes):
        groups.setdefault(_stretches(classes[name], releases), []).append(OWN if name == owner_of(holder) else name)
    return ", ".join(f"{SAME.join(names)} {stretches}" for stretches, names in groups.items())


def _stretches(having: set[str], releases: list[str]) -> str:
    """`FROM UNTIL FROM …` for the releases in a set."""
    turns: list[str] = []
    inside = False
    for version in releases:
        if (version in having) != inside:
            turns.append(version)
            inside = not inside
    return " ".join(turns)


def parse(text: str) -> History:
    """What `render` wrote, without the coverage. Raises ValueError where it is something else."""
    history = History([], {}, {})
    parts: dict[str, str] = {}
    section = kind = sentence = ""
    for line in text.splitlines():
        if not line.startswith(" "):
            section = line
        elif section == "releases":
            history.releases.extend(line.split())
        elif section == "shared":
            name, _, part = line[1:].partition(" ")
            parts[name] = part
        elif not line.startswith("  "):
            kind, _, sentence = line[1:].partition(" ")
            sentence = expanded(sentence, parts)
        else:
            condition, told = line[2:].split("\t")
            key = Key(section[len("at ") :], kind, expanded(condition, parts), sentence)
            classes = history.facts.setdefault(key, {})
            for name, turns in classes_of(told, key.holder):
                classes[name] = _between(turns, history.releases)
    return history


def _between(turns: list[str], releases: list[str]) -> set[str]:
    places = [releases.index(turn) for turn in turns] + [len(releases)] * (len(turns) % 2)
    return {v for start, end in zip(places[::2], places[1::2], strict=True) for v in releases[start:end]}
