"""What was asked about one file and written down, asked again after a change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from trl_lint import tracked
from trl_lint.dependency_record import Asked
from trl_lint.project import Project
from trl_lint.project.reached import is_used_as
from trl_lint.python.definitions import defines, takes
from trl_lint.sources import SourceError
from trl_lint.sources.files import fits, holds


def says_the_same(path: str, asked: Iterable[Asked], project: Project) -> bool:
    """Whether a file gives the answers that it gave before it changed."""
    for question, argument, before in asked:
        answer = None
        with suppress(OSError, SourceError):
            answer = _ANSWERS[question](path, argument, project)
        if answer is not before:
            return False
        tracked.note_content(question, argument, path, before)
    return True


def _is_empty(path: str, kind: str, project: Project) -> bool:
    from trl_lint.project.launch_table import launches_in
    from trl_lint.run.parsers import parser_in

    if kind == "manifest":
        return not project.manifest_in(path)
    return not (launches_in if kind == "launches" else parser_in)(path, project)


def _is_larger(path: str, limit: str, project: Project) -> bool:
    return tracked.is_larger(path, int(limit))


def _has(path: str, argument: str, project: Project) -> bool:
    defined, _, parameter = argument.partition(" ")
    with tracked.for_itself(path):
        text = tracked.read_text(path)
    return takes(text, defined, parameter) if parameter else defines(text, defined)


def _of_bytes(answer: Callable[[bytes, str], bool]) -> Callable[[str, str, Project], bool]:
    return lambda path, argument, project: answer(project.files.own(path).data, argument)


_ANSWERS: Mapping[str, Callable[[str, str, Project], bool]] = {
    "is empty": _is_empty,
    "is larger": _is_larger,
    "has": _has,
    "is used as": is_used_as,
    "holds": _of_bytes(holds),
    "fits": _of_bytes(fits),
}
