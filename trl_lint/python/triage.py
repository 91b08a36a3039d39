"""From bytes to candidates: which rules may have something to say about a Python file, and where.

A trigger is written the way the code is: `torch.nn.DataParallel` (a call of that name, however imported or aliased),
`.prepare_model(evaluation_mode=)` (a method called with that keyword), `.backward` (a method), `(fp16=)` (any call with
that keyword). Bytes decide first, so a file that names nothing is never parsed.

A rule about a whole package declares `imports` instead and gets every module that imports from it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from trl_lint.python.names import is_from
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

if TYPE_CHECKING:
    from trl_lint.checks.rule import Rule
    from trl_lint.python.module import PythonModule


_IMPORT = regex(rb"import[ \t]")
# What may stand on a line before `import`: nothing, a byte order mark, `from x.y`, or the end of another statement; in
# the JSON of a notebook a quote or `\n`. An example in a docstring (`>>> from trl import …`) is none of them, and is
# where most files of a library name their own package.
_BEFORE = regex(rb"(?:^(?:\xef\xbb\xbf)?|[\":;]|\\n)[ \t\f]*(?:from[ \t]+(\w+)[\w.]*[ \t]+)?$")
_WORD = regex(rb"\w+")

Needles = tuple[bytes, ...]  # a file that concerns a rule holds all of them


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
    dotted, parenthesis, rest = text.partition("(")
    names = dotted.removeprefix(".").split(".") if dotted else []
    keywords = [rest.removesuffix("=)")] if rest.endswith("=)") else []
    is_whole = (names or keywords) and bool(keywords) == bool(parenthesis)
    if not is_whole or not all(map(str.isidentifier, (*names, *keywords))):
        raise ValueError(f"malformed trigger {text!r}")
    return Trigger(rule, "".join(names[-1:]), "" if dotted.startswith(".") else dotted, "".join(keywords))


class Triage:
    """The triggers of the active rules, indexed by the last part of the name and by keyword."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_name: dict[str, list[Trigger]] = {}
        self._by_keyword: dict[str, list[Trigger]] = {}
        self._needles: list[tuple[Rule, list[Needles]]] = []
        self._importing: list[Rule] = []
        for rule in rules:
            triggers = [read_trigger(rule, text) for text in rule.triggers]
            for trigger in triggers:
                table, key = (self._by_name, trigger.name) if trigger.name else (self._by_keyword, trigger.keyword)
                table.setdefault(key, []).append(trigger)
            if triggers:
                choices: set[Needles] = {(needle,) for needle in rule.needles} or {
                    _needles(trigger) for trigger in triggers
                }
                self._needles.append((rule, sorted(choices)))
            if rule.imports:
                self._importing.append(rule)

    def active(self, data: bytes) -> set[Rule]:
        """The rules whose needles occur in the bytes of a file."""
        seen: dict[bytes, bool] = {}

        def holds(needle: bytes) -> bool:
            hit = seen.get(needle)
            if hit is None:
                hit = seen[needle] = needle in data
            return hit

        found = {rule for rule, choices in self._needles if any(all(map(holds, needles)) for needles in choices)}
        importing = [rule for rule in self._importing if not rule.needles or any(map(holds, rule.needles))]
        if importing:
            words = _imported_words(data)
            found.update(rule for rule in importing if not words.isdisjoint(map(str.encode, rule.imports)))
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


@lru_cache(maxsize=4)
def triage_of(rules: tuple[Rule, ...]) -> Triage:
    """The triage of these rules, made once: editors and repairs ask for the same again and again."""
    return Triage(rules)


def _matches(trigger: Trigger, call: ast.Call, module: PythonModule) -> bool:
    if trigger.keyword and all(keyword.arg != trigger.keyword for keyword in call.keywords):
        return False
    if not trigger.dotted:
        return isinstance(call.func, ast.Attribute)
    return any(is_from(origin, trigger.dotted) for origin in module.names.origins(call.func))


def _last_parts(origins: frozenset[str]) -> set[str]:
    return {origin.rpartition(".")[2] for origin in origins}


def _needles(trigger: Trigger) -> Needles:
    """What a file holds that a trigger matches: also the package, without which no name is one of its names."""
    last = (trigger.keyword or trigger.name).encode()
    return (trigger.dotted.partition(".")[0].encode(), last) if trigger.dotted else (last,)


def _imported_words(data: bytes) -> set[bytes]:
    """The packages of all import statements, and other words of their lines, which do no harm."""
    found: set[bytes] = set()
    if b"\r" in data:
        data = data.replace(b"\r", b"\n")
    for match in _IMPORT.finditer(data):
        start = data.rfind(b"\n", 0, match.start()) + 1
        before = _BEFORE.search(data[start : match.start()])
        if before is not None and before[1]:
            found.add(before[1])
        elif before is not None:
            end = data.find(b"\n", match.end())
            found.update(_WORD.findall(data[match.end() : end if end >= 0 else len(data)]))
    return found
