"""Ranges of releases: whether a release is in one, and several releases as ranges, in words too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

from packaging.version import Version

from trl_lint.knowledge.releases import parse_specifier, parse_version
from trl_lint.words import listed

T = TypeVar("T")

# More ranges than these tell a reader nothing new.
_MOST_RANGES = 3


def holds(specifier: str, version: str | Version) -> bool:
    """Whether a specifier (PEP 440) allows a version; False where one of the two cannot be read.

    A pre-release is asked about because it is in use, so it counts like any other release.
    """
    # `===` compares words: 1.0 and 1.0.0 are equal, and a remembered answer for the one is no answer for the other.
    return (_holds.__wrapped__ if "===" in specifier else _holds)(specifier, version)


@lru_cache(maxsize=65536)
def _holds(specifier: str, version: str | Version) -> bool:
    found = parse_specifier(specifier)
    known = parse_version(version) if isinstance(version, str) else version
    return found is not None and known is not None and found.contains(known, prereleases=True)


def spans(releases: Iterable[T], among: Iterable[T]) -> list[tuple[T, T]]:
    """Releases as ranges of neighbours `among` others: the first and the last of each.

    Both are in order, oldest first. A release that is not among the others is a range of its own.
    """
    place = {version: number for number, version in enumerate(among)}
    found: list[tuple[T, T]] = []
    for version in releases:
        last = place.get(found[-1][1]) if found else None
        if last is not None and place.get(version) == last + 1:
            found[-1] = (found[-1][0], version)
        else:
            found.append((version, version))
    return found


def in_words(ranges: Sequence[tuple[object, object]], newest: object = None) -> str:
    """Ranges as part of a sentence: `0.14.0 to 0.17.0 and 0.19.1`; of many the first two and the end of the last.

    `newest`: a range that ends there is open, `1.0.0 or later`.
    """
    ends = ((first, "or later" if last == newest else f"to {last}", first == last) for first, last in ranges)
    texts = [str(first) if is_one else f"{first} {end}" for first, end, is_one in ends]
    if len(texts) > _MOST_RANGES:
        texts = [*texts[:2], f"others up to {ranges[-1][1]}"]
    return listed(texts)
