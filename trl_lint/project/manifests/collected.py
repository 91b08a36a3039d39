"""Requirements in the notation of PEP 508, collected as pins."""

from __future__ import annotations

from trl_lint.finding import Location
from trl_lint.project.pins import Kind, Pin
from trl_lint.project.repositories import package_at
from trl_lint.sources import Source
from trl_lint.sources.requirements import Requirement, RequirementError, read_requirement


def pin_of(source: Source, requirement: Requirement, kind: Kind, group: str = "", editable: bool = True) -> Pin:
    """A pin of a PEP 508 requirement whose spans are offsets into `source`."""
    specifier_location = None
    if editable and not requirement.url:
        specifier_location = source.location(requirement.specifier_start, requirement.specifier_end)
    is_bare = requirement.url and requirement.specifier_start == requirement.start
    return Pin(
        package=package_at(requirement.url) if is_bare else requirement.package,
        specifier=requirement.specifier,
        location=source.location(requirement.start, requirement.end),
        kind="url" if requirement.url and kind != "inert" else kind,
        extras=requirement.extras,
        marker=requirement.marker,
        text=source.text[requirement.start : requirement.end],
        group=group,
        specifier_location=specifier_location,
        url=requirement.url,
    )


class Collected:
    """Pins and problems while a manifest is being read."""

    __slots__ = ("pins", "problems", "source")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.pins: list[Pin] = []
        self.problems: list[tuple[Location, str]] = []

    def add(self, start: int, end: int, kind: Kind, group: str = "", editable: bool = True) -> None:
        """Read the PEP 508 requirement between two offsets; what pip would refuse becomes a problem."""
        text = self.source.text
        if not text[start:end].strip():
            return
        try:
            requirement = read_requirement(text, start, end)
        except RequirementError as error:
            self.problems.append((self.source.location(error.start, error.end), error.message))
            return
        self.pins.append(pin_of(self.source, requirement, kind, group, editable))
