"""Rules about what a trainer is given: they see each trainer that a script or a notebook constructs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import ClassVar, TypeVar

from trl_lint.checks._started import Started, several_started
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Location
from trl_lint.project import Project
from trl_lint.python.guards import is_expected_to_fail
from trl_lint.python.module import PythonModule
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall, runs_of_script, trainer_calls
from trl_lint.run.trainer.made import Made
from trl_lint.run.trainer.running import setting_of
from trl_lint.sources import SourceError

_R = TypeVar("_R")


class TrainerRule(Rule):
    """A rule with the hook `check_trainer`. One of its `needles` must be in the file that constructs the trainer."""

    imports: ClassVar[tuple[str, ...]] = ("trl", "transformers")
    words: ClassVar[tuple[bytes, ...]] = ()
    skips_tests: ClassVar[bool] = True

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        for call in trainer_calls(module, project):
            if call.is_certain and not call.is_dead:
                found = list(self.check_trainer(call))
                if found and not (call.is_prepared or self._is_tried(call)):
                    yield from found

    def _is_tried(self, call: TrainerCall) -> bool:
        """Whether the program goes on where this stops it."""
        return self.page.impact.startswith("crash") and is_expected_to_fail(call.module, call.call)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        """Judge what a trainer is certainly given."""
        raise NotImplementedError


class RunTrainerRule(TrainerRule):
    """One that looks at runs of several processes: then the needles may stand in another file of the project, too."""

    runs: ClassVar[bool] = True
    launched: ClassVar[bool] = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        path = run.launch.script_path
        if path is None or not path.endswith(".py"):
            return
        started = several_started(path, run.project)
        if not started or started[0].run is not run:
            return
        with suppress(OSError, SourceError):
            if run.project.files.holds(path, b"Trainer") and not run.project.files.holds(path, *self.needles):
                yield from self.check_module(run.project.module_in(path), run.project)


class FieldTrainerRule(TrainerRule):
    """One about switches of the training arguments: the recipe or the command alone may name them as well."""

    fields: ClassVar[tuple[str, ...]] = ()
    runs: ClassVar[bool] = True
    launched: ClassVar[bool] = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        path = run.launch.script_path
        if path is None or not path.endswith(".py"):
            return
        started = runs_of_script(path, run.project)
        if not started or started[0] is not run:
            return  # once for each script
        if not any(isinstance(one.config.given(name), Setting) for one in started for name in self.fields):
            return
        with suppress(OSError, SourceError):
            files = run.project.files
            if files.holds(path, *(self.words or (b"Trainer",))) and not files.holds(path, *self.needles):
                yield from self.check_module(run.project.module_in(path), run.project)


def first_found(call: TrainerCall, judge: Callable[[Run | None], Finding | None]) -> Iterator[Finding]:
    """What `judge` finds in the first run of a trainer in which it finds anything.

    Where no command starts the script, it is asked once, without a run.
    """
    return _first(call.runs or (None,), judge)


def first_started(call: TrainerCall, judge: Callable[[Started], Finding | None]) -> Iterator[Finding]:
    """What `judge` finds in the first run that starts a trainer in several processes and in which it finds anything."""
    return _first(several_started(call.module.path, call.project), judge)


def _first(runs: Iterable[_R], judge: Callable[[_R], Finding | None]) -> Iterator[Finding]:
    found = next((finding for run in runs if (finding := judge(run)) is not None), None)
    if found is not None:
        yield found


def place_for(call: TrainerCall, made: Made) -> Location:
    """Where a finding about something that was made stands: there, or at the trainer for what another file makes."""
    return made.location if made.frame.module is call.module else call.location


def said_at(call: TrainerCall, made: Made, run: Run | None) -> Location:
    """Where somebody asked for a switch: in the command or the recipe of a run, else as `place_for` says."""
    said = setting_of(made, run) if run is not None else None
    return said.location if isinstance(said, Setting) and said.location is not None else place_for(call, made)


def also_at(call: TrainerCall, place: Location) -> tuple[Location, ...]:
    """The trainer, where a finding stands elsewhere."""
    here = call.location
    return () if here[:3] == place[:3] else (here._replace(message="the trainer"),)


def seen_at(call: TrainerCall, made: Made, message: str) -> tuple[Location, ...]:
    """The place where something was made, where the finding stands elsewhere, and the trainer."""
    here = place_for(call, made)
    shown = (made.location._replace(message=message), call.location._replace(message="the trainer"))
    return tuple(place for place in shown if place[:3] != here[:3])
