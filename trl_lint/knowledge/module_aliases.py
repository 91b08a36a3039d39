"""Modules that a release has, and no file for them: `rules/compat/aliases.toml`."""

from __future__ import annotations

from functools import cache

from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.rows import Range, read_rows
from trl_lint.records import NamedTuple


class Alias(NamedTuple):
    """Modules of a package in whose place these releases put other ones while they are imported; `why`: by what."""

    package: str
    modules: frozenset[str]
    releases: Range
    why: str
    evidence: tuple[str, ...]


class _Table(NamedTuple):
    alias: tuple[Alias, ...]


@cache
def module_aliases() -> tuple[Alias, ...]:
    """Every row. Raises KnowledgeError if the table is malformed."""
    return read_rows("compat/aliases.toml", _Table).alias


def is_alias(module: str, version: str) -> bool:
    """Whether a release has a module without a file for it."""
    return any(module in row.modules and holds(row.releases, version) for row in module_aliases())
