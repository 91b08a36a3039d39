"""A regular expression as an automaton, and the characters that it can tell apart: see `pattern_growth.py`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

try:
    from re import _constants as sre
    from re import _parser as parser
except ImportError:  # Python 3.10
    import sre_constants as sre  # type: ignore[no-redef]
    import sre_parse as parser  # type: ignore[no-redef]

_MANY = 12  # repetitions; more count as any number
BOUNDED = 500
MOST_STATES = 6000

Near = Callable[[str | None], bool]  # about the character beside a place, None at the end of the text


class TooComplexError(Exception):
    """The analysis does not get through."""


# -- characters -----------------------------------------------------------------------------------------------------

_USUAL = "a Zz0_ \t\n\r-./\\'\"#:=,;$(){}[]<>|*+@é\x00"


class Alphabet:
    """The characters that an expression tells apart, one of each class."""

    def __init__(self, tests: list[Near], marks: set[str], is_bytes: bool) -> None:
        top = 0xFF if is_bytes else 0x10FFFF
        around = {chr(n) for c in marks for n in (ord(c) - 1, ord(c), ord(c) + 1) if 0 <= n <= top}
        classes: dict[tuple[bool, ...], str] = {}
        for character in [*_USUAL, *sorted(around)]:
            if ord(character) > top:
                continue
            key = (is_word(character), character == "\n", *(test(character) for test in tests))
            classes.setdefault(key, character)
        self.characters = list(classes.values())


def is_word(character: str | None) -> bool:
    return character is not None and (character.isalnum() or character == "_")


_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    sre.CATEGORY_DIGIT: str.isdigit,
    sre.CATEGORY_NOT_DIGIT: lambda c: not c.isdigit(),
    sre.CATEGORY_SPACE: str.isspace,
    sre.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
    sre.CATEGORY_WORD: is_word,
    sre.CATEGORY_NOT_WORD: lambda c: not is_word(c),
}


def _test_of(op: Any, argument: Any, flags: int, marks: set[str]) -> Callable[[str], bool]:
    """Whether one character is taken by a piece of an expression."""
    if op is sre.ANY:
        return lambda c: bool(flags & re.DOTALL) or c != "\n"
    if op in (sre.LITERAL, sre.NOT_LITERAL):
        items, negated = [(sre.LITERAL, argument)], op is sre.NOT_LITERAL
    else:
        items, negated = list(argument), False
        if items and items[0][0] is sre.NEGATE:
            items, negated = items[1:], True
    for kind, value in items:
        if kind is sre.LITERAL:
            marks.add(chr(value))
        elif kind is sre.RANGE:
            marks.update(map(chr, value))
    folds = bool(flags & re.IGNORECASE)

    def holds(c: str) -> bool:
        forms = {c, c.lower(), c.upper()} if folds else {c}
        return any(_is_in(item, form) for item in items for form in forms if len(form) == 1) is not negated

    return holds


def _is_in(item: tuple[Any, Any], c: str) -> bool:
    kind, value = item
    if kind is sre.LITERAL:
        return ord(c) == value
    if kind is sre.RANGE:
        return value[0] <= ord(c) <= value[1]
    return _CATEGORIES[value](c)


# -- the automaton --------------------------------------------------------------------------------------------------


class _Step(NamedTuple):
    """A step without a character: what has to be before and behind, and whether something else has to hold as well."""

    target: int
    before: Near | None = None
    behind: Near | None = None
    is_open: bool = False
    boundary: bool | None = None


class Automaton:
    def __init__(self, pattern: str | bytes, flags: int, use: str) -> None:
        tree = parser.parse(pattern, flags)
        self.flags = tree.state.flags
        self.steps: list[list[_Step]] = []
        self.reads: list[list[tuple[Callable[[str], bool], int]]] = []
        self.tests: list[Near] = []
        self.bounded: list[int] = []  # for each node, how often the loops around it are gone around, 0 for any number
        self.times = 1
        self.groups: dict[int | None, tuple[Any, int]] = {}
        self.marks: set[str] = set()
        self.start = self._node()
        end = self._sequence(tree, self.start, self.flags)
        self.end = end
        if use == "fullmatch":
            self.end = self._node()
            self._step(end, self.end, behind=lambda c: c is None)

    def _node(self) -> int:
        if len(self.steps) > MOST_STATES:
            raise TooComplexError
        self.steps.append([])
        self.reads.append([])
        self.bounded.append(self.times)
        return len(self.steps) - 1

    def _step(self, source: int, target: int, **about: Any) -> None:
        self.steps[source].append(_Step(target, **about))

    def _sequence(self, tree: Iterable[tuple[Any, Any]], source: int, flags: int) -> int:
        for op, argument in tree:
            source = self._piece(op, argument, source, flags)
        return source

    def _piece(self, op: Any, argument: Any, source: int, flags: int) -> int:
        if op in (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN):
            target = self._node()
            test = _test_of(op, argument, flags, self.marks)
            self.tests.append(lambda c: c is not None and test(c))
            self.reads[source].append((test, target))
            return target
        if op is sre.SUBPATTERN:
            number, added, dropped, tree = argument
            self.groups[number] = (tree, (flags | added) & ~dropped)
            return self._sequence(tree, source, (flags | added) & ~dropped)
        if op is sre.BRANCH:
            target = self._node()
            for tree in argument[1]:
                begin = self._node()
                self._step(source, begin)
                self._step(self._sequence(tree, begin, flags), target)
            return target
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            return self._repeat(*argument, source, flags)
        if op is sre.AT:
            target = self._node()
            self._step(source, target, **_place(argument, flags))
            return target
        if op in (sre.ASSERT, sre.ASSERT_NOT):
            return self._look(op is sre.ASSERT, *argument, source, flags)
        if op is sre.GROUPREF and argument in self.groups:  # what the group may be, and perhaps it is that
            target = self._node()
            tree, own = self.groups[argument]
            self._step(self._sequence(tree, source, own), target, is_open=True)
            return target
        raise TooComplexError(f"{op}")

    def _repeat(self, least: int, most: Any, tree: Any, source: int, flags: int) -> int:
        for _ in range(min(least, _MANY)):
            source = self._sequence(tree, source, flags)
        target = self._node()
        if most is sre.MAXREPEAT or most > _MANY:
            outer, self.times = self.times, 0 if most is sre.MAXREPEAT or most > BOUNDED else self.times * most
            loop = self._node()
            self._step(source, loop)
            begin = self._node()
            self._step(loop, begin)
            self._step(self._sequence(tree, begin, flags), loop)
            self._step(loop, target)
            self.times = outer
            return target
        self._step(source, target)
        for _ in range(most - least):
            begin = self._node()
            self._step(source, begin)
            source = self._sequence(tree, begin, flags)
            self._step(source, target)
        return target

    def _look(self, is_there: bool, direction: int, tree: Any, source: int, flags: int) -> int:
        target = self._node()
        near = self._near(list(tree), flags)
        if near is None:
            if direction > 0:
                begin = self._node()
                self._step(source, begin)
                self._sequence(tree, begin, flags)  # is read, and leads nowhere
            self._step(source, target, is_open=True)
        else:
            wanted = near if is_there else lambda c: not near(c)
            self.tests.append(wanted)
            self._step(source, target, **{"behind" if direction > 0 else "before": wanted})
        return target

    def _near(self, tree: list[tuple[Any, Any]], flags: int) -> Near | None:
        """What a look asks of one character; None if it asks more."""
        if len(tree) != 1:
            return (lambda c: True) if not tree else None
        op, argument = tree[0]
        if op in (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN):
            test = _test_of(op, argument, flags, self.marks)
            return lambda c: c is not None and test(c)
        if op is sre.SUBPATTERN:
            return self._near(list(argument[3]), flags)
        if op is sre.AT and argument in (sre.AT_END_STRING, sre.AT_END, sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
            found = _place(argument, flags)
            return found.get("behind") or found["before"]  # type: ignore[no-any-return]
        if op is sre.BRANCH:
            parts = [self._near(list(one), flags) for one in argument[1]]
            known = [part for part in parts if part is not None]
            return (lambda c: any(part(c) for part in known)) if len(known) == len(parts) else None
        return None


def _place(at: Any, flags: int) -> dict[str, Any]:
    if at is sre.AT_BEGINNING and flags & re.MULTILINE:
        return {"before": lambda c: c in (None, "\n")}
    if at in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
        return {"before": lambda c: c is None}
    if at is sre.AT_END_STRING:
        return {"behind": lambda c: c is None}
    if at is sre.AT_END:
        return {"behind": lambda c: c in (None, "\n")}
    return {"boundary": at is sre.AT_BOUNDARY}
