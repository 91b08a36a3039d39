"""The manifests around a file: those of its folder and of the folders above it, each read once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from trl_lint import tracked
from trl_lint.project.pins import IMAGE_KINDS, PROJECT_FILES, SCOPED_KINDS, Manifest, Pin, Step, kind_around, kind_of
from trl_lint.project.tiers import Tier
from trl_lint.regexes import regex
from trl_lint.sources.requirements import is_exact, normalised

if TYPE_CHECKING:
    from trl_lint.project.elsewhere import Elsewhere
    from trl_lint.project.installs import Installation, Installs

_COMMAND_KINDS = frozenset(("shell", "makefile", "readme", "workflow", *IMAGE_KINDS))
SCRIPT_KINDS = frozenset(("pep723", "program", "notebook", "script-lock"))
# Folders in which people keep the sources of other projects.
_VENDORED = (
    "3rdparty", "3rd_party", "deps", "extern", "external", "externals", "libs", "packages", "repos", "src",
    "submodules", "third-party", "third_party", "thirdparty", "vendor", "vendored",
)  # fmt: skip
_CODE = (".py", ".ipynb")
# Of these, `packages`, `libs` and `src` hold as often one's own.
_VENDORED_NAMES = frozenset(_VENDORED) - {"deps", "libs", "packages", "src"}
DOCKER_FOLDERS = ("docker", "dockerfile", "dockerfiles", ".devcontainer")


_LONGEST_VERSION = 1000  # bytes of a file with a few versions
_MINOR = regex(r"(?:cpython-)?(3\.\d{1,2})(?:\.\d+)?")


def _chosen_python(folder: str) -> str:
    """The minor version that a `.python-version` of pyenv or uv names (PEP 440), "" where it names another thing."""
    path = os.path.join(folder, ".python-version")
    try:
        lines = tracked.read_text(path).split() if tracked.status(path).st_size < _LONGEST_VERSION else []
    except (OSError, ValueError):
        return ""
    named = _MINOR.fullmatch(lines[0]) if lines else None
    return f"=={named[1]}.*" if named is not None else ""


class Folders:
    """The manifests of a project's folders, each read once by `read`, which takes a path and raises nothing.

    `paths`: every file of the project that some reader understands.
    """

    def __init__(
        self, root: str, read: Callable[[str], Manifest | None], paths: Callable[[], Sequence[str]] = tuple
    ) -> None:
        self.root = root
        self._read = read
        self._paths = paths
        self._installs: Installs | None = None
        self._manifests: dict[str, list[Manifest]] = {}
        self._upwards: dict[str, list[str]] = {}
        self._tiers: dict[str, list[Tier]] = {}
        self._names: dict[str, list[str]] = {}
        self._documents: dict[str, list[Manifest]] = {}
        self._commands: dict[str, list[Tier]] = {}
        self._own_commands: dict[str, list[Tier]] = {}
        self._installations: dict[str, list[Installation]] = {}
        self._by_target: dict[str, dict[str, list[Installation]]] = {}
        self._beside: dict[str, list[Installation]] = {}
        self._by_module: dict[str, dict[str, list[str]]] = {}
        self._own_packages: dict[str, dict[str, str]] = {}
        self._versions: dict[tuple[str, str], str | None] = {}
        self._copies: dict[str, bool] = {}
        self._jobs: dict[str, list[list[Pin]]] = {}
        self._parts: dict[str, dict[str, Manifest]] = {}
        self._with_code: frozenset[str] | None = None
        self._of_its_own: dict[str, bool] = {}
        self._elsewhere: Elsewhere | None = None

    def read_with(self, read: Callable[[str], Manifest | None], paths: Callable[[], Sequence[str]]) -> None:
        """Go on with other ways to read manifests, which give the same of those that were read, and to list paths."""
        self._read = read
        self._paths = paths
        if self._installs is not None:
            self._installs.read_with(read)

    def upwards(self, folder: str) -> Sequence[str]:
        """The folder and those above it, up to the root of the project."""
        found = self._upwards.get(folder)
        if found is None:
            found = self._upwards[folder] = [folder]
            while folder != self.root and folder.startswith(self.root.rstrip(os.sep) + os.sep):
                folder = os.path.dirname(folder)
                found.append(folder)
        return found

    def names(self, folder: str) -> list[str]:
        found = self._names.get(folder)
        if found is None:
            try:
                found = tracked.names(folder)
            except OSError:
                found = []
            self._names[folder] = found
        return found

    # -- what files declare -----------------------------------------------------------------------------------------

    def manifests(self, folder: str) -> list[Manifest]:
        """The locks and declared requirements of one folder."""
        found = self._manifests.get(folder)
        if found is None:
            paths = [os.path.join(folder, name) for name in self.names(folder)]
            if "requirements" in self.names(folder):
                inner = os.path.join(folder, "requirements")
                paths += [os.path.join(inner, name) for name in self.names(inner)]
            found = self._manifests[folder] = []
            for path in paths:
                kind = kind_of(path)
                if kind and kind not in _COMMAND_KINDS and kind not in SCRIPT_KINDS and kind != "constraints":
                    manifest = self._read(path)
                    if manifest is not None:
                        found.append(manifest)
        return found

    def first_manifest(self, folder: str) -> str:
        """A manifest in the folder, or the nearest one above it, by its name; or else the folder."""
        paths = (os.path.join(upper, name) for upper in self.upwards(folder) for name in self.names(upper))
        return next((path for path in paths if kind_of(path) not in ("", *_COMMAND_KINDS, *SCRIPT_KINDS)), folder)

    def tiers(self, folder: str) -> list[Tier]:
        """The pins of one folder by rank: lock, always installed, optional."""
        found = self._tiers.get(folder)
        if found is None:
            core: list[Pin] = []
            side: list[Pin] = []
            for manifest in self.manifests(folder):
                if manifest.is_lock:
                    continue
                main = manifest.kind != "requirements" or os.path.basename(manifest.path).lower() == "requirements.txt"
                # What a file lists and the projects that it installs hold together, as the pins of one command do.
                step = Step(manifest.path, 0) if manifest.links else None
                followed = {link.location for link in manifest.links if self._links.target(link, manifest.path)}
                for pin in manifest.pins:
                    if pin.package != manifest.project:
                        if pin.location in followed and pin.url:
                            pin = pin._replace(url=f"file://{pin.url}")  # what it requires is read
                        (core if main and not pin.is_optional else side).append(pin._replace(step=step))
                (core if main else side).extend(self.brought(manifest, step))
            python = self.python(folder)
            found = self._tiers[folder] = [Tier(self.lock(folder), python), Tier(core, python), Tier(side, python)]
        return found

    def python(self, folder: str) -> str:
        """What is asked of the Python around a folder (PEP 440), "" if nothing is: the nearest says it."""
        for upper in self.upwards(folder):
            chosen = _chosen_python(upper) if ".python-version" in self.names(upper) else ""
            found = chosen or next((found.python for found in self.manifests(upper) if found.python), "")
            if found:
                return found
        return ""

    def python_of_images(self, folder: str) -> str:
        """The Python of the images that are built around a folder (PEP 440), "" where they differ or none tells."""
        for upper in self.upwards(folder):
            found = {one.python for one in self.documents(upper) if one.python}
            if found:
                return found.pop() if len(found) == 1 else ""
        return ""

    def lock(self, folder: str) -> list[Pin]:
        return [pin for manifest in self.manifests(folder) if manifest.is_lock for pin in manifest.pins]

    def brought(self, manifest: Manifest, step: Step | None = None) -> list[Pin]:
        """The pins of the projects and requirements files on the disk that a manifest installs, in a step."""
        return self._links.brought(manifest, step) if manifest.links else []

    @property
    def _links(self) -> Installs:
        if self._installs is None:
            from trl_lint.project.installs import Installs

            self._installs = Installs(self.root, self._read, self.upwards)
        return self._installs

    def own_version(self, folder: str, package: str) -> str | None:
        """The version of the package if the project builds it: "" if it is not told, None if it is another project."""
        if (folder, package) not in self._versions:
            self._versions[folder, package] = self._own_version(folder, package)
        return self._versions[folder, package]

    def _own_version(self, folder: str, package: str) -> str | None:
        for upper in self.upwards(folder):
            versions = [manifest.version for manifest in self.manifests(upper) if manifest.project == package]
            if versions:
                return next((version for version in versions if version), "")
        built = (self._built(upper).get(package) for upper in self.upwards(folder))
        return next((version for version in built if version is not None), None)

    def has_copy_of(self, package: str) -> bool:
        """Whether the project holds another project's sources, from which that package may well be installed."""
        if package not in self._copies:
            folders = self._vendored.get(package, ())
            self._copies[package] = any(
                manifest.project == package for folder in folders for manifest in self.manifests(folder)
            )
        return self._copies[package]

    @cached_property
    def _vendored(self) -> dict[str, list[str]]:
        """What stands at the root of the project and where copies are kept, by normalised name."""
        tops = [self.root, *(os.path.join(self.root, name) for name in self.names(self.root) if name in _VENDORED)]
        found: dict[str, list[str]] = {}
        for top in tops:
            for name in self.names(top):
                found.setdefault(normalised(name), []).append(os.path.join(top, name))
        return found

    # -- what commands install --------------------------------------------------------------------------------------

    def commands(self, folder: str) -> list[Tier]:
        """What install commands bring: per folder upwards Dockerfiles, scripts and Makefiles, READMEs, workflows."""
        found = self._commands.get(folder)
        if found is None:
            tiers = (tier for upper in self.upwards(folder) for tier in self.commands_of(upper))
            found = self._commands[folder] = [tier for tier in tiers if tier]
        return found

    def commands_of(self, folder: str) -> list[Tier]:
        """What the install commands of one folder bring, in the same order."""
        found = self._own_commands.get(folder)
        if found is None:
            run: list[Pin] = []
            told: list[Pin] = []
            tested: list[Pin] = []
            for document in self._documents_for(folder):
                if document.kind == "workflow":
                    # What tests install beside the projects of the repository says little about its use.
                    links = tuple(link for link in document.links if link.kind == "project")
                    tested.extend(self.brought(document._replace(links=links)))
                else:
                    pins = [*document.pins, *self.brought(document)]
                    (told if document.kind == "readme" else run).extend(pins)
            found = self._own_commands[folder] = [Tier(run), Tier(told), Tier(tested)]
        return found

    def _documents_for(self, folder: str) -> Iterator[Manifest]:
        """What documents install for all around a folder: its own ones, and those above that change into it."""
        for upper in self.upwards(folder):
            place = "" if upper == folder else folder
            for document in self.documents(upper):
                part = self._by_folder(document).get(place)
                if part is not None:
                    yield part

    def _by_folder(self, document: Manifest) -> dict[str, Manifest]:
        """What a document installs, by the folder that it is for; "" for all around it."""
        found = self._parts.get(document.path)
        if found is None:
            folders = {pin.step.folder for pin in document.pins if pin.step is not None}
            folders |= {link.step.folder for link in document.links if link.step is not None}
            places = {folder: self._place(folder, document.path) for folder in folders}
            found = self._parts[document.path] = {}
            for place in dict.fromkeys(("", *places.values())):
                pins = (pin for pin in document.pins if places.get(pin.step.folder if pin.step else "", "") == place)
                links = (one for one in document.links if places.get(one.step.folder if one.step else "", "") == place)
                found[place] = document._replace(pins=tuple(pins), links=tuple(links))
        return found

    def _place(self, folder: str, path: str) -> str:
        """The folder of the project that a document changes into; "" where that holds no code, and for no other."""
        here = os.path.dirname(path)
        for base in self.upwards(here) if folder else ():
            found = os.path.normpath(os.path.join(base, folder))
            if tracked.is_folder(found):
                is_around = (here + os.sep).startswith(found + os.sep)
                return found if self.is_of_its_own(found) and not is_around else ""
        return ""

    def is_of_its_own(self, folder: str) -> bool:
        """Whether what is installed in a folder may be for what stands there: it holds code, or builds a project."""
        if folder not in self._of_its_own:  # asked for each file of a folder, which may hold thousands
            found = self.holds_code(folder) or any(name in PROJECT_FILES for name in self.names(folder))
            self._of_its_own[folder] = found
        return self._of_its_own[folder]

    def stating(self, folder: str) -> str:
        """The nearest folder upwards in which, or for which, anything is stated: what is below has its environment."""
        for upper in self.upwards(folder):
            if upper == self.root or upper in self._spoken_for or self.manifests(upper):
                return upper
            if any(True for _ in self._documents_for(upper)) or self.jobs_for(upper):
                return upper
        return folder

    @cached_property
    def _spoken_for(self) -> frozenset[str]:
        """The folders that manifests below them, in folders without code, speak for."""
        found: set[str] = set()
        for path in self._paths():
            here = os.path.dirname(path)
            kind = kind_around(path) if not self.is_of_its_own(here) else ""
            if kind and kind not in SCRIPT_KINDS:
                found.add(next((upper for upper in self.upwards(here) if self.is_of_its_own(upper)), here))
                image = self._read(path) if kind in SCOPED_KINDS else None
                found.update(self._by_folder(image) if image is not None else ())
        return frozenset(found)

    def holds_code(self, folder: str) -> bool:
        """Whether a folder of the project, or one below it, holds Python."""
        if self._with_code is None:
            found: set[str] = set()
            for path in self._paths():
                place = os.path.dirname(path) if path.endswith(_CODE) else self.root
                while place not in found and place.startswith(self.root):
                    found.add(place)
                    place = os.path.dirname(place)
            self._with_code = frozenset(found)
        return folder in self._with_code

    def documents(self, folder: str) -> list[Manifest]:
        """The documents of one folder whose commands install something."""
        found = self._documents.get(folder)
        if found is None:
            inner = [name for name in DOCKER_FOLDERS if name in self.names(folder)]
            if ".github" in self.names(folder):
                inner.append(os.path.join(".github", "workflows"))
            places = [folder, *(os.path.join(folder, name) for name in inner)]
            paths = [os.path.join(place, name) for place in places for name in self.names(place)]
            read = (self._read(path) for path in paths if kind_around(path) in _COMMAND_KINDS)
            found = self._documents[folder] = [manifest for manifest in read if manifest is not None]
        return found

    def jobs_for(self, folder: str) -> list[list[Pin]]:
        """What the calls of Python files install into each image, or for each job, that is for a folder."""
        found = self._jobs.get(folder)
        if found is None:
            found = self._jobs[folder] = []
            for upper in self.upwards(folder):
                paths = (os.path.join(upper, name) for name in self.names(upper) if name.endswith(".py"))
                for manifest in filter(None, map(self._read, paths)):
                    part = self._by_folder(manifest).get("" if upper == folder else folder)
                    ways: dict[str, list[Pin]] = {}
                    for pin in part.pins if part is not None else ():
                        if pin.step is not None and pin.step.environment:
                            ways.setdefault(pin.step.environment, []).append(pin)
                    found += ways.values()
        return found

    def is_pinned_exactly(self, folder: str, packages: Iterable[str]) -> bool:
        """Whether the install commands of a folder name one release of one of the packages."""
        return any(
            is_exact(pin.specifier) for tier in self.commands_of(folder) for name in packages for pin in tier.of(name)
        )

    @property
    def elsewhere(self) -> Elsewhere:
        """What the rest of the tree says, for packages that nothing around a file pins."""
        if self._elsewhere is None:
            from trl_lint.project.elsewhere import Elsewhere

            manifests = self._all_manifests()
            self._elsewhere = Elsewhere(
                manifests, self.upwards, self.is_of_its_own, self.brought, self._by_folder, self.jobs_for
            )
        return self._elsewhere

    def _all_manifests(self) -> Iterator[Manifest]:
        """Every manifest of the project, but for those of one script or notebook and of other people's projects."""
        for path in self._paths():
            kind = kind_around(path)
            parts = os.path.dirname(path)[len(self.root) :].lower().split(os.sep)
            if kind and kind not in SCRIPT_KINDS and _VENDORED_NAMES.isdisjoint(parts):
                manifest = self._read(path)
                if manifest is not None:
                    yield manifest

    # -- what is installed together ---------------------------------------------------------------------------------

    def beside(self, place: str) -> list[Installation]:
        """The installations that bring the project in a folder, or the manifest at a path, with other things.

        A workflow counts only where no other document installs it: what tests run with is one way of many.
        """
        found = self._beside.get(place)
        if found is None:
            every = list(self.installing(place))
            told = [one for one in every if kind_of(one.path) != "workflow"]
            found = self._beside[place] = told or every
        return found

    def installing(self, place: str) -> Iterator[Installation]:
        """Every installation that brings the project in a folder, or the manifest at a path."""
        for upper in self.upwards(place if tracked.is_folder(place) else os.path.dirname(place)):
            yield from self._targets(upper).get(place, ())

    def importable(self, module: str, folder: str) -> list[str]:
        """The folders in which code below a folder finds a module of this name, because a document installs it."""
        top = module.partition(".")[0]
        return [found for upper in self.upwards(folder) for found in self._modules(upper).get(top, ())]

    def _modules(self, folder: str) -> dict[str, list[str]]:
        """Where the modules stand that one folder's documents install, by the first part of their name."""
        found = self._by_module.get(folder)
        if found is None:
            found = self._by_module[folder] = {}
            projects = dict.fromkeys(place for one in self._installs_in(folder) for place in one.folders)
            if projects:
                from trl_lint.project.installs import module_folders

                for place in dict.fromkeys(inner for project in projects for inner in module_folders(project)):
                    for name in self.names(place):
                        found.setdefault(name.removesuffix(".py"), []).append(place)
        return found

    def _built(self, folder: str) -> dict[str, str]:
        """The packages that one folder's documents install from the disk, with their versions ("" where not told)."""
        found = self._own_packages.get(folder)
        if found is None:
            found = self._own_packages[folder] = {}
            for project in dict.fromkeys(place for one in self._installs_in(folder) for place in one.folders):
                for manifest in self.manifests(project):
                    if manifest.project and not found.get(manifest.project):
                        found[manifest.project] = manifest.version
        return found

    def _installs_in(self, folder: str) -> list[Installation]:
        found = self._installations.get(folder)
        if found is None:
            found = self._installations[folder] = [
                installation
                for document in self.documents(folder)
                if document.links
                for installation in self._links.installations(document)
            ]
        return found

    def _targets(self, folder: str) -> dict[str, list[Installation]]:
        """The installations of one folder's documents by what they install."""
        found = self._by_target.get(folder)
        if found is None:
            found = self._by_target[folder] = {}
            for installation in self._installs_in(folder):
                for place in (*installation.folders, *installation.files):
                    found.setdefault(place, []).append(installation)
        return found
