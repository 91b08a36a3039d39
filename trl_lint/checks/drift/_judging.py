"""From "these releases lack it" to a level, words for them, and the pins they rest on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from trl_lint import looks
from trl_lint.checks.rule import Rule
from trl_lint.finding import Location, OpenPin, Severity
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.presence import Absence, Ask, Points, absences, stretches
from trl_lint.project.stack import PACKAGES, Choice, Choices
from trl_lint.python.definitions import defines, takes
from trl_lint.records import NamedTuple

if TYPE_CHECKING:
    from trl_lint.project import Project
    from trl_lint.sources import SourceFile


class AboutPackages(Rule):
    """A rule that judges the names which a module imports from the packages of the stack."""

    glances = True

    def may_concern(self, file: SourceFile, project: Project) -> bool:
        return imports_known(file, project)


def imports_known(file: SourceFile, project: Project) -> bool:
    """Whether a file imports from a package whose releases in use are recorded.

    Those of a package under development are not: most files of its own repository need not be parsed.
    """
    from trl_lint.python.imports import imports_in

    key = ("imports known packages", file.path)
    if key not in project.memo:
        packages = {(one.module or one.name).partition(".")[0] for one in imports_in(file.data)}
        known = project.environment(file.path).choices
        project.memo[key] = any(name in known for name in PACKAGES if name in packages)
    return bool(project.memo[key])


class Verdict(NamedTuple):
    """Something does not exist: how severe, in which releases (words for brackets), and the pins behind that.

    `version`: the newest of these releases, of `package`. `only_old`: the newest release in use has it. `basis`: which
    releases there may be, and why, in words for the end of a message. `pin`: the pin that allows others as well.
    """

    severity: Severity
    scope: str
    related: tuple[Location, ...]
    package: str
    version: str
    only_old: bool
    basis: str
    pin: OpenPin | None


def judge(choices: Choices, points: Points, ask: Ask, rule: Rule, culprit: str) -> Verdict | None:
    """Ask whether something is there in every release the pins allow; None where it is, or where nobody knows.

    `rule`: the one that asks; its level is the highest there can be, and its page is read for a finding only.
    `culprit`: the package whose releases are named where all releases of all packages lack it.
    """
    concerned = {name: choices[name] for name in points if name in choices}
    found = absences({name: chosen.releases for name, chosen in concerned.items()}, points, ask)
    if not found:
        return None
    main = next((m for m in found if m.package == culprit), None)
    # That an old release of another package is not understood does not bring back what this one lacks throughout.
    everywhere = main is not None and main.every and concerned[culprit].complete and all(m.never for m in found)
    if not everywhere or len(found) < len(concerned):
        everywhere, main = False, _narrowest(found)
    if main is None:
        return None
    from trl_lint.project.basis import scope
    from trl_lint.verdict import graded, has_floor

    chosen = concerned[main.package]
    if chosen.between and not main.every:
        return None  # a development version between two releases that differ
    if chosen.is_tip and not _was_there(main.package, points, ask, concerned):
        return None  # what no release has had may be new
    only_old = main.releases[-1] != chosen.newest
    if only_old and not has_floor(chosen.package.specifier):
        return None
    severity = graded(
        rule.page.severity,
        everywhere=everywhere,
        only_old=only_old,
        assumed=chosen.assumed,
        dated=chosen.is_dated,
        tip=any(one.is_tip for one in concerned.values()),
    )
    return Verdict(
        severity,
        scope(main.package, main.releases, chosen.releases, basis_of(chosen)),
        chosen.package.places,
        main.package,
        main.releases[-1],
        only_old,
        basis_of(chosen),
        None if everywhere else open_pin(chosen, main.releases),
    )


def basis_of(chosen: Choice) -> str:
    """Which releases of a package there may be, and why: words for brackets at the end of a message."""
    from trl_lint.project.basis import basis

    # Another pin may leave fewer of them: both together allow these.
    fewer = chosen.complete and len(chosen.releases) < len(chosen.package.allowed or ())
    return basis(chosen.package, chosen.releases[0], chosen.newest, fewer)


def open_pin(chosen: Choice, bad: Sequence[str]) -> OpenPin | None:
    """The pin that allows these releases beside others; None where one release is fixed, or no pin is written."""
    package = chosen.package
    if not package.pins or package.source not in ("pin", "assumed"):
        return None
    is_floor = bad[-1] != chosen.newest
    place = package.pins[0].location
    if chosen.assumed:
        return OpenPin(package.name, package.specifier, place, "", "", is_floor)
    # Below the last stretch of bad releases all is well but for the oldest ones, which are a matter of the floor.
    first = bad[0] if is_floor else _last_stretch(bad, chosen.releases)[0]
    return OpenPin(package.name, package.specifier, place, first, bad[-1], is_floor)


def _last_stretch(bad: Sequence[str], among: Sequence[str]) -> Sequence[str]:
    """The newest of the releases that are neighbours `among` others."""
    place = {version: number for number, version in enumerate(among)}
    start = len(bad) - 1
    while start and place[bad[start]] == place[bad[start - 1]] + 1:
        start -= 1
    return bad[start:]


def _was_there(package: str, points: Points, ask: Ask, concerned: Mapping[str, Choice]) -> bool:
    """Whether some release of a package had it, beside the newest releases of the others."""
    newest = {name: chosen.newest for name, chosen in concerned.items()}
    known = stretches(package, releases(package), points.get(package, frozenset()))
    return any(ask({**newest, package: stretch[-1]}) is True for stretch in reversed(known))


def _narrowest(found: Sequence[Absence]) -> Absence:
    """The package that decides: one of which only some releases lack it, else the first."""
    return next((m for m in found if not m.every), found[0])


# -- the project's own copy of a package ----------------------------------------------------------------------------


def is_shadowed(chosen: Choice, path: str, project: Project, defined: str, parameter: str = "") -> bool:
    """Whether the project brings its own copy of a package, and that copy defines the name or takes the parameter.

    A fork keeps the version number of what it was forked from, and a vendored folder has none.
    """
    package = chosen.package
    if package.source == "target":
        return False
    folders = _copies(package.name, path, project)
    if not folders or not package.is_own:
        return bool(folders)
    return any(_has(folder, defined, parameter, project) for folder in folders)


def _has(folder: str, defined: str, parameter: str, project: Project) -> bool:
    key = ("package has", folder, defined, parameter)
    if key not in project.memo:
        texts = _texts(folder, project)
        project.memo[key] = any(_module_has(path, text, defined, parameter) for path, text in texts)
    return bool(project.memo[key])


def _module_has(path: str, text: str, defined: str, parameter: str) -> bool:
    answer = takes(text, defined, parameter) if parameter else defines(text, defined)
    looks.note_said("has", f"{defined} {parameter}", path, answer)
    return answer


def has_own_copy(package: str, path: str, project: Project) -> bool:
    """Whether `import package` in a program started from the file at `path` may find a folder of the project."""
    return bool(_copies(package, path, project))


def _copies(package: str, path: str, project: Project) -> list[str]:
    """Folders that `import package` may find: beside the script, above it, one level below the project's root, or in a
    project on the disk that some document installs."""
    root = project.root
    places = [os.path.dirname(path), *project.folders.importable(package, os.path.dirname(path))]
    folder = places[0]
    while folder != root and folder.startswith(root.rstrip(os.sep) + os.sep):
        folder = os.path.dirname(folder)
        places.append(folder)
    with suppress(OSError):
        places += [
            entry.path for entry in looks.entries(root) if looks.leads_to_folder(entry) and entry.name != package
        ]
    found = dict.fromkeys(os.path.join(place, package) for place in places)
    return [folder for folder in found if looks.is_file(os.path.join(folder, "__init__.py"))]


def _texts(folder: str, project: Project) -> list[tuple[str, str]]:
    key = ("texts of a package", folder)
    if key not in project.memo:
        project.memo[key] = list(_read_texts(folder))
    return cast("list[tuple[str, str]]", project.memo[key])


def _read_texts(folder: str) -> Iterator[tuple[str, str]]:
    for path in looks.walk(folder):
        if path.endswith(".py"):
            with looks.about(path):
                yield path, looks.read_text(path)
