"""What the tests in the files of a package come to beside given releases of other packages. Nothing is run."""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from packaging.version import InvalidVersion, Version

from trl_lint.knowledge.refresher.contracts_offers import Offers
from trl_lint.knowledge.refresher.contracts_uses import Code, Guard
from trl_lint.knowledge.refresher.extract import walk_block
from trl_lint.missing import UNKNOWN
from trl_lint.python.default_text import dotted, last_name

# What is there wherever training runs.
_INSTALLED = frozenset(
    (
        "torch",
        "numpy",
        "transformers",
        "accelerate",
        "datasets",
        "huggingface_hub",
        "tokenizers",
        "safetensors",
        "packaging",
    )
)
_MOST_STEPS = 12  # names and calls that lead from one to the next
_FALLS_THROUGH = object()

_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.In: lambda one, other: one in other, ast.NotIn: lambda one, other: one not in other,
}  # fmt: skip
_SIGNS = {"<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE, "==": ast.Eq, "!=": ast.NotEq}
_COMPARES = ("_greater", "_min_version", "_version", "_less")
_VERSION_OF = frozenset(("version", "_get_version", "get_version", "get_package_version", "_get_package_version"))

Bound = Mapping[str, object]
Answers = dict[tuple[str, str], "bool | None"]


class Asked:
    """A release that writes down what was asked of it. `answers`: by module and name, "" where the module was meant."""

    def __init__(self, offers: Offers) -> None:
        self.offers = offers
        self.answers: Answers = {}

    def has_module(self, module: str) -> bool | None:
        answer = self.answers[module, ""] = self.offers.has_module(module)
        return answer

    def has(self, module: str, name: str) -> bool | None:
        answer = self.answers[module, name] = self.offers.has(module, name)
        return answer


def agrees(answers: Answers, offers: Offers) -> bool:
    """Whether another release gives the same answers."""
    return all(
        (offers.has(module, name) if name else offers.has_module(module)) is answer
        for (module, name), answer in answers.items()
    )


class Beside:
    """A package whose files are read, beside one release of each of some others.

    `code`: its files by module. `own`: what it offers itself. `others`: what the others offer, by top-level module, and
    `versions` their releases.
    """

    def __init__(
        self, code: Mapping[str, Code], own: Offers, others: Mapping[str, Asked], versions: Mapping[str, Version]
    ) -> None:
        self.code = code
        self.own = own
        self.others = others
        self.versions = versions
        self._names: dict[tuple[str, str], object] = {}
        self._failing: dict[int, bool | None] = {}

    def offers(self, module: str) -> Offers | Asked | None:
        """What offers a module: the package itself, one of the others, None for what was not read."""
        root = module.partition(".")[0]
        return self.own if root == self.own.root else self.others.get(root)

    def runs(self, guards: Iterable[Guard], code: Code, steps: int = 0) -> bool | None:
        """Whether a statement under these guards runs; None where nobody can tell."""
        answer: bool | None = True
        for guard in guards:
            if guard.kind == "test":
                assert isinstance(guard.node, ast.expr)
                value = self.value(guard.node, code, steps)
                found = None if value is UNKNOWN else bool(value) is guard.wanted
            elif guard.kind in ("handler", "else"):
                assert isinstance(guard.node, ast.Try)
                fails = self._fails(guard.node, code)
                found = None if fails is None else fails is (guard.kind == "handler")
            else:
                found = None if guard.kind == "open" else True
            if found is False:
                return False
            answer = None if found is None else answer
        return answer

    def _fails(self, node: ast.Try, code: Code) -> bool | None:
        """Whether the body of a `try` fails at one of its imports."""
        key = id(node)
        if key not in self._failing:
            self._failing[key] = None
            answer: bool | None = False
            for statement in walk_block(node.body):
                found = self._statement_fails(statement, code)
                if found:
                    answer = True
                    break
                answer = None if found is None else answer
            self._failing[key] = answer
        return self._failing[key]

    def _statement_fails(self, node: ast.stmt, code: Code) -> bool | None:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found: bool | None = False
            for use in (use for use in code.uses if use.line == node.lineno and not use.is_attribute):
                offers = self.offers(use.module)
                if use.module.partition(".")[0] in sys.stdlib_module_names:
                    continue
                there = None if offers is None or offers is self.own else offers.has_module(use.module)
                if there and offers is not None and use.name:
                    there = offers.has(use.module, use.name)
                if there is False:
                    return True
                found = None if there is None else found
            return found
        is_plain = isinstance(node, (ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.ClassDef, ast.Pass))
        return False if is_plain and not any(isinstance(part, ast.Call) for part in ast.walk(node)) else None

    # -- values ------------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr, code: Code, steps: int = 0, bound: Bound = {}) -> object:  # noqa: B006
        """What an expression of a file comes to, or UNKNOWN. `bound`: the parameters of a function that is followed."""
        if steps > _MOST_STEPS:
            return UNKNOWN
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._of_name(node.id, code, steps, bound)
        if isinstance(node, ast.Attribute):
            return self._of_attribute(node, code, steps, bound)
        if isinstance(node, ast.Call):
            return self._of_call(node, code, steps, bound)
        parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        if isinstance(node, ast.BoolOp):
            return self._of_bool([self.value(part, code, steps + 1, bound) for part in parts], node.op)
        if isinstance(node, ast.IfExp):
            test = self.value(node.test, code, steps + 1, bound)
            return (
                UNKNOWN if test is UNKNOWN else self.value(node.body if test else node.orelse, code, steps + 1, bound)
            )
        if isinstance(node, (ast.Tuple, ast.UnaryOp, ast.Compare)):
            values = [self.value(part, code, steps + 1, bound) for part in parts]
            if UNKNOWN in values:
                return UNKNOWN
            if isinstance(node, ast.Tuple):
                return tuple(values)
            if isinstance(node, ast.UnaryOp):
                return not values[0] if isinstance(node.op, ast.Not) else UNKNOWN
            return compared(values[0], node.ops[0], values[1]) if len(node.ops) == 1 else UNKNOWN
        if isinstance(node, ast.Subscript):
            return self._of_subscript(node, code, steps, bound)
        return UNKNOWN

    def _of_bool(self, values: list[object], op: ast.boolop) -> object:
        decides = isinstance(op, ast.Or)
        if any(value is not UNKNOWN and bool(value) is decides for value in values):
            return decides
        return UNKNOWN if UNKNOWN in values else not decides

    def _of_name(self, name: str, code: Code, steps: int, bound: Bound) -> object:
        if name in bound:
            return bound[name]
        if name == "TYPE_CHECKING":
            return False
        key = code.name, name
        if key not in self._names:
            self._names[key] = UNKNOWN  # names that lead to each other
            self._names[key] = self._look_up(name, code, steps + 1)
        return self._names[key]

    def _look_up(self, name: str, code: Code, steps: int) -> object:
        if steps > _MOST_STEPS:
            return UNKNOWN
        live: list[ast.expr] = []
        for value, guards in code.constants.get(name, ()):
            runs = self.runs(guards, code, steps)
            if runs is None:
                return UNKNOWN
            live += [value] if runs else []
        if live:
            return self.value(live[-1], code, steps)
        module, original = code.aliases.get(name, ("", ""))
        if original == "__version__" and module in self.versions:
            return str(self.versions[module])
        return self._look_up(original, self.code[module], steps + 1) if original and module in self.code else UNKNOWN

    def _of_attribute(self, node: ast.Attribute, code: Code, steps: int, bound: Bound) -> object:
        text = dotted(node)
        if text.endswith("TYPE_CHECKING"):
            return False
        head, _, rest = text.partition(".")
        module, name = code.aliases.get(head, ("", ""))
        if rest == "__version__" and not name and module in self.versions:
            return str(self.versions[module])
        if rest and "." not in rest and not name and module in self.code:
            return self._look_up(rest, self.code[module], steps + 1)
        value = self.value(node.value, code, steps + 1, bound)
        if isinstance(value, Version) and node.attr in ("major", "minor", "micro", "release", "base_version", "public"):
            found: object = getattr(value, node.attr)
            return found
        return UNKNOWN

    def _of_subscript(self, node: ast.Subscript, code: Code, steps: int, bound: Bound) -> object:
        value = self.value(node.value, code, steps + 1, bound)
        if not isinstance(value, (tuple, list, str)):
            return UNKNOWN
        if isinstance(node.slice, ast.Slice):
            low, high = (
                None if end is None else self.value(end, code, steps + 1, bound)
                for end in (node.slice.lower, node.slice.upper)
            )
            if not isinstance(low, int | None) or not isinstance(high, int | None) or node.slice.step is not None:
                return UNKNOWN
            return value[low:high]
        at = self.value(node.slice, code, steps + 1, bound)
        return value[at] if isinstance(at, int) and -len(value) <= at < len(value) else UNKNOWN

    # -- calls -------------------------------------------------------------------------------------------------------

    def _of_call(self, node: ast.Call, code: Code, steps: int, bound: Bound) -> object:
        name = last_name(node.func)
        given = [self.value(each, code, steps + 1, bound) for each in node.args]
        named = {each.arg: self.value(each.value, code, steps + 1, bound) for each in node.keywords if each.arg}
        first = given[0] if given else UNKNOWN
        if (
            name in ("parse", "Version", "LooseVersion", "parse_version", "str", "bool", "int", "tuple")
            and len(given) == 1
        ):
            return _converted(name, first)
        if name in _VERSION_OF and isinstance(first, str):
            version = self.versions.get(_root(first))
            return UNKNOWN if version is None else str(version)
        if name == "find_spec" and isinstance(first, str):
            return self._spec(first)
        if name == "hasattr" and len(node.args) == 2 and isinstance(given[1], str):
            return self._has_attribute(dotted(node.args[0]), given[1], code)
        if name == "_is_package_available" and isinstance(first, str):
            return self._is_available(_root(first), UNKNOWN) if len(given) == 1 and not named else UNKNOWN
        if package := _asked(name, ("_available",)):
            return self._is_available(_root(package), named.get("min_version", first if given else None))
        if (package := _asked(name, _COMPARES)) and _root(package) in self.versions:
            return _held_against(self.versions[_root(package)], given, "less" in name)
        if name in ("compare_versions", "compare_version") and isinstance(first, str) and _root(first) in self.versions:
            return _held_against(self.versions[_root(first)], given[1:], False)
        if isinstance(node.func, ast.Attribute) and name in ("startswith", "split"):
            text = self.value(node.func.value, code, steps + 1, bound)
            if not isinstance(text, str) or not all(isinstance(each, str) for each in given):
                return UNKNOWN
            return text.split(*given) if name == "split" else text.startswith(str(first))  # type: ignore[arg-type]
        return self._of_helper(dotted(node.func), given, named, code, steps)

    def _spec(self, name: str) -> object:
        root, _, below = name.partition(".")
        offers = self.others.get(root)
        if below and offers is not None:
            there = offers.has_module(name)
            return UNKNOWN if there is None else (name if there else None)
        return name if root in self.versions or root in _INSTALLED else UNKNOWN

    def _has_attribute(self, text: str, name: str, code: Code) -> object:
        head, _, rest = text.partition(".")
        if head not in code.aliases:
            return UNKNOWN
        module, original = code.aliases[head]
        path = ".".join(part for part in (module, original, rest) if part)
        offers = self.offers(path)
        there = offers.has(path, name) if offers is not None and offers.has_module(path) else None
        return UNKNOWN if there is None else there

    def _is_available(self, root: str, least: object) -> object:
        version = self.versions.get(root)
        if least is UNKNOWN or least is None:
            return True if version is not None or (root in _INSTALLED and least is None) else UNKNOWN
        return UNKNOWN if version is None else compared(version, ast.GtE(), least)

    def _of_helper(self, text: str, given: list[object], named: Bound, code: Code, steps: int) -> object:
        """What a function of the package gives: one expression, or tests that are decided."""
        home, function = code, code.functions.get(text)
        if function is None and text in code.aliases:
            module, original = code.aliases[text]
            if module in self.code:
                home = self.code[module]
                function = home.functions.get(original)
        if function is None or steps > _MOST_STEPS:
            return UNKNOWN
        parameters = [each.arg for each in function.args.args]
        defaults = function.args.defaults
        behind = parameters[len(parameters) - len(defaults) :]
        bound = {name: self.value(value, home, steps + 1) for name, value in zip(behind, defaults, strict=True)}
        bound.update(zip(parameters, given, strict=False))
        bound.update(named)
        found = self._run(function.body, home, steps + 1, bound)
        return None if found is _FALLS_THROUGH else found

    def _run(self, body: Iterable[ast.stmt], code: Code, steps: int, bound: dict[str, object]) -> object:
        for node in body:
            if isinstance(node, ast.Return):
                return None if node.value is None else self.value(node.value, code, steps, bound)
            if isinstance(node, ast.If):
                test = self.value(node.test, code, steps, bound)
                if test is UNKNOWN:
                    return UNKNOWN
                found = self._run(node.body if test else node.orelse, code, steps, bound)
                if found is not _FALLS_THROUGH:
                    return found
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                bound[node.targets[0].id] = self.value(node.value, code, steps, bound)
            elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) and not isinstance(
                node, (ast.Import, ast.ImportFrom, ast.Pass)
            ):
                return UNKNOWN
        return _FALLS_THROUGH


def compared(one: object, op: ast.cmpop, other: object) -> object:
    """Two values compared as the operator does; a text beside a version is one."""
    if isinstance(op, (ast.Is, ast.IsNot)):
        if not any(value is None or isinstance(value, bool) for value in (one, other)):
            return UNKNOWN
        return (one is other) is isinstance(op, ast.Is)
    try:
        if isinstance(one, Version) and isinstance(other, str):
            other = Version(other)
        elif isinstance(other, Version) and isinstance(one, str):
            one = Version(one)
        return _COMPARED[type(op)](one, other)
    except (TypeError, InvalidVersion):
        return UNKNOWN


def _asked(name: str, endings: Iterable[str]) -> str:
    """The package that a function such as `is_x_available` is about, "" for another function."""
    plain = name.removeprefix("_")
    ends = [plain.find(ending) for ending in endings if ending in plain]
    return plain[len("is_") : min(ends)] if plain.startswith("is_") and ends else ""


def _root(name: str) -> str:
    """The top-level module of a package, by one of its names."""
    plain = name.replace("-", "_").lower()
    return {"autoawq": "awq", "auto_awq": "awq"}.get(plain, plain)


def _converted(name: str, value: object) -> object:
    if value is UNKNOWN:
        return UNKNOWN
    try:
        if name in ("str", "bool"):
            return str(value) if name == "str" else bool(value)
        if name == "int":
            return int(value) if isinstance(value, (int, str)) else UNKNOWN
        if name == "tuple":
            return tuple(value) if isinstance(value, (tuple, list)) else UNKNOWN
        return Version(str(value))
    except (ValueError, InvalidVersion):
        return UNKNOWN


def _held_against(version: Version, given: list[object], is_less: bool) -> object:
    """`is_x_version(">=", "1.2")`, `is_x_greater_or_equal("1.2")`."""
    if len(given) == 2 and given[0] in _SIGNS:
        return compared(version, _SIGNS[str(given[0])](), given[1])
    if len(given) == 1 and isinstance(given[0], str):
        return compared(version, ast.Lt() if is_less else ast.GtE(), given[0])
    return UNKNOWN
