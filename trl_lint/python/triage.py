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
from functools import lru_cache
from typing import TYPE_CHECKING

from trl_lint.paths import is_test_file
from trl_lint.python.names import is_from
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

if TYPE_CHECKING:
    from trl_lint.checks.rule import Rule
    from trl_lint.python.module import PythonModule


_IMPORT = regex(rb"import[ \t]")
# What may stand on a line before `import`: nothing, a byte order mark, `from x.y`, or the end of another statement; in
# the JSON of a notebook a quote or `\n`. An example in a docstring (`>>> from trl import …`) is none of them, and is
# where most files of a library name their own package. Read backwards from the word, so that it begins at one place.
_BEFORE = regex(rb"(?:[ \t]+([\w.]*\w)[ \t]+morf)?[ \t\f]*(?:\xbf\xbb\xef)?(?:$|[\":;]|n\\)")
_LONGEST_BEFORE = 400  # bytes; nobody writes more of them between the beginning of a statement and its `import`
_WORD = regex(rb"\w+")
# White space, and comments, that may stand between a dot and a name. Nobody writes more of them.
GAP = r"[\s\\]{0,200}(?:#[^\n]{0,200}\n[\s\\]{0,100}){0,2}"
_ONLY_WORDS = bytes(c if c < 128 and (chr(c).isalnum() or c == 95) else 32 for c in range(256))


_PARSERS = (b"TrlParser(", b"HfArgumentParser(", b"TrainingArguments(")
_CONFIG_CALL = regex(rb"Config\(")


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


class _Needle(NamedTuple):
    """Bytes, and the words that certainly stand alone where they do: of `mask.sum(` it is `sum`."""

    data: bytes
    inside: frozenset[bytes]


class _Wanted(NamedTuple):
    """What a file must hold for a rule to have anything to say: one of the words of each set, and one of the needles,
    of the words, or of the names, as (package, name).
    """

    rule: Rule
    all_of: tuple[frozenset[bytes], ...]
    needles: tuple[_Needle, ...]
    words: frozenset[bytes]
    names: tuple[tuple[bytes, bytes], ...]

    @property
    def every_word(self) -> frozenset[bytes]:
        names = frozenset(word for pair in self.names for word in pair)
        return self.words.union(names, *self.all_of, *(needle.inside for needle in self.needles))


class Triage:
    """The triggers of the active rules, indexed by the last part of the name and by keyword."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_name: dict[str, list[Trigger]] = {}
        self._by_keyword: dict[str, list[Trigger]] = {}
        self._wanted: list[_Wanted] = []
        self._importing: list[Rule] = []
        self._imported: list[_Wanted] = []
        for rule in rules:
            triggers = [read_trigger(rule, text) for text in rule.triggers]
            for trigger in triggers:
                table, key = (self._by_name, trigger.name) if trigger.name else (self._by_keyword, trigger.keyword)
                table.setdefault(key, []).append(trigger)
            if triggers:
                self._wanted.append(_wanted(rule, triggers))
            if rule.imports:
                self._importing.append(rule)
                self._imported.append(_imported(rule))
        self._words = frozenset().union(*(wanted.every_word for wanted in (*self._wanted, *self._imported)))

    def rules(self) -> set[Rule]:
        """All rules that look at Python."""
        return {*(wanted.rule for wanted in self._wanted), *self._importing}

    def active(self, data: bytes, path: str = "", is_rough: bool = False) -> set[Rule]:
        """The rules that may have something to say about a file, by its bytes and its path.

        A rough answer takes less time and has some rules more in it. That of Python which is written as JSON, with
        signs of its own between the words, has to be one.
        """
        look = _Look(data, path, self._words, is_rough)
        found = {wanted.rule for wanted in self._wanted if look.finds(wanted)}
        importing = [wanted for wanted in self._imported if look.finds(wanted)]
        if importing:
            words = _imported_words(data)
            found.update(wanted.rule for wanted in importing if not words.isdisjoint(wanted.all_of[0]))
        return {rule for rule in found if look.matches(rule)}

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


def may_configure(data: bytes) -> bool:
    """Whether a Python file may say how a run is configured: a parser, a config for a trainer, or one for DeepSpeed."""
    if any(name in data for name in _PARSERS) or b"deepspeed.initialize" in data:
        return True
    # Model and generation configs are built everywhere; who builds that of a trainer names the trainer, or TRL.
    return (b"Trainer" in data or b"trl" in data) and _CONFIG_CALL.search(data) is not None


def _matches(trigger: Trigger, call: ast.Call, module: PythonModule) -> bool:
    if trigger.keyword and all(keyword.arg != trigger.keyword for keyword in call.keywords):
        return False
    if not trigger.dotted:
        return isinstance(call.func, ast.Attribute)
    return any(is_from(origin, trigger.dotted) for origin in module.names.origins(call.func))


def _last_parts(origins: frozenset[str]) -> set[str]:
    return {origin.rpartition(".")[2] for origin in origins}


def _wanted(rule: Rule, triggers: list[Trigger]) -> _Wanted:
    all_of = [frozenset(rule.words)] if rule.words else []
    packages = {trigger.dotted.partition(".")[0] for trigger in triggers if "." in trigger.dotted}
    if all("." in trigger.dotted for trigger in triggers):
        all_of.append(frozenset(map(str.encode, packages)))
    if rule.needles:
        # Whatever else is asked for, a call has to be written with the name or the keyword of a trigger.
        all_of.append(frozenset((trigger.keyword or trigger.name).encode() for trigger in triggers))
        return _Wanted(rule, tuple(all_of), _needles(rule), frozenset(), ())
    dotted = [trigger for trigger in triggers if "." in trigger.dotted]
    words = frozenset((t.keyword or t.name).encode() for t in triggers if t not in dotted)
    names = {(t.dotted.partition(".")[0].encode(), t.name.encode()) for t in dotted}
    return _Wanted(rule, tuple(all_of), (), words, tuple(sorted(names)))


def _imported(rule: Rule) -> _Wanted:
    all_of = (frozenset(map(str.encode, rule.imports)), *([frozenset(rule.words)] if rule.words else []))
    return _Wanted(rule, all_of, _needles(rule), frozenset(), ())


def _needles(rule: Rule) -> tuple[_Needle, ...]:
    return tuple(_Needle(data, _inside(data)) for data in rule.needles)


def _inside(data: bytes) -> frozenset[bytes]:
    """The words that do not reach an end of some bytes, where they may be parts of longer ones."""
    plain = data.translate(_ONLY_WORDS)
    words = plain.split()
    return frozenset(words[not plain.startswith(b" ") : len(words) - (not plain.endswith(b" "))])


class _Look:
    """The bytes of a file, with what was searched for in them already.

    All words are looked up at once: whether a file has one is then nearly free, however many rules ask for some.
    """

    def __init__(self, data: bytes, path: str, words: frozenset[bytes], is_rough: bool) -> None:
        self._data = data
        self._path = path
        self._seen: dict[bytes, bool] = {}
        self._imports: set[tuple[bytes, bytes]] | None = None
        self._test: bool | None = None
        self._is_rough = is_rough
        if is_rough:
            self._words = frozenset(word for word in words if word in data)
        else:
            self._words = words.intersection(data.translate(_ONLY_WORDS).split())

    def finds(self, wanted: _Wanted) -> bool:
        words = self._words
        for one in wanted.all_of:
            if words.isdisjoint(one):
                return False
        if not (wanted.needles or wanted.words or wanted.names):
            return True
        return (
            not words.isdisjoint(wanted.words)
            or any(self._holds(needle) for needle in wanted.needles)
            or any(self._names(package, name) for package, name in wanted.names)
        )

    def _holds(self, needle: _Needle) -> bool:
        if not needle.inside <= self._words:
            return False
        hit = self._seen.get(needle.data)
        if hit is None:
            hit = self._seen[needle.data] = needle.data in self._data
        return hit

    def _is_test(self) -> bool:
        if self._test is None:
            self._test = is_test_file(self._path)
        return self._test

    def _names(self, package: bytes, name: bytes) -> bool:
        """Whether a name of a package may be used: as an attribute, or because it is imported."""
        if package not in self._words or name not in self._words:
            return False
        if self._is_rough or _attribute(name).search(self._data) is not None:
            return True
        if self._imports is None:
            from trl_lint.python.imports import imports_in

            found = imports_in(self._data)
            self._imports = {(one.module.partition(".")[0].encode(), one.name.encode()) for one in found}
        return (package, name) in self._imports

    def matches(self, rule: Rule) -> bool:
        """Whether nothing else that a rule declares rules the file out."""
        if rule.skips_tests and self._is_test():
            return False
        return self._is_rough or all(re.search(pattern, self._data) for pattern in rule.patterns)


def _attribute(name: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"\." + GAP.encode() + name + rb"\b")


def _imported_words(data: bytes) -> set[bytes]:
    """The packages of all import statements, and other words of their lines, which do no harm."""
    found: set[bytes] = set()
    if b"\r" in data:
        data = data.replace(b"\r", b"\n")
    read = 0  # how far the words of a line are found already
    for match in _IMPORT.finditer(data):
        least = max(0, match.start() - _LONGEST_BEFORE)
        start = max(least, data.rfind(b"\n", least, match.start()) + 1)
        before = _BEFORE.match(data[start : match.start()][::-1])
        if before is not None and before[1]:
            found.add(before[1][::-1].partition(b".")[0])
        elif before is not None and match.end() > read:
            end = data.find(b"\n", match.end())
            read = end if end >= 0 else len(data)
            found.update(_WORD.findall(data[match.end() : read]))
    return found
