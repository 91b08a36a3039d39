"""Which releases pip takes in an environment: its pins, and what the releases require of each other, put together.

Pins that contradict each other describe different installations. Then those that stand in the way of a package are
left out, the last first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from packaging.version import Version

from trl_lint import budget
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.releases import known_packages
from trl_lint.knowledge.resolver import Resolution, Wish, resolve
from trl_lint.project.environment import Environment
from trl_lint.project.packages import Package
from trl_lint.project.pins import Pin, Step
from trl_lint.project.sequences import run_of
from trl_lint.project.tiers import resolve as resolve_pins

_MOST_KEPT = 512  # answers that are kept
_MOST_PYTHON = 16  # as in 3.16, which nobody has


def taken(environment: Environment, name: str) -> Version | None:
    """The release of a package that an installer takes beside all that the environment asks for; None if unknown."""
    if environment.left_by_commands:
        return environment.left_by_commands.get(name)
    wishes = environment.wishes
    found = _resolved(wishes, environment)
    if found.taken is not None and name in found.taken:
        return found.taken[name]
    alone = Wish(name, "", None)
    others = tuple(wish for wish in wishes if wish.name != name)
    mine = next((wish._replace(is_limit=False) for wish in wishes if wish.name == name), alone)
    found = _resolved((*others, mine), environment)
    while found.taken is None and others:
        # What contradicts itself says little; the pins that are nearest say most.
        others = others[:-1]
        found = _resolved((*others, mine), environment)
    return found.taken.get(name) if found.taken is not None else None


def without(environment: Environment, package: Package, pythons: str) -> Version | None:
    """The release that an installer takes where none of the extras, groups and markers holds that the pins of a package
    stand under; None where there is none then, or nowhere.

    What only a marker asks for is installed by hand elsewhere; what an extra asks for may not be.
    """
    from trl_lint.knowledge.releases import newest
    from trl_lint.knowledge.requirements import marker_holds

    markers = " or ".join(f"({pin.marker})" for pin in package.pins if pin.marker)
    if markers and marker_holds(markers, pythons, ("linux",)):
        return None
    others = tuple(wish for wish in environment.wishes if wish.name != package.name)
    found = _resolved(others, environment).taken
    brought = found.get(package.name) if found is not None else None
    return brought or (newest(package.name) if markers else None)


def left_by_commands(environment: Environment) -> dict[str, Version]:
    """What is installed after several commands: each keeps what is there where it can, and else replaces it.

    Empty where the commands may not be one run of one document.
    """
    present: dict[str, Version] = {}
    for step, pins in _steps(environment):
        wishes = tuple(wish for name in dict.fromkeys(pin.package for pin in pins) if (wish := _wished(name, pins)))
        named = {wish.name for wish in wishes} if step.renews == "named" else present if step.renews else ()
        kept = {name: version for name, version in present.items() if name not in named}
        found = _resolved(wishes, environment, kept)
        present = {**present, **(found.taken or {})}
    return present


def _wished(name: str, pins: Iterable[Pin]) -> Wish | None:
    package = resolve_pins(
        name,
        [
            pin._replace(step=None) if pin.step is None or not pin.step.alone else pin
            for pin in pins
            if pin.package == name
        ],
    )
    return wish_for(package) if package is not None else None


def _steps(environment: Environment) -> list[tuple[Step, list[Pin]]]:
    """The pins of known packages by the commands of the one document that installs everything; none if that is another
    way to install, or one command.
    """
    stated = [pin for wish in environment.wishes for pin in environment.stated(wish.name).pins]
    runs = {None if pin.step is None or pin.step.branch else run_of(pin) for pin in stated}
    if len(runs) != 1 or None in runs:
        return []
    known = frozenset(known_packages())
    by_number: dict[int, list[Pin]] = {}
    for pin in environment.pins():
        if pin.package in known and pin.step is not None and run_of(pin) in runs and pin.kind != "inert":
            by_number.setdefault(pin.step.number, []).append(pin)
    found = [(pins[0].step, pins) for _, pins in sorted(by_number.items())]
    return [(step, pins) for step, pins in found if step is not None] if len(found) > 1 else []


def deciding(environment: Environment, name: str) -> tuple[Pin, ...]:
    """The pins without which an installer would take another release of a package that no pin limits."""
    from trl_lint.knowledge.releases import newest

    found = taken(environment, name)
    if found is None or found == newest(name):
        return ()
    mine = Wish(name, "", None)
    decisive: list[Pin] = []
    for wish in environment.wishes:
        if wish.name != name and wish.specifier:
            others = tuple(other for other in environment.wishes if other.name not in (wish.name, name))
            without = _resolved((*others, mine), environment).taken
            if without is not None and without.get(name) != found:
                pins = environment.stated(wish.name).pins
                # A target stands in no file, and a tag names a release without a specifier.
                for pin in sorted(pins, key=lambda pin: not pin.specifier)[:1]:
                    decisive.append(pin._replace(specifier=pin.specifier or wish.specifier))
    return tuple(decisive)


def possible(environment: Environment, package: Package) -> tuple[Version, ...]:
    """The releases that the pins of a package allow and the other pins accept, up to the one that an installer takes.

    All that the pins allow where they contradict each other.
    """
    allowed = package.allowed or ()
    if any(pin.step is not None and pin.step.renews for pin in package.pins):
        return allowed  # whatever is there beside it moves with it
    left = allowed
    for wish in environment.wishes:
        if wish.name != package.name and wish.releases is not None:
            left = _beside(package.name, left, wish, package.pins) or left
    found = taken(environment, package.name)
    return left[: left.index(found) + 1] if found in left else left


_Releases = tuple[Version, ...]
_BESIDE: dict[tuple[object, ...], tuple[_Releases, _Releases | None, _Releases]] = {}


def _beside(name: str, releases: _Releases, other: Wish, pins: Sequence[Pin]) -> _Releases:
    """The releases of a package that may be installed with some release of another one."""
    is_alone = bool(pins) and all(pin.is_alone for pin in pins)
    if any(pin.kind == "override" for pin in pins):
        other = other._replace(is_limit=True)  # whatever it requires of this one
    extras = frozenset(extra for pin in pins for extra in pin.extras)
    # Most folders of a project have the same pins. The releases are compared, which is faster than to hash them.
    key = (name, is_alone, extras, len(releases), other._replace(releases=None))
    known = _BESIDE.get(key)
    if known is None or known[0] != releases or known[1] != other.releases:
        if len(_BESIDE) >= _MOST_KEPT:
            _BESIDE.clear()
        found = _installed_beside(name, releases, other, is_alone, extras)
        known = _BESIDE[key] = releases, other.releases, found
    return known[2]


def _installed_beside(name: str, releases: _Releases, other: Wish, is_alone: bool, extras: frozenset[str]) -> _Releases:
    others = other.releases or ()
    asked = _groups(other.name, others, name, other.extras) if not (other.is_alone or other.is_limit) else {"": others}
    mine = _groups(name, releases, other.name, extras) if not (is_alone or other.decides) else {"": releases}
    if set(asked) == {""} and set(mine) == {""}:
        return releases
    found: set[Version] = set()
    for specifier, wanting in mine.items():
        for theirs, fitting in asked.items():
            if not specifier or any(holds(specifier, version) for version in reversed(fitting)):
                found.update(version for version in wanting if not theirs or holds(theirs, version))
    return tuple(version for version in releases if version in found)


def _groups(
    name: str, releases: Iterable[Version], dependency: str, extras: frozenset[str]
) -> dict[str, tuple[Version, ...]]:
    """Releases by what they are sure, or may turn out, to require of a dependency."""
    from trl_lint.knowledge.requirements import requirement, requirements_of

    if dependency not in requirements_of(name):
        return {"": tuple(releases)}
    found: dict[str, list[Version]] = {}
    for version in releases:
        need = requirement(name, version, dependency, extras)
        found.setdefault(need.specifier if need is not None and need.may_bind else "", []).append(version)
    return {specifier: tuple(versions) for specifier, versions in found.items()}


# -- what is wished for -------------------------------------------------------------------------------------------


def read_wishes(environment: Environment, names: Iterable[str]) -> tuple[Wish, ...]:
    """What the pins of an environment ask of some packages, as far as it is known."""
    from trl_lint.knowledge.requirements import marker_holds_on
    from trl_lint.knowledge.resolver import USUAL_PYTHON

    python = environment.python or USUAL_PYTHON
    stated = (environment.stated(name) for name in names)
    wishes = (
        wish_for(package)
        for package in stated
        if not package.pins or any(marker_holds_on(pin.marker, python) for pin in package.pins)
    )
    return tuple(wish for wish in wishes if wish is not None)


def wish_for(package: Package) -> Wish | None:
    """What is asked of a package by its pins, as far as it is known."""
    if package.is_own or package.is_tip or not (package.pins or package.source == "target"):
        return None
    if package.source != "assumed" and package.allowed is None:
        return None
    pins = package.pins
    extras = frozenset(extra for pin in pins for extra in pin.extras)
    is_limit = bool(pins) and all(pin.is_optional or pin.kind in ("constraint", "override") for pin in pins)
    is_alone = bool(pins) and all(pin.is_alone for pin in pins)
    decides = any(pin.kind == "override" for pin in pins)
    releases = None if package.source == "assumed" else package.allowed
    return Wish(package.name, package.specifier, releases, extras, is_limit, is_alone, decides)


def python_of(requires: str) -> str:
    """The minor version of Python that is taken to run a project, by what it says about it; "" where that is any."""
    if not requires:
        return ""
    from trl_lint.knowledge.resolver import USUAL_PYTHON

    usual = int(USUAL_PYTHON.partition(".")[2])
    for minor in (usual, *range(usual + 1, _MOST_PYTHON), *range(usual - 1, 5, -1)):
        if holds(requires, f"3.{minor}.9") or holds(requires, f"3.{minor}"):
            return f"3.{minor}"
    return ""


_KNOWN: dict[tuple[object, ...], Resolution] = {}


def _resolved(
    wishes: tuple[Wish, ...], environment: Environment, present: Mapping[str, Version] | None = None
) -> Resolution:
    # The specifiers stand for the releases: a tuple of many versions takes long to hash.
    asked = tuple(wish._replace(releases=None) for wish in wishes)
    key = (environment.python, asked, *((present or {}).items()))
    found = _KNOWN.get(key)
    if found is None:
        if len(_KNOWN) >= _MOST_KEPT:
            _KNOWN.clear()
        found = _KNOWN[key] = resolve(wishes, environment.python, present)
    if found.is_cut:
        budget.note(environment.place, "its pins can be combined in too many ways to tell what an installer takes")
    return found
