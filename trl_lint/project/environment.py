"""Which releases of a package a file runs with, as far as the pins of its project tell.

Precedence, strongest first: `--target`; the version of the project itself; the lock, then the PEP 723 block (for a
notebook: the pip cells) of the script; `uv run --with`; then folder by folder upwards the project's lock and its
declared requirements (those that are always installed before extras, groups and side files), with what is installed
beside them; last the install commands of Dockerfiles, scripts and READMEs. Exact pins of the commands in a folder beat
what stands in a folder further up. A lock further up beats a nearer requirement only where it satisfies it, otherwise
the two describe different environments, and never what a script or notebook asks for itself. Inert pins never count.
Where something unknown is installed, a package that nothing names is unknown as well: it may be what brings it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial

from packaging.version import Version

from trl_lint import asked, budget
from trl_lint.budget import READER_SECONDS, OverBudgetError
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.resolver import Wish
from trl_lint.project import Project
from trl_lint.project.elsewhere import told
from trl_lint.project.folders import Folders
from trl_lint.project.launch_table import launches_of
from trl_lint.project.packages import Package, assumed, package_of
from trl_lint.project.pins import JOB, Manifest, Pin, is_manifest, kind_of
from trl_lint.project.stack import Choices
from trl_lint.project.tiers import Tier
from trl_lint.sources import SourceError
from trl_lint.sources.requirements import is_exact, normalised


class Environment:
    """The packages one file of a project runs with; each is worked out when it is asked for.

    `own`: the pins of the file itself, by rank. `around`: the environment of the other files of its folder. `told`: the
    releases that the file names and does not install.
    """

    def __init__(
        self,
        folders: Folders,
        path: str,
        targets: Mapping[str, str],
        own: Sequence[Tier] = (),
        around: Environment | None = None,
        told: Sequence[Pin] = (),
    ) -> None:
        self._folders = folders
        self._path = path
        self._folder = os.path.dirname(path)
        self._own = own
        self._installs_itself = path.endswith((".py", ".ipynb"))
        self._around = around
        self._told = told
        self._targets = {normalised(name): version for name, version in targets.items()}
        self._packages: dict[str, Package] = {}
        self._stated: dict[str, Package] = {}
        self._decided: dict[str, Package | None] = {}
        self._unknown: tuple[Pin, ...] | None = None
        self._choices: Choices | None = None

    @property
    def choices(self) -> Choices:
        """The releases whose API is known, out of those the pins allow; the same object for whoever asks."""
        if self._choices is None:
            from trl_lint.project.stack import Choices

            self._choices = Choices(self)
        return self._choices

    def package(self, name: str) -> Package:
        """What is known about a package; its PEP 503 name. Where no pin limits it, it is what an installer takes."""
        found = self._packages.get(name)
        if found is None:
            found = self.stated(name)
            if found.source == "assumed":
                from trl_lint.project.resolution import deciding, taken

                found = assumed(name, found.pins, partial(taken, self, name), partial(deciding, self, name))
            elif found.source == "pin":
                found = self._unless_replaced(self._if_asked_for(found))
            self._packages[name] = found
        if asked.log is not None:
            asked.note(_answer(found))
        return found

    def _unless_replaced(self, found: Package) -> Package:
        """A pinned package, or the release that a later command replaces it with, which no pin names."""
        if any(pin.step is None for pin in found.pins):
            return found
        left = self.left_by_commands.get(found.name)
        if left is None or left in (found.allowed or ()):
            return found
        return assumed(found.name, found.pins, lambda: left, specifier=found.specifier)

    def _if_asked_for(self, found: Package) -> Package:
        """A package that only an extra, a group or a marker pins, or what is there for those who have none of these."""
        if not found.pins or not all(pin.condition for pin in found.pins):
            return found
        from trl_lint.project.resolution import without

        pythons = self._own[0].python if self._own else self._folders.python(self._folder)
        other = without(self, found, pythons)
        return found if other is None else told(found.name, found.pins, other) or found

    def stated(self, name: str) -> Package:
        """What the pins of a package say about it, those of other packages left aside."""
        found = self._stated.get(name)
        if found is None:
            found = self._stated[name] = self._find(name)
        return found

    @cached_property
    def wishes(self) -> tuple[Wish, ...]:
        """What is asked of the packages whose releases are known, the nearest pins first."""
        from trl_lint.knowledge.releases import known_packages
        from trl_lint.project.resolution import read_wishes

        known = frozenset(known_packages())
        named = (pin.package for pin in self.pins())
        return read_wishes(self, (name for name in dict.fromkeys((*self._targets, *named)) if name in known))

    @cached_property
    def left_by_commands(self) -> Mapping[str, Version]:
        """The releases that the commands of the one document that installs everything leave, in the end; else none."""
        from trl_lint.project.resolution import left_by_commands

        return left_by_commands(self)

    def pins(self) -> Iterator[Pin]:
        """All pins that may hold here, the nearest first."""
        return (pin for tier in self._tiers() for pin in tier.pins)

    @cached_property
    def python(self) -> str:
        """The minor version of Python that is taken to run here, "" where nothing tells."""
        from trl_lint.project.resolution import python_of

        own = self._own[0].python if self._own else ""
        folders = self._folders
        return python_of(own or folders.python_of_images(self._folder) or folders.python(self._folder))

    @property
    def place(self) -> str:
        """The path that stands for all files which share these pins."""
        return self._path

    def _find(self, name: str) -> Package:
        work = partial(self._worked_out, name)
        try:
            return budget.shared("working out its pins", self._folders.root, work, READER_SECONDS)
        except OverBudgetError as error:
            budget.fail(self._folders.first_manifest(self._folder), f"{error}: nothing is known of the releases")
            return Package(name)

    def _worked_out(self, name: str) -> Package:
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
        found = mine or self._decide(name)
        if mine is None and (found is None or found.source == "assumed"):
            elsewhere = self._folders.elsewhere
            image = elsewhere.image(name, self._folder) if found is None else None
            mentioned = told(name, (pin for pin in self._told if pin.package == name))
            found = image or mentioned or elsewhere.told_around(name, self._folder) or found
        elif mine is None and found is not None and found.source == "pin" and found.pins:
            found = self._folders.elsewhere.beside(found, self._folder)
        if found is None and (self.unknown_installs() or self._folders.has_copy_of(name)):
            return Package(name)
        return found or self._folders.elsewhere.named(name, self._folder) or assumed(name, ())

    def _decide_own(self, name: str) -> Package | None:
        found = next((found for tier in self._own if (found := tier.resolve(name))), None)
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
        exact: Package | None = None
        for folder in self._folders.upwards(self._folder):
            lock, core, side = self._folders.tiers(folder)
            for tier in (lock, core, side):
                if found := tier.resolve(name):
                    found = exact or (self._with_what_is_beside(found, name, folder) if tier is core else found)
                    return self._unless_locked(found, name) if found.source in ("pin", "assumed") else found
            exact = exact or _exact(name, self._folders.commands_of(folder))
        for tier in self._folders.commands(self._folder):
            if found := tier.resolve(name):
                return found
        return None

    def _with_what_is_beside(self, found: Package, name: str, folder: str) -> Package:
        """What a folder declares, narrowed by what documents install together with it, each of them in its own way."""
        if found.source not in ("pin", "assumed"):
            return found
        if _names_releases(found):
            places = dict.fromkeys((folder, *(pin.location.path for pin in found.pins)))
            ways_there = (one for place in places for one in self._folders.beside(place))
            others = (one.tier.resolve(name) for one in ways_there if kind_of(one.path) != "workflow")
            moved = [other for other in others if other is not None and _is_moved(found, other)]
            return _together([found, *moved]) if moved else found
        ways: list[Package] = []
        for installation in self._folders.beside(folder):
            other = installation.tier.resolve(name)
            if other is None or other.source != "pin":
                return found  # one way leaves it as it is declared
            ways.append(_narrowed(found, other))
        return _any_of(found, ways)

    def _unless_locked(self, found: Package, name: str) -> Package:
        """The version of a lock further up, where it satisfies what was found nearer."""
        for upper in self._folders.upwards(self._folder):
            locked = self._folders.tiers(upper)[0].resolve(name)
            if locked is None or not locked.allowed:
                continue
            specifiers = {pin.specifier for pin in found.pins}
            return locked if any(all(holds(s, v) for v in locked.allowed) for s in specifiers) else found
        return found

    def unknown_installs(self) -> tuple[Pin, ...]:
        """What is installed here of which nobody knows what it requires: it may bring any release of any package."""
        if self._unknown is None:
            self._unknown = tuple(pin for tier in self._tiers() for pin in tier.unknown)
        return self._unknown

    def _tiers(self) -> Iterator[Tier]:
        yield from self._own
        for folder in self._folders.upwards(self._folder):
            yield from self._folders.tiers(folder)
        yield from self._folders.commands(self._folder)

    def __repr__(self) -> str:
        return f"Environment({self._folder})"


def _exact(name: str, tiers: Sequence[Tier]) -> Package | None:
    """A package of which the commands of a folder name the release, None where they leave a choice."""
    found = next((found for tier in tiers if (found := tier.resolve(name))), None)
    if found is None or found.source != "pin":
        return None
    return found if _names_releases(found) else None


def _names_releases(found: Package) -> bool:
    """Whether each alternative is one release."""
    return all(is_exact(specifier) for specifier in found.specifier.split(" | "))


def _narrowed(found: Package, other: Package) -> Package:
    """A package limited by two sets of pins that hold together; by the first alone where they contradict each other."""
    if found.source == "assumed":
        return other
    both = [version for version in found.allowed or () if version in set(other.allowed or ())]
    if not both or len(both) == len(found.allowed or ()):
        return found
    if len(both) == len(other.allowed or ()):
        return other
    pins = (*found.pins, *(pin for pin in other.pins if pin.location not in {one.location for one in found.pins}))
    parts = [f"({part})" if " | " in part else part for part in (found.specifier, other.specifier)]
    return Package(found.name, pins, tuple(both), "pin", ",".join(parts))


def _any_of(declared: Package, ways: list[Package]) -> Package:
    """A package that is installed in several ways, which are alternatives."""
    if not ways or any(way is declared for way in ways):
        return declared
    return ways[0] if len(ways) == 1 else _together(ways)


def _together(ways: list[Package]) -> Package:
    pins = tuple(dict.fromkeys(pin for way in ways for pin in way.pins))
    releases = tuple(sorted({version for way in ways for version in way.allowed or ()}))
    specifier = " | ".join(dict.fromkeys(way.specifier or f"=={way.resolved}" for way in ways))
    return Package(ways[0].name, pins, releases, "pin", specifier)


def _is_moved(found: Package, other: Package) -> bool:
    """Whether a document that installs what a file pins then installs another release."""
    if other.source == "assumed":
        return any(pin.step is not None and pin.step.renews for pin in other.pins)
    return other.source == "pin" and set(found.allowed or ()).isdisjoint(other.allowed or ())


def _answer(package: Package) -> asked.Answer:
    """What is known of a package, as an answer."""
    place = package.pins[0].location if package.pins else None
    known = package.allowed is not None or package.is_tip or bool(package.neighbours)
    if not known:
        remedy = f"say which release it is: --target {package.name}==RELEASE"
        why = "no known release" if not package.pins else f"{package.specifier or 'a repository or an address'}"
        return asked.Answer("release", package.name, f"not known ({why})", place, False, remedy)
    if package.is_tip:
        return asked.Answer("release", package.name, "the main branch of its repository", place)
    versions = package.allowed or package.neighbours
    several = "" if len(versions) == 1 else f"{versions[0]} to "
    return asked.Answer("release", package.name, f"{several}{versions[-1]} ({package.source})", place)


def own_pins(path: str, project: Project) -> list[Tier]:
    """The pins that belong to the file at an absolute path itself (a script, a notebook, a manifest), by rank."""
    tiers: list[list[Pin]] = []
    lock = project.manifest_around(path + ".lock") if path.endswith(".py") else None
    if lock is not None:
        tiers.append(list(lock.pins))
    manifest = project.manifest_around(path) if is_manifest(path) else None
    if manifest is not None:
        mine = [pin for pin in manifest.pins if pin.package != manifest.project and not is_for_job(pin)]
        tiers.append([*(pin for pin in mine if not pin.is_optional), *project.folders.brought(manifest)])
        tiers.append([pin for pin in mine if pin.is_optional])
    given, is_always = _given_by_uv(path, manifest, project)
    tiers.append(given if is_always else [])
    if not any(tiers):
        return []
    python = (manifest.python if manifest is not None else "") or project.folders.python(os.path.dirname(path))
    return [Tier(tier, python) for tier in tiers if tier]


def own_told(path: str, project: Project) -> list[Pin]:
    """The releases that a Python file names and does not install, and those that only some of its commands give it."""
    manifest = project.manifest_around(path) if path.endswith(".py") else None
    named = list(manifest.told) if manifest is not None and manifest.kind != "compiled" else []
    given, is_always = _given_by_uv(path, manifest, project)
    return named if is_always else [*named, *given]


def _given_by_uv(path: str, manifest: Manifest | None, project: Project) -> tuple[list[Pin], bool]:
    """What `uv run --with` gives a script, and whether it is always started so.

    Looking for launches means reading the project's scripts; only files that uv runs, or that train, are worth it.
    """
    has_header = manifest is not None and manifest.kind == "pep723"
    if not path.endswith(".py") or not (has_header or _may_train(path, project)):
        return [], True
    launches = launches_of(path, project, b"--with")
    if not launches:
        return [], True
    from trl_lint.project.manifests.install_commands import with_pins

    given = [pin for launch in launches for pin in with_pins(launch)]
    if has_header or not given:
        return given, True
    ways = [launch for launch in launches_of(path, project) if not launch.is_documentation]
    return given, all(with_pins(launch) for launch in ways)


def is_for_job(pin: Pin) -> bool:
    """Whether a pin of a Python file is for the job of another file that it starts."""
    return pin.step is not None and pin.step.environment.startswith(JOB)


def _may_train(path: str, project: Project) -> bool:
    with suppress(OSError, SourceError):
        return project.files.holds(path, b"Trainer", b"Parser")
    return False
