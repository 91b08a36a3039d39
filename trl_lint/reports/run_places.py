"""Which runs a finding is about: by the places it names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trl_lint.finding import Finding, Location
from trl_lint.records import NamedTuple
from trl_lint.run.runs import Run, files_of

# Nobody chooses among more.
MOST_RUNS = 300


class RunPlaces(NamedTuple):
    """Where a run stands: its command, and the files that it reads besides the one with the command."""

    name: str
    command: Location
    files: frozenset[str]


def places_of(run: Run) -> RunPlaces:
    """The places of a run and of all that it may be."""
    ways = (run, *(candidate.run for candidate in (*run.candidates, *run.guesses)))
    command = run.launch.location
    return RunPlaces(run.name, command, frozenset(path for way in ways for path in files_of(way)) - {command.path})


class Concerned:
    """Tells the runs of findings. A finding is about the runs that have every place of it that some run has."""

    def __init__(self, runs: Sequence[RunPlaces]) -> None:
        self._readers: dict[str, set[int]] = {}
        self._commands: dict[str, list[tuple[Location, int]]] = {}
        for number, run in enumerate(runs[:MOST_RUNS]):
            for path in run.files:
                self._readers.setdefault(path, set()).add(number)
            self._commands.setdefault(run.command.path, []).append((run.command, number))

    def of(self, finding: Finding) -> list[int]:
        """The numbers of the runs that a finding is about, in their order."""
        asked = [found for place in _places(finding) if (found := self._at(place)) is not None]
        return sorted(set.intersection(*asked)) if asked else []

    def _at(self, place: Location) -> set[int] | None:
        """The runs that have a place; None where no run has it."""
        commands = self._commands.get(place.path, ())
        found = {number for command, number in commands if place.start < command.end and command.start <= place.end}
        found |= self._readers.get(place.path, set())
        return found or None


def _places(finding: Finding) -> Iterable[Location]:
    return dict.fromkeys(place._replace(message="") for place in (finding.location, *finding.related))
