"""The conditions of a class together with those of its base from another package, for the releases in use of both.

`trl.GRPOConfig` gives some fields a value, then `transformers.TrainingArguments` tests and repairs all of them, then
`GRPOConfig` tests what came of it. Each package's file tells its own part; here they are put together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trl_lint.knowledge.condition_language import CRASH, UNKNOWN, World, value_of
from trl_lint.knowledge.condition_names import deciding
from trl_lint.knowledge.conditions import Condition, conditions_of, is_recorded
from trl_lint.records import NamedTuple

_SPEAKING = frozenset({"refuse", "warn", "trainer-refuse", "trainer-warn"})


class Statement(NamedTuple):
    """A fact that speaks, the package that says it, and the world in which its condition is read."""

    package: str
    condition: Condition
    world: Joined


class Joined:
    """A world for one class: `base.x` is what the base from another package makes of what it is given."""

    def __init__(self, world: World, before: Mapping[str, str], after: Mapping[str, str] | None) -> None:
        self._world = world
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
            found = value_of(self._after[name], given) if name in self._after else given.field(name)
            self._known[name] = UNKNOWN if found is CRASH else found
        return self._known[name]

    def given(self) -> _Given:
        """The world as the base sees it."""
        if self._given is None:
            self._given = _Given(self._world, self._before)
        return self._given

    def rests_on(self, names: frozenset[str]) -> frozenset[str]:
        """The fields as given on which fields after the base rest."""
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

    def __init__(self, world: World, before: Mapping[str, str]) -> None:
        super().__init__(world, {}, None)
        self._set = before

    def field(self, name: str) -> object:
        if name not in self._known:
            rule = self._set.get(name)
            found = value_of(rule, self._world) if rule is not None else self._world.field(name)
            self._known[name] = UNKNOWN if found is CRASH else found
        return self._known[name]

    def base(self, name: str) -> object:
        return UNKNOWN

    def rests_on(self, names: frozenset[str]) -> frozenset[str]:
        found: set[str] = set()
        for name in names:
            rule = self._set.get(name)
            found |= deciding(rule, self._world) if rule is not None else {name}
        return frozenset(found)


def statements(package: str, name: str, versions: Mapping[str, str], world: World) -> Iterator[Statement]:
    """Everything that a class and its base from another package say in these releases.

    `world` answers for fields as they are given or by default, for arguments and facts. A release that was not read
    says nothing.
    """
    own, theirs = _own_and_base(package, name, versions)
    joined = _joined(own, theirs, world)
    for (owner, _), found in theirs.items():
        yield from (Statement(owner, each, joined.given()) for each in found if each.kind in _SPEAKING)
    yield from (Statement(package, each, joined) for each in own if each.kind in _SPEAKING)


def trainer_statements(
    package: str, name: str, config: str, versions: Mapping[str, str], world: World
) -> Iterator[Statement]:
    """Everything that a trainer says of its arguments and of a config of this class, which was made before.

    `world` answers for the fields as the config was given them.
    """
    joined = _joined(*_own_and_base(package, config, versions), world)
    for each in conditions_of(package, name, versions.get(package, "")):
        if each.kind in _SPEAKING:
            yield Statement(package, each, joined)


_Theirs = dict[tuple[str, str], tuple[Condition, ...]]


def _own_and_base(package: str, name: str, versions: Mapping[str, str]) -> tuple[tuple[Condition, ...], _Theirs]:
    """What a class says, and what its bases from other packages do, by package and name, as far as they were read."""
    own = conditions_of(package, name, versions.get(package, ""))
    bases = [each.sentence.split(":") for each in own if each.kind == "base"]
    known = [(owner, base) for owner, base in bases if is_recorded(owner, versions.get(owner, ""))]
    return own, {(owner, base): conditions_of(owner, base, versions[owner]) for owner, base in known}


def _joined(own: tuple[Condition, ...], theirs: _Theirs, world: World) -> Joined:
    before = {each.sentence: each.condition for each in own if each.kind == "before"}
    after: dict[str, str] | None = None
    if len(theirs) == 1 == sum(each.kind == "base" for each in own):
        after = {each.sentence: each.condition for found in theirs.values() for each in found if each.kind == "after"}
    return Joined(world, before, after)
