"""Runs that certainly start several processes of a script on one machine."""

from __future__ import annotations

from trl_lint.checks._phrases import places
from trl_lint.finding import Location
from trl_lint.memos import per_project
from trl_lint.project import Project
from trl_lint.records import NamedTuple
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run, runs_with
from trl_lint.run.servers import share_of


class Started(NamedTuple):
    """A run that starts `processes` of the script on one machine."""

    run: Run
    processes: int

    @property
    def related(self) -> tuple[Location, ...]:
        """The command, and what says how many processes there are."""
        said = self.run.processes
        number = places([("processes", said)]) if isinstance(said, Setting) else ()
        return (self.run.launch.location._replace(message="the run"), *number)


@per_project
def several_started(path: str, project: Project) -> tuple[Started, ...]:
    """The runs, no examples in documents, that start several processes of the script at `path` on one machine.

    Worked out once: rules ask for each run of a script.
    """
    found = []
    for run in runs_with(path, project):
        number = processes_of(run) if run.launch.script_path == path else 1
        if number > 1:
            found.append(Started(run, number))
    return tuple(found)


def processes_of(run: Run) -> int:
    """How many processes of a script a run, no example in a document, starts on one machine; 1 where nobody knows."""
    launch = run.launch
    if launch.program is None or launch.is_documentation or not launch.program.starts_programs:
        return 1
    return share_of(run).number or 1
