"""Which releases of a package there may be, and why: words for the brackets at the end of a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trl_lint.knowledge.ranges import in_words, spans

if TYPE_CHECKING:
    from trl_lint.project.packages import Package


def basis(package: Package, oldest: str, newest: str, fewer: bool = False) -> str:
    """`pinned: trl 0.18.0`, `your pin trl>=0.19.1 allows 0.19.1 to 1.16.0`, `nothing pins trl; 1.16.0 is assumed`.

    `oldest` and `newest`: of the releases that may be in use; `fewer`: another pin has left fewer of them.
    """
    name = package.name
    if package.source == "assumed":
        why = f"your pin takes any {name}" if package.pins else f"nothing pins {name}"
        return f"{why}; {newest} is assumed"
    if package.source == "target":
        return f"for {name} {newest}"
    if package.is_tip:
        return f"{name} comes from the tip of its repository, at least {newest}"
    if package.allowed is None:
        return f"pinned: {name} {package.specifier.removeprefix('==')}"
    if len(package.allowed) == 1:
        return f"{'locked' if package.source == 'lock' else 'pinned'}: {name} {newest}"
    if fewer:
        return f"your pins allow {name} {oldest} to {newest}"
    return f"your pin {name}{package.specifier} allows {oldest} to {newest}"


def scope(package: str, bad: Sequence[str], among: Sequence[str], why: str) -> str:
    """For which releases something holds: `why` alone where it holds for all of them, else with the `bad` ones before.

    `trl 0.18.0 to 0.19.1; your pin trl>=0.17,<0.20 allows 0.17.0 to 0.19.1`
    """
    return why if len(bad) == len(among) else f"{package} {in_words(spans(bad, among))}; {why}"
