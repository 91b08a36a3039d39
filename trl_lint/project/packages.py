"""What is known about one package: the releases that pins of equal rank allow it together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from packaging.version import Version

from trl_lint.finding import Location
from trl_lint.knowledge.ranges import holds
from trl_lint.project.pins import Pin

# More places than these tell a reader nothing new.
_MOST_PLACES = 3

# "told": nothing installs it where the code runs, and its release is named elsewhere in the tree, or in words.
Origin = Literal["target", "lock", "pin", "told", "assumed", "unknown"]
Answer = Literal["all", "some", "none", "unknown"]


class Package:
    """What is known about one package in one environment.

    `allowed` are the releases the pins allow, oldest first, None if that is unknown (a repository, a version newer than
    the list of releases). `resolved` is the locked or else the newest allowed one. Where nothing limits the package, it
    is the one that an installer takes beside the others. `specifier` joins the alternatives with ` | `.
    `is_own`: the project being checked is this package. `is_tip`: it comes from the main branch of its
    repository, so it is at least the newest known release.
    """

    __slots__ = (
        "_allowed",
        "_answers",
        "_because",
        "_between",
        "_take",
        "is_own",
        "is_tip",
        "name",
        "pins",
        "source",
        "specifier",
    )

    def __init__(
        self,
        name: str,
        pins: tuple[Pin, ...] = (),
        allowed: tuple[Version, ...] | None = None,
        source: Origin = "unknown",
        specifier: str = "",
        between: tuple[Version, ...] = (),
        is_own: bool = False,
        is_tip: bool = False,
        take: Callable[[], Version | None] | None = None,
        because: Callable[[], tuple[Pin, ...]] | None = None,
    ) -> None:
        self.name = name
        self.pins = pins
        self._allowed = allowed
        self._take = take
        self._because = because
        self.source = source
        self.specifier = specifier
        self.is_own = is_own
        self.is_tip = is_tip
        self._between = between
        self._answers: dict[str, Answer] = {}

    @property
    def allowed(self) -> tuple[Version, ...] | None:
        if self._take is not None:
            taken, self._take = self._take(), None
            self._allowed = self._allowed if taken is None else (taken,)
        return self._allowed

    @property
    def because(self) -> tuple[Pin, ...]:
        """The pins of other packages that decide which release an installer takes, where none of its own does."""
        return self._because() if self._because is not None else ()

    @property
    def resolved(self) -> Version | None:
        allowed = self.allowed
        return allowed[-1] if allowed else None

    def holds(self, specifier: str) -> Answer:
        """Whether all, some or none of the allowed releases satisfy a specifier (PEP 440)."""
        answer = self._answers.get(specifier)
        if answer is None:
            answer = self._answers[specifier] = self._holds(specifier)
        return answer

    def _holds(self, specifier: str) -> Answer:
        if self.is_tip:
            return _holds_from_the_newest(self.name, specifier)
        if self.allowed is None:
            # A development version between two releases is settled where both of them agree.
            verdict = _share(self._between, specifier) if self._between else "unknown"
            return "unknown" if verdict == "some" else verdict
        return _share(self.allowed, specifier)

    @property
    def neighbours(self) -> tuple[Version, ...]:
        """The releases before and after a development version that was never released; empty for anything else."""
        return self._between if self.allowed is None else ()

    @property
    def places(self) -> tuple[Location, ...]:
        """Where it is pinned, and what decides where it is not, as related places of a finding."""
        return tuple(pin.place for pin in (*self.pins, *self.because)[:_MOST_PLACES])

    def is_stated(self, versions: Iterable[object]) -> bool:
        """Whether something states one of these releases; else they are what those get who follow no statement."""
        if self.source != "told" or any(pin.condition for pin in self.pins):
            return True
        return any(holds(pin.specifier, str(version)) for version in versions for pin in self.pins)

    def affected(self, specifier: str) -> list[str]:
        """The allowed releases that satisfy a specifier, oldest first."""
        return [str(version) for version in self.allowed or () if holds(specifier, version)]

    def __repr__(self) -> str:
        return f"Package({self.name}{self.specifier}, {self.source}, resolved={self.resolved})"


def _share(versions: tuple[Version, ...], specifier: str) -> Answer:
    count = sum(holds(specifier, version) for version in versions)
    if count == 0:
        return "none" if versions else "unknown"
    return "all" if count == len(versions) else "some"


def _holds_from_the_newest(name: str, specifier: str) -> Answer:
    """Whether the newest known release and every later one satisfy a specifier, or none of them does."""
    from trl_lint.knowledge.releases import is_open, newest

    last = newest(name)
    if last is None:
        return "unknown"
    inside, is_endless = holds(specifier, last), is_open(name, specifier)
    if inside and is_endless:
        return "all"
    return "unknown" if inside or is_endless else "none"


def package_of(
    name: str, pins: tuple[Pin, ...], specifiers: list[str], origin: Origin, is_own: bool = False
) -> Package:
    """A package limited to the releases its alternative specifiers allow together."""
    together: set[Version] = set()
    between: tuple[Version, ...] = ()
    known = bool(specifiers)
    for specifier in specifiers:
        found = allowed_by(name, specifier)
        if not found:
            known = False
            between = _neighbours(name, specifier)
        else:
            together.update(found)
    shown = " | ".join(specifiers)
    if not known:
        return Package(name, pins, None, "unknown", shown, between if len(specifiers) == 1 else (), is_own)
    return Package(name, pins, tuple(sorted(together)), origin, shown, is_own=is_own)


def assumed(
    name: str,
    pins: tuple[Pin, ...],
    take: Callable[[], Version | None] | None = None,
    because: Callable[[], tuple[Pin, ...]] | None = None,
    specifier: str = "",
) -> Package:
    """A package nothing limits: what `take` finds that an installer takes, else the newest known release.

    `specifier`: that of its pins, where a later command takes another release.
    """
    from trl_lint.knowledge.releases import newest

    version = newest(name)
    if version is None:
        return Package(name, pins)
    return Package(name, pins, (version,), "assumed", specifier, take=take, because=because)


def allowed_by(name: str, specifier: str) -> tuple[Version, ...] | None:
    """The known releases that a specifier allows, oldest first; None or nothing where nobody knows."""
    from trl_lint.knowledge.releases import allowed, parse_version, releases

    if releases(name):
        return allowed(name, specifier)
    # Nothing is known about the package, but an exact pin says all there is to say.
    version = parse_version(specifier[2:]) if specifier.startswith("==") and "," not in specifier else None
    return (version,) if version is not None else None


def _neighbours(name: str, specifier: str) -> tuple[Version, ...]:
    """The final releases around an exactly pinned version that was never released (`0.16.0.dev0`).

    Nothing is said about a version behind the newest known release.
    """
    from trl_lint.knowledge.releases import installable, parse_version

    exact = parse_version(specifier[2:]) if specifier.startswith("==") and "," not in specifier else None
    if exact is None:
        return ()
    known = installable(name)
    before = [version for version in known if version < exact]
    after = [version for version in known if version > exact]
    return (before[-1], after[0]) if before and after else ()


# -- pins of equal rank ---------------------------------------------------------------------------------------------


def alternatives(name: str, pins: list[Pin]) -> list[str]:
    """The differing specifiers of the pins.

    Those of one list of requirements hold together, and what has no marker holds beside everything that has one.
    """
    always: dict[str, list[str]] = {}
    for pin in pins:
        if pin.kind == "requirement" and not pin.marker and pin.specifier:
            always.setdefault(pin.location.path, []).append(pin.specifier)
    beside = {path: dict.fromkeys(specifiers) for path, specifiers in always.items()}
    joined_in = {path: ",".join(specifiers) for path, specifiers in beside.items()}
    is_possible: dict[str, bool] = {}
    found: list[str] = []
    for pin in pins:
        if not pin.specifier:
            continue
        path = pin.location.path if pin.kind == "requirement" else ""
        joined = joined_in.get(path, "")
        if pin.specifier not in beside.get(path, ()):
            joined = f"{joined},{pin.specifier}" if joined else pin.specifier
        if joined not in is_possible:
            is_possible[joined] = bool(allowed_by(name, joined))
        found.append(joined if is_possible[joined] else pin.specifier)
    return list(dict.fromkeys(found))
