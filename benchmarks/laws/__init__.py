"""Inputs that are made at any size, one family for each thing that a project can have many of.

Each is a function from a size to files. Pins, sizes and forms are such that the readers and rules which they are about
have work to do. The largest size is the one at which a run must still be quick.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

Files = dict[str, str]


class Law(NamedTuple):
    """Inputs of one kind: `files` of a size, up to `largest`, and what is run in their folder."""

    name: str
    largest: int
    files: Callable[[int], Files]
    arguments: tuple[str, ...] = ()


LAWS: list[Law] = []


def law(largest: int, *arguments: str) -> Callable[[Callable[[int], Files]], Callable[[int], Files]]:
    """Take a function, named after what there are many of, among the laws."""

    def take(files: Callable[[int], Files]) -> Callable[[int], Files]:
        LAWS.append(Law(files.__name__.replace("_", " "), largest, files, arguments))
        return files

    return take


def every_law() -> list[Law]:
    from benchmarks.laws import commands, configs, drift, given, logs, manifests, ray, scripts  # noqa: F401  each takes its own

    return LAWS


def lines(count: int, text: Callable[[int], str]) -> str:
    return "".join(f"{text(number)}\n" for number in range(count))
