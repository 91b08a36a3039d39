"""Specifiers of final releases (`>=4.56,<5`, `==0.9.*`), which is how nearly everybody pins.

`packaging.specifiers` brings `packaging.tags` and a dozen modules of Python, a sixth of what one training script takes.
What these clauses allow is PEP 440's, as `packaging` reads it; every other clause is left to `packaging`
(`releases.parse_specifier`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from packaging.version import Version

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_CLAUSE = regex(r"\s*(?:(==|!=)\s*([0-9]+(?:\.[0-9]+)*\.\*)|(==|!=|<=|>=|<|>)\s*([0-9]+(?:\.[0-9]+)*))\s*")


_FEW = 4  # clauses that are asked one by one


class Clause(NamedTuple):
    """One clause; `version` as it is written, `wanted` as a version without its `.*`."""

    operator: str
    version: str
    wanted: Version

    def holds(self, version: Version) -> bool:
        if self.version.endswith(".*"):
            return _is_of_series(version, self.wanted) == (self.operator == "==")
        return _HOLDS[self.operator](version, self.wanted)


class FinalSpecifiers:
    """Clauses that name final releases only; in use like a `SpecifierSet`."""

    __slots__ = ("_clauses", "_deciding", "_excluded", "_excluded_series")

    prereleases = None  # no clause asks for one

    def __init__(self, clauses: tuple[Clause, ...]) -> None:
        self._clauses = clauses
        self._deciding = clauses
        self._excluded: frozenset[Version] = frozenset()
        self._excluded_series: dict[int, set[tuple[int, ...]]] = {}
        if len(clauses) > _FEW:
            self._sort_out()

    def _sort_out(self) -> None:
        """Of many clauses of one kind keep the one that decides; what they exclude is looked up."""
        first: dict[str, Clause] = {}
        others: list[Clause] = []
        excluded: set[Version] = set()
        for clause in self._clauses:
            operator, wanted = clause.operator, clause.wanted
            if operator in ("<", "<=", ">", ">="):
                known = first.get(operator)
                if known is None or (wanted < known.wanted if operator[0] == "<" else wanted > known.wanted):
                    first[operator] = clause
            elif operator == "==":
                others.append(clause)
            elif clause.version.endswith(".*"):
                self._excluded_series.setdefault(len(wanted.release), set()).add(wanted.release)
            else:
                excluded.add(wanted)
        self._deciding = (*first.values(), *dict.fromkeys(others))
        self._excluded = frozenset(excluded)

    def _is_excluded(self, version: Version) -> bool:
        if self._excluded and _public(version) in self._excluded:
            return True
        series = self._excluded_series.items() if not version.epoch else ()
        return any((*version.release, *[0] * length)[:length] in known for length, known in series)

    def __iter__(self) -> Iterator[Clause]:
        return iter(self._clauses)

    def __len__(self) -> int:
        return len(self._clauses)

    def contains(self, version: Version | str, prereleases: bool = True) -> bool:
        """Whether a version satisfies every clause; a text that is no version satisfies none."""
        try:
            version = _read(version) if isinstance(version, str) else version
        except ValueError:
            return not self._clauses
        if not (prereleases or not version.is_prerelease) or not all(one.holds(version) for one in self._deciding):
            return False
        return (not self._excluded and not self._excluded_series) or not self._is_excluded(version)


@lru_cache(maxsize=4096)
def _read(text: str) -> Version:
    from packaging.version import Version

    return Version(text)


def read_final(text: str) -> FinalSpecifiers | None:
    """The specifiers a text holds, None if one of them is no plain comparison with a final release."""
    clauses = []
    for part in text.split(",") if text.strip() else ():
        match = _CLAUSE.fullmatch(part)
        if match is None:
            return None
        operator, version = match[1] or match[3], match[2] or match[4]
        clauses.append(Clause(operator, version, _read(version.removesuffix(".*"))))
    return FinalSpecifiers(tuple(clauses))


# PEP 440: a clause without a local label takes no notice of those of versions, but for `<` and `>`, which leave out
# what belongs to the release they name: its pre-releases, and its post-releases and local builds.


def _public(version: Version) -> Version:
    return version if version.local is None else type(version)(version.public)


def _is_below(version: Version, wanted: Version) -> bool:
    return version < wanted and not (version.is_prerelease and _is_of_release(version, wanted))


def _is_above(version: Version, wanted: Version) -> bool:
    is_part = version.is_postrelease or version.local is not None
    return version > wanted and not (is_part and _is_of_release(version, wanted))


def _is_of_release(version: Version, wanted: Version) -> bool:
    return type(version)(version.base_version) == wanted


def _is_of_series(version: Version, wanted: Version) -> bool:
    """Whether `wanted.*` takes a version: `1.0.*` takes 1.0rc1 and 1.0.post1, and 1 as well."""
    length = len(wanted.release)
    padded = (*version.release, *[0] * length)[:length]
    return version.epoch == 0 and padded == wanted.release


_HOLDS: dict[str, Callable[[Version, Version], bool]] = {
    "==": lambda version, wanted: _public(version) == wanted,
    "!=": lambda version, wanted: _public(version) != wanted,
    "<=": lambda version, wanted: _public(version) <= wanted,
    ">=": lambda version, wanted: _public(version) >= wanted,
    "<": _is_below,
    ">": _is_above,
}
