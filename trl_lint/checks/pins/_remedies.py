"""Bringing a pin into a range, so that nothing else that is pinned stops fitting."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from trl_lint import budget
from trl_lint.checks.pins._advisories import matching
from trl_lint.checks.pins._conflicts import conflict_id, read_conflict
from trl_lint.checks.pins._installations import failures, failures_by_scope, failures_with
from trl_lint.checks.pins._views import View
from trl_lint.finding import Applicability, Edit, Fix
from trl_lint.knowledge.compat import advisories
from trl_lint.knowledge.requirements import requirement, requirements_of
from trl_lint.project.pins import Pin
from trl_lint.sources.requirements import is_exact

# Each release that is tried is judged like a pin; one that fits is nearly always among the first few.
_MOST_TRIED = 40
# How many installations are solved for the repairs of one manifest, at about a millisecond each. A repair that nobody
# could try is not offered.
_MOST_SOLVED = 1000
_PINS_OF_ONE = 50  # taking over so many pins costs as much as one installation


def edit_specifier(pin: Pin, specifier: str, applicability: Applicability, view: View, fault: str = "") -> Fix | None:
    """Bring a pin into a range, and cure a fault (an advisory's id, or that of a conflict) of its package by it.

    Withheld for inert pins (nothing would change), locks (they are generated), everything that is not one contiguous
    stretch of text, and where no release in the range is known to leave the other pins fitting: trading one fault for
    another is no fix. Commands of a document that ask for the same change together or not at all.
    """
    places = [twin.specifier_location for twin in view.twins(pin)]
    if None in places or pin.kind in ("inert", "lock", "url"):
        return None
    wanted = fitting_specifier(pin, specifier, view, fault)
    if wanted is None:
        return None
    edits = tuple(Edit(place.path, place.start, place.end, wanted) for place in places if place is not None)
    return Fix(f"require {pin.package}{wanted}", applicability, edits)


def fitting_specifier(pin: Pin, specifier: str, view: View, fault: str) -> str | None:
    """What to write into a pin: the first choice that leaves nothing wrong with its package, else nothing new."""
    before = faults_of(pin.package, view)
    second_best = None
    for wanted in islice(specifiers_within(pin, specifier), _MOST_TRIED):
        if wanted == pin.specifier:
            continue
        view.solved[0] += 1 + len(failures_by_scope(view)) + len(view.manifest.pins) // _PINS_OF_ONE
        if view.solved[0] > _MOST_SOLVED:
            budget.note(pin.location.path, "not every repair of its pins was tried")
            return None
        tried = view.with_specifier(pin, wanted)
        if tried is None or not is_told(pin.package, tried):
            continue
        left = _left_of(pin.package, tried, before - {fault} if second_best is None else frozenset())
        if left is None:
            continue
        if leads_to_failure(pin, fault, tried, view):
            continue
        if not left:
            return wanted
        second_best = wanted
    return second_best


def _left_of(package: str, tried: View, spared: frozenset[str]) -> set[str] | None:
    """What is still wrong with the pins of a package; None as soon as there is anything that is not spared."""
    left: set[str] = set()
    for fault in _find_faults(package, tried):
        if fault not in spared:
            return None
        left.add(fault)
    return left


def leads_to_failure(pin: Pin, fault: str, tried: View, view: View) -> bool:
    """Whether a change of a pin leaves pins that no releases satisfy: those it should cure, or new ones."""
    known = {failure.names for failure in failures(view)}
    known = {names for names in known if fault not in {conflict_id(one, other) for one in names for other in names}}
    left = (failure.names for there in failures_with(pin, tried, view).values() for failure in there)
    return any(pin.package in names and names not in known for names in left)


def specifiers_within(pin: Pin, specifier: str) -> Iterator[str]:
    """What may be written into a pin: the range itself; for an exact pin the releases in the range, the nearest first.

    Newer releases come before older ones, because what is known to be broken was repaired later. Of a package whose
    releases are not listed, only one that the range itself names and lets in is known to be there.
    """
    from trl_lint.knowledge.releases import allowed, ends_of, parse_version

    version = parse_version(pin.specifier[2:]) if is_exact(pin.specifier) else None
    if version is None:
        yield specifier
        return
    fitting = allowed(pin.package, specifier)
    if fitting is None:
        fitting = ends_of(specifier)
    yield from (f"=={newer}" for newer in fitting if newer > version)
    yield from (f"=={older}" for older in reversed(fitting) if older < version)


def is_told(package: str, view: View) -> bool:
    """Whether the tables tell what the release of a package requires of the packages that are pinned beside it."""
    version = view.package(package).resolved
    others = requirements_of(package)
    if version is None or not any(view.package(other).pins for other in others):
        return True
    return any(requirement(package, version, other) is not None for other in others)


def faults_of(package: str, view: View) -> frozenset[str]:
    """What is wrong with the pins of a package: advisories that hold, and conflicts with other packages."""
    if package not in view.faults:
        view.faults[package] = frozenset(_find_faults(package, view))
    return view.faults[package]


def _find_faults(package: str, view: View) -> Iterator[str]:
    pairs = [(other, package) for other in view.dependents(package)] + [
        (package, name) for name in view.mentioned_requirements(package)
    ]
    for provider, name in pairs if view.is_mentioned(package) else ():
        if provider != name and read_conflict(provider, name, view) is not None:
            yield conflict_id(provider, name)
    yield from (a.id for a in advisories() if package in a.packages and matching(a, view) is not None)
