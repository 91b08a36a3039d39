"""What a finding about drift says: what happened, what to do, and which releases there may be."""

from __future__ import annotations

from collections.abc import Iterable, Set

from trl_lint.checks.drift._past import Elsewhere, read_past
from trl_lint.checks.verdict import Verdict
from trl_lint.knowledge.histories import positions, releases
from trl_lint.knowledge.presence import parameters_ever

# How like a known name must be that a misspelt one is taken for.
_LIKENESS = 0.75


def sentence(happened: str, remedy: str, basis: str) -> str:
    """The parts of a message in their order; each but the first may be empty."""
    return happened + (f": {remedy}" if remedy else "") + (f" ({basis})" if basis else "")


def word_gone(verdict: Verdict, past: Elsewhere | None, what: str, name: str, owner: str, remedy: str) -> str:
    """Say that something of `owner` is not there: since when, or until when, and what to do.

    `what`: "argument", "method". `past`: the releases that have it, None if none has. `remedy`: what to do where it is
    gone for good, "" if there is nothing to say.
    """
    if verdict.only_old:
        came = next_release(verdict.package, verdict.version)
        happened = f"`{owner}` has no {what} `{name}` before {verdict.package} {came}"
        return sentence(happened, f"raise the lower bound to {came}", verdict.basis)
    if past is None:
        return sentence(f"`{owner}` has no {what} `{name}`", remedy, verdict.basis)
    if past.older:
        gone = next_release(past.package, past.older)
        return sentence(f"{past.package} {gone} removed the {what} `{name}` of `{owner}`", remedy, verdict.basis)
    came = past.releases[0]
    happened = f"`{owner}` has no {what} `{name}` before {past.package} {came}"
    return sentence(happened, remedy or f"it needs {past.package}>={came}", verdict.basis)


def next_release(package: str, version: str) -> str:
    """The recorded release after another one; that one itself where it is the last."""
    known = releases(package)
    return known[min(positions(package)[version] + 1, len(known) - 1)]


def argument_meant(name: str, known: Set[str], owners: Iterable[str], newest: dict[str, str]) -> str:
    """`did you mean `x`?` among the arguments in use and those that other releases have; "" where none is near.

    `known`: the arguments in use. `owners`: the dotted names of what takes them.
    """
    from trl_lint.words import nearest

    ever = {argument: dotted for dotted in owners for argument in parameters_ever(dotted) - known}
    guess = nearest(name, {*known, *ever}, _LIKENESS)
    past = read_past(ever[guess], guess, newest) if guess in ever else None
    if past is None:
        return did_you_mean(name, known)
    found = past.elsewhere
    if past.successor in known:
        return f"did you mean `{past.successor}`, which was `{guess}` once?"
    if found.older:
        return f"did you mean `{guess}`, which {found.package} {next_release(found.package, found.older)} removed?"
    return f"did you mean `{guess}`, which {found.package} {found.releases[0]} brings?"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean `x`?` for a name that is nearly a known one, "" for any other."""
    from trl_lint.words import nearest

    guess = nearest(name, known, _LIKENESS)
    return f"did you mean `{guess}`?" if guess else ""
