"""Whether two releases that a manifest brings can be imported together, as far as the files of both tell."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from packaging.version import Version

from trl_lint.checks.pins._advisories import Match, has_advisory, matching
from trl_lint.checks.pins._installations import failures
from trl_lint.checks.pins._views import View
from trl_lint.knowledge import contracts
from trl_lint.knowledge.compat import Advisory, advisories
from trl_lint.knowledge.contracts import Contract
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.releases import installable
from trl_lint.knowledge.requirements import requirement
from trl_lint.records import NamedTuple

# Where a package is imported without being named: by what, or by which option.
_BROUGHT_BY = {"peft": ("from trl", "import trl")}
_SWITCHED_ON = {"liger-kernel": ("use_liger_kernel", "use_liger")}
# Names that a package puts back where others look for them (`trl/_compat.py`).
_MENDED_BY = {"HybridCache": {"trl": ">=0.27.0"}}
_MODULES = {"autoawq": "awq"}


class Broken(NamedTuple):
    """A contract that does not hold, how sure that is, and whether the project is seen to import what fails."""

    contract: Contract
    match: Match
    is_seen: bool


def broken(package: str, below: str, view: View) -> Broken | None:
    """The first contract that does not hold between two packages of a manifest; None where none is known.

    Nothing where an advisory says more, or where the two do not install together.
    """
    if not view.is_mentioned(package) or not view.is_mentioned(below):
        return None
    releases, others = view.candidates(package), view.candidates(below)
    if not releases or not others:
        return None
    rows = [row for row in contracts.contracts(package) if row.below == below and row.holds(releases[-1], others[-1])]
    if not rows or has_advisory(package, below, view) or has_advisory(below, package, view):
        return None
    if any({package, below} <= failure.names for failure in failures(view)):
        return None
    tried = ((row, advisory) for row in rows for advisory in _as_advisories(row))
    told = (
        Broken(row, match, bool(advisory.uses))
        for row, advisory in tried
        if _is_met(advisory, releases[-1], others[-1]) and (match := matching(advisory, view))
    )
    return next(told, None)


def _is_met(advisory: Advisory, version: Version, other: Version) -> bool:
    asked = advisory.packages.values()
    return all(holds(specifier, release) for specifier, release in zip(asked, (version, other), strict=True))


@cache
def _as_advisories(row: Contract) -> tuple[Advisory, ...]:
    """A contract in the words of advisories: one for each pair of ranges, and again where nothing is seen to use it."""
    return tuple(_advisories_of(row))


def _advisories_of(row: Contract) -> Iterator[Advisory]:
    module = _MODULES.get(row.package, row.package.replace("-", "_"))
    uses = row.entries or (f"import {module}", f"from {module}", f"{module}.", *_BROUGHT_BY.get(row.package, ()))
    for (first, last), (low, high) in ((one, other) for one in row.releases for other in row.lacking):
        plain = Advisory(
            f"{row.package} {first} on {row.below} {low}: {row.what}",
            {row.package: f">={first},<={last}", row.below: f">={low},<={high}"},
            row.what,
            "",
            "error",
            "crash-at-start",
            {},
            (row.place,),
            uses=uses,
            switches=_SWITCHED_ON.get(row.package, ()),
            patched=(row.name,),
            unless=_MENDED_BY.get(row.name, {}),
        )
        yield plain
        if not row.entries:
            yield plain._replace(id=f"{plain.id}, unseen", severity="info", uses=(), switches=())


def nearest(row: Contract, view: View) -> tuple[Version | None, Version | None]:
    """The nearest release of the package, and of the one below, that go with the other's."""
    [*_, mine], [*_, other] = view.candidates(row.package) or (), view.candidates(row.below) or ()

    def fits(version: Version, below: Version) -> bool:
        needed = requirement(row.package, version, row.below)
        pair = {row.package: version, row.below: below}
        if any(all(name in pair and holds(a.packages[name], pair[name]) for name in a.packages) for a in advisories()):
            return False
        return not contracts.is_broken(row.package, version, row.below, below, row.entries) and (
            needed is None or not needed.may_bind or holds(needed.specifier, below)
        )

    read = [
        end
        for each in contracts.contracts(row.package)
        if each.below == row.below
        for span in each.lacking
        for end in span
    ]
    newer, older = _around(row.below, other)
    others = [one for one in (*older, *newer) if min(read) <= one <= max(read)]
    return (
        next((one for one in _around(row.package, mine)[0] if fits(one, other)), None),
        next((one for one in others if fits(mine, one)), None),
    )


def _around(package: str, version: Version) -> tuple[list[Version], list[Version]]:
    """The newer releases of a package and the older ones, the nearest first."""
    known = installable(package)
    return [one for one in known if one > version], [one for one in reversed(known) if one < version]
