"""Commands that follow each other: what the steps of a script, a Dockerfile or a README leave of a package.

A later command takes what is there if it can, and else replaces it; a package that it brings may ask for another
release than an earlier command named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from trl_lint import budget
from trl_lint.knowledge.ranges import holds
from trl_lint.project.packages import allowed_by, alternatives
from trl_lint.project.pins import Installations, Pin, Step, kind_of
from trl_lint.records import NamedTuple
from trl_lint.sources.requirements import is_exact

# A script with more branches than a person writes: each of its pins is an alternative then.
_MOST_BRANCHES = 20
_MOST_ALTERNATIVES = 40


def left_by_commands(name: str, pins: Iterable[Pin], exact: Installations) -> list[str]:
    """What installations by commands leave of a package, as alternatives; `exact` is `upgrading` of all their pins."""
    found: list[str] = []
    for key, mine in _installations(pins).items():
        ways = list(_ways(mine))
        later = exact.get(key, []) if len(ways) <= _MOST_BRANCHES else []
        for sequence in ways:
            found += _in_sequence(name, sequence, later, keeps_both=key[2] >= 0)
    return found


def standing(pins: Sequence[Pin]) -> list[Pin]:
    """The pins of a package without those of commands that a later command of the same run is sure to make void.

    That one takes the package anew (`-U`), or from an address. A release replaces what came from an address, and a bare
    name leaves it.
    """
    if len(pins) < 2 or not any(pin.step is not None and (pin.url or pin.step.renews) for pin in pins):
        return list(pins)
    anew: dict[_Branch, int] = {}
    released: dict[_Branch, int] = {}
    fetched: dict[_Branch, int] = {}
    for pin in pins:
        if pin.step is not None and pin.kind not in ("constraint", "inert"):
            key, number = _branch(pin), pin.step.number
            if pin.step.renews or pin.url:
                anew[key] = max(number, anew.get(key, number))
            if is_exact(pin.specifier):
                released[key] = max(number, released.get(key, number))
            if pin.url:
                fetched[key] = min(number, fetched.get(key, number))
    left = []
    for pin in pins:
        if pin.step is not None:
            number, renews = pin.step.number, pin.step.renews
            path, environment, block, branch = _branch(pin)
            before = [(path, environment, block, branch[:length]) for length in range(len(branch) + 1)]
            is_bare = not (pin.specifier or pin.url or renews)
            if any(anew.get(key, -1) > number for key in before) and pin.kind != "constraint":
                continue
            if pin.url and any(released.get(key, -1) > number for key in before):
                continue
            if is_bare and any(fetched.get(key, number) < number for key in before):
                continue
        left.append(pin)
    return left or list(pins)


# A document, the environment, of a README the block, and the branches that a command stands in.
_Branch = tuple[str, str, int, tuple[tuple[int, int], ...]]


def run_of(pin: Pin) -> tuple[str, str, int]:
    """What makes commands follow each other: the document, the environment, and of a README the block.

    The blocks of a README show several ways to install; the commands of a script follow each other.
    """
    step = _step(pin)
    return step.path, step.environment, step.block if kind_of(step.path) == "readme" else -1


def _branch(pin: Pin) -> _Branch:
    return *run_of(pin), _step(pin).branch


def _installations(pins: Iterable[Pin]) -> Installations:
    found: Installations = {}
    for pin in pins:
        if pin.step is not None:
            found.setdefault(run_of(pin), []).append(pin)
    return found


def _ways(pins: list[Pin]) -> Iterator[list[Pin]]:
    """The pins that one run through a script meets, for each way through its branches."""
    branches = dict.fromkeys(_step(pin).branch for pin in pins)
    if len(branches) == 1:
        yield pins
        return
    if len(branches) > _MOST_BRANCHES:
        yield from ([pin] for pin in pins)
        return
    for branch in branches:
        if branch and any(other != branch and other[: len(branch)] == branch for other in branches):
            continue  # it goes on in another one
        yield [pin for pin in pins if branch[: len(_step(pin).branch)] == _step(pin).branch]


def _in_sequence(name: str, pins: list[Pin], later: list[Pin], keeps_both: bool) -> list[str]:
    """What commands that run one after the other leave of a package, as alternatives; nothing if they do not limit it.

    One command holds all that it installs together, a later one what is there already, if it can. `keeps_both`: where
    it cannot, they were meant as alternatives. `later`: the exact pins of the same run, which may replace it.
    """
    commands: dict[int, dict[str, list[Pin]]] = {}
    for pin in pins:
        if pin.specifier:
            commands.setdefault(_step(pin).number, {}).setdefault(pin.location.path, []).append(pin)
    left: list[str] = []
    for number in sorted(commands):
        said: list[str] = []
        for listed in commands[number].values():
            said = _together(name, said, alternatives(name, listed)) or said
        both = _together(name, left, said)
        left = both or ([*left, *said] if keeps_both else said)
    if not left or not later:
        return left
    last = max((_step(pin) for pin in pins if pin.specifier), key=lambda step: step.number)
    return [_replaced(name, specifier, last, later) for specifier in left]


def _together(name: str, first: list[str], second: list[str]) -> list[str]:
    """Two sets of alternatives that hold together: those of their pairs that some release satisfies."""
    if not first or not second:
        return first or second
    if len(first) * len(second) > _MOST_ALTERNATIVES:
        budget.limit(
            _MOST_ALTERNATIVES, f"commands leave more than {{}} alternatives of {name}; others were not followed"
        )
    pairs = islice(((one, other) for one in first for other in second), _MOST_ALTERNATIVES)
    joined = dict.fromkeys(",".join(dict.fromkeys(f"{one},{other}".split(","))) for one, other in pairs)
    return [specifier for specifier in joined if allowed_by(name, specifier)]


def _replaced(name: str, specifier: str, last: Step, later: list[Pin]) -> str:
    """What a later command makes of the releases that an earlier one left: what its package requires instead."""
    for pin in later:
        if _step(pin).number > last.number and pin.package != name and _step(pin).may_join(last):
            specifier = _required_instead(name, specifier, pin) or specifier
    return specifier


def _required_instead(name: str, specifier: str, pin: Pin) -> str:
    """The range that an exactly pinned release requires of a package, where a specifier misses it; else ""."""
    from trl_lint.knowledge.releases import parse_version
    from trl_lint.knowledge.requirements import requirement, requirements_of

    version = parse_version(pin.specifier[2:]) if name in requirements_of(pin.package) else None
    needed = requirement(pin.package, version, name, pin.extras) if version is not None else None
    if needed is None or not needed.is_binding or not needed.specifier:
        return ""
    allowed = allowed_by(name, specifier)
    if not allowed or any(holds(needed.specifier, version) for version in allowed):
        return ""
    return needed.specifier


class Replaced(NamedTuple):
    """A pin that a later command of the same run makes void: what that installs requires a range that misses it."""

    pin: Pin
    by: Pin
    needed: str


def replaced(pins: Sequence[Pin]) -> Iterator[Replaced]:
    """The pins of commands that later commands replace."""
    from trl_lint.knowledge.requirements import requirements_of

    exact = upgrading(pins)
    for key, mine in _installations(pins).items():
        later = {id(pin) for pin in exact.get(key, ())}
        standing: dict[str, Pin] = {}
        for pin in sorted(mine, key=lambda pin: _step(pin).number) if later else ():
            for name in requirements_of(pin.package) & standing.keys() if id(pin) in later else ():
                before = standing[name]
                if _step(before).number == _step(pin).number or not _step(pin).may_join(_step(before)):
                    continue
                needed = _required_instead(name, before.specifier, pin)
                if needed:
                    yield Replaced(standing.pop(name), pin, needed)
            if pin.specifier and pin.kind == "command":
                standing[pin.package] = pin


def upgrading(pins: Sequence[Pin]) -> Installations:
    """The exact pins of commands that bring along what they require, of packages whose requirements are known."""
    from trl_lint.knowledge.requirements import providers

    known = frozenset(providers())
    stepped = [pin for pin in pins if pin.package in known and pin.step is not None and not pin.step.alone]
    return _installations(pin for pin in stepped if is_exact(pin.specifier) and not pin.is_optional)


def _step(pin: Pin) -> Step:
    assert pin.step is not None
    return pin.step
