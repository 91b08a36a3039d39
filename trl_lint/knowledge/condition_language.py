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

from trl_lint.knowledge.condition_things import Keys, Thing, are_told_apart, is_thing
from trl_lint.knowledge.condition_words import BINARY, COMPARE, METHODS, PLAIN, TYPES, WIDE_TYPES, version_of

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
_LARGEST_TEXT = 100_000  # characters; what is done to a longer one is unknown


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


def raised_by(text: str, world: World) -> str:
    """What a condition that is a crash raises, `TypeError: …` in Python's words; "" where it is none."""
    tree = parse(text)
    if tree is None:
        return ""
    evaluation = Evaluation(world)
    return evaluation.raised if evaluation.truth(tree) is CRASH else ""


def value_of(text: str, world: World) -> object:
    """The value of an expression: a plain value, UNKNOWN or CRASH."""
    tree = parse(text)
    return UNKNOWN if tree is None else Evaluation(world).value(tree)


class Evaluation:
    """One reading of expressions in a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.names: dict[str, object] = {}
        self.raised = ""  # what the last operation that raised said

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
            items = self._values(node.elts)
            if items[-1:] == [CRASH]:
                return CRASH
            return items if isinstance(node, ast.List) else tuple(items)
        if isinstance(node, ast.Set):
            items = self._values(node.elts)
            if items[-1:] == [CRASH]:
                return CRASH
            return UNKNOWN if any(isinstance(item, Mark) for item in items) else self._apply(set, [items])
        if isinstance(node, ast.Dict):
            return self._dict(node)
        if isinstance(node, ast.Subscript):
            return self._apply(operator.getitem, self._values([node.value, node.slice]))
        if isinstance(node, ast.ListComp):
            return self._each(node)[0]
        return UNKNOWN

    def _values(self, nodes: list[ast.expr]) -> list[object]:
        """The values of expressions, up to the first that crashes: the rest is never evaluated."""
        found: list[object] = []
        for node in nodes:
            found.append(self.value(node))
            if found[-1] is CRASH:
                break
        return found

    def _crash(self, error: Exception) -> Mark:
        self.raised = f"{type(error).__name__}: {error}"
        return CRASH

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
        if isinstance(owner, Thing):
            return owner.attribute(node.attr) or UNKNOWN
        if owner is None or isinstance(owner, (str, int, float, list, tuple, dict, set, range)):
            return self._crash(AttributeError(f"'{type(owner).__name__}' object has no attribute '{node.attr}'"))
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
        except (TypeError, ValueError, ZeroDivisionError, KeyError, IndexError, AttributeError, OverflowError) as error:
            return self._crash(error)

    def _compare(self, node: ast.Compare) -> object:
        if len(node.ops) != 1:
            return UNKNOWN  # chains are written apart
        values = self._values([node.left, node.comparators[0]])
        if values[-1] is CRASH:
            return CRASH
        (left, right), kind = values, node.ops[0]
        if isinstance(kind, (ast.In, ast.NotIn)):
            found = self._contains(left, right)
            return found if isinstance(found, Mark) or isinstance(kind, ast.In) else not found
        if isinstance(kind, (ast.Is, ast.IsNot)) and not isinstance(left, Mark) and not isinstance(right, Mark):
            return (left is right) is isinstance(kind, ast.Is) if are_told_apart(left, right) else UNKNOWN
        return self._apply(COMPARE[type(kind)], [left, right])

    def _contains(self, item: object, items: object) -> object:
        if isinstance(items, Block) and isinstance(item, str):
            return item in items
        if isinstance(items, Keys) and isinstance(item, str):
            found = items.has(item)
            return UNKNOWN if found is None else found
        if isinstance(items, (list, tuple)) and _has_unknown(items) and not isinstance(item, Mark):
            known = [each for each in items if each is not UNKNOWN]
            return True if self._apply(operator.contains, [known, item]) is True else UNKNOWN
        return self._apply(operator.contains, [items, item])

    def _binary(self, node: ast.BinOp) -> object:
        values = self._values([node.left, node.right])
        if values[-1] is CRASH:
            return CRASH
        left, right = values
        if isinstance(node.op, ast.Pow):
            is_small = isinstance(left, (int, float)) and isinstance(right, int) and abs(right) <= 64
            return self._apply(operator.pow, [left, right]) if is_small else UNKNOWN
        function = BINARY.get(type(node.op))
        if function is None:
            return UNKNOWN
        if isinstance(node.op, ast.Mult) and isinstance(left, (str, list, tuple)) | isinstance(
            right, (str, list, tuple)
        ):
            return UNKNOWN
        if isinstance(node.op, ast.Mod) and isinstance(left, str):
            return UNKNOWN if "%" in left else self._apply(operator.mod, [left, right])
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
        values = self._values(node.args)
        if values[-1:] == [CRASH]:
            return CRASH
        if name == "ver":
            return self._apply(version_of, values)
        if name in ("getattr", "hasattr"):
            return UNKNOWN
        if name == "range" and any(isinstance(value, int) and abs(value) > _LONGEST for value in values):
            return UNKNOWN
        if name == "list" and isinstance(values[0], Keys):
            return values[0]
        if name == "len" and isinstance(values[0], (list, tuple, dict)):
            return len(values[0])
        if name in PLAIN:
            if any(isinstance(value, str) and len(value) > _LARGEST_TEXT for value in values):
                return UNKNOWN
            return self._apply(PLAIN[name], values)
        return self.world.fact(name, tuple(values))

    def _method(self, function: ast.Attribute, arguments: list[ast.expr]) -> object:
        owner, *values = self._values([function.value, *arguments])
        if owner is CRASH or values[-1:] == [CRASH]:
            return CRASH
        if function.attr not in METHODS:
            return UNKNOWN
        if isinstance(owner, dict) and function.attr == "get" and values and not isinstance(values[0], Mark):
            try:
                return owner.get(values[0], values[1] if len(values) > 1 else None)
            except TypeError as error:
                return self._crash(error)
        if isinstance(owner, str) and len(owner) > _LARGEST_TEXT:
            return UNKNOWN
        if isinstance(owner, Keys) and function.attr == "keys":
            return owner

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
        if any(isinstance(value, TYPES[name]) for name in names if name in TYPES):
            return True
        return UNKNOWN if WIDE_TYPES & set(names) else False

    def _each(self, node: ast.ListComp | ast.GeneratorExp) -> tuple[object, list[object]]:
        """The items of a comprehension, and the truth of each."""
        generator = node.generators[0]
        items = self.value(generator.iter)
        if isinstance(items, Mark):
            return items, []
        if not isinstance(items, (list, tuple, dict, set, range, str)) or not isinstance(generator.target, ast.Name):
            is_single = items is None or isinstance(items, (int, float))
            return (self._apply(iter, [items]) if is_single else UNKNOWN), []
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


def _truth(value: object) -> object:
    """Whether a value counts as true: True, False, UNKNOWN or CRASH."""
    if isinstance(value, Thing):
        return UNKNOWN if value.is_true is None else value.is_true
    return value if isinstance(value, Mark) else bool(value)


def _has_unknown(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return any(item is UNKNOWN for item in value)
    return isinstance(value, dict) and any(item is UNKNOWN for item in value.values())
