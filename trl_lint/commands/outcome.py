"""What a run of `trl-lint check` is about, and what it came to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from trl_lint.coverage import Coverage
from trl_lint.finding import Finding, Notice
from trl_lint.records import NamedTuple
from trl_lint.settings import Settings
from trl_lint.sources.files import Files
from trl_lint.sources.text import SourceFile

if TYPE_CHECKING:
    from trl_lint.baseline import Baseline
    from trl_lint.engine import Result
    from trl_lint.fixes.repair import Refusal
    from trl_lint.reports.run_places import RunPlaces


class Group(NamedTuple):
    """Named paths under one set of settings, with the baseline that holds for them."""

    settings: Settings
    paths: list[str]
    baseline: Baseline | None


class Outcome(NamedTuple):
    """What one run over all groups came to. `findings` are those to show."""

    findings: list[Finding]
    notices: list[Notice]
    problems: list[tuple[str, str]]
    environment: dict[str, Mapping[str, str | None]]
    contents: dict[str, bytes]
    changed: dict[str, bytes]
    before: dict[str, SourceFile]
    fixed: list[Finding]
    refused: list[Refusal]
    in_baseline: int
    gone: int
    coverage: Coverage
    runs: Sequence[RunPlaces] = ()

    def files(self) -> Files:
        """The files as they are now, repaired ones in their new form."""
        return Files(self.contents)


def shown(group: Group, result: Result) -> list[Finding]:
    """The findings of a group that its baseline does not know."""
    if group.baseline is None:
        return list(result.findings)
    return group.baseline.new(result.findings, result.files)


def gone(group: Group, result: Result) -> int:
    """How many findings of its baseline a run over a group did not find again; 0 where it was not done to the end."""
    known = group.baseline
    if known is None or result.problems or any(notice.kind == "budget" for notice in result.notices):
        return 0
    left = known.compare(result.findings, result.files).gone
    return known.gone_from(left, group.paths, group.settings.is_selected)


def about_targets(settings: Settings) -> Iterable[Notice]:
    """What cannot be judged of the releases that `--target` names."""
    if not settings.targets:
        return ()
    from trl_lint.project.unjudged import unjudged_targets

    return unjudged_targets(settings.targets)
