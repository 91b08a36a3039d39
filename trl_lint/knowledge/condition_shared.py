"""What is written in short in `rules/conditions`: parts that many lines share (`refresher.conditions_shared`), and the
classes of a line with their releases (`refresher.conditions_write`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from trl_lint.regexes import regex

_NAME = regex(r"\$(?:\$|[0-9a-z]{3})")
OWN = "~"  # the class whose function has the statement
SAME = "+"  # between classes that have a fact in the same releases


def expanded(text: str, parts: Mapping[str, str]) -> str:
    """A text with what its names stand for; `$$` is a dollar sign. Raises KeyError for a name that is none."""

    def fill(match: re.Match[str]) -> str:
        return "$" if match[0] == "$$" else expanded(parts[match[0]], parts)

    return _NAME.sub(fill, text) if "$" in text else text


def owner_of(holder: str) -> str:
    """The class of a function, `GRPOConfig` of `GRPOConfig.__post_init__`."""
    return holder.partition(".")[0]


def classes_of(told: str, holder: str) -> Iterator[tuple[str, list[str]]]:
    """The classes of a line with the releases at which they begin and cease to have its fact, in turn."""
    for group in told.split(", "):
        names, *turns = group.split(" ")
        for name in names.split(SAME):
            yield (owner_of(holder) if name == OWN else name), turns
