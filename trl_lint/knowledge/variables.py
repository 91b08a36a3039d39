"""Environment variables that releases ignore, rename or choke on, from `rules/environment`.

The fields are explained at the head of `variables.toml`. The `.txt` files beside it list, by package, what each release
stopped reading; `knowledge/refresher` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

from trl_lint.finding import Severity
from trl_lint.knowledge import read_text, text_names
from trl_lint.knowledge.rows import Ranges, read_rows, table_paths
from trl_lint.records import NamedTuple

_TYPING_ERRORS = 2
LISTED_PREFIXES = ("VLLM_",)
_LISTS = {"vllm": "https://github.com/vllm-project/vllm/blob/v{}/vllm/envs.py"}


class Variable(NamedTuple):
    """What some releases make of a variable; `values` empty: of any value."""

    name: str
    packages: Ranges
    severity: Severity
    effect: str
    instead: str
    evidence: tuple[str, ...]
    values: tuple[str, ...] = ()
    contains: str = ""
    when: tuple[tuple[str, ...], ...] = ()
    rename: str = ""
    rename_safety: Literal["safe", "unsafe"] = "safe"
    others: tuple[str, ...] = ()
    overruled: str = ""
    mentions: str = ""
    is_listed: bool = False  # in a `.txt` file: nothing but the release that stopped reading it is known

    def fits(self, value: str) -> bool:
        """Whether the entry is about this value of the variable."""
        return self.contains in value and (not self.values or value in self.values)

    def effect_beside(self, value: str, others: Mapping[str, str | None]) -> str | None:
        """What becomes of the variable with this value beside others; None where one of them stands for it.

        Another whose value nobody can tell (None) may; one that is empty is not set.
        """
        told = next((name for name in self.others if others.get(name, "") != ""), None)
        if told is None:
            return self.effect
        if not self.overruled:
            return None
        other = (others[told] or value).rstrip("/")
        return None if f"{value.rstrip('/')}/".startswith(f"{other}/") else self.overruled.format(told)


class Spelling(NamedTuple):
    """A variable that people misspell, and what follows from that."""

    name: str
    consequence: str
    slips: tuple[str, ...] = ()
    exact: bool = False


class Once(NamedTuple):
    """Variables that a module reads once, when it is imported, and packages that import it."""

    names: tuple[str, ...]
    module: str
    importers: tuple[str, ...]
    evidence: tuple[str, ...]


class _Table(NamedTuple):
    variable: tuple[Variable, ...] = ()
    spelling: tuple[Spelling, ...] = ()
    once: tuple[Once, ...] = ()


@cache
def _tables() -> tuple[_Table, ...]:
    return tuple(read_rows(path, _Table) for path in table_paths("environment"))


@cache
def variables() -> tuple[Variable, ...]:
    """Every entry. Raises KnowledgeError if a table is malformed."""
    return tuple(row for table in _tables() for row in table.variable)


@cache
def spellings() -> tuple[Spelling, ...]:
    """Every variable that people misspell. Raises KnowledgeError if a table is malformed."""
    return tuple(row for table in _tables() for row in table.spelling)


@cache
def read_once() -> dict[str, Once]:
    """By name: the variables that a module reads when it is imported."""
    return {name: row for table in _tables() for row in table.once for name in row.names}


@cache
def no_longer_read() -> dict[str, Variable]:
    """By name: the variables of which nothing but the release that stopped reading them is known."""
    found: dict[str, Variable] = {}
    for file in (name for name in text_names("environment") if name.endswith(".txt")):
        _, prefix, *lines = read_text(f"environment/{file}").splitlines()
        for version, *names in map(str.split, lines):
            for name in names:
                found[prefix + name] = _listed(prefix + name, file.removesuffix(".txt"), version)
    return found


def _listed(name: str, package: str, version: str) -> Variable:
    return Variable(
        name=name,
        packages={package: f">={version}"},
        severity="info",
        effect=f"is no longer read since {package} {version}",
        instead="remove it, or set the option that took its place",
        evidence=(_LISTS[package].format(version),),
        is_listed=True,
    )


@cache
def entries(name: str) -> tuple[Variable, ...]:
    """The entries about a variable, in the order of the table; where there are none, what a list has of it."""
    found = tuple(entry for entry in variables() if entry.name == name)
    if found or not name.startswith(LISTED_PREFIXES) or name not in no_longer_read():
        return found
    return (no_longer_read()[name],)


def is_known(name: str) -> bool:
    """Whether there is anything to say about a variable of this name."""
    return bool(entries(name)) or misspelt(name) is not None


@cache
def misspelt(name: str) -> Spelling | None:
    """The variable that a name was certainly meant to be; None for one that may be somebody's own."""
    if any(name == spelling.name for spelling in spellings()):
        return None
    return next((spelling for spelling in spellings() if _is_slip(name, spelling)), None)


def _is_slip(name: str, spelling: Spelling) -> bool:
    meant = spelling.name
    if name in spelling.slips or spelling.exact:
        return name in spelling.slips
    # `MUSA_VISIBLE_DEVICES` is another vendor's, and `CUDA_VISIBLE_DEVICES_2` somebody's own.
    first, own = meant.partition("_")[0], name.rstrip("0123456789").rstrip("_")
    if name.partition("_")[0] != first or own == meant:
        return False
    return distance(name, meant, _TYPING_ERRORS) <= _TYPING_ERRORS


def distance(first: str, second: str, limit: int) -> int:
    """The number of characters to add, drop or change to get from one text to the other; `limit + 1` if more."""
    if abs(len(first) - len(second)) > limit:
        return limit + 1
    row = list(range(len(second) + 1))
    for index, char in enumerate(first, 1):
        before, row[0] = row[0], index
        for place, other in enumerate(second, 1):
            change = before + (char != other)
            before = row[place]
            row[place] = min(change, before + 1, row[place - 1] + 1)
    return min(row[-1], limit + 1)
