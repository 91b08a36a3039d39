"""What the programs of verl and OpenRLHF are started with, by release: `rules/commands/verl.toml`, `openrlhf.toml`.

The keys and flags themselves are in the histories; these tables say which of them a command meets, and what took the
place of those that went.
"""

from __future__ import annotations

from functools import cache

from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.rows import Range, read_rows
from trl_lint.records import NamedTuple


class Program(NamedTuple):
    """A module that is started; `config` is what one of verl begins with in `releases`."""

    module: str
    config: str = ""
    releases: Range = ">=0"


class Engine(NamedTuple):
    """The config that `model_engine=<name>` selects."""

    name: str
    config: str
    releases: Range


class Followed(NamedTuple):
    """The key `of` whose value `key` takes where nobody sets it."""

    key: str
    of: str
    releases: Range


class Scored(NamedTuple):
    """Values of `data_source` that verl has a reward function for; `begins`: beginnings of such values."""

    names: tuple[str, ...]
    releases: Range
    begins: tuple[str, ...] = ()


class Renamed(NamedTuple):
    """A key or flag, and what took its place; `value`: the one that stands for a flag which took none."""

    old: str
    new: tuple[str, ...]
    value: str = ""


class Programs(NamedTuple):
    """The whole table of a package; the fields are explained in it."""

    evidence: tuple[str, ...]
    program: tuple[Program, ...]
    rename: tuple[Renamed, ...]
    engine: tuple[Engine, ...] = ()
    follows: tuple[Followed, ...] = ()
    scored: tuple[Scored, ...] = ()


_TABLES = frozenset({"openrlhf", "verl"})


@cache
def table(package: str) -> Programs:
    """The table of `verl` or `openrlhf`. Raises KnowledgeError if it is malformed."""
    return read_rows(f"commands/{package}.toml", Programs, package)


@cache
def programs(package: str) -> frozenset[str]:
    """The modules of a package that are started."""
    return frozenset(row.module for row in table(package).program)


def folders_of_programs(package: str) -> frozenset[str]:
    """The packages of a framework in which modules stand that are started: all that are beside them are recorded."""
    names = programs(package) if package in _TABLES else frozenset()
    return frozenset(name.rpartition(".")[0] for name in names)


def config_of_program(module: str, version: str) -> str:
    """The config that a module of verl begins with in a release, "" if that is not recorded."""
    rows = table("verl").program
    return next((row.config for row in rows if row.module == module and holds(row.releases, version)), "")


def config_of_engine(name: str, version: str) -> str:
    """The config that `model_engine=<name>` selects in a release of verl, "" if that is not recorded."""
    return next((row.config for row in table("verl").engine if row.name == name and holds(row.releases, version)), "")


def followed(key: str, version: str) -> str:
    """The key whose value another key of verl takes where nobody sets it, "" if there is none in a release."""
    return next((row.of for row in table("verl").follows if row.key == key and holds(row.releases, version)), "")


def is_scored(data_source: str, version: str) -> bool | None:
    """Whether a release of verl has a reward function for a `data_source`; None where that is not recorded."""
    rows = [row for row in table("verl").scored if holds(row.releases, version)]
    if not rows:
        return None
    return any(data_source in row.names or data_source.startswith(row.begins) for row in rows)


def successors(package: str, name: str) -> tuple[str, ...]:
    """What took the place of a key or flag, step by step over the releases; those in use must be asked what they have.

    A row may rename everything below a key: `old = "ray_init"` covers `ray_init.num_cpus` too.
    """
    found: dict[str, None] = {}
    waiting = [name]
    while waiting:
        current = waiting.pop(0)
        for row in table(package).rename:
            if current == row.old or current.startswith(f"{row.old}."):
                new = [text + current[len(row.old) :] for text in row.new]
                waiting += [text for text in new if text not in found]
                found.update(dict.fromkeys(new))
    return tuple(found)


def value_of_flag(package: str, old: str) -> str:
    """The value that the successor of a flag without one is given, "" if the table tells none."""
    return next((row.value for row in table(package).rename if row.old == old), "")
