"""What a release refuses and warns about since an older one: `python -m trl_lint.knowledge.refresh changes trl`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trl_lint.knowledge.conditions import conditions_of, recorded_classes

_VERBS = {"refuse": "refuses", "warn": "warns", "trainer-refuse": "refuses", "trainer-warn": "warns"}

Said = dict[tuple[str, str], set[str]]
"""Of a class: by verb and sentence the conditions."""


def changes(package: str, old: str, new: str) -> list[str]:
    """A line for each sentence that is new (`+`), gone (`-`) or said on other conditions (`~`), with the classes.

    A class that says something in one of the releases only is told as a whole, in a line of its own.
    """
    before, after = _said(package, old), _said(package, new)
    whole = [*_classes("-", before, after), *_classes("+", after, before)]
    found: dict[tuple[str, str, str], list[str]] = {}
    for name in before.keys() & after.keys():
        for said in before[name].keys() | after[name].keys():
            was, now = before[name].get(said), after[name].get(said)
            if was != now:
                sign = "+" if was is None else "-" if now is None else "~"
                found.setdefault((sign, *said), []).append(name)
    told = [f"{sign} {', '.join(sorted(names))} {verb}: {text}" for (sign, verb, text), names in found.items()]
    return [*sorted(whole), *sorted(told)]


def _said(package: str, version: str) -> dict[str, Said]:
    found: dict[str, Said] = {}
    for name in recorded_classes(package):
        for each in conditions_of(package, name, version):
            if each.kind in _VERBS:
                found.setdefault(name, {}).setdefault((_VERBS[each.kind], each.sentence), set()).add(each.condition)
    return found


def _classes(sign: str, these: Mapping[str, Said], others: Mapping[str, Said]) -> Iterator[str]:
    """Those of which only these say something, with how many sentences."""
    for name in these.keys() - others.keys():
        verbs = [verb for verb, _ in these[name]]
        yield f"{sign} {name}: refuses in {verbs.count('refuses')} and warns in {verbs.count('warns')} sentences"
