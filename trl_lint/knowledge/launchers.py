"""The options of launchers: `rules/configs/launchers.toml`, whose head tells the keys, and histories of `rules/api`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Literal

from trl_lint.knowledge.api import facts, releases
from trl_lint.knowledge.configs import members
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.rows import Range, read_rows
from trl_lint.missing import Missing
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_INVERSE = {"enable-": "disable-", "disable-": "enable-", "no-": ""}
_TYPE = regex(r" type=(\w+)")
_CHOICES = regex(r" choices=\[([^\]`]{1,400})\]")
_TAKES_NOTHING = regex(r" action=(?:store_true|store_false|help|store_const)")


class Launcher(NamedTuple):
    """What is known of a launcher; `options` are by name, without dashes."""

    command: str
    package: str
    spelling: Literal["both", "loose", "-", "_"]
    history: str = ""
    options: Mapping[str, str] = {}
    releases: Mapping[str, Range] = {}
    enums: Mapping[str, str] = {}
    several: frozenset[str] = frozenset()
    strict: bool = False
    entry: Literal["", "script", "--"] = ""
    module: str = ""
    unless: str = ""

    def named(self, text: str) -> str:
        """An option as the table writes it: `--nproc-per-node=2` -> nproc_per_node."""
        name = text.partition("=")[0].removeprefix("--")
        if self.spelling == "loose":
            return name.partition(".")[0].replace("_", "-")
        return name.replace("-", "_") if self.spelling == "both" else name

    def has(self, name: str, version: str) -> bool | None:
        """Whether a release takes an option of this name, or one that begins so; None if nobody knows."""
        options = self.takes(version)
        if options is None or name in options or "help".startswith(name):
            return None if options is None else True
        if self.spelling == "loose":
            starts = (name, *(new + name[len(old) :] for old, new in _INVERSE.items() if name.startswith(old)))
            return any(option.startswith(starts) for option in options)
        return not self.strict and any(option.startswith(name) for option in options)

    @property
    def known(self) -> Mapping[str, str]:
        """The options of all releases."""
        return _of_all_releases(self.command) if self.history else self.options

    def takes(self, version: str) -> Mapping[str, str] | None:
        """The options of a release ("" for any) with what each takes; None if they are not known."""
        if self.history:
            return _of_release(self.command, version)
        gone = {name for name, specifier in self.releases.items() if version and not holds(specifier, version)}
        return {name: kind for name, kind in self.options.items() if name not in gone}


class _Table(NamedTuple):
    evidence: tuple[str, ...]
    launcher: tuple[Launcher, ...]
    same: tuple[Mapping[str, str], ...]


@cache
def _table() -> _Table:
    return read_rows("configs/launchers.toml", _Table, "*")


@cache
def launchers() -> Mapping[str, Launcher]:
    """The launchers by their commands. Raises KnowledgeError if the table is malformed."""
    return {one.command: one for one in _table().launcher}


@cache
def launchers_by_module() -> Mapping[str, Launcher]:
    return {one.module: one for one in launchers().values() if one.module}


def has_another_name(option: str, launcher: Launcher) -> bool:
    """Whether an option of a launcher is one that others have under another name: what all of them are about."""
    return any(row.get(launcher.command) == option for row in _table().same)


def name_elsewhere(option: str, launcher: Launcher) -> tuple[str, str] | None:
    """The option of a launcher that means what another one calls `option`, and that other; None where none does."""
    plain = option.replace("-", "_")
    found = [
        (row[launcher.command], other)
        for row in _table().same
        for other, name in row.items()
        if launcher.command in row and other != launcher.command and name.replace("-", "_") == plain
    ]
    of_same_package = (one for one in found if launchers()[one[1]].package == launcher.package)
    return next(of_same_package, found[0] if found else None)


@lru_cache(maxsize=64)
def _of_release(command: str, version: str) -> Mapping[str, str] | None:
    launcher = launchers()[command]
    found = facts(launcher.package, f"flags {launcher.history}", version)
    if isinstance(found, Missing):
        return None
    options = {launcher.named(name): _kind(text) for name, text in found.items() if name.startswith("--")}
    for name, enum in launcher.enums.items():
        words = members(enum, version)
        if words is not None and name in options:
            options[name] = "|".join(("no", *map(str.lower, words)))
    return options


@cache
def _of_all_releases(command: str) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for version in releases(launchers()[command].package):
        found.update(_of_release(command, version) or {})
    return found


def _kind(text: str) -> str:
    """What an option takes, in the words of the table, from the text of a history."""
    if _TAKES_NOTHING.search(text):
        return "-"
    if (choices := _CHOICES.search(text)) is not None:
        return choices[1].replace(",", "|").replace("'", "")
    kind = _TYPE.search(text)
    return kind[1] if kind is not None and kind[1] in ("int", "float") else ""
