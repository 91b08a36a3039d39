"""Pins of equal rank, and what they say together about a package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trl_lint.project.packages import Origin, Package, alternatives, assumed, package_of
from trl_lint.project.pins import Installations, Pin


class Tier:
    """Pins of equal rank, by package; each package is resolved once for all files that share them.

    `python`: what the project says about the Python it runs on (PEP 440).
    """

    __slots__ = ("_by_package", "_exact", "_known", "_unknown", "pins", "python")

    def __init__(self, pins: Sequence[Pin], python: str = "") -> None:
        self.pins = pins
        self.python = python
        self._known: dict[str, Package | None] = {}
        self._by_package: dict[str, list[Pin]] | None = None
        self._exact: Installations | None = None
        self._unknown: tuple[Pin, ...] | None = None

    def resolve(self, name: str) -> Package | None:
        """What the pins say about a package, None if they say nothing."""
        if name not in self._known:
            mine = _usable(self.of(name), self.python)
            if self._exact is None and any(pin.step is not None and pin.specifier for pin in mine):
                from trl_lint.project.sequences import upgrading

                self._exact = upgrading(self.pins)
            self._known[name] = _resolve(name, mine, self._exact or {}) if mine else None
        return self._known[name]

    def of(self, name: str) -> list[Pin]:
        """The pins of a package."""
        if self._by_package is None:
            self._by_package = {}
            for pin in self.pins:
                self._by_package.setdefault(pin.package, []).append(pin)
        return self._by_package.get(name, [])

    @property
    def unknown(self) -> tuple[Pin, ...]:
        """The pins that are sure to be installed, and of which nobody knows what they require."""
        if self._unknown is None:
            self._unknown = tuple(filter(_is_unknown, self.pins))
        return self._unknown

    def __bool__(self) -> bool:
        return bool(self.pins)


def resolve(name: str, pins: Iterable[Pin]) -> Package | None:
    """What a set of pins of equal rank says about a package, None if it says nothing.

    Differing specifiers are alternatives (another marker, another file): all they allow together is allowed. A bare
    name beside them adds nothing, and constraints narrow every alternative. The commands of a script follow each other,
    and a later one may bring another release than an earlier one asked for.
    """
    return Tier(list(pins)).resolve(name)


def _usable(pins: list[Pin], python: str) -> list[Pin]:
    """The pins without those under markers that hold on no Linux with a Python of the project; all if that is all.

    What only another system installs is no training machine.
    """
    if len(pins) < 2 or not any(pin.marker for pin in pins):
        return pins
    from trl_lint.knowledge.requirements import marker_holds

    return [pin for pin in pins if marker_holds(pin.marker, python, ("linux",)) is not False] or pins


def _resolve(name: str, pins: list[Pin], exact: Installations) -> Package | None:
    mine = [pin for pin in pins if pin.kind != "inert"]
    if not mine:
        return None
    if any(pin.step is not None for pin in mine):
        from trl_lint.project.sequences import standing

        mine = standing(mine)
    mine = [pin for pin in mine if pin.kind == "override"] or mine
    constraints = [pin for pin in mine if pin.kind == "constraint"]
    wanted = [pin for pin in mine if pin.kind != "constraint"] or constraints
    addresses = [pin for pin in wanted if pin.kind == "url"]
    limiting = wanted
    if addresses:
        from trl_lint.project.repositories import around, origin_of, stated_releases

        origin_there = origin_of(addresses)
        if origin_there != "release":
            is_tip = origin_there == "tip" and len(addresses) == len(wanted)
            between = around(addresses[0]) if len({pin.url for pin in wanted}) == 1 else ()
            return Package(name, tuple(wanted), None, "unknown", between=between, is_tip=is_tip)
        limiting = [pin._replace(specifier=stated_releases(pin)) if pin.url else pin for pin in wanted]
    specifiers = _specifiers(name, limiting, exact)
    if wanted is not constraints and constraints:
        narrowing = ",".join(dict.fromkeys(pin.specifier for pin in constraints if pin.specifier))
        specifiers = [f"{s},{narrowing}" for s in specifiers] or ([narrowing] if narrowing else [])
    if not specifiers:
        return assumed(name, tuple(wanted))
    origin: Origin = "lock" if any(pin.kind == "lock" for pin in wanted) else "pin"
    return package_of(name, tuple(wanted), specifiers, origin)


def _specifiers(name: str, pins: list[Pin], exact: Installations) -> list[str]:
    """The alternatives that pins leave: what files declare, and what each installation by commands ends with."""
    declared = [pin for pin in pins if pin.step is None]
    found = alternatives(name, declared) if declared else []
    if len(declared) < len(pins):
        from trl_lint.project.sequences import left_by_commands

        found += left_by_commands(name, pins, exact)
    return list(dict.fromkeys(found))


def _is_unknown(pin: Pin) -> bool:
    """Whether a pin comes from a repository, or from the disk, and nobody knows what its package requires."""
    if pin.kind != "url" or pin.is_optional or pin.is_alone or pin.marker:
        return False
    from trl_lint.knowledge.compat import independents
    from trl_lint.knowledge.requirements import judged
    from trl_lint.project.repositories import is_working_tree

    known = pin.package in judged() or pin.package in independents()
    return not known and is_working_tree(pin.url)
