"""The rows of a team's own tables, while files are checked under the settings that name them.

They are records of the same kinds as the rows of `rules/compat`. Whoever asks those tables asks here as well; own rows
come behind what the tables and the releases say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

R = TypeVar("R")
Own = Mapping[type, tuple[Any, ...]]

NOTHING: Own = {}
_in_use = [NOTHING]


def own_rows(record: type[R]) -> tuple[R, ...]:
    """The rows of a kind that the settings in use bring, in their order."""
    return _in_use[-1].get(record, ())


@contextmanager
def using(own: Own) -> Iterator[None]:
    """Let `own_rows` answer with these rows inside."""
    _in_use.append(own)
    try:
        yield
    finally:
        _in_use.pop()
