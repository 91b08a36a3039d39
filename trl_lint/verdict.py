"""How severe a finding about releases is: what the pins prove decides, for every rule in the same way."""

from __future__ import annotations

from trl_lint.finding import Severity, lowered


def graded(
    level: Severity,
    *,
    everywhere: bool,
    only_old: bool = False,
    assumed: bool = False,
    dated: bool = False,
    tip: bool = False,
) -> Severity:
    """The level of something that is wrong in some of the releases that may be in use; `level` is the highest.

    | it is wrong in | pinned | assumed | dated | tip |
    |---|---|---|---|---|
    | every release | `level` | one lower | two lower | `level`, a warning at most |
    | some, the newest among them | one lower | two lower | info | one lower |
    | older ones only (`only_old`) | info | info | info | info |

    `assumed`: nothing pins the package, so the newest release stands for it. `dated`: another package of the stack is
    held at an older release besides, so the environment may be as old as that. `tip`: a package comes from the main
    branch of its repository, which is at least the newest release; nothing of it is sure enough for an error.
    `only_old`: an installer takes the newest release, and that one is fine; the lower bound of the pin is too low, no
    more. Of a key, a flag or a word that only older releases refuse in a config file, a recipe or a command not even
    that is told: it was written for the release that runs it.
    """
    if only_old:
        return "info"
    for weakens in (not everywhere, assumed, dated):
        if weakens:
            level = lowered(level)
    return "warning" if tip and level == "error" else level


def has_floor(specifier: str) -> bool:
    """Whether a pin has a lower bound, so that what is wrong with older releases alone is a fault of it.

    `trl<=0.9.6` allows the first release ever, but nobody gets it. Exact pins in several files have a reason each.
    """
    return any(sign in specifier for sign in ">~")
