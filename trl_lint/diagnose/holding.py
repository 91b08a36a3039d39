"""Whether a project has the values that a release refuses with the message of a log."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from trl_lint.diagnose.project import Answer, Held, ProjectEvidence
from trl_lint.diagnose.refusals import Refused
from trl_lint.diagnose.templates import plain
from trl_lint.knowledge.conditions import recorded_releases
from trl_lint.run.runs import Run, bare_run

if TYPE_CHECKING:
    from trl_lint.checks.configs._sentence_holds import Holding

# The rules that quote the releases' own sentences.
TELLING = ("TRL402", "TRL403", "TRL404", "TRL501", "TRL701", "TRL803")
_MOST_PLACES = 3
_MOST_RUNS = 50  # that are judged by the condition; where none of them has such values, the rules are asked


def in_use(found: Iterable[Refused], versions: Mapping[str, str], project: ProjectEvidence | None) -> Refused | None:
    """The first refusal of a release that ran, as far as the log (`versions`) or the pins tell which did."""
    return next((one for one in found if _is_in_use(one, versions, project)), None)


def _is_in_use(refused: Refused, versions: Mapping[str, str], project: ProjectEvidence | None) -> bool:
    package, known = refused.package, recorded_releases(refused.package)
    ran = {versions[package]} if package in versions else set()
    if not ran and project is not None:
        declared = project.declared(package)
        if declared.source in ("pin", "lock", "target"):
            ran = {str(version) for version in declared.allowed or ()}
    at = {version: number for number, version in enumerate(known)}
    places = [at[version] for version in ran if version in at]
    if not ran or len(places) < len(ran):
        return True  # nobody knows, or a release that was not read may have it
    return any(at[first] <= place <= at[last] for place in places for first, last in refused.refusal.spans)


def holds_in(project: ProjectEvidence | None, refused: Refused) -> Answer:
    """Whether the runs of a project have what was refused, in words, and where it is written.

    The values of a training run are judged by the condition itself; of other programs the rules that quote the message
    are asked. Without a project, and where nothing is known, the answer has no words.
    """
    if project is None:
        return Answer("unknown", "")
    from trl_lint.checks.configs._sentence_holds import holding

    sentence, runs = refused.refusal.sentence, _runs(project)
    found = [each for run in runs[:_MOST_RUNS] if (each := holding(run, refused.package, sentence))]
    true = next((each for each in found if each.held == "yes"), None)
    if true is not None:
        return _told("yes", "The project says so", true, project)
    if found and len(runs) <= _MOST_RUNS and all(each.held == "no" for each in found):
        return _told("no", "Not with what the project says now", found[0], project)
    return _quoted(project, refused)


def _told(held: Held, lead: str, found: Holding, project: ProjectEvidence) -> Answer:
    places = [project.place(place.path, place.start) for place in found.places[:_MOST_PLACES]]
    return Answer(held, f"{lead}: {found.told}", tuple(places))


def _runs(project: ProjectEvidence) -> tuple[Run, ...]:
    """The runs the log may come from; where no command of the project starts one, its scripts in the traceback."""
    scripts = [path for path in project.project.paths if os.path.basename(path) in project.scripts]
    return project.runs or tuple(bare_run(path, project.project) for path in scripts if path.endswith(".py"))


def _quoted(project: ProjectEvidence, refused: Refused) -> Answer:
    """What a rule says with the words of the message."""
    words = plain(refused.longest)
    for code in TELLING:
        for finding in project.findings(code, TELLING):
            if words in plain(finding.message) and project.is_of_the_run(finding):
                place = project.place(finding.location.path, finding.location.start)
                return Answer("yes", f"{code} finds it in the project", (place,))
    return Answer("unknown", "")
