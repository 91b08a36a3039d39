"""Releases that fit together: what the goals ask, the pins of a project left alone as far as that goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from packaging.version import Version

from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.releases import installable
from trl_lint.knowledge.requirements import Requirement, requirement
from trl_lint.records import NamedTuple

# A set is found in a few hundred questions; what takes more is a knot that nobody should wait for.
_MOST_QUESTIONS = 200_000


class Used(NamedTuple):
    """A package of the project: the releases that all its pins allow now, oldest first (none where nobody knows them).

    `extras`: what is asked for beside it, as in `trl[vllm]`. `follows_main`: it comes from the main branch of its
    repository or is the project itself, so the newest known release stands for it, and without a goal it stays there.
    `is_own`: it is the project itself, whose pins say what it needs, and not one of its releases.
    """

    name: str
    releases: tuple[Version, ...]
    extras: frozenset[str] = frozenset()
    follows_main: bool = False
    is_own: bool = False


class Demand(NamedTuple):
    """A release that requires something of another package."""

    package: str
    version: Version
    dependency: str
    specifier: str

    def __str__(self) -> str:
        return f"{self.package} {self.version} requires {self.dependency}{self.specifier}"


class Fit(NamedTuple):
    """The release of each package that was named or has to move, and for the latter what makes it.

    The others stay as their pins say.
    """

    releases: dict[str, Version]
    reasons: dict[str, Demand]


class NoFitError(Exception):
    """No set of known releases does what was asked; the text says which requirements stand in the way."""


def find_fit(goals: Mapping[str, Sequence[Version]], used: Sequence[Used]) -> Fit:
    """A release for every goal and every used package. Raises NoFitError.

    `goals`: the releases that would do, oldest first; the newest that fits is taken. A package without a goal keeps a
    release that its pins allow, if one fits; else it moves to the nearest newer one that does, else to an older one.
    What is only supported (an extra that nobody asks for) is kept to where that is possible.
    """
    extras = {one.name: one.extras for one in used}
    order = {name: tuple(reversed(releases)) for name, releases in goals.items()}
    order.update({one.name: _preferred(one) for one in used if one.name not in order})
    try:
        releases = _Search(order, extras, is_strict=True).run()
    except NoFitError:
        releases = _Search(order, extras, is_strict=False).run()
    before = {one.name: one.releases for one in used if one.name not in goals}
    moved = [name for name, old in before.items() if old and releases[name] not in old]
    reasons = {name: found for name in moved if (found := _reason(name, releases, before, extras))}
    return Fit({name: releases[name] for name in (*goals, *moved)}, reasons)


def _preferred(used: Used) -> tuple[Version, ...]:
    """All releases of a package that has no goal, the best first."""
    known = installable(used.name)
    if not used.releases:
        return tuple(reversed(known))
    inside = set(used.releases)
    newer = [version for version in known if version > used.releases[-1]]
    older = [version for version in reversed(known) if version < used.releases[-1] and version not in inside]
    return (*reversed(used.releases), *newer, *older)


def _reason(
    name: str,
    releases: Mapping[str, Version],
    before: Mapping[str, tuple[Version, ...]],
    extras: Mapping[str, frozenset[str]],
) -> Demand | None:
    """Which chosen release refuses all that the pins of a package allow."""
    for other, version in releases.items():
        need = _need(other, version, name, extras, is_strict=True)
        if other != name and need is not None and not any(holds(need.specifier, old) for old in before[name]):
            return Demand(other, version, name, need.specifier)
    return None


def _need(
    package: str, version: Version, dependency: str, extras: Mapping[str, frozenset[str]], is_strict: bool
) -> Requirement | None:
    """What limits the releases of a dependency; None where nothing does, or nobody knows."""
    found = requirement(package, version, dependency, extras.get(package, frozenset()))
    if found is None or not found.specifier or found.force == "none":
        return None
    return found if is_strict or found.is_binding else None


class _Search:
    """Depth first, the releases that cannot fit any more taken away after each choice."""

    def __init__(
        self, order: Mapping[str, tuple[Version, ...]], extras: Mapping[str, frozenset[str]], is_strict: bool
    ) -> None:
        self.order = order
        self.extras = extras
        self.is_strict = is_strict
        self.questions = 0
        self.dead_end: Demand | None = None  # the first: what stands between the best of all choices

    def run(self) -> dict[str, Version]:
        found = self._search({}, dict(self.order))
        if found is None:
            why = f": {self.dead_end}" if self.dead_end else ""
            raise NoFitError(f"no known releases of {', '.join(self.order)} fit together{why}")
        return found

    def _search(self, chosen: dict[str, Version], left: dict[str, tuple[Version, ...]]) -> dict[str, Version] | None:
        if not left:
            return chosen
        name = next(iter(left))
        rest = {other: releases for other, releases in left.items() if other != name}
        for version in left[name]:
            narrowed = self._narrowed(name, version, rest)
            if narrowed is None:
                continue
            found = self._search({**chosen, name: version}, narrowed)
            if found is not None:
                return found
        return None

    def _narrowed(
        self, name: str, version: Version, rest: Mapping[str, tuple[Version, ...]]
    ) -> dict[str, tuple[Version, ...]] | None:
        """What the other packages may still be beside a release; None where one of them has nothing left."""
        found = {}
        for other, releases in rest.items():
            need = _need(name, version, other, self.extras, self.is_strict)
            mine = releases if need is None else tuple(v for v in releases if holds(need.specifier, v))
            both = tuple(v for v in mine if self._takes(other, v, name, version))
            if not both:
                self._note(name, version, other, need if not mine else None, releases)
                return None
            found[other] = both
        return found

    def _takes(self, package: str, release: Version, dependency: str, version: Version) -> bool:
        self.questions += 1
        if self.questions > _MOST_QUESTIONS:
            raise NoFitError(f"no set of releases was found in {_MOST_QUESTIONS} steps; name more of them with --to")
        need = _need(package, release, dependency, self.extras, self.is_strict)
        return need is None or holds(need.specifier, version)

    def _note(
        self, name: str, version: Version, other: str, need: Requirement | None, releases: tuple[Version, ...]
    ) -> None:
        if self.dead_end is not None:
            return
        if need is not None:
            self.dead_end = Demand(name, version, other, need.specifier)
            return
        theirs = _need(other, releases[0], name, self.extras, self.is_strict)
        if theirs is not None:
            self.dead_end = Demand(other, releases[0], name, theirs.specifier)
