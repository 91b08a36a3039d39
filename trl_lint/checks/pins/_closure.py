"""Whether releases exist that satisfy the pins of one installation and everything these releases require in turn.

Each package has the releases its pins allow. A release goes if what it requires of another package leaves nothing
there; what every release of a package requires narrows the other package, pinned or not. This is repeated until nothing
changes. Only what is impossible goes, so an empty package proves a contradiction; that none is empty proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from packaging.version import Version

from trl_lint.knowledge.requirements import Requirement, declared, providers, requirement
from trl_lint.project.pins import Pin
from trl_lint.records import NamedTuple

# Every round takes a release from some package, and contradictions are a few packages long.
_MOST_ROUNDS = 12


class Wish(NamedTuple):
    """What an installation asks of one package.

    `releases` are the known ones the pins allow, None if nobody knows them; `is_open` where a release that is not known
    may do as well. A package that is not `wanted` is only limited (a constraint, a target), not installed.
    """

    name: str
    specifier: str
    extras: frozenset[str]
    releases: tuple[Version, ...] | None
    is_open: bool
    wanted: bool
    pins: tuple[Pin, ...]

    @property
    def text(self) -> str:
        extras = f"[{','.join(sorted(self.extras))}]" if self.extras else ""
        return f"{self.name}{extras}{self.specifier}"


class Demand(NamedTuple):
    """Releases of a package that have a requirement, which is that of the newest of them.

    `is_refused`: there is nothing that meets it, so the releases are out; else it narrows the dependency.
    """

    package: str
    releases: tuple[Version, ...]
    dependency: str
    requirement: Requirement
    is_refused: bool


class Contradiction(NamedTuple):
    """Pins that no releases satisfy: the demands that show it, in the order of the argument, and what was pinned."""

    chain: tuple[Demand, ...]
    wishes: tuple[Wish, ...]


def find_contradiction(wishes: Mapping[str, Wish], python: str) -> Contradiction | None:
    """The first contradiction among the wishes of one installation, with no more pins than it needs."""
    # Where the pins stand decides nothing: many manifests of a project ask for the same, and are solved once.
    found = _found(tuple(wish._replace(pins=()) for wish in wishes.values()), python)
    return None if found is None else Contradiction(found[0], tuple(wishes[name] for name in found[1]))


@lru_cache(maxsize=512)
def _found(asked: tuple[Wish, ...], python: str) -> tuple[tuple[Demand, ...], tuple[str, ...]] | None:
    """The demands of a contradiction, and the packages whose wishes are in it."""
    wishes = {wish.name: wish for wish in asked}
    chain = _Search(wishes, python).run()
    if chain is None:
        return None
    involved = {name for demand in chain for name in (demand.package, demand.dependency)}
    core = {name: wish for name, wish in wishes.items() if name in involved}
    best = _Search(core, python).run()
    if best is None:  # what else narrowed a package on the way belongs to it
        core, best = dict(wishes), chain
    for name in list(core):
        fewer = {other: wish for other, wish in core.items() if other != name}
        shorter = _Search(fewer, python).run()
        if shorter is not None:
            core, best = fewer, shorter
    return best, tuple(core)


class _Search:
    """Which releases of each package are left. They are bits of a number, the oldest release the lowest one."""

    def __init__(self, wishes: Mapping[str, Wish], python: str) -> None:
        self.wishes = wishes
        self.python = python
        self.every: dict[str, tuple[Version, ...]] = {}  # the releases that the bits stand for
        self.left: dict[str, int] = {}
        self.open: dict[str, bool] = {}
        self.unknown: set[str] = set()
        self.installed: list[str] = []
        self.demands: dict[str, list[Demand]] = {}  # what narrowed a package, or took releases from it
        for name, wish in wishes.items():
            if wish.releases is None:
                self.unknown.add(name)
            else:
                self.every[name], self.left[name] = _counted(name, wish.releases)
                self.open[name] = wish.is_open
            if wish.wanted:
                self.installed.append(name)

    def run(self) -> tuple[Demand, ...] | None:
        """The demands that lead to a package without releases; None if there is none."""
        for _ in range(_MOST_ROUNDS):
            changed = False
            for name in self.installed:  # grows while it is walked
                if name in self.unknown or name not in providers() or self.open[name]:
                    continue  # what an unknown release requires, nobody knows
                before = self.left[name]
                self._drop_impossible(name)
                if not self.left[name]:
                    return tuple(self._explain(name, set()))
                changed |= self.left[name] != before
                for dependency in self._required_of(name):
                    narrowed = self._narrow(name, dependency)
                    if not self.left[dependency] and not self.open[dependency]:
                        return tuple(self._explain(dependency, set()))
                    changed |= narrowed
            if not changed:
                break
        return None

    def _releases(self, name: str) -> list[Version]:
        """The releases of a package that are left."""
        left = self.left[name]
        return [version for number, version in enumerate(self.every[name]) if left >> number & 1]

    # -- one package ----------------------------------------------------------------------------------------------

    def _drop_impossible(self, name: str) -> None:
        """Take away the releases that require what the other packages cannot be."""
        left = self.left[name]
        refused: dict[str, list[Version]] = {}
        for number, version in enumerate(self.every[name]):
            if left >> number & 1:
                found = next((need for need in self._needs(name, version) if not self._fits(*need)), None)
                if found is not None:
                    refused.setdefault(found[0], []).append(version)
                    left &= ~(1 << number)
        for dependency, releases in refused.items():
            self._note(name, name, tuple(releases), dependency)
        self.left[name] = left

    def _narrow(self, name: str, dependency: str) -> bool:
        """Leave of a dependency only what some release of the package takes; it gets installed with it."""
        releases = self._releases(name)
        needs = [self._need(name, version, dependency) for version in releases]
        specifiers = {need.specifier for need in needs if need is not None}
        allowed = 0
        for specifier in specifiers:
            allowed |= self._allowed(dependency, specifier)
        left = self.left[dependency] & allowed
        is_open = self.open[dependency] and any(_is_open(dependency, specifier) for specifier in specifiers)
        changed = (left, is_open) != (self.left[dependency], self.open[dependency])
        if changed:
            self.left[dependency], self.open[dependency] = left, is_open
            self._note(dependency, name, tuple(releases), dependency)
        if dependency not in self.installed:
            self.installed.append(dependency)
            changed = True
        return changed

    def _note(self, about: str, name: str, releases: tuple[Version, ...], dependency: str) -> None:
        need = self._need(name, releases[-1], dependency)
        if need is not None:
            self.demands.setdefault(about, []).append(Demand(name, releases, dependency, need, about == name))

    def _required_of(self, name: str) -> list[str]:
        """The packages that every release which is left requires, and of which something is known."""
        common: list[str] | None = None
        for version in self._releases(name):
            needed = [dependency for dependency, _ in self._needs(name, version)]
            common = needed if common is None else [other for other in common if other in needed]
            if not common:
                break
        return common or []

    # -- one release ----------------------------------------------------------------------------------------------

    def _needs(self, name: str, version: Version) -> Iterator[tuple[str, Requirement]]:
        """What a release is sure to require of packages about which something is known."""
        for dependency, need in _binding(name, version, self._extras(name), self.python).items():
            if dependency != name and self._is_judged(dependency):
                yield dependency, need

    def _need(self, name: str, version: Version, dependency: str) -> Requirement | None:
        return _binding(name, version, self._extras(name), self.python).get(dependency)

    def _extras(self, name: str) -> frozenset[str]:
        wish = self.wishes.get(name)
        return wish.extras if wish is not None else frozenset()

    def _is_judged(self, name: str) -> bool:
        """Whether the releases of a package are known; one that nothing pins may be any of them."""
        if name in self.unknown:
            return False
        if name not in self.left:
            known = _all_known(name)
            if not known:
                self.unknown.add(name)
                return False
            self.every[name], self.left[name], self.open[name] = known, (1 << len(known)) - 1, True
        return True

    def _fits(self, dependency: str, need: Requirement) -> bool:
        if self.open[dependency] and _is_open(dependency, need.specifier):
            return True
        return self._allowed(dependency, need.specifier) & self.left[dependency] != 0

    def _allowed(self, name: str, specifier: str) -> int:
        """The releases of a package that a specifier allows; all of them where it cannot be read."""
        every = self.every[name]
        known = _all_known(name)
        if every is known:
            return _known_allowed(name, specifier)
        found = _matching(every, specifier)
        # Beside known releases one that is not listed is what nothing is known to take.
        return found & _bits(every, frozenset(known)) if known else found

    # -- the argument ---------------------------------------------------------------------------------------------

    def _explain(self, name: str, seen: set[str]) -> Iterator[Demand]:
        """The demands on a package, those that made them possible before them, each once."""
        if name in seen:
            return
        seen.add(name)
        for demand in self.demands.get(name, ()):
            yield from self._explain(demand.package, seen)
            yield from self._explain(demand.dependency, seen)
            yield demand


@lru_cache(maxsize=4096)
def _binding(name: str, version: Version, extras: frozenset[str], python: str) -> dict[str, Requirement]:
    """What a release is sure to require, by package."""
    known = declared(name, version)
    asked = ((each, requirement(name, version, each, extras, python)) for each in (known.parts if known else ()))
    return {each: need for each, need in asked if need is not None and need.is_binding}


def _all_known(name: str) -> tuple[Version, ...]:
    from trl_lint.knowledge.releases import versions

    return versions(name)


# By the identity of a tuple of releases, which is kept with them: a tuple of versions takes long to hash.
_COUNTED: dict[tuple[str, int], tuple[tuple[Version, ...], tuple[Version, ...], int]] = {}
_MOST_COUNTED = 1024  # answers that are kept


def _counted(name: str, releases: tuple[Version, ...]) -> tuple[tuple[Version, ...], int]:
    """The releases that bits stand for, all known ones of the package if some are among them, and the bits of these."""
    known = _COUNTED.get((name, id(releases)))
    if known is None or known[0] is not releases:
        if len(_COUNTED) >= _MOST_COUNTED:
            _COUNTED.clear()
        every = _all_known(name)
        bits = _bits(every, frozenset(releases))
        if bits.bit_count() != len(releases):
            every, bits = releases, (1 << len(releases)) - 1
        known = _COUNTED[name, id(releases)] = releases, every, bits
    return known[1:]


def _bits(every: tuple[Version, ...], chosen: frozenset[Version]) -> int:
    return sum(1 << number for number, version in enumerate(every) if version in chosen)


@lru_cache(maxsize=4096)
def _known_allowed(name: str, specifier: str) -> int:
    # The same few specifiers are asked for again and again: each is answered once for all releases of a package.
    return _matching(_all_known(name), specifier)


def _matching(releases: tuple[Version, ...], specifier: str) -> int:
    from trl_lint.knowledge.ranges import holds
    from trl_lint.knowledge.releases import parse_specifier

    if parse_specifier(specifier) is None:
        return (1 << len(releases)) - 1
    return sum(1 << number for number, version in enumerate(releases) if holds(specifier, version))


def _is_open(name: str, specifier: str) -> bool:
    from trl_lint.knowledge.releases import is_open

    return is_open(name, specifier)
