"""From bytes to candidates: which rules may have something to say about a Python file, and where.

A trigger is written the way the code is: `torch.nn.DataParallel` (a call of that name, however imported or aliased),
`.prepare_model(evaluation_mode=)` (a method called with that keyword), `.backward` (a method), `(fp16=)` (any call with
that keyword). Bytes decide first, so a file that names nothing is never parsed.

A rule about a whole package declares `imports` instead and gets every module that imports from it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from trl_lint.python.names import is_from

if TYPE_CHECKING:
    from trl_lint.checks.rule import Rule
    from trl_lint.python.module import PythonModule

_TRIGGER = re.compile(r"^(?P<dot>\.)?(?P<name>[\w.]*?)(?:\((?P<keyword>\w+)=\))?$")


class Trigger(NamedTuple):
    """One parsed trigger. `dotted` is "" for a method or keyword trigger."""

    rule: Rule
    name: str
    dotted: str
    keyword: str


class Candidate(NamedTuple):
    """A call that a trigger of a rule matched."""

    rule: Rule
    call: ast.Call


def read_trigger(rule: Rule, text: str) -> Trigger:
    """Parse the written form of a trigger. Raises ValueError if it is malformed (a programming error)."""
    match = _TRIGGER.match(text)
    if match is None or not (match["name"] or match["keyword"]):
        raise ValueError(f"malformed trigger {text!r}")
    name = match["name"].rpartition(".")[2]
    return Trigger(rule, name, "" if match["dot"] else match["name"], match["keyword"] or "")


class Triage:
    """The triggers of the active rules, indexed by the last part of the name and by keyword."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_name: dict[str, list[Trigger]] = {}
        self._by_keyword: dict[str, list[Trigger]] = {}
        self._needles: list[tuple[Rule, tuple[bytes, ...]]] = []
        self._importing: list[Rule] = []
        for rule in rules:
            triggers = [read_trigger(rule, text) for text in rule.triggers]
            for trigger in triggers:
                table, key = (self._by_name, trigger.name) if trigger.name else (self._by_keyword, trigger.keyword)
                table.setdefault(key, []).append(trigger)
            if triggers:
                self._needles.append((rule, rule.needles or tuple(sorted({_needle(t) for t in triggers}))))
            if rule.imports:
                self._importing.append(rule)
                needles = rule.needles or tuple(n for package in rule.imports for n in _import_needles(package))
                self._needles.append((rule, needles))

    def active(self, data: bytes) -> set[Rule]:
        """The rules whose needles occur in the bytes of a file."""
        seen: dict[bytes, bool] = {}
        found = set()
        for rule, needles in self._needles:
            for needle in needles:
                hit = seen.get(needle)
                if hit is None:
                    hit = seen[needle] = needle in data
                if hit:
                    found.add(rule)
                    break
        return found

    def candidates(self, module: PythonModule, active: set[Rule]) -> Iterator[Candidate]:
        """Calls that match a trigger of an active rule, in source order, each rule once per call."""
        names = module.names
        for call in module.calls:
            func = call.func
            matched: list[Rule] = []
            if isinstance(func, ast.Attribute):
                triggers: Sequence[Trigger] = self._by_name.get(func.attr, ())
            elif isinstance(func, ast.Name):
                triggers = [t for n in _last_parts(names.origins(func)) for t in self._by_name.get(n, ())]
            else:
                triggers = ()
            for trigger in triggers:
                if trigger.rule in active and trigger.rule not in matched and _matches(trigger, call, module):
                    matched.append(trigger.rule)
            if self._by_keyword:
                for keyword in call.keywords:
                    for trigger in self._by_keyword.get(keyword.arg or "", ()):
                        if trigger.rule in active and trigger.rule not in matched:
                            matched.append(trigger.rule)
            for rule in matched:
                yield Candidate(rule, call)

    def importing(self, module: PythonModule, active: set[Rule]) -> Iterator[Rule]:
        """The active rules about a package that the module imports, in the order of their codes."""
        found = module.names.modules()
        for rule in self._importing:
            if rule in active and not found.isdisjoint(rule.imports):
                yield rule


def _matches(trigger: Trigger, call: ast.Call, module: PythonModule) -> bool:
    if trigger.keyword and all(keyword.arg != trigger.keyword for keyword in call.keywords):
        return False
    if not trigger.dotted:
        return isinstance(call.func, ast.Attribute)
    return any(is_from(origin, trigger.dotted) for origin in module.names.origins(call.func))


def _last_parts(origins: frozenset[str]) -> set[str]:
    return {origin.rpartition(".")[2] for origin in origins}


def _needle(trigger: Trigger) -> bytes:
    return (trigger.keyword or trigger.name).encode()


def _import_needles(package: str) -> tuple[bytes, bytes]:
    # The name alone is in comments, paths and strings of every other file of a repository.
    return (f"from {package}".encode(), f"import {package}".encode())
