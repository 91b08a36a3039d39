"""Conditions of releases, evaluated: a small part of Python's expressions over what is known of a run.

A condition is true, false, unknown, or a crash: the library's own expression raises, as `"8" % 2` does. Names are
fields of a config as given; `base.x` is a field after the class of another package did its part, `arg.x` an argument of
a trainer, a call of any other function than the built-in ones a fact of the run, and `_` what no release tells.

Nothing is executed: the expression is walked, every step costs what its operands are long, and what would grow
(`range` of a large number, powers) is unknown.
"""

from __future__ import annotations

import ast
import operator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from trl_lint.knowledge.condition_things import Thing, is_thing

if TYPE_CHECKING:
    from collections.abc import Callable


class Mark:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


UNKNOWN = Mark("UNKNOWN")
CRASH = Mark("CRASH")

_LONGEST = 10_000  # items of a range or a list that are walked
_LARGEST_TEXT = 100_000


class Block(dict[str, object]):
    """A block of settings: those in it are read as attributes. `path`: its dotted name, "" for the whole config."""

    def __init__(self, path: str, items: dict[str, object]) -> None:
        super().__init__(items)
        self.path = path


class World(Protocol):
    """What is known. Each answers a plain value (None, bool, number, text, list, tuple, dict), a Thing or UNKNOWN."""

    def field(self, name: str) -> object: ...

    def base(self, name: str) -> object: ...

    def arg(self, name: str) -> object: ...

    def fact(self, name: str, arguments: tuple[object, ...]) -> object: ...


@lru_cache(maxsize=4096)
def parse(text: str) -> ast.expr | None:
    """A condition as a tree, None where it is no expression."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def truth_of(text: str, world: World) -> object:
    """True, False, UNKNOWN or CRASH."""
    tree = parse(text)
    return UNKNOWN if tree is None else Evaluation(world).truth(tree)


def value_of(text: str, world: World) -> object:
    """The value of an expression: a plain value, UNKNOWN or CRASH."""
    tree = parse(text)
    return UNKNOWN if tree is None else Evaluation(world).value(tree)


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitXor: operator.xor, ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
PLAIN: dict[str, Callable[..., Any]] = {
    "len": len, "int": int, "float": float, "str": str, "abs": abs, "min": min, "max": max, "sum": sum, "set": set,
    "list": list, "tuple": tuple, "dict": dict, "round": round, "bool": bool, "sorted": sorted, "range": range,
}  # fmt: skip
_METHODS = frozenset({"startswith", "endswith", "lower", "upper", "split", "strip", "keys", "values", "get", "replace",
                      "lstrip", "rstrip", "items", "isdigit"})  # fmt: skip
_TYPES: dict[str, type] = {
    "str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict, "tuple": tuple, "set": set,
    "Mapping": dict,
}  # fmt: skip
# What it costs not to know a class: a plain value is an instance of none that is not listed, but for these.
_WIDE_TYPES = frozenset({"object", "Iterable", "Sequence", "Collection", "Sized", "Container", "Number", "Hashable"})


class Evaluation:
    """One reading of expressions in a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.names: dict[str, object] = {}

    def truth(self, node: ast.expr) -> object:
        """True, False, UNKNOWN or CRASH. What is known decides, wherever it stands."""
        if isinstance(node, ast.BoolOp):
            is_and = isinstance(node.op, ast.And)
            is_open = False
            for part in node.values:
                found = self.truth(part)
                if found is CRASH and not is_open:
                    return CRASH
                if found is CRASH or found is UNKNOWN:
                    is_open = True  # after what is unknown, a crash may never be reached
                elif found is not is_and:
                    return found
            return UNKNOWN if is_open else is_and
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            found = self.truth(node.operand)
            return found if isinstance(found, Mark) else not found
        if isinstance(node, ast.IfExp):
            return self._choose(node, self.truth)
        return _truth(self.value(node))

    def value(self, node: ast.expr) -> object:
        """A plain value, UNKNOWN or CRASH."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.BoolOp):
            is_and = isinstance(node.op, ast.And)
            found: object = UNKNOWN
            for part in node.values:
                found = self.value(part)
                truth = _truth(found)
                if isinstance(truth, Mark):
                    return truth
                if truth is not is_and:
                    return found
            return found
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return self.truth(node)
            return self._apply(operator.neg, [self.value(node.operand)])
        if isinstance(node, ast.IfExp):
            return self._choose(node, self.value)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, (ast.List, ast.Tuple)):
            items = [self.value(item) for item in node.elts]
            if any(item is CRASH for item in items):
                return CRASH
            return items if isinstance(node, ast.List) else tuple(items)
        if isinstance(node, ast.Set):
            items = [self.value(item) for item in node.elts]
            return UNKNOWN if any(isinstance(item, Mark) for item in items) else self._apply(set, [items])
        if isinstance(node, ast.Dict):
            return self._dict(node)
        if isinstance(node, ast.Subscript):
            return self._apply(operator.getitem, [self.value(node.value), self.value(node.slice)])
        if isinstance(node, ast.ListComp):
            return self._each(node)[0]
        return UNKNOWN

    def _choose(self, node: ast.IfExp, read: Callable[[ast.expr], object]) -> object:
        condition = self.truth(node.test)
        if condition is CRASH:
            return CRASH
        if condition is not UNKNOWN:
            return read(node.body if condition else node.orelse)
        first, second = read(node.body), read(node.orelse)
        same = first is second or (type(first) is type(second) and repr(first) == repr(second))
        return first if same else UNKNOWN

    def _name(self, name: str) -> object:
        if name == "_":
            return UNKNOWN
        if name in self.names:
            return self.names[name]
        return self.world.field(name)

    def _attribute(self, node: ast.Attribute) -> object:
        if isinstance(node.value, ast.Name) and node.value.id in ("base", "arg"):
            return (self.world.base if node.value.id == "base" else self.world.arg)(node.attr)
        owner = self.value(node.value)
        if isinstance(owner, Mark):
            return owner
        if isinstance(owner, Block):
            return owner.get(node.attr, UNKNOWN)
        if owner is None or isinstance(owner, (str, int, float, list, tuple, dict, set, range)):
            return CRASH  # plain values have no such attributes
        return str(owner) if node.attr == "base_version" else UNKNOWN  # of a release

    def _apply(self, function: Callable[..., Any], values: list[object]) -> object:
        """A built-in operation on plain values; one that is not known, or has such a part, is unknown."""
        for value in values:
            if isinstance(value, Mark):
                return value
        if any(_has_unknown(value) or is_thing(value) for value in values):
            return UNKNOWN
        try:
            result: object = function(*values)
            return result
        except (TypeError, ValueError, ZeroDivisionError, KeyError, IndexError, AttributeError, OverflowError):
            return CRASH

    def _compare(self, node: ast.Compare) -> object:
        if len(node.ops) != 1:
            return UNKNOWN  # chains are written apart
        left, right = self.value(node.left), self.value(node.comparators[0])
        kind = node.ops[0]
        if isinstance(kind, (ast.In, ast.NotIn)):
            found = self._contains(left, right)
            return found if isinstance(found, Mark) or isinstance(kind, ast.In) else not found
        if isinstance(kind, (ast.Is, ast.IsNot)) and not isinstance(left, Mark) and not isinstance(right, Mark):
            return (left is right) is isinstance(kind, ast.Is) if _are_told_apart(left, right) else UNKNOWN
        return self._apply(_COMPARE[type(kind)], [left, right])

    def _contains(self, item: object, items: object) -> object:
        if isinstance(items, Block) and isinstance(item, str):
            return item in items
        if isinstance(items, (list, tuple)) and _has_unknown(items) and not isinstance(item, Mark):
            known = [each for each in items if each is not UNKNOWN]
            return True if self._apply(operator.contains, [known, item]) is True else UNKNOWN
        return self._apply(operator.contains, [items, item])

    def _binary(self, node: ast.BinOp) -> object:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Pow):
            is_small = isinstance(left, (int, float)) and isinstance(right, int) and abs(right) <= 64
            return self._apply(operator.pow, [left, right]) if is_small else UNKNOWN
        function = _BINARY.get(type(node.op))
        if function is None:
            return UNKNOWN
        if isinstance(node.op, ast.Mult) and isinstance(left, (str, list, tuple)) | isinstance(
            right, (str, list, tuple)
        ):
            return UNKNOWN
        if isinstance(node.op, ast.Mod) and isinstance(left, str):
            return CRASH if "%" not in left else UNKNOWN
        return self._apply(function, [left, right])

    def _dict(self, node: ast.Dict) -> object:
        found: dict[object, object] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant):
                return UNKNOWN
            found[key.value] = self.value(value)
        return found

    def _call(self, node: ast.Call) -> object:
        if isinstance(node.func, ast.Attribute):
            return self._method(node.func, node.args)
        if not isinstance(node.func, ast.Name):
            return UNKNOWN
        name = node.func.id
        if name in ("any", "all", "sum") and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            return self._any(name, node.args[0])
        if name == "isinstance" and len(node.args) == 2:
            return self._isinstance(self.value(node.args[0]), node.args[1])
        values = [self.value(item) for item in node.args]
        if name == "ver":
            return self._apply(_version, values)
        if name in ("getattr", "hasattr"):
            return UNKNOWN
        if name == "range" and any(isinstance(value, int) and abs(value) > _LONGEST for value in values):
            return UNKNOWN
        if name == "len" and isinstance(values[0], (list, tuple, dict)):
            return len(values[0])
        if name in PLAIN:
            if any(isinstance(value, str) and len(value) > _LARGEST_TEXT for value in values):
                return UNKNOWN
            return self._apply(PLAIN[name], values)
        if any(value is CRASH for value in values):
            return CRASH
        return self.world.fact(name, tuple(values))

    def _method(self, function: ast.Attribute, arguments: list[ast.expr]) -> object:
        owner = self.value(function.value)
        values = [self.value(item) for item in arguments]
        if function.attr not in _METHODS:
            return UNKNOWN
        if isinstance(owner, dict) and function.attr == "get" and values and not isinstance(values[0], Mark):
            try:
                return owner.get(values[0], values[1] if len(values) > 1 else None)
            except TypeError:
                return CRASH
        if isinstance(owner, str) and len(owner) > _LARGEST_TEXT:
            return UNKNOWN

        def apply(value: object, *rest: object) -> object:
            found = getattr(value, function.attr)(*rest)
            return list(found) if isinstance(value, dict) else found

        return self._apply(apply, [owner, *values])

    def _isinstance(self, value: object, kinds: ast.expr) -> object:
        names = [
            each.id for each in (kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]) if isinstance(each, ast.Name)
        ]
        if isinstance(value, Mark):
            return value
        if isinstance(value, Thing):
            found = value.is_instance(names)
            return UNKNOWN if found is None else found
        if isinstance(value, Block):
            return UNKNOWN  # a dict, or what was made of it
        if value is None:
            return "object" in names
        if any(isinstance(value, _TYPES[name]) for name in names if name in _TYPES):
            return True
        return UNKNOWN if _WIDE_TYPES & set(names) else False

    def _each(self, node: ast.ListComp | ast.GeneratorExp) -> tuple[object, list[object]]:
        """The items of a comprehension, and the truth of each."""
        generator = node.generators[0]
        items = self.value(generator.iter)
        if isinstance(items, Mark):
            return items, []
        if not isinstance(items, (list, tuple, dict, set, range, str)) or not isinstance(generator.target, ast.Name):
            return (CRASH if items is None or isinstance(items, (int, float)) else UNKNOWN), []
        if len(items) > _LONGEST:
            return UNKNOWN, []
        found: list[object] = []
        outer = dict(self.names)
        for item in items:
            self.names[generator.target.id] = item
            kept = [self.truth(condition) for condition in generator.ifs]
            if any(each is UNKNOWN or each is CRASH for each in kept):
                self.names = outer
                return next(each for each in kept if isinstance(each, Mark)), []
            if all(kept):
                found.append(self.value(node.elt) if isinstance(node, ast.ListComp) else self.truth(node.elt))
        self.names = outer
        return (CRASH if any(item is CRASH for item in found) and isinstance(node, ast.ListComp) else found), found

    def _any(self, name: str, node: ast.GeneratorExp) -> object:
        result, found = self._each(node)
        if name == "sum" or isinstance(result, Mark):
            return result if isinstance(result, Mark) else UNKNOWN
        is_open = False
        for item in found:
            if item is CRASH and not is_open:
                return CRASH
            if isinstance(item, Mark):
                is_open = True
            elif item is (name == "any"):
                return item
        return UNKNOWN if is_open else name == "all"


def _are_told_apart(left: object, right: object) -> bool:
    """Whether it is known if two values are one object: texts, numbers and two objects may be, or be equal only."""
    if isinstance(left, Thing) and isinstance(right, Thing):
        return left is right
    return (
        left is None or right is None or isinstance(right, bool) or isinstance(left, Thing) or isinstance(right, Thing)
    )


def _truth(value: object) -> object:
    """Whether a value counts as true: True, False, UNKNOWN or CRASH."""
    if isinstance(value, Thing):
        return UNKNOWN if value.is_true is None else value.is_true
    return value if isinstance(value, Mark) else bool(value)


def _has_unknown(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return any(item is UNKNOWN for item in value)
    return isinstance(value, dict) and any(item is UNKNOWN for item in value.values())


def _version(text: object) -> object:
    from packaging.version import InvalidVersion, Version

    if isinstance(text, Version):
        return text
    if not isinstance(text, str):
        raise TypeError("no version")
    try:
        return Version(text)
    except InvalidVersion:
        raise ValueError("no version") from None
