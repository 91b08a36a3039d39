"""Which pins hold in one installation."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator

from packaging.version import Version

from trl_lint import budget
from trl_lint.knowledge.releases import parse_version
from trl_lint.knowledge.requirements import declared, marker_holds
from trl_lint.memos import per_project
from trl_lint.project import Project
from trl_lint.project.folders import SCRIPT_KINDS
from trl_lint.project.pins import Pin, kind_of
from trl_lint.records import NamedTuple
from trl_lint.sources.requirements import is_exact


def may_be_together(first: tuple[Pin, ...], second: tuple[Pin, ...], project: Project) -> bool:
    """Whether the pins of two packages can hold in one installation: not in two extras, not under two markers."""
    if not first or not second:
        return True
    others = _alike(second)
    return any(
        _fit(one, other) and not _are_two_ways(one.pin.location.path, other.pin.location.path, project)
        for one in _alike(first)
        for other in others
    )


def are_together(first: tuple[Pin, ...], second: tuple[Pin, ...], included: Collection[str], project: Project) -> bool:
    """Whether the pins of two packages do hold in one installation, as far as the files tell.

    A script, a notebook, an extra and a group stand for themselves, and a file in another folder may be about another
    environment. Requirements files beside each other are alternatives, unless something installs both. A target is
    beside everything. `included`: the files that one manifest includes.
    """
    if not first or not second:
        return True
    pairs = ((one, other) for one in _alike(first) for other in _alike(second))
    return any(_fit(one, other) and _are_near(one.pin, other.pin, included, project) for one, other in pairs)


def _are_near(one: Pin, other: Pin, included: Collection[str], project: Project) -> bool:
    here, there = one.location.path, other.location.path
    if here == there or "constraint" in (one.kind, other.kind):
        return True
    if here in included and there in included:
        return True  # the manifest includes both
    if one.step is not None and other.step is not None:
        return one.step.path == other.step.path  # one document brings both
    if one.is_optional or other.is_optional or any(kind_of(path) in SCRIPT_KINDS for path in (here, there)):
        return False
    if {kind_of(here), kind_of(there)} == {"requirements"}:
        return _are_installed_together(here, there, project)
    return os.path.dirname(here) == os.path.dirname(there) and not _are_two_ways(here, there, project)


@per_project
def _are_installed_together(here: str, there: str, project: Project) -> bool:
    """Whether some document installs two requirements files. One that includes the other is judged by itself."""
    return any(there in one.files for one in project.folders.beside(here))


@per_project
def _are_two_ways(here: str, there: str, project: Project) -> bool:
    """Whether requirements and an environment of conda are two ways to install: both name a release of one package,
    and not the same.
    """
    if {kind_of(here), kind_of(there)} != {"requirements", "conda"}:
        return False
    first, second = (_named_releases(path, project) for path in (here, there))
    return any(first.get(name, version) != version for name, version in second.items())


def _named_releases(path: str, project: Project) -> dict[str, Version | None]:
    manifests = project.folders.manifests(os.path.dirname(path))
    pins = (pin for manifest in manifests if manifest.path == path for pin in manifest.pins)
    return {pin.package: parse_version(pin.specifier[2:]) for pin in pins if is_exact(pin.specifier)}


_MOST_ALIKE = 60
_MOST_KEPT = 256  # answers that are kept


class _Alike(NamedTuple):
    """Pins that differ in their place only: one of them, and the branches that all of them stand in."""

    pin: Pin
    branches: set[tuple[tuple[int, int], ...]]


_ALIKE: dict[int, tuple[tuple[Pin, ...], list[_Alike]]] = {}  # by the identity of the pins: they are many to hash


def _alike(pins: tuple[Pin, ...]) -> list[_Alike]:
    """Pins by what tells them apart. Of very many extras only the first are looked at, since each meets each."""
    known = _ALIKE.get(id(pins))
    if known is None or known[0] is not pins:
        if len(_ALIKE) >= _MOST_KEPT:
            _ALIKE.clear()
        known = _ALIKE[id(pins)] = (pins, _read_alike(pins))
    return known[1]


def _read_alike(pins: tuple[Pin, ...]) -> list[_Alike]:
    found: dict[object, _Alike] = {}
    # A bare name beside others limits nothing: what it is installed with says nothing about those that do.
    for pin in [pin for pin in pins if pin.specifier or pin.url] or pins:
        step = pin.step
        where = None if step is None else (step.path, step.environment)
        known = found.setdefault((pin.group, pin.marker, pin.kind, pin.location.path, where), _Alike(pin, set()))
        known.branches.add(() if step is None else step.branch)
    if len(found) > _MOST_ALIKE:
        path = pins[0].location.path
        budget.limit(_MOST_ALIKE, "extras and markers of one package beyond {} were not held against others", path)
    return list(found.values())[:_MOST_ALIKE]


def _fit(first: _Alike, second: _Alike) -> bool:
    """Whether extras, markers and commands let two packages be there together."""
    one, other = first.pin, second.pin
    groups = not one.group or not other.group or one.group == other.group
    markers = not (one.marker or other.marker) or _meet(one, other)
    if not groups or not markers or one.step is None or other.step is None or one.step.path != other.step.path:
        return groups and markers
    if one.step.environment != other.step.environment:
        return False
    # A command in a branch meets those before and behind the branch, and those further inside.
    return _go_on(first.branches, second.branches) or _go_on(second.branches, first.branches)


def _meet(one: Pin, other: Pin) -> bool:
    """Whether the markers of two pins hold together on some Linux with a Python that the releases run on."""
    marker = " and ".join(f"({pin.marker})" for pin in (one, other) if pin.marker)
    return marker_holds(marker, ",".join(pythons_of((one, other))), ("linux",)) is not False


def pythons_of(pins: Iterable[Pin]) -> Iterator[str]:
    """What releases that are pinned require of the Python (PEP 440)."""
    for pin in pins:
        version = parse_version(pin.specifier.removeprefix("==")) if is_exact(pin.specifier) else None
        known = declared(pin.package, version) if version is not None else None
        yield from (part.specifier for part in (known.parts.get("python", ()) if known is not None else ()))


def _go_on(branches: set[tuple[tuple[int, int], ...]], others: set[tuple[tuple[int, int], ...]]) -> bool:
    """Whether one of the others is one of the branches, or stands inside of it."""
    return any(other[:length] in branches for other in others for length in range(len(other) + 1))
