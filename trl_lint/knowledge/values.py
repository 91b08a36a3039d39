"""Text values that a trainer refuses although its config takes them, as the releases know them.

`rules/values/<package>.txt` is written by `python -m trl_lint.knowledge.refresh values` from the chains of comparisons
in the trainers (`trl_lint.knowledge.refresher.choices`). `rules/semantics/values.toml` says what these chains do not:
which function asks for a field by another name, which spellings a config turns into others, and lists of another form.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

from trl_lint.knowledge import KnowledgeError, rules_dir
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.rows import Range, read_rows
from trl_lint.records import NamedTuple

AT_FIRST_STEP = "at the first step"
# Methods that every run of their trainer goes through; what constructs it is recorded as conditions. And the oldest
# release whose trainer takes no field by itself.
_ALWAYS = frozenset(
    {"_compute_loss", "_compute_losses", "_generate_and_score_completions", "cpo_loss", "dpo_loss", "training_step"}
)
_SINCE = ">=0.13"


class ValueRule(NamedTuple):
    """The values a field of a config may have with some releases of trl, when a run stops at another one, and the
    boolean field without which nobody looks at it ("" for none).
    """

    config: str
    field: str
    releases: frozenset[str]
    allowed: tuple[str, ...]
    fails: str
    when: str = ""


class Fact(NamedTuple):
    """What a function of some releases knows: `holder` is its class, or its own name. `when` has "?" for what decides
    beside plain switches.
    """

    holder: str
    name: str
    method: str
    when: tuple[str, ...]
    values: tuple[str, ...]
    releases: frozenset[str]


class Listed(NamedTuple):
    """A list of values that no chain of the releases states, written by hand; the fields as in `ValueRule`."""

    config: str
    field: str
    releases: Range
    allowed: tuple[str, ...]
    fails: str
    when: str = ""


class Elsewhere(NamedTuple):
    """A function (`holder.name` of the extraction) that gets the field of a config.

    `releases`: in which of those that have it; the others state it as a condition.
    """

    config: str
    field: str
    asks: str
    fails: str
    when: str = ""
    releases: Range = ">=0"


class Spelling(NamedTuple):
    """Spellings of a field that its config turns into values that the trainer knows.

    `read_in`: where that stands, for those of which the recorded conditions say nothing.
    """

    config: str
    field: str
    releases: Range
    values: tuple[str, ...]
    read_in: str = ""


class _Table(NamedTuple):
    evidence: tuple[str, ...]
    listed: tuple[Listed, ...]
    elsewhere: tuple[Elsewhere, ...]
    spelling: tuple[Spelling, ...]


@cache
def value_rules(config: str) -> tuple[ValueRule, ...]:
    """The rules of a config class (its dotted public name). Raises KnowledgeError if a table is malformed."""
    package, _, name = config.partition(".")
    if package != "trl":
        return ()
    trainer = name.removesuffix("Config") + "Trainer"
    found = [_of_trainer(config, fact) for fact in facts(package) if fact.holder == trainer and is_asked(fact)]
    for there in by_hand().elsewhere:
        if there.config == config:
            asked = (one for one in facts(package) if f"{one.holder}.{one.name}" == there.asks and "?" not in one.when)
            for fact in asked:
                within = frozenset(version for version in fact.releases if holds(there.releases, version))
                found.append(ValueRule(config, there.field, within, fact.values, there.fails, there.when))
    known = releases_of(package)
    for row in by_hand().listed:
        if row.config == config:
            within = frozenset(version for version in known if holds(row.releases, version))
            found.append(ValueRule(config, row.field, within, row.allowed, row.fails, row.when))
    return tuple(one for rule in found for one in _with_spellings(rule))


def is_asked(fact: Fact) -> bool:
    """Whether every run of the trainer comes to the chain, where the switch around it is on."""
    return fact.method in _ALWAYS and "?" not in fact.when and len(fact.when) < 2


def _of_trainer(config: str, fact: Fact) -> ValueRule:
    when = fact.when[0] if fact.when else ""
    return ValueRule(config, fact.name, fact.releases, fact.values, AT_FIRST_STEP, when)


def _with_spellings(rule: ValueRule) -> Iterator[ValueRule]:
    """The rule with what its config takes besides, by release."""
    by_more: dict[tuple[str, ...], set[str]] = {}
    rows = [row for row in by_hand().spelling if (row.config, row.field) == (rule.config, rule.field)]
    for version in rule.releases:
        if not holds(_SINCE, version):
            continue
        more = tuple(value for row in rows if holds(row.releases, version) for value in row.values)
        by_more.setdefault(more, set()).add(version)
    for more, versions in by_more.items():
        yield rule._replace(allowed=(*rule.allowed, *more), releases=frozenset(versions))


@cache
def by_hand() -> _Table:
    """The table that is written by hand."""
    return read_rows("semantics/values.toml", _Table, "trl")


@cache
def facts(package: str) -> tuple[Fact, ...]:
    """What the functions of a package know, by release."""
    known = releases_of(package)
    return tuple(_read(line, known) for line in _lines(package)[1:])


@cache
def releases_of(package: str) -> tuple[str, ...]:
    """The releases whose values were read, oldest first."""
    return tuple(_lines(package)[0].split()[1:])


def _read(line: str, known: tuple[str, ...]) -> Fact:
    said, _, turns = line.partition(" | ")
    try:
        place, method, when, values = said.split(" ")
        ends = [known.index(turn) for turn in turns.split(" ")]
    except ValueError:
        raise KnowledgeError(f"rules/values: `{line}` is no fact") from None
    ends += [len(known)] * (len(ends) % 2)
    within = frozenset(v for start, end in zip(ends[::2], ends[1::2], strict=True) for v in known[start:end])
    holder, _, name = place.partition(".")
    return Fact(holder, name, method, () if when == "-" else tuple(when.split(",")), tuple(values.split(",")), within)


def _lines(package: str) -> list[str]:
    path = os.path.join(rules_dir(), "values", f"{package}.txt")
    with open(path, encoding="utf-8") as stream:
        return stream.read().splitlines()
