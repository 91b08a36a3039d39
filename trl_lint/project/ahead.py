"""Most files hold no command: which of them hold none is found out by all processes of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from trl_lint import budget, tracked
from trl_lint.project import CONTEXT_FILE_BYTES, Project, is_larger
from trl_lint.project.launch_table import know_no_launches, launches_in
from trl_lint.records import NamedTuple
from trl_lint.sources import SourceError
from trl_lint.workers import spread

# Below so much, it costs more to share the files out than to read them. A notebook is as much work as ten others.
_WORTH_SHARING = 600
_OF_A_NOTEBOOK = 10


class _Silent(NamedTuple):
    """The files of a share that hold no launch, and what was looked at to find out."""

    paths: list[str]
    record: tracked.Record | None


def read_launches_ahead(project: Project, jobs: int) -> None:
    """Let so many processes, this one among them, look for files without commands; the project knows them then."""
    from trl_lint.project.launches import holds_launches

    paths = [path for path in project.paths if holds_launches(path) and not is_larger(path, CONTEXT_FILE_BYTES)]
    if sum(_OF_A_NOTEBOOK if path.endswith(".ipynb") else 1 for path in paths) < _WORTH_SHARING:
        return

    def look(paths: Iterable[str]) -> _Silent:
        with budget.watched():
            return _Silent(list(_without_launches(paths, project)), tracked.current())

    for found in spread(paths, jobs, look):
        know_no_launches(found.paths, project)
        tracked.take_over(found.record)


def _without_launches(paths: Iterable[str], project: Project) -> Iterator[str]:
    """What cannot be read, or takes too long, is left to whoever asks for it again."""
    for path in paths:
        with suppress(OSError, SourceError):
            was_open = project.files.is_open(path)
            if not launches_in(path, project):
                yield path
            if not was_open:
                project.files.forget(path)
