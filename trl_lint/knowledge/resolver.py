"""What pip installs: the releases that a set of requirements leads to, from what the releases declare to require.

As pip does it: the newest release that fits, what is pinned first; a release whose requirements leave some package
nothing is passed over, one that another release was taken for before is chosen again, and where a package has nothing
left, the choice that is to blame is made anew. Of packages without a list of releases nothing is known, and what a
release requires of which nothing is recorded limits nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache

from packaging.version import Version

from trl_lint.knowledge.ranges import holds
from trl_lint.records import NamedTuple

# The Python that is meant where a project does not tell.
USUAL_PYTHON = "3.11"
_NEWER_PYTHONS = ("3.12", "3.13")
# Real environments take 20 to 200 steps: a release that is looked at is one.
MOST_STEPS = 3_000
_MOST_DEPTH = 120  # packages; whoever asks is told that the search was cut


class Wish(NamedTuple):
    """What is asked of one package: the releases that do, oldest first (None: any), and its extras.

    `is_limit`: nothing installs it, it may only be no other release. `is_alone`: it brings nothing along
    (`--no-deps`), and nobody looks at what it requires. `decides`: it takes the place of whatever others require of the
    package (an override of uv). `specifier` tells pins of one release and open ones apart.
    """

    name: str
    specifier: str
    releases: tuple[Version, ...] | None
    extras: frozenset[str] = frozenset()
    is_limit: bool = False
    is_alone: bool = False
    decides: bool = False


class Resolution(NamedTuple):
    """The releases that are installed in the end, by package; None where no releases do, or none were found in time.

    `is_cut`: the search was given up after MOST_STEPS.
    """

    taken: Mapping[str, Version] | None
    is_cut: bool = False


def resolve(wishes: Iterable[Wish], python: str = "", present: Mapping[str, Version] | None = None) -> Resolution:
    """What an installer leaves of an environment in which it installs everything wished for at once.

    `python`: the minor version that runs, "3.12"; where nothing says it, the usual one, or the first newer one for
    which there is an answer. `present`: what is installed there already. It stays where it does.
    """
    asked = {wish.name: wish for wish in wishes}
    for version in (python,) if python else (USUAL_PYTHON, *_NEWER_PYTHONS):
        try:
            found = _Search(asked, version, present or {}).run()
        except _CutError:
            return Resolution(None, is_cut=True)
        if found is not None:
            return Resolution({**(present or {}), **found})
    return Resolution(None)


class _CutError(Exception):
    """The search takes too long."""


class Need(NamedTuple):
    """What somebody requires of a package; `source` is the package that does."""

    source: str
    specifier: str
    asks: frozenset[str]


_Needs = dict[str, tuple[Need, ...]]
_Taken = dict[str, Version]


class _Search:
    def __init__(self, wishes: Mapping[str, Wish], python: str, present: Mapping[str, Version]) -> None:
        self.wishes = wishes
        self.order = {name: number for number, name in enumerate(wishes)}
        self.python = python
        self.present = present
        self.decided = frozenset(name for name, wish in wishes.items() if wish.decides)
        self.steps = 0
        self.fitting: dict[tuple[str, frozenset[str]], _Lazy] = {}

    def run(self) -> _Taken | None:
        needs: _Needs = {name: () for name, wish in self.wishes.items() if not wish.is_limit}
        found = self._choose({}, needs, 0)
        return found if isinstance(found, dict) else None

    def _choose(self, taken: _Taken, needs: _Needs, depth: int) -> _Taken | frozenset[str]:
        """A release for everything that is needed; else the packages whose releases, as they are taken, prevent it."""
        left = [name for name in needs if name not in taken]
        if not left:
            return taken
        self._step()
        if depth > _MOST_DEPTH:
            raise _CutError
        name = min(left, key=lambda each: self._rank(each, needs[each]))
        blamed = {need.source for need in needs[name]}
        for version in self._fitting(name, needs[name]):
            self._step()
            required = self._required(name, version, needs)
            if required is None:
                continue
            after = self._with(name, version, required, taken, needs)
            if isinstance(after, set):
                blamed |= after
                continue
            found = self._choose(*after, depth + 1)
            if isinstance(found, dict) or name not in found:
                return found
            blamed |= found
        return frozenset(blamed - {name})

    def _step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise _CutError

    def _rank(self, name: str, needs: tuple[Need, ...]) -> tuple[object, ...]:
        """What pip decides first: pins of one release, then what has an upper end, then in the order of the wishes."""
        wish = self.wishes.get(name)
        texts = [*(need.specifier for need in needs), *([wish.specifier] if wish is not None else [])]
        is_pinned = any(text.startswith("==") and "*" not in text and "|" not in text for text in texts)
        is_capped = any("<" in text or "~=" in text or "==" in text for text in texts)
        is_asked = name in self.order and not self.wishes[name].is_limit
        return not is_pinned, not is_capped, self.order[name] if is_asked else len(self.order), not any(texts), name

    def _fitting(self, name: str, needs: tuple[Need, ...]) -> Iterable[Version]:
        """The releases that every requirement takes, the best first."""
        specifiers = frozenset(need.specifier for need in needs if need.specifier)
        known = self.fitting.get((name, specifiers))
        if known is None:
            known = self.fitting[name, specifiers] = _Lazy(self._look(name, specifiers))
        return known

    def _look(self, name: str, specifiers: frozenset[str]) -> Iterator[Version]:
        wish, present = self.wishes.get(name), self.present.get(name)
        releases = wish.releases if wish is not None else None
        if present is not None and (releases is None or present in releases) and _do_all(specifiers, present):
            yield present
        for version in newest_first(name, specifiers) if releases is None else reversed(releases):
            if version != present and _do_all(specifiers, version):
                yield version

    def _required(self, name: str, version: Version, needs: _Needs) -> tuple[Need, ...] | None:
        """What a release requires of other packages; None where it is not for this Python."""
        wish = self.wishes.get(name)
        if wish is not None and wish.is_alone:
            return ()
        required = required_of(name, version, self._asked(name, needs), self.python)
        if required is None or not self.decided:
            return required
        return tuple(need._replace(specifier="") if need.source in self.decided else need for need in required)

    def _with(
        self, name: str, version: Version, required: tuple[Need, ...], taken: _Taken, needs: _Needs
    ) -> tuple[_Taken, _Needs] | set[str]:
        """What is taken and needed with one more release; else those that leave one of its dependencies nothing."""
        after, chosen = dict(needs), {**taken, name: version}
        asked = {need.source: need.asks <= self._asked(need.source, needs) for need in required}
        again = []
        for need in required:
            dependency, mine = need.source, need._replace(source=name)
            both = (*after.get(dependency, ()), mine)
            if next(iter(self._fitting(dependency, both)), None) is None:
                return {one.source for one in both} - {name}
            after[dependency] = both
            before = taken.get(dependency)
            # Another release of it, or one with more extras, may do instead.
            is_kept = before is None or ((not need.specifier or holds(need.specifier, before)) and asked[dependency])
            if not is_kept:
                again.append(dependency)
        for dependency in again:
            self._drop(dependency, name, chosen, after)
        return chosen, after

    def _asked(self, name: str, needs: _Needs) -> frozenset[str]:
        wish = self.wishes.get(name)
        return frozenset(extra for need in needs.get(name, ()) for extra in need.asks) | (
            wish.extras if wish is not None else frozenset()
        )

    def _drop(self, name: str, but: str, taken: _Taken, needs: _Needs) -> None:
        """Take a release back, and with it what nobody else needs."""
        gone = [name]
        while gone:
            last = gone.pop()
            if taken.pop(last, None) is None:
                continue
            for other in list(needs):
                rest = tuple(need for need in needs[other] if need.source != last)
                if len(rest) == len(needs[other]):
                    continue
                needs[other] = rest
                if not rest and other != but and not self._is_wished(other):
                    del needs[other]
                    gone.append(other)

    def _is_wished(self, name: str) -> bool:
        wish = self.wishes.get(name)
        return wish is not None and not wish.is_limit


def _do_all(specifiers: frozenset[str], version: Version) -> bool:
    return all(holds(specifier, version) for specifier in specifiers)


# -- releases -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def required_of(name: str, version: Version, extras: frozenset[str], python: str) -> tuple[Need, ...] | None:
    """What a release requires of known packages, which stand as the sources; None where it is not for this Python."""
    from trl_lint.knowledge.requirements import declared, is_recorded

    known = declared(name, version) if is_recorded(name) else None
    if known is None:
        return ()
    full = f"{python}.9"
    found = []
    for dependency, parts in known.parts.items():
        if dependency == "python":
            if not all(holds(part.specifier, full) for part in parts if part.specifier):
                return None
        elif dependency in _known() and dependency != name:
            mine = [part for part in parts if (not part.extra or part.extra in extras) and _is_for(part.marker, python)]
            found += [Need(dependency, part.specifier, part.asks) for part in mine if part.specifier[:1] != "@"]
        elif dependency == name:
            asked = frozenset(extra for part in parts if part.extra in extras for extra in part.asks)
            if not asked <= extras:
                return required_of(name, version, extras | asked, python)
    return tuple(found)


@cache
def _known() -> frozenset[str]:
    from trl_lint.knowledge.releases import known_packages

    return frozenset(known_packages())


def _is_for(marker: str, python: str) -> bool:
    """Whether a requirement holds on a usual machine: Linux on x86-64."""
    if not marker:
        return True
    from trl_lint.knowledge.requirements import marker_holds_on

    return marker_holds_on(marker, python)


def newest_first(name: str, specifiers: Iterable[str]) -> Iterable[Version]:
    """The releases that an installer looks at, the newest first; each is read when it is its turn."""
    from trl_lint.knowledge.releases import parse_specifier, versions

    parsed = (parse_specifier(specifier) for specifier in specifiers)
    if any(one is not None and one.prereleases for one in parsed):
        return reversed(versions(name))
    return _finals(name)


class _Lazy:
    """Releases that are looked for as far as anybody asks, and then kept."""

    __slots__ = ("_known", "_rest")

    def __init__(self, found: Iterator[Version]) -> None:
        self._rest = found
        self._known: list[Version] = []

    def __iter__(self) -> Iterator[Version]:
        number = 0
        while True:
            while number < len(self._known):
                yield self._known[number]
                number += 1
            following = next(self._rest, None)
            if following is None:
                return
            self._known.append(following)


@cache
def _finals(name: str) -> _Lazy:
    """The final releases of a package that are not yanked, the newest first."""
    from trl_lint.knowledge.releases import newest_finals

    return _Lazy(newest_finals(name))
