"""Terms: what a value is, said with the values that somebody gave. Written as Python expressions.

A term is made of fields of a config, arguments of a trainer, facts of the run and constants. `unknown` stands for what
cannot be said; it carries the reason.
"""

from __future__ import annotations

import ast
from typing import Any

LARGEST = 700  # nodes; what is larger nobody would read, and it is unknown


class Term:
    """An operator and its parts. Equal terms are equal in every release and every class."""

    __slots__ = ("_hash", "operator", "parts", "size")

    def __init__(self, operator: str, *parts: Any) -> None:
        self.operator = operator
        self.parts = parts
        self.size: int = 1 + sum(part.size for part in parts if isinstance(part, Term))
        self._hash = hash((operator, *(repr(p) if operator == "const" else p for p in parts)))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Term) or self._hash != other._hash or self.operator != other.operator:
            return False
        if self.operator == "const":
            return repr(self.parts) == repr(other.parts)  # True is not 1 here
        return self.parts == other.parts

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return render(self)

    @property
    def terms(self) -> list[Term]:
        return [part for part in self.parts if isinstance(part, Term)]


def const(value: object) -> Term:
    return Term("const", value)


def unknown(reason: str) -> Term:
    return Term("unknown", reason)


def lost(term: Term) -> Term:
    """What is not known of something that is made of what is not known: it has no class any more."""
    return unknown(term.parts[0])


TRUE, FALSE, NONE = const(True), const(False), const(None)
# Values that are no expression: they can be called or looked into, and nothing else can be said with them.
OBJECTS = frozenset({"object", "class", "union", "function", "module"})
NO_VALUES = OBJECTS | {"text", "picked"}  # nor is a text that is made of values compared
_BOOLEAN_CALLS = frozenset({"isinstance", "hasattr", "any", "all", "bool"})
_NEVER_NONE = frozenset({"binary", "each", "list", "tuple", "set", "dict", "object", "class", "function", "len", "int",
                         "float", "str", "min", "max", "abs", "round", *_BOOLEAN_CALLS})  # fmt: skip
_NEGATED = {
    "==": "!=", "!=": "==", "in": "not in", "not in": "in", "is": "is not", "is not": "is",
}  # fmt: skip


def is_const(term: Term) -> bool:
    return term.operator == "const"


def is_boolean(term: Term) -> bool:
    """Whether a term is True or False whenever it has a value."""
    if term.operator in ("and", "or"):
        return all(map(is_boolean, term.terms))
    if term.operator == "if":
        return is_boolean(term.parts[1]) and is_boolean(term.parts[2])
    if is_const(term):
        return isinstance(term.parts[0], bool)
    return term.operator in ("compare", "not") or (term.operator == "call" and term.parts[0] in _BOOLEAN_CALLS)


def is_never_none(term: Term) -> bool:
    if is_const(term):
        return term.parts[0] is not None
    if term.operator == "if":
        return is_never_none(term.parts[1]) and is_never_none(term.parts[2])
    if term.operator == "call":
        return term.parts[0] in _NEVER_NONE
    return term.operator in _NEVER_NONE or is_boolean(term)


def bounded(term: Term) -> Term:
    return term if term.size <= LARGEST else unknown("an expression that is too large")


def negation(term: Term) -> Term:
    if is_const(term):
        return const(not term.parts[0])
    if term.operator == "unknown":
        return term
    if term.operator == "not" and is_boolean(term.parts[0]):
        return term.parts[0]  # type: ignore[no-any-return]
    if term.operator == "compare" and term.parts[0] in _NEGATED:
        return compare(_NEGATED[term.parts[0]], term.parts[1], term.parts[2])
    return Term("not", term)


def untrue(term: Term) -> Term:
    """That a condition does not hold: of `not x` only the truth of x matters."""
    return term.parts[0] if term.operator == "not" else negation(term)


def conjunction(terms: list[Term]) -> Term:
    """All of them, as a condition: what is certain is left out."""
    return _joined("and", terms)


def disjunction(terms: list[Term]) -> Term:
    """One of them, as a condition."""
    return _joined("or", terms)


def _joined(operator: str, terms: list[Term]) -> Term:
    neutral = operator == "and"
    found: dict[Term, None] = {}
    for term in terms:
        for part in term.terms if term.operator == operator else [term]:
            if not is_const(part):
                found[part] = None
            elif bool(part.parts[0]) is not neutral:
                return const(not neutral)
    if any(negation(term) in found for term in found if term.operator != "unknown"):
        return const(not neutral)
    if not found:
        return const(neutral)
    return bounded(Term(operator, *found)) if len(found) > 1 else next(iter(found))


def choice(condition: Term, first: Term, second: Term) -> Term:
    """`first if condition else second`."""
    if is_const(condition):
        return first if condition.parts[0] else second
    if first == second:
        return first
    if condition.operator == "not":
        return choice(condition.parts[0], second, first)
    if condition.operator == "compare" and condition.parts[0] in ("!=", "not in", "is not"):
        return choice(negation(condition), second, first)
    if first.operator == "if" and first.parts[0] == condition:
        first = first.parts[1]
    if second.operator == "if" and second.parts[0] == condition:
        second = second.parts[2]
    if first == second:
        return first
    if is_boolean(condition) and first == TRUE and second == FALSE:
        return condition
    if is_boolean(condition) and first == FALSE and second == TRUE:
        return negation(condition)
    if is_boolean(condition) and second == condition:
        second = FALSE
    if is_boolean(condition) and is_boolean(first) and second == FALSE:
        return conjunction([condition, first])
    if is_boolean(condition) and is_boolean(second) and first == FALSE:
        return conjunction([negation(condition), second])
    if first.operator in OBJECTS or second.operator in OBJECTS:
        if NONE in (first, second):
            return unknown("an object")
        return unknown("an object that depends on values")
    return bounded(Term("if", condition, first, second))


def compare(operator: str, left: Term, right: Term) -> Term:
    for side in (left, right):
        if side.operator == "unknown":
            return lost(side)
    if operator in ("is", "is not") and right == NONE:
        if left == NONE:
            return const(operator == "is")
        if is_never_none(left):
            return const(operator == "is not")
        if left.operator == "if":
            condition, first, second = left.parts
            return choice_of_truth(condition, compare(operator, first, right), compare(operator, second, right))
    if operator in ("in", "not in") and right.operator == "dict" and all(map(is_const, (left, *right.parts[::2]))):
        return const((left in right.parts[::2]) is (operator == "in"))
    if left.operator in NO_VALUES or right.operator in NO_VALUES:
        return unknown("a comparison of objects")
    if is_const(left) and is_const(right):
        folded = fold(f"({left.parts[0]!r}) {operator} ({right.parts[0]!r})")
        if folded is not None:
            return folded
    return bounded(Term("compare", operator, left, right))


def choice_of_truth(condition: Term, first: Term, second: Term) -> Term:
    """A choice of which only the truth matters."""
    if first == FALSE:
        return conjunction([negation(condition), second])
    if second == FALSE:
        return conjunction([condition, first])
    if first == TRUE:
        return disjunction([condition, second])
    if second == TRUE:
        return disjunction([negation(condition), first])
    return choice(condition, first, second)


def fold(text: str) -> Term | None:
    """The value of an expression of small constants, None where it has none."""
    if len(text) > 400 or "**" in text:
        return None
    try:
        return const(eval(text, {"__builtins__": {}}))  # constants and operators of ours only
    except Exception:
        return None


def operation(operator: str, *terms: Term, names: tuple[str, ...] = ()) -> Term:
    """A term over others; what holds an object or what is unknown without condition is unknown."""
    for term in terms:
        if term.operator == "unknown":
            return lost(term)
        if term.operator in NO_VALUES:
            return unknown("an object as a value")
    return bounded(Term(operator, *names, *terms))


def reasons(term: Term) -> set[str]:
    """Why parts of a term are unknown."""
    if term.operator == "unknown":
        return {term.parts[0]}
    return {reason for part in term.terms for reason in reasons(part)}


# How tightly operators bind, as in Python.
_LEVELS = {"if": 1, "or": 3, "and": 4, "not": 5, "compare": 6, "|": 7, "^": 8, "&": 9, "+": 12, "-": 12,
           "*": 13, "/": 13, "//": 13, "%": 13, "negative": 14, "**": 15}  # fmt: skip


def _level(term: Term) -> int:
    return _LEVELS.get(term.parts[0] if term.operator == "binary" else term.operator, 20)


def _inside(term: Term, level: int) -> str:
    text = render(term)
    return f"({text})" if _level(term) < level else text


def render(term: Term) -> str:
    """The text of a term, a Python expression: `_` is what is not known."""
    kind, parts = term.operator, term.parts
    if kind == "const":
        return repr(parts[0])
    if kind in ("field", "variable"):
        return str(parts[0])
    if kind in ("base", "arg"):
        return f"{kind}.{parts[0]}"
    if kind == "unknown":
        return "_"
    if kind in ("and", "or"):
        return f" {kind} ".join(_inside(part, _LEVELS[kind] + 1) for part in parts)
    if kind == "not":
        return f"not {_inside(parts[0], 5)}"
    if kind == "if":
        return f"{_inside(parts[1], 3)} if {_inside(parts[0], 3)} else {_inside(parts[2], 1)}"
    if kind == "compare":
        return f"{_inside(parts[1], 7)} {parts[0]} {_inside(parts[2], 7)}"
    if kind == "binary":
        level = _LEVELS[parts[0]]
        return f"{_inside(parts[1], level)} {parts[0]} {_inside(parts[2], level + 1)}"
    if kind == "negative":
        return f"-{_inside(parts[0], 14)}"
    if kind in ("call", "fact"):
        return f"{parts[0]}({', '.join(map(render, parts[1:]))})"
    if kind == "method":
        return f"{_inside(parts[1], 20)}.{parts[0]}({', '.join(map(render, parts[2:]))})"
    if kind == "attribute":
        return f"{_inside(parts[1], 20)}.{parts[0]}"
    if kind == "item":
        return f"{_inside(parts[0], 20)}[{render(parts[1])}]"
    if kind == "list":
        return f"[{', '.join(map(render, parts))}]"
    if kind == "tuple":
        return f"({', '.join(map(render, parts))}{',' * (len(parts) == 1)})"
    if kind == "set":
        return f"{{{', '.join(sorted(map(render, parts)))}}}" if parts else "set()"
    if kind == "dict":
        pairs = zip(parts[::2], parts[1::2], strict=True)
        return f"{{{', '.join(f'{render(key)}: {render(value)}' for key, value in pairs)}}}"
    if kind == "each":
        shape, element, variable, items, condition = parts
        inner = f"{render(element)} for {variable} in {_inside(items, 3)}"
        inner += "" if condition == TRUE else f" if {_inside(condition, 3)}"
        return f"[{inner}]" if shape == "list" else f"{shape}({inner})"
    return "_"


def literal(node: ast.AST) -> Term | None:
    """A constant of the source as a term."""
    if isinstance(node, ast.Constant) and not isinstance(node.value, (bytes, complex)) and node.value is not ...:
        return const(node.value)
    return None


def can_be(term: Term, wanted: bool) -> bool:
    """Whether a condition can be told to be true (or false) for some values, whatever its unknown parts are."""
    kind, parts = term.operator, term.parts
    if kind == "const":
        return bool(parts[0]) is wanted
    if kind in ("and", "or"):
        is_easy = (kind == "or") is wanted
        return (any if is_easy else all)(can_be(part, wanted) for part in parts)
    if kind == "not":
        return can_be(parts[0], not wanted)
    if kind == "if":
        condition, first, second = parts
        return (can_be(condition, True) and can_be(first, wanted)) or (
            can_be(condition, False) and can_be(second, wanted)
        )
    return can_be_known(term)


def can_be_known(term: Term) -> bool:
    """Whether a value can be told for some values of the fields."""
    if term.operator == "unknown":
        return False
    if term.operator in ("and", "or"):
        return can_be_known(term.parts[0]) and (len(term.parts) == 1 or any(map(can_be_known, term.parts[1:])))
    if term.operator == "if":
        return can_be_known(term.parts[0]) and any(map(can_be_known, term.parts[1:]))
    return all(map(can_be_known, term.terms))
