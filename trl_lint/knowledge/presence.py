"""In which releases something is missing, asked once for each interval of releases in which nothing about it changed.

A pin such as `trl>=0.9` allows a hundred releases, but the history of one parameter has a handful of turning points:
the question is put to one release between two of them. Packages are varied one at a time, the others being at their
newest release: a field is a class's own or a base's, so what is missing along every line is missing everywhere.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import lru_cache

from trl_lint.knowledge.histories import Block, Changes, block, modules_with, positions, releases
from trl_lint.knowledge.names import absolute, exports, resolve
from trl_lint.missing import Missing
from trl_lint.records import NamedTuple

_SHAPE = ("@init", "@bases", "@kind", "@open", "@args", "@extra", "@positional", "@deprecated")

ChangePoints = Mapping[str, frozenset[int]]
Lookup = Callable[[dict[str, str]], "bool | None"]
"""Whether something is there with these versions; None if nobody knows."""


class Absence(NamedTuple):
    """The releases of a package, out of those asked about, that lack something, oldest first.

    `every`: all of them. `never`: none of them is known to have it.
    """

    package: str
    releases: tuple[str, ...]
    every: bool
    never: bool


def absences(releases: Mapping[str, tuple[str, ...]], points: ChangePoints, ask: Lookup) -> list[Absence]:
    """Where something is missing, by package: empty if nowhere, or if nothing is known about the newest releases.

    `releases`: what may be installed, by package, oldest first. `points`: the positions at which an answer may change.
    """
    newest = {package: found[-1] for package, found in releases.items()}
    now = ask(newest)
    if now is None:
        return []
    found = []
    for package, allowed in releases.items():
        lacking: list[str] = []
        unsure = present = False
        for interval in intervals(package, allowed, points.get(package, frozenset())):
            there = now if newest[package] in interval else ask({**newest, package: interval[-1]})
            if there is False:
                lacking += interval
            unsure = unsure or there is None
            present = present or there is True
        if lacking:
            every = len(lacking) == len(allowed) and not unsure
            found.append(Absence(package, tuple(lacking), every, not present))
    return found


@lru_cache(maxsize=1024)
def intervals(package: str, allowed: tuple[str, ...], points: frozenset[int]) -> list[list[str]]:
    """The releases, oldest first, cut where an answer may change."""
    known = positions(package)
    cuts = sorted(points)
    found: dict[int, list[str]] = {}
    for version in allowed:
        found.setdefault(bisect_right(cuts, known[version]), []).append(version)
    return list(found.values())


@lru_cache(maxsize=1024)
def points_of_name(dotted: str) -> ChangePoints:
    """The positions at which what a dotted name stands for may change."""
    return _trace(dotted)[0]


@lru_cache(maxsize=1024)
def is_class(dotted: str) -> bool:
    """Whether a dotted name is a class in every release that has it (and in one at least)."""
    package = dotted.partition(".")[0]
    found = set()
    for interval in intervals(package, releases(package), points_of_name(dotted).get(package, frozenset())):
        symbol = resolve(dotted, {package: interval[-1]})
        if not isinstance(symbol, Missing):
            home = symbol.partition(".")[0]
            found.add("." not in symbol.partition(":")[2] and block(home, f"class {symbol}") is not None)
    return found == {True}


@lru_cache(maxsize=4096)
def points_of_parameter(dotted: str, parameter: str) -> ChangePoints:
    """The positions at which a parameter of what a dotted name stands for may come, go or be deprecated."""
    return _with_facts(dotted, (parameter, f"!{parameter}"))


@lru_cache(maxsize=1024)
def points_of_signature(dotted: str) -> ChangePoints:
    """The positions at which anything may change about what calling a dotted name takes."""
    blocks = (block(package, symbol) for package, symbol in _trace(dotted)[1])
    names = {name for defined in blocks if defined is not None for name in defined.names()}
    return _with_facts(dotted, tuple(sorted(name for name in names if name[0] != ".")))


@lru_cache(maxsize=64)
def parameters_ever(dotted: str) -> frozenset[str]:
    """The names of all parameters that what a dotted name stands for takes, or took, in any release."""
    blocks = (block(package, symbol) for package, symbol in _trace(dotted)[1])
    return frozenset(
        name for defined in blocks if defined is not None for name in defined.names() if name.isidentifier()
    )


def _with_facts(dotted: str, facts: tuple[str, ...]) -> ChangePoints:
    points, definitions = _trace(dotted)
    found = dict(points)
    for package, symbol in definitions:
        defined = block(package, symbol)
        if defined is not None:
            for fact in facts:
                if changes := defined.changes(fact):
                    found[package] = found[package] | {at for at, _ in changes}
    return found


def definitions_of(dotted: str) -> tuple[tuple[str, str], ...]:
    """What a dotted name stood for in any release, and the bases of that: (package, `class module:Name`)."""
    return _trace(dotted)[1]


@lru_cache(maxsize=1024)
def _trace(dotted: str) -> tuple[ChangePoints, tuple[tuple[str, str], ...]]:
    trace = _Trace(f".{dotted.rpartition('.')[2]}")
    parts = dotted.split(".")
    for count in range(1, len(parts)):
        trace.follow(".".join(parts[:count]), parts[count])
    return {package: frozenset(points) for package, points in trace.points.items()}, tuple(trace.definitions)


class _Trace:
    """Collects the turning points of names, of the definitions they led to in any release, and of their bases."""

    def __init__(self, method: str) -> None:
        self.points: dict[str, set[int]] = {}
        self.definitions: list[tuple[str, str]] = []
        self.seen: set[str] = set()
        self.facts = (*_SHAPE, method)

    def follow(self, module: str, name: str) -> None:
        if f"{module}:{name}" in self.seen:
            return
        self.seen.add(f"{module}:{name}")
        package = module.partition(".")[0]
        listed = block(package, "modules")
        if listed is not None:
            for path in (module, f"{module}.{name}"):
                self._add(package, listed.changes(path[len(package) :] or package))
            self._add(package, listed.changes("@unlisted"))
        table = block(package, f"module {module}")
        if table is not None:
            self._add(package, table.life)
            self._add(package, table.changes("@open"))
            self._add(package, table.changes(name))
            for _, value in table.changes(name):
                if value != "-":
                    home, _, original = absolute(module, name, value).partition(":")
                    if original:
                        self.follow(home, original)
        self._define(f"{module}:{name}")

    def _define(self, symbol: str) -> None:
        package = symbol.partition(":")[0].partition(".")[0]
        for kind in ("class", "def"):
            found = block(package, f"{kind} {symbol}")
            if found is not None:
                self.definitions.append((package, f"{kind} {symbol}"))
                self._read(package, found)

    def _read(self, package: str, found: Block) -> None:
        self._add(package, found.life)
        for fact in self.facts:
            self._add(package, found.changes(fact))
        for _, bases in found.changes("@bases"):
            for base in bases.split():
                self._refer(base)
        for _, init in found.changes("@init"):
            if init.startswith("to:"):
                self._refer(init[3:])

    def _refer(self, reference: str) -> None:
        module, _, name = reference.partition(":")
        if name:
            self.follow(module, name)

    def _add(self, package: str, changes: Changes) -> None:
        self.points.setdefault(package, set()).update(at for at, _ in changes)


def homes(package: str, name: str, version: str) -> list[str]:
    """The public modules of a release that have a name, the shortest first."""
    # A list may hold a name whose module has gone: `trl.trainer` of trl 0.13 still names PPOv2Config.
    found = [module for module in modules_with(package, name) if resolve(f"{module}.{name}", {package: version})]
    public = [module for module in found if not any(part.startswith("_") for part in module.split("."))]
    return sorted(public, key=lambda module: (module.count("."), module))


@lru_cache(maxsize=1024)
def releases_with(dotted: str) -> tuple[str, ...]:
    """The releases of a package that have a name, oldest first."""
    package = dotted.partition(".")[0]
    return tuple(version for version in releases(package) if resolve(dotted, {package: version}))


def names_in(module: str, version: str) -> list[str]:
    """The recorded names that a module of a release has."""
    table = block(module.partition(".")[0], f"module {module}")
    names = table.names() if table is not None else []
    return [name for name in names if name[0] != "@" and exports(module, name, version)]
