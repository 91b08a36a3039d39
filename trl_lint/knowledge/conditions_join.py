"""The conditions of a class together with those of its base from another package, for the releases in use of both.

`trl.GRPOConfig` gives some fields a value, then `transformers.TrainingArguments` tests and repairs all of them, then
`GRPOConfig` tests what came of it. Each package's file tells its own part; here they are put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache

from trl_lint.knowledge.condition_answers import Answers
from trl_lint.knowledge.condition_language import CRASH, UNKNOWN, World
from trl_lint.knowledge.conditions import Condition, conditions_of, is_recorded
from trl_lint.records import NamedTuple

_SPEAKING = frozenset({"refuse", "warn", "trainer-refuse", "trainer-warn"})
_BASE, _BEFORE, _AFTER = frozenset({"base"}), frozenset({"before"}), frozenset({"after"})


_ARGUMENTS = ("transformers", "TrainingArguments")


class Statement(NamedTuple):
    """A fact that speaks, the package that says it, and the world in which its condition is read."""

    package: str
    condition: Condition
    world: Joined


class Joined:
    """A world for one class: `base.x` is what the base from another package makes of what it is given."""

    def __init__(
        self, world: World, before: Mapping[str, str], after: Mapping[str, str] | None, answers: Answers
    ) -> None:
        self._world = world
        self._answers = answers
        self._before = before
        self._after = after  # None: nothing is known of the base
        self._known: dict[str, object] = {}
        self._given: _Given | None = None

    def field(self, name: str) -> object:
        return self._world.field(name)

    def arg(self, name: str) -> object:
        return self._world.arg(name)

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        return self._world.fact(name, arguments)

    def base(self, name: str) -> object:
        if self._after is None:
            return UNKNOWN
        if name not in self._known:
            given = self.given()
            found = self._answers.value(self._after[name], given) if name in self._after else given.field(name)
            self._known[name] = UNKNOWN if found is CRASH else found
        return self._known[name]

    def given(self) -> _Given:
        """The world as the base sees it."""
        if self._given is None:
            self._given = _Given(self._world, self._before, self._answers)
        return self._given

    def rests_on(self, names: frozenset[str]) -> frozenset[str]:
        """The fields as given on which fields after the base rest."""
        from trl_lint.knowledge.condition_names import deciding

        found: set[str] = set()
        for name in names:
            if not name.startswith("base."):
                found.add(name)
                continue
            field = name.removeprefix("base.")
            rule = (self._after or {}).get(field)
            found |= self.given().rests_on(deciding(rule, self.given()) if rule is not None else frozenset({field}))
        return frozenset(found)


class _Given(Joined):
    """What the base from another package is given: fields that the class has set before count as it set them.

    What is set before the base runs can rest on nothing that the base makes, so it is read in the world as given.
    """

    def __init__(self, world: World, before: Mapping[str, str], answers: Answers) -> None:
        super().__init__(world, {}, None, answers)
        self._set = before

    def field(self, name: str) -> object:
        if name not in self._known:
            rule = self._set.get(name)
            found = self._answers.value(rule, self._world) if rule is not None else self._world.field(name)
            self._known[name] = UNKNOWN if found is CRASH else found
        return self._known[name]

    def base(self, name: str) -> object:
        return UNKNOWN

    def rests_on(self, names: frozenset[str]) -> frozenset[str]:
        from trl_lint.knowledge.condition_names import deciding

        found: set[str] = set()
        for name in names:
            rule = self._set.get(name)
            found |= deciding(rule, self._world) if rule is not None else {name}
        return frozenset(found)


class _Plan(NamedTuple):
    """What some releases say of a class. Parts that are equal are one and the same object.

    `bases`: from other packages, by package and name, as far as they were read. `before`: by field, what the class sets
    before they run; `after`: what they make of it, None if that is not known. `said`: all that is said, by the package
    that says it.
    """

    bases: tuple[tuple[str, str], ...]
    before: Mapping[str, str]
    after: Mapping[str, str] | None
    said: tuple[tuple[str, tuple[Condition, ...]], ...]


class Asked(NamedTuple):
    """Which statements are asked for: what `owner` says ("": whoever does) where `is_wanted` of the condition's text.

    `answers` are shared by who asks for one release after the other.
    """

    owner: str
    is_wanted: Callable[[str], bool]
    answers: Answers


def statements(
    package: str, name: str, versions: Mapping[str, str], world: World, asked: Asked | None = None
) -> Iterator[Statement]:
    """Everything that a class and its base from another package say in these releases, or what is asked for of it.

    `world` answers for fields as they are given or by default, for arguments and facts. A release that was not read
    says nothing.
    """
    plan = _plan(package, name, tuple(versions.items()))
    joined = _joined(plan, world, asked)
    for owner, said in plan.said:
        seen = joined if owner == package else joined.given()
        for each in _wanted(said, owner, asked):
            yield Statement(owner, each, seen)


def trainer_statements(
    package: str, name: str, config: str, versions: Mapping[str, str], world: World, asked: Asked | None = None
) -> Iterator[Statement]:
    """Everything that a trainer says of its arguments and of a config (its dotted class), which was made before.

    `world` answers for the fields as the config was given them. The `Trainer` of transformers, as the base of one of
    trl, sees a config of trl as `TrainingArguments` was given it.
    """
    owner, plan = _config_plan(config, versions)
    joined = _joined(plan, world, asked)
    for each in _wanted(_said(package, name, versions.get(package, "")), package, asked):
        yield Statement(package, each, joined if package == owner else joined.given())


def arguments_after(name: str, version: str) -> dict[str, str] | None:
    """By field, what a class of training arguments of transformers makes of it; None if that release was not read."""
    owner = _ARGUMENTS[0]
    return _made(_facts(owner, name, version, _AFTER)) if is_recorded(owner, version) else None


def all_that_is_said(
    package: str, name: str, versions: Mapping[str, str], trainer_of: str = ""
) -> tuple[object, ...] | None:
    """All that these releases say in `statements`, or in `trainer_statements` where `trainer_of` is the dotted class of
    the config: equal for releases that say the same. None where what is said may rest on the releases themselves.
    """
    if trainer_of:
        plan = _config_plan(trainer_of, versions)[1]
        said: tuple[tuple[str, tuple[Condition, ...]], ...] = (
            (package, _said(package, name, versions.get(package, ""))),
        )
    else:
        plan = _plan(package, name, tuple(versions.items()))
        said = plan.said
    makes = (*plan.before.values(), *(plan.after or {}).values())
    if any("version(" in text for text in makes) or any(_names_releases(each) for _, each in said):
        return None
    return id(plan.before), id(plan.after), tuple((owner, id(each)) for owner, each in said)


def _config_plan(config: str, versions: Mapping[str, str]) -> tuple[str, _Plan]:
    owner, name = config.partition(".")[0], config.rpartition(".")[2]
    return owner, _plan(owner, name, tuple(versions.items()))


def _joined(plan: _Plan, world: World, asked: Asked | None) -> Joined:
    return Joined(world, plan.before, plan.after, asked.answers if asked is not None else Answers())


@lru_cache(maxsize=2048)
def _plan(package: str, name: str, releases: tuple[tuple[str, str], ...]) -> _Plan:
    versions = dict(releases)
    version = versions.get(package, "")
    bases = _bases(package, name, versions)
    after = None
    if len(bases) == 1 and len(_facts(package, name, version, _BASE)) < 2:
        ((owner, base),) = bases
        after = _made(_facts(owner, base, versions[owner], _AFTER))
    said = [(owner, _said(owner, base, versions[owner])) for owner, base in bases]
    said.append((package, _said(package, name, version)))
    return _Plan(tuple(bases), _made(_facts(package, name, version, _BEFORE)), after, tuple(said))


def _bases(package: str, name: str, versions: Mapping[str, str]) -> list[tuple[str, str]]:
    """The bases of a class from other packages, by package and name, as far as they were read."""
    if _is_plain_heir(package, name, versions):
        return [_ARGUMENTS]
    found = []
    for each in _facts(package, name, versions.get(package, ""), _BASE):
        owner, _, base = each.sentence.partition(":")
        if is_recorded(owner, versions.get(owner, "")):
            found.append((owner, base))
    return found


def _is_plain_heir(package: str, name: str, versions: Mapping[str, str]) -> bool:
    """Whether a class of a package adds fields to `TrainingArguments`, and has nothing of its own to say of them."""
    from trl_lint.knowledge.api import resolve, signature

    owner, base = _ARGUMENTS
    known = versions.get(package, ""), versions.get(owner, "")
    if package == owner or not is_recorded(package, known[0]) or not is_recorded(owner, known[1]):
        return False
    if any(each.kind != "flag" for each in conditions_of(package, name, known[0])):
        return False
    ours, theirs = (resolve(f"{each}.{cls}", versions) for each, cls in ((package, name), (owner, base)))
    if not isinstance(ours, str) or not isinstance(theirs, str):
        return False
    taken = signature(theirs, versions).parameters.keys()
    return bool(taken) and taken <= signature(ours, versions).parameters.keys()


def _wanted(said: tuple[Condition, ...], owner: str, asked: Asked | None) -> Sequence[Condition]:
    if asked is None:
        return said
    return [each for each in said if asked.is_wanted(each.condition)] if asked.owner in ("", owner) else ()


def _said(package: str, name: str, version: str) -> tuple[Condition, ...]:
    return _facts(package, name, version, _SPEAKING)


@lru_cache(maxsize=4096)
def _facts(package: str, name: str, version: str, kinds: frozenset[str]) -> tuple[Condition, ...]:
    return _one_of(tuple(each for each in conditions_of(package, name, version) if each.kind in kinds))


@cache
def _one_of(facts: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """The same object for equal facts: most releases say what the one before said."""
    return facts


@cache
def _made(facts: tuple[Condition, ...]) -> dict[str, str]:
    """By field, what a class makes of it."""
    return {each.sentence: each.condition for each in facts}


@cache
def _names_releases(said: tuple[Condition, ...]) -> bool:
    return any("version(" in each.condition for each in said)
