"""Tests that compare an installed release: `version.parse(trl.__version__) >= version.parse("0.17")`."""

from __future__ import annotations

import ast
import re

from trl_lint.python.guards import bindings, key_of
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_PARSERS = frozenset({"parse", "Version", "LooseVersion", "parse_version"})
_RELEASE = regex(r"[0-9]+(?:\.[0-9]+)*(?:\.?(?:a|b|rc|dev|post)[0-9]+)*\Z")
_COMPARING = regex(r"is_([a-z]+)_version\Z")
_AVAILABLE = regex(r"is_([a-z]+)_available\Z")
_NAMES_DEEP = 2  # from name to name; then a test is unknown
_MOST_VALUES = 4  # of a name; one with more is unknown


class Asked(NamedTuple):
    """The releases of a package for which a test holds, as a specifier."""

    package: str
    specifier: str


def asked_by(module: PythonModule, test: ast.expr, outcome: bool = True, depth: int = 0) -> list[Asked]:
    """What a test that has this outcome says about installed releases, as far as that is understood."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return asked_by(module, test.operand, not outcome, depth)
    if isinstance(test, ast.BoolOp):
        # All parts of an `and` that is true hold, and none of an `or` that is false does.
        is_joined = isinstance(test.op, ast.And) is outcome
        parts = test.values if is_joined else []
        return [asked for value in parts for asked in asked_by(module, value, outcome, depth)]
    if isinstance(test, ast.Name):
        values = bindings(module).get(test.id, []) if depth < _NAMES_DEEP else []
        return asked_by(module, values[0], outcome, depth + 1) if len(values) == 1 else []
    found = _compared(module, test) if isinstance(test, ast.Compare) else None
    found = found or (_called(module, test) if isinstance(test, ast.Call) else None)
    if found is None:
        return []
    if outcome:
        return [found]
    opposite = _opposite(found.specifier)
    return [found._replace(specifier=opposite)] if opposite else []


def is_requirement(module: PythonModule, statement: ast.stmt) -> bool:
    """Whether a statement ends the program unless certain releases are installed, and all of its test is understood."""
    if isinstance(statement, ast.Assert):
        return _is_understood(module, statement.test, True, 0)
    if isinstance(statement, ast.If) and not statement.orelse and ends_with_an_error(statement.body):
        return _is_understood(module, statement.test, False, 0)
    return False


def ends_with_an_error(block: list[ast.stmt]) -> bool:
    """Whether a block ends the program, or the call of whoever runs it, with an error."""
    last = block[-1]
    is_exit = (
        isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and key_of(last.value.func).endswith("exit")
    )
    return isinstance(last, ast.Raise) or is_exit


def _is_understood(module: PythonModule, test: ast.expr, outcome: bool, depth: int) -> bool:
    """Whether `asked_by` reads every part of a test that has this outcome."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_understood(module, test.operand, not outcome, depth)
    if isinstance(test, ast.BoolOp):
        is_joined = isinstance(test.op, ast.And) is outcome
        return is_joined and all(_is_understood(module, value, outcome, depth) for value in test.values)
    if isinstance(test, ast.Name):
        values = bindings(module).get(test.id, []) if depth < _NAMES_DEEP else []
        return len(values) == 1 and _is_understood(module, values[0], outcome, depth + 1)
    return bool(asked_by(module, test, outcome, depth))


def _opposite(specifier: str) -> str:
    operator = specifier[:2].rstrip("0123456789")
    return _OPPOSITE.get(operator, "") and _OPPOSITE[operator] + specifier[len(operator) :]


def _compared(module: PythonModule, test: ast.Compare) -> Asked | None:
    if len(test.ops) != 1:
        return None
    operator = _OPERATORS.get(type(test.ops[0]), "")
    left, right = _unparsed(test.left), _unparsed(test.comparators[0])
    package, release = _package(module, left, 0), _release(module, right)
    if not package and operator:
        package, release = _package(module, right, 0), _release(module, left)
        operator = _MIRRORED.get(operator, operator)
    if not package or not release or not operator:
        return None
    return Asked(package, operator + release)


def _called(module: PythonModule, test: ast.Call) -> Asked | None:
    """`trl.__version__.startswith("0.16")`, `is_transformers_version(">=", "4.51")`, `is_trl_available("0.9")`."""
    name = key_of(test.func).rpartition(".")[2]
    given = [module.value(arg) for arg in (*test.args, *(keyword.value for keyword in test.keywords))]
    if isinstance(test.func, ast.Attribute) and name == "startswith" and len(given) == 1:
        package, start = _package(module, test.func.value, 0), str(given[0]).rstrip(".")
        return Asked(package, f"=={start}.*") if package and _RELEASE.match(start) else None
    match = _COMPARING.match(name)
    if match and len(given) == 2 and given[0] in _OPPOSITE and _RELEASE.match(str(given[1])):
        return Asked(match[1], f"{given[0]}{given[1]}")
    match = _AVAILABLE.match(name)
    if match and len(given) == 1 and isinstance(given[0], str) and _RELEASE.match(given[0]):
        return Asked(match[1], f">={given[0]}")
    return None


def _unparsed(node: ast.expr) -> ast.expr:
    """What a call such as `version.parse(…)` or `Version(…)` is given."""
    if isinstance(node, ast.Call) and key_of(node.func).rpartition(".")[2] in _PARSERS and len(node.args) == 1:
        return node.args[0]
    return node


def _package(module: PythonModule, node: ast.expr, depth: int) -> str:
    """The package whose installed release an expression is, "" if it is none."""
    node = _unparsed(node)
    if isinstance(node, ast.Attribute) and node.attr == "__version__":
        origins = module.names.origins(node.value)
        return next(iter(origins)) if len(origins) == 1 and "." not in next(iter(origins)) else ""
    if isinstance(node, ast.Call) and key_of(node.func).rpartition(".")[2] == "version" and len(node.args) == 1:
        name = module.value(node.args[0])
        return re.sub(r"[-_.]+", "-", name).lower() if isinstance(name, str) else ""
    origins = module.names.origins(node)
    if len(origins) == 1 and next(iter(origins)).endswith(".__version__"):  # `from trl import __version__ as v`
        return next(iter(origins)).partition(".")[0]
    values = bindings(module).get(key_of(node), []) if depth < _NAMES_DEEP else []
    packages = {_package(module, value, depth + 1) for value in values[:_MOST_VALUES]}
    return packages.pop() if len(packages) == 1 and len(values) <= _MOST_VALUES else ""


def _release(module: PythonModule, node: ast.expr) -> str:
    value = module.value(_unparsed(node))
    if value is not None and not isinstance(value, str) and isinstance(node, ast.Name):
        values = bindings(module).get(node.id, [])
        value = module.value(_unparsed(values[0])) if len(values) == 1 else None
    return value if isinstance(value, str) and _RELEASE.match(value) else ""
