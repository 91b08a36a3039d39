"""Which releases of a package a file runs with, as far as the pins of its project tell.

Precedence, strongest first: `--target`; the version of the project itself; the lock, then the PEP 723 block (for a
notebook: the pip cells) of the script; `uv run --with`; then folder by folder upwards the project's lock and its
declared requirements (those that are always installed before extras, groups and side files); last the install commands
of Dockerfiles, scripts and READMEs. A lock further up beats a nearer requirement only where it satisfies it, otherwise
the two describe different environments, and never what a script or notebook asks for itself. Inert pins never count.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from trl_lint.finding import Location, Severity
from trl_lint.project.folders import Folders
from trl_lint.project.pins import Pin, kind_of
from trl_lint.records import NamedTuple
from trl_lint.sources.requirements import normalised

if TYPE_CHECKING:
    from packaging.version import Version

    from trl_lint.project import Project
    from trl_lint.project.stack import Choices

# More places than these tell a reader nothing new.
_MOST_PLACES = 3

Origin = Literal["target", "lock", "pin", "assumed", "unknown"]
Answer = Literal["all", "some", "none", "unknown"]


class Package:
    """What is known about one package in one environment.

    `allowed` are the releases the pins allow, oldest first, None if that is unknown (a repository, a version newer than
    the list of releases). `resolved` is the locked or else the newest allowed one. `specifier` joins the alternatives
    with ` | `. `is_own`: the project being checked is this package.
    """

    __slots__ = ("_answers", "_between", "allowed", "is_own", "name", "pins", "resolved", "source", "specifier")

    def __init__(
        self,
        name: str,
        pins: tuple[Pin, ...] = (),
        allowed: tuple[Version, ...] | None = None,
        source: Origin = "unknown",
        specifier: str = "",
        between: tuple[Version, ...] = (),
        is_own: bool = False,
    ) -> None:
        self.name = name
        self.pins = pins
        self.allowed = allowed
        self.resolved: Version | None = allowed[-1] if allowed else None
        self.source = source
        self.specifier = specifier
        self.is_own = is_own
        self._between = between
        self._answers: dict[str, Answer] = {}

    def holds(self, specifier: str) -> Answer:
        """Whether all, some or none of the allowed releases satisfy a specifier (PEP 440)."""
        answer = self._answers.get(specifier)
        if answer is None:
            answer = self._answers[specifier] = self._holds(specifier)
        return answer

    def _holds(self, specifier: str) -> Answer:
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
        return [str(version) for version in self.allowed or () if _contains(specifier, version)]

    def __repr__(self) -> str:
        return f"Package({self.name}{self.specifier}, {self.source}, resolved={self.resolved})"


class Verdict(NamedTuple):
    """A condition on versions that holds: how severe, in words, and the pins it rests on."""

    severity: Severity
    phrase: str
    related: tuple[Location, ...]


def judge(environment: Environment, conditions: Mapping[str, str], severity: Severity) -> Verdict | None:
    """Judge `{package: specifier}` conditions, all of which must hold; None if one does not, or nobody can tell.

    `severity`: the highest there can be.
    """
    from trl_lint.project.stack import has_old_neighbour
    from trl_lint.verdict import graded, has_floor

    phrases: list[str] = []
    related: list[Location] = []
    some = only_old = assumed = dated = False
    for name, specifier in conditions.items():
        package = environment.package(name)
        answer = package.holds(specifier)
        if answer in ("none", "unknown"):
            return None
        some = some or answer == "some"
        is_old = package.resolved is not None and not _contains(specifier, package.resolved)
        if is_old and not has_floor(package.specifier):
            return None
        only_old = only_old or is_old
        assumed = assumed or package.source == "assumed"
        dated = dated or (package.source == "assumed" and has_old_neighbour(environment, name))
        phrases.append(describe(package, specifier))
        related += package.places
    severity = graded(severity, everywhere=not some, only_old=only_old, assumed=assumed, dated=dated)
    return Verdict(severity, " and ".join(phrases), tuple(related))


def describe(package: Package, specifier: str) -> str:
    """Say for which releases of a package a condition holds, as part of a sentence."""
    name, allowed = package.name, package.allowed
    if allowed is None:
        return f"for {name} {package.specifier.removeprefix('==')}"
    if package.source == "assumed":
        why = "because nothing pins it" if not package.pins else "because its pin allows any"
        return f"assuming {name} {package.resolved}, the newest known release, {why}"
    if len(allowed) == 1:
        return f"for {name} {allowed[0]}"
    affected = package.affected(specifier)
    if len(affected) == len(allowed):
        return f"for every release that {name}{package.specifier} allows"
    if len(affected) == 1:
        return f"for {name} {affected[0]}, one of the allowed releases"
    return f"for {name} {affected[0]} to {affected[-1]} of the allowed releases"


def _contains(specifier: str, version: Version) -> bool:
    from trl_lint.knowledge.releases import parse_specifier

    found = parse_specifier(specifier)
    return found is not None and found.contains(version, prereleases=True)


def _share(versions: tuple[Version, ...], specifier: str) -> Answer:
    count = sum(_contains(specifier, version) for version in versions)
    if count == 0:
        return "none" if versions else "unknown"
    return "all" if count == len(versions) else "some"


class Environment:
    """The packages one file of a project runs with; each is worked out when it is asked for.

    `own`: the pins of the file itself, by rank. `around`: the environment of the other files of its folder.
    """

    def __init__(
        self,
        folders: Folders,
        path: str,
        targets: Mapping[str, str],
        own: Sequence[Sequence[Pin]] = (),
        around: Environment | None = None,
    ) -> None:
        self._folders = folders
        self._folder = os.path.dirname(path)
        self._own = own
        self._installs_itself = path.endswith((".py", ".ipynb"))
        self._around = around
        self._targets = {normalised(name): version for name, version in targets.items()}
        self._packages: dict[str, Package] = {}
        self._decided: dict[str, Package | None] = {}
        self._choices: Choices | None = None

    @property
    def choices(self) -> Choices:
        """The releases whose API is known, out of those the pins allow; the same object for whoever asks."""
        if self._choices is None:
            from trl_lint.project.stack import Choices

            self._choices = Choices(self)
        return self._choices

    def package(self, name: str) -> Package:
        """What is known about a package; its PEP 503 name."""
        found = self._packages.get(name)
        if found is None:
            found = self._packages[name] = self._find(name)
        return found

    def _find(self, name: str) -> Package:
        if name in self._targets:
            version = self._targets[name].strip()
            specifier = version if version[:1] in "=<>!~" else f"=={version}"
            return package_of(name, (), [specifier], "target")
        mine = self._decide_own(name)
        own_version = self._folders.own_version(self._folder, name)
        if own_version is not None:
            # A script inside the source tree of a package runs that tree, unless it asks for another release itself.
            specifiers = [f"=={own_version}"] if own_version else []
            own = package_of(name, (), specifiers, "pin", is_own=True)
            return mine if mine is not None and mine.source != "assumed" and own_version not in mine.specifier else own
        return mine or self._decide(name) or assumed(name, ())

    def _decide_own(self, name: str) -> Package | None:
        found = next((found for pins in self._own if (found := resolve(name, pins))), None)
        # A script or notebook that installs for itself runs in an environment of its own, beside any lock.
        if found is None or self._installs_itself or found.source not in ("pin", "assumed"):
            return found
        return self._unless_locked(found, name)

    def _decide(self, name: str) -> Package | None:
        if name not in self._decided:
            around = self._around
            self._decided[name] = self._decide_by_folders(name) if around is None else around._decide(name)
        return self._decided[name]

    def _decide_by_folders(self, name: str) -> Package | None:
        for folder in self._folders.upwards(self._folder):
            for pins in self._folders.tiers(folder):
                if found := resolve(name, pins):
                    return self._unless_locked(found, name) if found.source in ("pin", "assumed") else found
        for pins in self._folders.commands(self._folder):
            if found := resolve(name, pins):
                return found
        return None

    def _unless_locked(self, found: Package, name: str) -> Package:
        """The version of a lock further up, where it satisfies what was found nearer."""
        for upper in self._folders.upwards(self._folder):
            locked = resolve(name, self._folders.lock(upper))
            if locked is None or not locked.allowed:
                continue
            specifiers = {pin.specifier for pin in found.pins}
            return locked if any(all(_contains(s, v) for v in locked.allowed) for s in specifiers) else found
        return found

    def __repr__(self) -> str:
        return f"Environment({self._folder})"


def resolve(name: str, pins: Iterable[Pin]) -> Package | None:
    """What a set of pins of equal rank says about a package, None if it says nothing.

    Differing specifiers are alternatives (another marker, another file): all they allow together is allowed. A bare
    name beside them adds nothing, and constraints narrow every alternative.
    """
    mine = [pin for pin in pins if pin.package == name and pin.kind != "inert"]
    if not mine:
        return None
    constraints = [pin for pin in mine if pin.kind == "constraint"]
    wanted = [pin for pin in mine if pin.kind != "constraint"] or constraints
    if any(pin.kind == "url" for pin in wanted):
        return Package(name, tuple(wanted), None, "unknown")
    specifiers = _alternatives(name, wanted)
    if len(specifiers) > 1 and _in_sequence(wanted):
        specifiers = [",".join(specifiers) if _allowed(name, ",".join(specifiers)) else specifiers[-1]]
    if wanted is not constraints and constraints:
        narrowing = ",".join(dict.fromkeys(pin.specifier for pin in constraints if pin.specifier))
        specifiers = [f"{s},{narrowing}" for s in specifiers] or ([narrowing] if narrowing else [])
    if not specifiers:
        return assumed(name, tuple(wanted))
    origin: Origin = "lock" if any(pin.kind == "lock" for pin in wanted) else "pin"
    return package_of(name, tuple(wanted), specifiers, origin)


def _alternatives(name: str, pins: list[Pin]) -> list[str]:
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
            found.append(joined if _allowed(name, joined) else pin.specifier)
    return list(dict.fromkeys(found))


def _in_sequence(pins: list[Pin]) -> bool:
    """Whether the pins are commands of one script, run one after the other; those of a README are alternatives."""
    paths = {pin.location.path for pin in pins}
    return len(paths) == 1 and all(pin.kind == "command" for pin in pins) and kind_of(paths.pop()) != "readme"


def package_of(
    name: str, pins: tuple[Pin, ...], specifiers: list[str], origin: Origin, is_own: bool = False
) -> Package:
    """A package limited to the releases its alternative specifiers allow together."""
    together: set[Version] = set()
    between: tuple[Version, ...] = ()
    known = bool(specifiers)
    for specifier in specifiers:
        found = _allowed(name, specifier)
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


def _allowed(name: str, specifier: str) -> tuple[Version, ...] | None:
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


def own_pins(path: str, project: Project) -> list[list[Pin]]:
    """The pins that belong to the file at an absolute path itself (a script, a notebook, a manifest), by rank."""
    tiers: list[list[Pin]] = []
    lock = project.manifest_around(path + ".lock") if path.endswith(".py") else None
    if lock is not None:
        tiers.append(list(lock.pins))
    manifest = project.manifest_around(path) if kind_of(path) else None
    if manifest is not None:
        mine = [pin for pin in manifest.pins if pin.package != manifest.project]
        tiers.append([pin for pin in mine if not pin.is_optional])
        tiers.append([pin for pin in mine if pin.is_optional])
    if tiers and path.endswith(".py") and manifest is not None and manifest.kind == "pep723":
        # Looking for launches means reading the project's scripts; only files that uv runs are worth it.
        from trl_lint.project.manifests.commands import with_pins

        tiers.append([pin for launch in project.launches_of(path, b"--with") for pin in with_pins(launch)])
    return [tier for tier in tiers if tier]
