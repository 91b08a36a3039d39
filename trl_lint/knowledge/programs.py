"""What the programs of verl and OpenRLHF are started with, by release: `rules/commands/verl.toml`, `openrlhf.toml`.

The keys and flags themselves are in the histories; these tables say which of them a command meets, and what took the
place of those that went.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.rows import read_table


@cache
def _table(package: str) -> dict[str, Any]:
    return read_table(f"commands/{package}.toml")


def programs(package: str) -> frozenset[str]:
    """The modules of a package that are started."""
    return frozenset(row["module"] for row in _table(package)["program"])


def config_of_program(module: str, version: str) -> str:
    """The config that a module of verl begins with in a release, "" if that is not recorded."""
    rows = _table("verl")["program"]
    return next((row["config"] for row in rows if row["module"] == module and holds(row["releases"], version)), "")


def config_of_engine(name: str, version: str) -> str:
    """The config that `model_engine=<name>` selects in a release of verl, "" if that is not recorded."""
    rows = _table("verl")["engine"]
    return next((row["config"] for row in rows if row["name"] == name and holds(row["releases"], version)), "")


def followed(key: str, version: str) -> str:
    """The key whose value another key of verl takes where nobody sets it, "" if there is none in a release."""
    rows = _table("verl")["follows"]
    return next((row["of"] for row in rows if row["key"] == key and holds(row["releases"], version)), "")


def successors(package: str, name: str) -> tuple[str, ...]:
    """What took the place of a key or flag, step by step over the releases; those in use must be asked what they have.

    A row may rename everything below a key: `old = "ray_init"` covers `ray_init.num_cpus` too.
    """
    found: dict[str, None] = {}
    waiting = [name]
    while waiting:
        current = waiting.pop(0)
        for row in _table(package)["rename"]:
            old = row["old"]
            if current == old or current.startswith(f"{old}."):
                new = [text + current[len(old) :] for text in row["new"]]
                waiting += [text for text in new if text not in found]
                found.update(dict.fromkeys(new))
    return tuple(found)
