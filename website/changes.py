"""What changed from one release of a package to the next, told from the histories in `rules/api` and
`rules/conditions`: names, arguments, defaults, methods, requirements, and what is refused.

Nothing is known here that the histories do not hold: private names and modules that were not read are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from trl_lint.knowledge.api import INHERITED, timeline
from trl_lint.knowledge.defaults import defaults_of
from trl_lint.knowledge.histories import ABSENT_VALUE, Block, block, positions, releases, text_of, value_at
from trl_lint.knowledge.presence import homes
from trl_lint.knowledge.refresher.conditions_build import RECORDED
from trl_lint.knowledge.refresher.conditions_changes import changes as told_changes
from trl_lint.knowledge.remedies import remedy_of_argument, remedy_of_name
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_SYMBOL = regex(r"^(module|class|def) (\S+) ", 8)  # 8: re.MULTILINE
REQUIRED = "*"


class Change(NamedTuple):
    """Something that a release has otherwise than the one before.

    `kind` is argument, method, name or requirement; `owner` the class, function or module; `before` and `after` are
    None where it was, or is, not there. `note` is what that does, or what to do about it, where the tables tell.
    """

    release: str
    kind: str
    owner: str
    name: str
    before: str | None
    after: str | None
    note: str = ""


@cache
def changes(package: str) -> dict[str, list[Change]]:
    """By release, oldest first, what it has otherwise than the one before. The first release has nothing."""
    found: dict[str, list[Change]] = {release: [] for release in releases(package)}
    for change in _all_changes(package):
        found[change.release].append(change)
    return found


def refusals(package: str, release: str) -> list[str]:
    """What a release refuses and warns about since the one before: lines that begin with `+`, `-` or `~`."""
    at = positions(package)[release]
    return told_changes(package, releases(package)[at - 1], release) if at and package in RECORDED else []


def _all_changes(package: str) -> Iterator[Change]:
    for match in _SYMBOL.finditer(text_of(package)):
        kind, symbol = match[1], match[2]
        found = block(package, f"{kind} {symbol}")
        if found is None or any(part.startswith("_") for part in symbol.replace(":", ".").split(".")):
            continue
        yield from _of_module(package, symbol, found) if kind == "module" else _of_definition(package, symbol, found)
    yield from _of_requirements(package)


def _of_module(package: str, module: str, found: Block) -> Iterator[Change]:
    for name in dict.fromkeys(found.names()):
        if name.startswith(("@", "_")):
            continue
        for at, was, now in _steps(found, name):
            if (was is None) != (now is None):
                release = releases(package)[at]
                note = remedy_of_name(module, name, {package: release}) if now is None else ""
                yield Change(release, "name", module, name, was, now, note)


def _of_definition(package: str, symbol: str, found: Block) -> Iterator[Change]:
    for name in dict.fromkeys(found.names()):
        if name.startswith(("@", "!", "._")) or not name:
            continue
        if name.startswith("."):
            for at, was, now in _steps(found, name):
                yield Change(releases(package)[at], "method", symbol, name[1:], was, now)
        else:
            yield from _of_argument(package, symbol, name, found)


def _of_argument(package: str, symbol: str, name: str, found: Block) -> Iterator[Change]:
    """By what the class takes, its bases of the same package included: a field that moves to a base stays."""
    was: str | None = None
    for version, now in timeline(symbol, name):
        at = positions(package).get(version)
        if at is None:  # it never was the package's own: the history of a base elsewhere
            return
        is_told = now != was and (INHERITED not in (now, was) or symbol.endswith(("Config", "Arguments")))
        if at and is_told and found.exists(at - 1) and found.exists(at):
            yield Change(version, "argument", symbol, name, was, now, _note(package, symbol, name, version, found, now))
        was = now


def _note(package: str, symbol: str, name: str, release: str, found: Block, now: str | None) -> str:
    owner = symbol.partition(":")[2]
    if now is None:
        successor = value_at(found.changes(f"!{name}"), positions(package)[release] - 1) or ""
        if successor.isidentifier():
            return f"use `{successor}`"
        return remedy_of_argument(symbol.replace(":", "."), name, {package: release})
    rows = (row for row in defaults_of(owner) if row.field == name and row.package == package)
    return next((row.effect for row in rows if row.since == release), "")


def _of_requirements(package: str) -> Iterator[Change]:
    found = block(package, "requires")
    for name in found.names() if found is not None else ():
        for at, was, now in _steps(found, name) if found is not None else ():
            yield Change(releases(package)[at], "requirement", package, name, was, now)


def _steps(found: Block, name: str) -> Iterator[tuple[int, str | None, str | None]]:
    """The positions at which a fact changes while its symbol is there before and after, with both values."""
    was: str | None = None
    for at, text in found.changes(name):
        now = None if text == ABSENT_VALUE else text
        if now != was and at and found.exists(at - 1) and found.exists(at):
            yield at, was, now
        was = now


def whole(package: str) -> dict[str, list[Change]]:
    """By release the modules that came and went."""
    found: dict[str, list[Change]] = {}
    for match in _SYMBOL.finditer(text_of(package)):
        of = block(package, f"{match[1]} {match[2]}")
        if match[1] != "module" or of is None or "._" in match[2]:
            continue
        for at, mark in of.life:
            if at:
                is_gone = mark == ABSENT_VALUE
                both = ("+", None) if is_gone else (None, "+")
                release = releases(package)[at]
                found.setdefault(release, []).append(Change(release, "module", "", match[2], *both))
    return found


def shown_default(value: str | None) -> str:
    """A default as a table shows it."""
    if value is None:
        return ""
    if value == REQUIRED:
        return "required"
    return "as its base class has it" if value == INHERITED else value.strip("`")


def still_in(package: str, name: str, release: str) -> list[str]:
    """The modules that have a name in a release, the shortest first."""
    return sorted(homes(package, name, release), key=lambda module: (module.count("."), module))
