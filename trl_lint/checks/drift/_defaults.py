"""Which changed defaults a call relies on, given the releases it may run with and what it passes.

What is passed comes from a function, so that a Python call, a recipe and a command line are judged alike.
"""

from __future__ import annotations

from collections.abc import Callable

from trl_lint.checks.drift._calls import parameter, signature_of
from trl_lint.knowledge.api import resolve
from trl_lint.knowledge.defaults import Default, defaults_of
from trl_lint.knowledge.histories import positions
from trl_lint.knowledge.presence import points_of_parameter
from trl_lint.knowledge.ranges import holds
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project.stack import Choices
from trl_lint.records import NamedTuple

Given = Callable[[str], object]
"""The value passed for an argument; ABSENT if certainly none, UNKNOWN if it cannot be read or may be set elsewhere."""

Usable = Callable[[str], "tuple[str, ...]"]
"""The releases of a package that the code can run with, oldest first, out of those that the pins allow."""


class Drift(NamedTuple):
    """A default that changed between the oldest and the newest release in use, and matters here.

    `old` and `new`: the values in words. `can_be_stated`: every release that is allowed takes the argument.
    `is_taken`: the newest of those that the code runs with does.
    """

    row: Default
    old: str
    new: str
    can_be_stated: bool
    is_taken: bool


def drifts(dotted: str, own: frozenset[str], known: Choices, usable: Usable, given: Given) -> list[Drift]:
    """The changed defaults that constructing (or calling) a public dotted name relies on, the most important first.

    `own`: fields that a subclass defines itself.
    """
    found: dict[str, Drift] = {}
    for row in defaults_of(dotted.rpartition(".")[2]):
        if row.field not in own and row.field not in found and matters(row, given):
            drift = _drift(row, dotted, known, usable)
            if drift is not None:
                found[row.field] = drift
    return sorted(found.values(), key=lambda drift: drift.row.level != "warning")


def matters(row: Default, given: Given) -> bool:
    """Whether the argument is left out (for a change of meaning: given), and the conditions of the row hold."""
    if (given(row.field) is ABSENT) is row.given:
        return False
    if row.given and given(row.field) is UNKNOWN:
        return False
    return all(_is_met(given(name), wanted) for name, wanted in row.when.items()) and not any(
        _may_be_met(given(name), values) for name, values in row.unless.items()
    )


def _is_met(value: object, wanted: tuple[object, ...]) -> bool:
    if value is ABSENT or value is UNKNOWN:
        return False
    return not wanted or _is_among(value, wanted)


def _may_be_met(value: object, values: tuple[object, ...]) -> bool:
    if value is ABSENT:
        return False
    return value is UNKNOWN or not values or _is_among(value, values)


def _is_among(value: object, values: tuple[object, ...]) -> bool:
    """`1 == True` in Python, but not in a config."""
    return any(value == other and isinstance(value, bool) is isinstance(other, bool) for other in values)


def _drift(row: Default, dotted: str, known: Choices, usable: Usable) -> Drift | None:
    if row.package not in known or known[row.package].between:
        return None
    releases = usable(row.package)
    if not _straddles(row, releases) or not _is_beside(row, known):
        return None
    packages = known.newest({*points_of_parameter(dotted, row.field), row.package})
    newest = {package: (usable(package) or (version,))[-1] for package, version in packages.items()}
    if not _is_meant(row, dotted, newest):
        return None
    place = positions(row.package)
    before = next(version for version in reversed(releases) if place[version] < place[row.since])
    first, last, new = (_default(row, dotted, {**newest, row.package: v}) for v in (releases[0], before, releases[-1]))
    if not row.body and (first == new or None in (row.old or last, row.new or new)):
        return None
    every = known[row.package].releases  # what the advice meets, whatever else of the file does not run there
    stated = bool(row.inside) or all(_takes(row, dotted, {**newest, row.package: v}) for v in every)
    taken = stated or _takes(row, dotted, {**newest, row.package: releases[-1]})
    return Drift(row, row.old or last or "", row.new or new or "", stated and not row.given, taken and not row.given)


def _is_meant(row: Default, dotted: str, newest: dict[str, str]) -> bool:
    """Whether the dotted name is one of the row's, by whatever module it was imported from."""
    found = resolve(dotted, newest)
    return not isinstance(found, Missing) and any(found == resolve(name, newest) for name in row.classes)


def _is_beside(row: Default, known: Choices) -> bool:
    for package, text in row.beside.items():
        if package not in known or not all(holds(text, version) for version in known[package].releases):
            return False
    return True


def _straddles(row: Default, releases: tuple[str, ...]) -> bool:
    """Whether the oldest release has the old value and the newest the new one."""
    if not releases:
        return False
    place = positions(row.package)
    oldest, newest = place[releases[0]], place[releases[-1]]
    is_old = oldest < place[row.since] and (not row.old_since or oldest >= place[row.old_since])
    return is_old and newest >= place[row.since] and (not row.new_until or newest < place[row.new_until])


def _default(row: Default, dotted: str, versions: dict[str, str]) -> str | None:
    found = parameter(dotted, row.field, versions)
    return None if found is None else found.default


def _takes(row: Default, dotted: str, versions: dict[str, str]) -> bool:
    found = signature_of(dotted, versions)
    return found is not None and (found.open or row.field in found.parameters)
