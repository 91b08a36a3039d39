"""Which rules are on: selectors such as `TRL1`, `TRL101` and `ALL`, with the semantics of ruff."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.words import nearest

# Topics are part of the interface, so a selector for one without rules yet is valid.
_TOPIC = regex(r"TRL[0-9]\Z")
_CODE = regex(r"TRL[0-9]{3}\Z")


class SelectorError(Exception):
    """A selector that names no rule; `suggestion` is the nearest one that does, or ""."""

    def __init__(self, selector: str) -> None:
        self.selector = selector
        self.suggestion = rule_meant(selector, ["ALL", "TRL"])
        hint = f"; did you mean `{self.suggestion}`?" if self.suggestion else ""
        super().__init__(f"unknown rule selector `{selector}`{hint}")


def rule_meant(name: str, others: Iterable[str]) -> str:
    """The code, or one of other names, that a misspelt one most likely meant; "" if none does.

    A whole code is near to none: its number is all there is of it.
    """
    name = re.sub(r"(?<=[0-9])O(?=[0-9])", "0", name)  # the letter O can only be a zero there
    is_code = _CODE.match(name.upper()) is not None and name.upper() not in known_codes()
    return "" if is_code else nearest(name, [*others, *known_codes()])


class Selection(NamedTuple):
    """One layer of choices (a file, the command line). With `select` it replaces those below, else it adds to them."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()


@cache
def known_codes() -> tuple[str, ...]:
    from trl_lint.knowledge.pages import page_files

    return tuple(sorted(page_files()))


@cache
def off_by_default(code: str) -> bool:
    """Whether a rule must be asked for: the opinions (TRL9xx) and the pages that say `default = false`."""
    if code.startswith("TRL9"):
        return True
    from trl_lint.selection_defaults import ON_BY_DEFAULT

    if code in ON_BY_DEFAULT:
        return not ON_BY_DEFAULT[code]
    from trl_lint.knowledge.pages import page_files  # one that somebody is writing

    path = page_files().get(code)
    if path is None:
        return False
    from trl_lint.knowledge import read_text

    head = read_text(path).partition("\n+++")[0]  # no TOML parser at start-up for one line
    return re.search(r"^default\s*=\s*false\b", head, re.MULTILINE) is not None


def read_selectors(values: Iterable[str]) -> tuple[str, ...]:
    """Split comma-separated selectors and check each. Raises SelectorError."""
    found = []
    for value in values:
        for part in value.split(","):
            if not (selector := part.strip()):
                continue
            if not is_known(selector):
                raise SelectorError(selector)
            found.append(selector)
    return tuple(found)


def is_known(selector: str) -> bool:
    if selector == "ALL" or _TOPIC.match(selector):
        return True
    return selector.startswith("TRL") and any(code.startswith(selector) for code in known_codes())


def covers(selector: str, code: str) -> bool:
    return selector == "ALL" or code.startswith(selector)


def is_selected(code: str, layers: Sequence[Selection]) -> bool:
    """Whether a rule is on after all layers, the lowest first.

    Inside a layer the longest matching selector wins and `ignore` wins a tie. `TRL` stands for the default set: a rule
    that is off by default needs `ALL` or a selector that names at least its topic.
    """
    asked_for = off_by_default(code)
    enabled = not asked_for
    for layer in layers:
        wanted = (*(layer.select or ()), *layer.extend_select)
        on = _longest(code, (s for s in wanted if not (asked_for and s == "TRL")))
        off = _longest(code, layer.ignore)
        if layer.select is not None or on >= 0 or off >= 0:
            enabled = on > off
    return enabled


def _longest(code: str, selectors: Iterable[str]) -> int:
    """How specific the best matching selector is: -1 for none, 0 for ALL, else its length."""
    return max((0 if s == "ALL" else len(s) for s in selectors if covers(s, code)), default=-1)
