"""What is known about one package: the releases that pins of equal rank allow it together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from trl_lint.knowledge.ranges import holds
from trl_lint.project.pins import Pin

if TYPE_CHECKING:
    from packaging.version import Version

    from trl_lint.finding import Location
    from trl_lint.project.sequences import Installations

# More places than these tell a reader nothing new.
_MOST_PLACES = 3

Origin = Literal["target", "lock", "pin", "assumed", "unknown"]
Answer = Literal["all", "some", "none", "unknown"]


class Package:
    """What is known about one package in one environment.

    `allowed` are the releases the pins allow, oldest first, None if that is unknown (a repository, a version newer than
    the list of releases). `resolved` is the locked or else the newest allowed one. `specifier` joins the alternatives
    with ` | `. `is_own`: the project being checked is this package. `is_tip`: it comes from the main branch of its
    repository, so it is at least the newest known release.
    """

    __slots__ = (
        "_answers",
        "_between",
        "allowed",
        "is_own",
        "is_tip",
        "name",
        "pins",
        "resolved",
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
    ) -> None:
        self.name = name
        self.pins = pins
        self.allowed = allowed
        self.resolved: Version | None = allowed[-1] if allowed else None
        self.source = source
        self.specifier = specifier
        self.is_own = is_own
        self.is_tip = is_tip
        self._between = between
        self._answers: dict[str, Answer] = {}

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
        """Where it is pinned, as related places of a finding."""
        return tuple(pin.place for pin in self.pins[:_MOST_PLACES])

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


def assumed(name: str, pins: tuple[Pin, ...]) -> Package:
    """A package nothing limits: pip takes the newest release, and the newest known one stands for it."""
    from trl_lint.knowledge.releases import newest

    version = newest(name)
    return Package(name, pins, None if version is None else (version,), "unknown" if version is None else "assumed")


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


class Tier:
    """Pins of equal rank, by package; each package is resolved once for all files that share them."""

    __slots__ = ("_by_package", "_exact", "_known", "_unknown", "pins")

    def __init__(self, pins: Sequence[Pin]) -> None:
        self.pins = pins
        self._known: dict[str, Package | None] = {}
        self._by_package: dict[str, list[Pin]] | None = None
        self._exact: Installations | None = None
        self._unknown: tuple[Pin, ...] | None = None

    def resolve(self, name: str) -> Package | None:
        """What the pins say about a package, None if they say nothing."""
        if name not in self._known:
            mine = self.of(name)
            if self._exact is None and any(pin.step is not None and pin.specifier for pin in mine):
                from trl_lint.project.sequences import upgrading

                self._exact = upgrading(self.pins)
            self._known[name] = _resolve(name, mine, self._exact or {}) if mine else None
        return self._known[name]

    def of(self, name: str) -> list[Pin]:
        """The pins of a package."""
        if self._by_package is None:
            self._by_package = {}
            for pin in self.pins:
                self._by_package.setdefault(pin.package, []).append(pin)
        return self._by_package.get(name, [])

    @property
    def unknown(self) -> tuple[Pin, ...]:
        """The pins that are sure to be installed, and of which nobody knows what they require."""
        if self._unknown is None:
            self._unknown = tuple(filter(_is_unknown, self.pins))
        return self._unknown

    def __bool__(self) -> bool:
        return bool(self.pins)


def resolve(name: str, pins: Iterable[Pin]) -> Package | None:
    """What a set of pins of equal rank says about a package, None if it says nothing.

    Differing specifiers are alternatives (another marker, another file): all they allow together is allowed. A bare
    name beside them adds nothing, and constraints narrow every alternative. The commands of a script follow each other,
    and a later one may bring another release than an earlier one asked for.
    """
    return Tier(list(pins)).resolve(name)


def _resolve(name: str, pins: list[Pin], exact: Installations) -> Package | None:
    mine = [pin for pin in pins if pin.kind != "inert"]
    if not mine:
        return None
    constraints = [pin for pin in mine if pin.kind == "constraint"]
    wanted = [pin for pin in mine if pin.kind != "constraint"] or constraints
    addresses = [pin for pin in wanted if pin.kind == "url"]
    limiting = wanted
    if addresses:
        from trl_lint.project.repositories import origin_of, tagged_release

        origin_there = origin_of(addresses)
        if origin_there != "release":
            is_tip = origin_there == "tip" and len(addresses) == len(wanted)
            return Package(name, tuple(wanted), None, "unknown", is_tip=is_tip)
        limiting = [pin._replace(specifier=f"=={tagged_release(pin)}") if pin.url else pin for pin in wanted]
    specifiers = _specifiers(name, limiting, exact)
    if wanted is not constraints and constraints:
        narrowing = ",".join(dict.fromkeys(pin.specifier for pin in constraints if pin.specifier))
        specifiers = [f"{s},{narrowing}" for s in specifiers] or ([narrowing] if narrowing else [])
    if not specifiers:
        return assumed(name, tuple(wanted))
    origin: Origin = "lock" if any(pin.kind == "lock" for pin in wanted) else "pin"
    return package_of(name, tuple(wanted), specifiers, origin)


def _specifiers(name: str, pins: list[Pin], exact: Installations) -> list[str]:
    """The alternatives that pins leave: what files declare, and what each installation by commands ends with."""
    declared = [pin for pin in pins if pin.step is None]
    found = alternatives(name, declared) if declared else []
    if len(declared) < len(pins):
        from trl_lint.project.sequences import left_by_commands

        found += left_by_commands(name, pins, exact)
    return list(dict.fromkeys(found))


def alternatives(name: str, pins: list[Pin]) -> list[str]:
    """The differing specifiers of the pins.

    Those of one list of requirements hold together, and what has no marker holds beside everything that has one.
    """
    always: dict[str, list[str]] = {}
    for pin in pins:
        if pin.kind == "requirement" and not pin.marker and pin.specifier:
            always.setdefault(pin.location.path, []).append(pin.specifier)
    found: list[str] = []
    for pin in pins:
        if pin.specifier:
            beside = always.get(pin.location.path, []) if pin.kind == "requirement" else []
            joined = ",".join(dict.fromkeys([*beside, pin.specifier]))
            found.append(joined if allowed_by(name, joined) else pin.specifier)
    return list(dict.fromkeys(found))


def _is_unknown(pin: Pin) -> bool:
    """Whether a pin comes from a repository, or from the disk, and nobody knows what its package requires."""
    if pin.kind != "url" or pin.is_optional or pin.is_alone or pin.marker:
        return False
    from trl_lint.knowledge.compat import independents
    from trl_lint.knowledge.requirements import providers
    from trl_lint.project.repositories import is_working_tree

    known = pin.package in providers() or pin.package in independents()
    return not known and is_working_tree(pin.url)
