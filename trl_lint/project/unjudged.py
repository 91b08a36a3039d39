"""What nothing can be said about: pins that take a release whose contents nobody has read.

Rules are silent about such a package, and silence would pass for "looked at, nothing found". So each file that names
the package, or is a config of it, brings a notice about the pin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from trl_lint.finding import Location, Notice
from trl_lint.project.repositories import is_index
from trl_lint.project.stack import PACKAGES
from trl_lint.python.imports import imports_in

if TYPE_CHECKING:
    from trl_lint.project.documents import Document
    from trl_lint.project.environment import Environment
    from trl_lint.project.packages import Package

_NOT_JUDGED = "its arguments, names and defaults were not judged"


def unjudged(
    environment: Environment, data: bytes, document: Document | None = None, is_python: bool = False
) -> Iterator[Notice]:
    """The notices that a file with these bytes brings in its environment; `document` is the config that it is."""
    readers = document.definition.read_by if document is not None else ()
    for name in PACKAGES:
        if name in readers or name.encode() in data:
            package = environment.package(name)
            is_known = package.allowed is not None or package.is_own or (package.neighbours and package.specifier)
            if not is_known and not package.is_tip:  # the newest release stands for the tip of a repository
                yield from _notices(package, environment)
                if not package.pins and (name in readers or (is_python and name in _imported(data))):
                    yield from _brought(name, environment)


def _imported(data: bytes) -> set[str]:
    return {(one.module or one.name).partition(".")[0] for one in imports_in(data)}


def _brought(name: str, environment: Environment) -> Iterator[Notice]:
    """The notice about the first thing that is installed here and may bring any release of a package."""
    from trl_lint.knowledge.releases import newest

    for pin in environment.unknown_installs()[:1]:
        what = f"`{pin.package}`" if pin.package else "a project"
        message = f"{what} is installed from {_shown(pin.url)} and may bring any release of {name}: {_NOT_JUDGED}"
        step = _next_step(name, environment)
        yield Notice("unknown-release", f"{message}; {step}", pin.location, name, newest_known=str(newest(name)))


def _next_step(name: str, environment: Environment) -> str:
    """How to have a package judged of which nobody knows the release."""
    return f"judge it as a release: `--target {name}=={_likely(name, environment)}`"


def _likely(name: str, environment: Environment) -> str:
    """The first release, no repair of one, after all that are pinned beside it; without any, the newest known one."""
    from trl_lint.knowledge.releases import days, installable, newest

    around = environment.package(name).neighbours
    if around:
        return str(around[-1])
    pinned = {other: str(environment.package(other).resolved) for other in PACKAGES if other != name}
    exact = {other: version for other, version in pinned.items() if len(environment.package(other).allowed or ()) == 1}
    stated = {other: text for other, text in exact.items() if environment.package(other).source != "assumed"}
    last = max((days(other).get(text, "") for other, text in stated.items()), default="")
    mains = (str(version) for version in installable(name) if not version.micro)
    later = (text for text in mains if days(name).get(text, "") > last)
    return next(later, str(newest(name))) if last else str(newest(name))


def _notices(package: Package, environment: Environment) -> Iterator[Notice]:
    from trl_lint.knowledge.releases import newer_than_known, newest

    known = str(newest(package.name))
    for pin in package.pins:
        version = newer_than_known(package.name, pin.specifier)
        if version:
            yield newer_release(package.name, version, known, pin.location)
        elif pin.url:
            message = f"{package.name} comes from {_shown(pin.url)}: {_not_judged(package)}"
            message = f"{message}; {_next_step(package.name, environment)}"
            yield Notice("unknown-release", message, pin.location, package.name, newest_known=known)


def _not_judged(package: Package) -> str:
    around = package.neighbours
    return f"what {around[0]} and {around[-1]} do not share was not judged" if around else _NOT_JUDGED


def _shown(url: str) -> str:
    if is_index(url):
        return "another index than PyPI, or is no final release"
    return "a repository" if url.startswith("git+") else "a file or an address"


def newer_release(name: str, version: str, known: str, location: Location | None = None) -> Notice:
    """The notice about a release that is newer than all known ones."""
    step = f"judge it as the newest known one: `--target {name}=={known}`"
    message = f"{name} {version} is newer than this trl-lint knows ({known}): {_NOT_JUDGED}; {step}"
    return Notice("newer-release", message, location, name, version, known)


def unjudged_targets(targets: Mapping[str, str]) -> Iterator[Notice]:
    """The notices about targets: packages of which nothing is known, and releases newer than all known ones."""
    from trl_lint.knowledge.releases import known_packages, newer_than_known, newest
    from trl_lint.words import nearest

    packages = known_packages()
    for name, version in targets.items():
        if name not in packages:
            guess = nearest(name, packages)
            hint = f"; did you mean `{guess}`?" if guess else ""
            yield Notice(
                "unknown-target", f"no release of `{name}` is known, so nothing depends on it{hint}", package=name
            )
        elif newer_than_known(name, f"=={version}"):
            yield newer_release(name, version, str(newest(name)))
