"""Which pins of a manifest are installed together, and what they ask of each package."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from trl_lint import budget
from trl_lint.checks.pins._closure import Contradiction, Wish, find_contradiction
from trl_lint.checks.pins._together import pythons_of
from trl_lint.checks.pins._views import View
from trl_lint.knowledge.requirements import marker_holds, providers
from trl_lint.project.pins import Manifest, Pin, kind_of
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

# Files that one call of an installer resolves as a whole. Commands follow each other, conda has releases of its own.
_RESOLVED = ("requirements", "pyproject", "setup.py", "setup.cfg", "pep723")
_KINDS = ("requirement", "constraint", "extra", "group", "url")
# Another index may hold other releases than PyPI.
_OTHER_INDEX = ("index-url", "find-links", "tool.uv.index", "tool.poetry.source", "tool.pdm.source", "\n-i ", "\n-f ")
_NAMED_FILE = regex(r"""["']([\w./-]+\.(?:txt|in))["']""")
_DYNAMIC = regex(r"^dynamic[ \t]*=[^\]]{0,400}dependencies", re.MULTILINE)
# Every extra, group and marker is an installation of its own.
_MOST_INSTALLATIONS = 60
_MOST_REPORTED = 5

Scope = tuple[str, str]  # the group and the marker of an installation, "" for none


class Failure(NamedTuple):
    """Pins of one installation that no releases satisfy.

    `contradiction` tells why; None where the specifiers of one package alone exclude every release (`wish` is it).
    """

    wish: Wish
    contradiction: Contradiction | None

    @property
    def wishes(self) -> tuple[Wish, ...]:
        return self.contradiction.wishes if self.contradiction is not None else (self.wish,)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(wish.name for wish in self.wishes)


# Each installation of a manifest by its group and its marker, with what fails in it.
_FAILURES: WeakKeyDictionary[View, dict[Scope, list[Failure]]] = WeakKeyDictionary()
_EACH_ONCE: WeakKeyDictionary[View, list[Failure]] = WeakKeyDictionary()


def failures(view: View) -> list[Failure]:
    """The pins of a manifest that no releases satisfy, each contradiction once."""
    known = _EACH_ONCE.get(view)
    if known is None:
        found: dict[frozenset[Pin], Failure] = {}
        for there in failures_by_scope(view).values():
            for failure in there:
                found.setdefault(frozenset(pin for wish in failure.wishes for pin in wish.pins), failure)
        known = _EACH_ONCE[view] = list(found.values())
    return known


def failures_by_scope(view: View) -> dict[Scope, list[Failure]]:
    known = _FAILURES.get(view)
    if known is None:
        known = _FAILURES[view] = _find(view, None)
    return known


def failures_with(pin: Pin, tried: View, before: View) -> dict[Scope, list[Failure]]:
    """What fails once a pin, which stands in `before`, is changed: only installations that hold it are asked again."""
    known = failures_by_scope(before)
    return {**known, **_find(tried, frozenset(scope for scope in known if is_in_scope(pin, scope)))}


def _find(view: View, only: frozenset[Scope] | None) -> dict[Scope, list[Failure]]:
    if view.manifest.kind not in _RESOLVED:
        return {}
    text = view.project.files.get(view.manifest.path).text
    has_other_index = any(word in text for word in _OTHER_INDEX)
    found = {}
    for scope, pins in installations(view.manifest, _included(text, view), only):
        wishes = {name: wish for name, wish in read_wishes(pins, view).items() if name not in view.overridden}
        found[scope] = list(_failures_of(wishes, view.manifest, has_other_index))
    return found


def _failures_of(wishes: dict[str, Wish], manifest: Manifest, has_other_index: bool) -> Iterator[Failure]:
    for name, wish in wishes.items():
        if wish.releases == () and not wish.is_open:
            if not has_other_index and not _are_alternatives(wish, manifest):
                yield Failure(wish, None)
            wishes[name] = wish._replace(releases=None)
    for _ in range(_MOST_REPORTED):
        if not any(name in providers() and wish.wanted for name, wish in wishes.items()):
            return
        found = find_contradiction(wishes, manifest.python or "")
        if found is None:
            return
        blamed = blame(found)
        yield Failure(blamed, found)
        wishes = {**wishes, blamed.name: blamed._replace(releases=None)}
    budget.limit(_MOST_REPORTED, "its pins fail in more than {} ways; the others were not looked for", manifest.path)


def blame(contradiction: Contradiction) -> Wish:
    """The pinned package to name: the one that is required otherwise, else the one that requires it."""
    pinned = {wish.name: wish for wish in contradiction.wishes}
    located = {name: wish for name, wish in pinned.items() if wish.pins} or pinned
    for demand in reversed(contradiction.chain):
        for name in (demand.dependency, demand.package):
            if name in located:
                return located[name]
    return next(iter(located.values()))


def _are_alternatives(wish: Wish, manifest: Manifest) -> bool:
    # Of two requirements in a setup.py, a branch may choose one.
    return manifest.kind == "setup.py" and len({pin.specifier for pin in wish.pins}) > 1


def is_in_scope(pin: Pin, scope: Scope) -> bool:
    """Whether an installation of that group and marker holds a pin."""
    return pin.group in ("", scope[0]) and pin.marker in ("", scope[1])


def installations(
    manifest: Manifest, included: tuple[Pin, ...] = (), only: frozenset[Scope] | None = None
) -> Iterator[tuple[Scope, list[Pin]]]:
    """The pins that are installed together: what is always installed, alone and beside each extra, group and marker.

    With `only`, the installations of these groups and markers.
    """
    known = dict.fromkeys((*manifest.pins, *included))
    pins = [pin for pin in known if pin.kind in _KINDS and pin.package != manifest.project]
    scopes = dict.fromkeys([("", ""), *((pin.group, pin.marker) for pin in pins)])
    always = [pin for pin in pins if not pin.group and not pin.marker]
    sometimes = [pin for pin in pins if pin.group or pin.marker]
    pythons = ",".join(filter(None, (manifest.python, *pythons_of(always)))) if any(pin.marker for pin in pins) else ""
    for scope in list(scopes)[:_MOST_INSTALLATIONS]:
        # What only another system than Linux installs is no training machine.
        is_asked = only is None or scope in only
        if is_asked and marker_holds(scope[1], pythons, ("linux",)) is not False:
            yield scope, [*always, *(pin for pin in sometimes if is_in_scope(pin, scope))]


def _included(text: str, view: View) -> tuple[Pin, ...]:
    """The pins of the one requirements file that a setup.py or a pyproject.toml reads its dependencies from."""
    if view.manifest.kind not in ("setup.py", "pyproject") or (
        view.manifest.kind == "pyproject" and not _DYNAMIC.search(text)
    ):
        return ()
    names = {name for name in _NAMED_FILE.findall(text) if kind_of(name) == "requirements"}
    if len(names) != 1:
        return ()  # which of them, a branch may decide
    path = os.path.join(os.path.dirname(view.manifest.path), *names.pop().split("/"))
    found = view.project.manifest_around(path)
    return found.pins if found is not None else ()


def read_wishes(pins: list[Pin], view: View) -> dict[str, Wish]:
    """What the pins of one installation ask of each package, and the targets of the run."""
    by_name: dict[str, list[Pin]] = {}
    for pin in pins:
        by_name.setdefault(pin.package, []).append(pin)
    wishes = {name: _wish(name, mine) for name, mine in by_name.items()}
    for name in view.project.settings.targets:
        package = view.environment.package(name)
        found = wishes.get(package.name)
        extras, wanted = (found.extras, found.wanted) if found is not None else (frozenset[str](), False)
        wishes[package.name] = Wish(
            package.name, package.specifier, extras, package.allowed, package.allowed is None, wanted, ()
        )
    return wishes


def _wish(name: str, pins: list[Pin]) -> Wish:
    from trl_lint.knowledge.releases import allowed, installable, is_open, parse_specifier, parse_version, releases

    extras = frozenset(extra for pin in pins for extra in pin.extras)
    wanted = any(pin.kind != "constraint" for pin in pins)
    specifier = ",".join(dict.fromkeys(pin.specifier for pin in pins if pin.specifier))
    unknown = Wish(name, specifier, extras, None, True, wanted, tuple(pins))
    if any(pin.kind == "url" or pin.is_other_build for pin in pins) or parse_specifier(specifier) is None:
        return unknown
    if not releases(name):
        # Nothing is known about the package, but an exact pin says all there is to say.
        version = parse_version(specifier[2:]) if specifier.startswith("==") and "," not in specifier else None
        return unknown if version is None else unknown._replace(releases=(version,), is_open=False)
    found = allowed(name, specifier) if specifier else installable(name)
    return unknown._replace(releases=found, is_open=is_open(name, specifier))
