"""The environment of a place whose releases code asks for before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from packaging.version import Version

from trl_lint.knowledge.releases import parse_specifier
from trl_lint.knowledge.resolver import Wish
from trl_lint.project.demands import Demand
from trl_lint.project.environment import Environment
from trl_lint.project.packages import Package, package_of
from trl_lint.project.pins import Pin
from trl_lint.project.resolution import read_wishes


class Narrowed(Environment):
    """An environment without the releases that code refuses before it comes to a place."""

    def __init__(self, around: Environment, demands: Iterable[Demand]) -> None:
        self._around_it = around
        self._demands = tuple(demands)
        self._path = around.place
        self._packages = {}
        self._stated = {}
        self._choices = None

    @property
    def is_possible(self) -> bool:
        """Whether any release is left of each package that was asked for."""
        return all(self.package(name).allowed != () for name in self._asked)

    @property
    def _asked(self) -> frozenset[str]:
        return frozenset(demand.package for demand in self._demands if demand.specifier)

    @cached_property
    def wishes(self) -> tuple[Wish, ...]:
        names = dict.fromkeys((*(wish.name for wish in self._around_it.wishes), *self._asked))
        return read_wishes(self, names)

    @cached_property
    def left_by_commands(self) -> Mapping[str, Version]:
        return {}  # code asks for other releases than these

    @cached_property
    def python(self) -> str:
        return self._around_it.python

    def _find(self, name: str) -> Package:
        package = self._around_it.stated(name)
        asked = [demand for demand in self._demands if demand.package == name and demand.specifier]
        wanted = ",".join(dict.fromkeys(demand.specifier for demand in asked if demand.specifier))
        if not asked or package.is_own or parse_specifier(wanted) is None:
            return package
        if package.is_tip and package.holds(wanted) == "none":
            return Package(name, package.pins, (), package.source, package.specifier)
        if package.is_tip or (package.allowed is None and package.source != "assumed"):
            return package
        pins = tuple(Pin(name, demand.specifier or "", demand.place, "requirement") for demand in asked)
        if package.source == "assumed":
            # A floor that the newest release is above of changes nothing; where it is refused, the code is the pin.
            return package if package.holds(wanted) == "all" else package_of(name, pins, [wanted], "pin")
        left = tuple(version for version in package.allowed or () if str(version) in set(package.affected(wanted)))
        if left == package.allowed:
            return package
        specifier = " | ".join(f"{part},{wanted}" for part in package.specifier.split(" | "))
        return Package(name, (*package.pins[:2], *pins), left, package.source, specifier)
