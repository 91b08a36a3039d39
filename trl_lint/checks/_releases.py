"""A verdict that holds for some of the releases a run may have: its level, and words for the releases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from trl_lint.finding import Location, OpenPin, Severity
from trl_lint.project.stack import Choice
from trl_lint.records import NamedTuple

if TYPE_CHECKING:
    from trl_lint.checks.rule import Rule
    from trl_lint.project.effective import Setting


class ReleaseVerdict(NamedTuple):
    """`scope`: in which releases, in words for brackets; `release`: the newest of them; `related`: the pins.

    `pin`: the pin that allows others as well.
    """

    severity: Severity
    scope: str
    related: tuple[Location, ...]
    release: str
    pin: OpenPin | None


def judge_releases(chosen: Choice, is_bad: Callable[[str], bool], level: Severity | Rule) -> ReleaseVerdict | None:
    """Judge the releases of a package that may be in use; None where none is bad.

    `level`: the highest there can be; of a rule it is that of its page, which is read where something is bad only.
    """
    bad = [version for version in chosen.releases if is_bad(version)]
    if not bad or (chosen.between and len(bad) < len(chosen.releases)):
        return None
    from trl_lint.checks.drift._judging import basis_of, open_pin
    from trl_lint.project.basis import scope
    from trl_lint.verdict import graded, has_floor

    only_old = bad[-1] != chosen.newest
    if only_old and not has_floor(chosen.package.specifier):
        return None
    everywhere = len(bad) == len(chosen.releases)
    severity = graded(
        level if isinstance(level, str) else level.page.severity,
        everywhere=everywhere,
        only_old=only_old,
        assumed=chosen.assumed,
        dated=chosen.is_dated,
        tip=chosen.is_tip,
    )
    pin = None if everywhere else open_pin(chosen, bad)
    said = scope(chosen.package.name, bad, chosen.releases, basis_of(chosen))
    return ReleaseVerdict(severity, said, chosen.package.places, bad[-1], pin)


def places(settings: Iterable[tuple[str, Setting]]) -> tuple[Location, ...]:
    """The places that set values, each with its name and value, for the related places of a finding."""
    found = []
    for name, setting in settings:
        if setting.location is not None:
            found.append(setting.location._replace(message=f"{name} = {setting.value}"))
    return tuple(dict.fromkeys(found))
