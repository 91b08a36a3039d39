"""Poetry's dependency tables and its own version notation, turned into PEP 440."""

from __future__ import annotations

import re
from collections.abc import Callable

from trl_lint.project.pins import Kind, Pin
from trl_lint.project.repositories import at_revision
from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.nodes import Entry, Mapping, Node, Scalar, value_of
from trl_lint.sources.requirements import normalised

_PLAIN_VERSION = regex(r"v?\d[A-Za-z0-9.+-]*")
_RELEASE = regex(r"v?(\d{1,99}(?:\.\d{1,99})*)(?!\d)")
_ELSEWHERE = ("git", "path", "url", "workspace")
_REVISIONS = ("rev", "tag", "branch")
_Ceiling = Callable[[list[int]], list[int]]


def pin_from_poetry(source: Source, entry: Entry, kind: Kind, group: str) -> Pin | None:
    """The pin of one line of a dependency table; None for `python` and for what is not understood."""
    package = normalised(str(entry.key.value))
    if package == "python":
        return None
    version: Node | None = entry.value
    extras: frozenset[str] = frozenset()
    marker, url, optional = "", "", False
    if isinstance(entry.value, Mapping):
        table = entry.value
        version = table.get("version")
        url = address_of(table)
        marker = str(value_of(table.get("markers")) or value_of(table.get("python")) or "")
        optional = value_of(table.get("optional")) is True
        wanted = table.get("extras")
        extras = frozenset(normalised(str(value_of(item))) for item in getattr(wanted, "items", ()))
    text = version.value if isinstance(version, Scalar) and isinstance(version.value, str) else None
    specifier = "" if url or text is None else pep440(text)
    if specifier is None or (text is None and not url):
        return None
    place = None
    if isinstance(version, Scalar) and not url and version.raw[1:-1] == text:
        place = source.location(version.start + 1, version.end - 1)
    return Pin(
        package=package,
        specifier=specifier,
        location=source.location(entry.key.start, entry.value.end),
        kind="url" if url else ("extra" if optional else kind),
        extras=extras,
        marker=marker,
        text=source.text[entry.key.start : entry.value.end],
        group=group or (package if optional else ""),
        specifier_location=place,
        url=url,
    )


def address_of(table: Mapping) -> str:
    """The place a dependency table takes a package from, in pip's notation, "" if from an index.

    A repository is that of a branch, a tag or a commit, where it names one; tables of Poetry and of uv look alike.
    """
    place = next((str(value_of(table.get(key))) for key in _ELSEWHERE if table.get(key) is not None), "")
    if table.get("git") is None:
        return place
    revision = next((str(value_of(table.get(key))) for key in _REVISIONS if table.get(key) is not None), "")
    return at_revision(place, revision)


def pep440(constraint: str) -> str | None:
    """A version constraint of Poetry as a PEP 440 specifier; None for alternatives (`||`), which PEP 440 lacks."""
    constraint = constraint.strip()
    if "|" in constraint:
        return None
    if constraint in ("", "*"):
        return ""
    clauses = [_clause(part) for part in _split(constraint) if part]
    return None if None in clauses else ",".join(clause for clause in clauses if clause)


def _split(constraint: str) -> list[str]:
    return [one for part in constraint.split(",") for one in re.split(r"(?<!\s)\s+(?=[\^~<>=!\d])", part.strip())]


def _clause(part: str) -> str | None:
    part = part.replace(" ", "")
    if part.startswith("^"):
        return _between(part[1:], _caret_ceiling)
    if part.startswith("~") and not part.startswith("~="):
        return _between(part[1:], _tilde_ceiling)
    if part == "*":
        return ""
    if re.match(r"(===|==|~=|!=|<=|>=|<|>)", part):
        return part
    if part.startswith("="):
        return "=" + part if not part.startswith("==") else part
    return f"=={part}" if _PLAIN_VERSION.fullmatch(part.removesuffix(".*")) else None


def _between(version: str, ceiling: _Ceiling) -> str | None:
    match = _RELEASE.match(version)
    if match is None:
        return None
    return f">={version},<{'.'.join(map(str, ceiling([int(part) for part in match[1].split('.')])))}"


def _caret_ceiling(parts: list[int]) -> list[int]:
    """Up to the next change of the leftmost part that is not zero (`^0.9` ends before 0.10)."""
    for index, part in enumerate(parts):
        if part or index == len(parts) - 1:
            return [*parts[:index], part + 1]
    return [1]


def _tilde_ceiling(parts: list[int]) -> list[int]:
    return [parts[0], parts[1] + 1] if len(parts) > 1 else [parts[0] + 1]
