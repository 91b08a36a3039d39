"""How severe a finding is by the evidence: the only place where a level is made lower than it can be.

What is no matter of evidence is a level that stands as it is: that of the rule's page, or a word where a rule has a
milder form beside it.
"""

from __future__ import annotations

from trl_lint.finding import SEVERITIES, Finding, Severity
from trl_lint.records import NamedTuple


class Evidence(NamedTuple):
    """What the pins prove about a fault that some of the releases have which may be in use.

    `everywhere`: all of them have it; else some, the newest among them, or with `only_old` all but the newest ones.
    `always`: every release that there ever was has it, so that no pin matters.
    `assumed`: nothing pins the package where the code runs, so the newest release stands for it, or one that is named
    elsewhere. `dated`: another package of the stack is
    held at an older release besides, so the environment may be as old as that. `tip`: a package comes from the main
    branch of its repository, which is at least the newest release. `told`: what pins it is a README, a script or a
    table that nothing installs from. `mild`: the fault is only shown, or arguments from outside may take it away.
    `by_default`: a default of a script decides, which whoever starts it may replace.
    """

    everywhere: bool = True
    only_old: bool = False
    always: bool = False
    assumed: bool = False
    dated: bool = False
    tip: bool = False
    told: bool = False
    mild: bool = False
    by_default: bool = False


def graded(highest: Severity, evidence: Evidence) -> Severity:
    """The level of something that is an error, a warning or a hint at most, by the evidence.

    | it is wrong in | pinned | assumed | dated | tip, told |
    |---|---|---|---|---|
    | every release there ever was | `highest` | `highest` | `highest` | `highest`, a warning at most |
    | every release in use | `highest` | one lower | two lower | `highest`, a warning at most |
    | some, the newest among them | one lower | two lower | info | one lower |
    | older ones only | info | info | info | info |

    An installer takes the newest release: where that one is fine, the lower bound of the pin is too low, no more. What
    is `mild` is one lower than that, and what is `by_default` a warning at most.
    """
    if evidence.only_old:
        return "info"
    level = highest
    for weakens in (not evidence.everywhere, evidence.assumed, evidence.dated):
        if weakens and not evidence.always:
            level = _lowered(level)
    if level == "error" and (evidence.tip or evidence.told or evidence.by_default):
        level = "warning"
    return _lowered(level) if evidence.mild else level


def milder(level: Severity, is_mild: bool = True) -> Severity:
    """The level of what no release decides: one lower where it is only shown, likely, or open to arguments."""
    return graded(level, Evidence(mild=is_mild))


def beside(level: Severity, is_beside: bool = True) -> Severity:
    """The level of what is wrong beside the subject: a hint, where it is about no model."""
    return "info" if is_beside else level


def is_milder(level: Severity, other: Severity) -> bool:
    """Whether a level is lower than another one."""
    return SEVERITIES.index(level) < SEVERITIES.index(other)


def by_default(level: Severity) -> Severity:
    """The level of what rests on a default that whoever starts a script may replace."""
    return graded(level, Evidence(by_default=True))


def trusted(finding: Finding, highest: Severity) -> Finding:
    """A finding with a fix that is no safer than itself: where the evidence made a hint of what is more by its rule's
    page (`highest`), it may not matter, and nobody wants it repaired unasked.
    """
    if finding.fix is None or finding.severity != "info" or highest == "info":
        return finding
    return finding._replace(fix=finding.fix._replace(applicability="unsafe"))


def _lowered(level: Severity) -> Severity:
    return SEVERITIES[max(0, SEVERITIES.index(level) - 1)]
