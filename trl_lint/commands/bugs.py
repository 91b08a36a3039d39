"""`trl-lint bugs`: what is known to go wrong in a release, for people or for programs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from trl_lint.commands import UsageError
from trl_lint.knowledge.bugs import QUIET, Bug, bugs, packages
from trl_lint.knowledge.ranges import holds
from trl_lint.records import NamedTuple
from trl_lint.streams import say
from trl_lint.words import counted, nearest

VERSION = 1


class _Asked(NamedTuple):
    """A package, one of its releases ("" for all of them), and the faults that it has."""

    package: str
    release: str
    rows: tuple[Bug, ...]


def run(args: argparse.Namespace) -> int:
    """Print the faults of the packages or releases, or without any how many are known. Raises UsageError."""
    asked = [_asked(text) for text in args.packages or packages()]
    if args.output_format == "json":
        from trl_lint.reports.log_safe import dump_json

        dump_json({"version": VERSION, "packages": [_facts(one) for one in asked]}, sys.stdout)
    elif not args.packages:
        width = max((len(one.package) for one in asked), default=0)
        for one in asked:
            say(f"{one.package:<{width}}  {_count(one.rows)}", to="stdout")
    else:
        for number, one in enumerate(asked):
            say(*([""] if number else []), *_lines(one), to="stdout")
    return 0


def _asked(text: str) -> _Asked:
    from trl_lint.knowledge.releases import release_names

    name, equal, release = text.partition("==")
    if name not in packages():
        guess = nearest(name, packages())
        hint = f"; did you mean `{guess}`?" if guess else f"; known are {', '.join(packages())}"
        raise UsageError(f"no bugs of `{name}` are known{hint}")
    if equal and release not in release_names(name):
        raise UsageError(f"`{release}` is no known release of {name}")
    return _Asked(name, release, tuple(row for row in bugs(name) if not release or holds(row.releases, release)))


def _count(rows: tuple[Bug, ...]) -> str:
    silent = sum(row.consequence == "silent" for row in rows)
    return counted(len(rows), "known bug") + (f", {silent} silent" if silent else "")


def _lines(asked: _Asked) -> Iterator[str]:
    name = f"{asked.package} {asked.release}".strip()
    yield f"{name}: {_count(asked.rows)}"
    for row in sorted(asked.rows, key=lambda row: row.consequence not in QUIET):
        yield ""
        yield f"{row.id} ({row.consequence})"
        yield f"  {row.title}: {row.plain_message}"
        yield f"  when      {' or '.join(row.where)}: {row.condition}"
        yield f"  releases  {asked.package}{row.releases}" + "".join(f", {n}{text}" for n, text in row.beside.items())
        yield f"  remedy    {row.remedy(asked.package)}"
        for url in row.evidence:
            yield f"  evidence  {url}"


def _facts(asked: _Asked) -> dict[str, Any]:
    return {
        "package": asked.package,
        "release": asked.release or None,
        "bugs": [
            {
                "id": row.id,
                "title": row.title,
                "message": row.plain_message,
                "consequence": row.consequence,
                "where": list(row.where),
                "condition": row.condition,
                "releases": {asked.package: row.releases, **row.beside},
                "remedy": row.remedy(asked.package),
                "evidence": list(row.evidence),
            }
            for row in asked.rows
        ],
    }
