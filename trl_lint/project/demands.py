"""What code asks of the installed releases before it goes on: `require_version("trl>=0.8.6,<=0.9.6")` and its like.

Behind such a call only the releases run that it admits. A call is behind it in the same block, in a function that is
only called behind it, in the methods of a class whose `__init__` makes it, and everywhere in a module that makes it
when it is imported. `assert Version(trl.__version__) >= …` and `if …: raise` ask as well. Helpers of the project that
hand a requirement on are followed (`check_version("trl<=0.9.6")`), and so are those that ask by themselves
(`check_dependencies()`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import cast

from trl_lint import budget
from trl_lint.finding import Location
from trl_lint.memos import per_module
from trl_lint.missing import UNKNOWN
from trl_lint.project import Project
from trl_lint.project.demand_words import (
    compares,
    is_foreign,
    is_of_an_object,
    is_script,
    is_super_init,
    is_telling,
    is_way_out,
    may_be_switched_off,
)
from trl_lint.project.modules import imported_file, imported_name
from trl_lint.python.guards import bindings, call_sites, evaluate, functions_named, key_of
from trl_lint.python.module import FUNCTIONS, FunctionNode, PythonModule
from trl_lint.python.values import argument, default_of
from trl_lint.python.version_tests import asked_by, ends_with_an_error
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import SourceError

# `transformers.utils.versions`, read in 4.46.3 and 5.23.0; other libraries have copies under the same names.
_REQUIRING = ("require_version", "require_version_core")
# `transformers.utils.check_min_version`, which compares the release of transformers itself.
_MINIMUM = ("check_min_version",)
_REQUIREMENT = regex(r"\s*([A-Za-z][\w.-]*)\s*(?:\[[^\]]*\]\s*)?((?:[<>=!~][\w.*+!<>=~,\s-]*)?)\Z")
_NAMED = regex(r"\s*([A-Za-z][\w-]*)\s*(?:[<>=!~]|\Z)")
_NEEDLES = (b"require_version", b"check_min_version")
_LONGEST = 200  # characters of a requirement
_DEEP = 3  # callers of callers, bases of bases; what those further away ask for is unknown
_MOST_STEPS = 20_000


class Demand(NamedTuple):
    """A requirement on a package: `specifier` as in PEP 440, None where code asks for releases that are not known."""

    package: str
    specifier: str | None
    place: Location


Bound = dict[str, object]


def demands_on(module: PythonModule, node: ast.AST, project: Project) -> tuple[Demand, ...]:
    """What the code before a place of a module asks of the installed releases; empty for nearly every place."""
    if not _asks(module, project):
        return ()
    return tuple(dict.fromkeys(_Reader(module, project, _steps_left(module)).before(node, 0)))


@per_module
def _asks(module: PythonModule, project: Project) -> bool:
    """Whether anything in a module asks for releases."""
    return _may_ask(module, project) and _Reader(module, project, _steps_left(module)).asks()


@per_module
def _steps_left(module: PythonModule) -> list[int]:
    """The one number of steps that is left for all that is asked about a module."""
    return [_MOST_STEPS]


def _may_ask(module: PythonModule, project: Project) -> bool:
    """Whether a module may ask: a call with a telling name that stands by itself, a comparison, a base from beside."""
    if compares(module) or any(needle.decode() in module.text for needle in _NEEDLES):
        return True
    calls = (node.value.func for node in module.of(ast.Expr) if isinstance(node.value, ast.Call))
    if any(is_telling(func, module) for func in calls):
        return True
    bases = (base for cls in module.classes for base in cls.bases)
    return any(imported_file(module, base, project) is not None for base in bases)


class _Known(NamedTuple):
    """The demands that were read: with their place in a block, of a statement, and of the callers of a function."""

    of_blocks: dict[tuple[ast.AST, str], list[tuple[int, Demand]]]
    of_statements: dict[ast.stmt, tuple[Demand, ...]]
    of_callers: dict[FunctionNode, tuple[Demand, ...]]


@per_module
def _known_demands(module: PythonModule) -> _Known:
    return _Known({}, {}, {})


@per_module
def _places(module: PythonModule, parent: ast.AST, name: str) -> dict[ast.AST, int]:
    """Where each statement of a block stands in it."""
    return {statement: index for index, statement in enumerate(getattr(parent, name))}


class _Reader:
    """Reads the demands of one module, with those of the helpers that it calls."""

    def __init__(self, module: PythonModule, project: Project, steps: list[int]) -> None:
        self.module = module
        self.project = project
        self._steps = steps  # those that are left for all that is asked about one module

    def _other(self, module: PythonModule) -> _Reader:
        return _Reader(module, self.project, self._steps)

    def asks(self) -> bool:
        """Whether any statement of the module asks for releases, or a base of one of its classes does."""
        module = self.module
        statements: tuple[ast.stmt, ...] = (
            *module.of(ast.Expr), *module.of(ast.Assert), *module.of(ast.If), *module.of(ast.For)
        )  # fmt: skip
        if any(self._made_here(statement) for statement in statements):
            return True
        return any(self._asking(base) is not None for cls in module.classes for base in cls.bases)

    # -- where ----------------------------------------------------------------------------------------------------

    def before(self, node: ast.AST, depth: int) -> Iterator[Demand]:
        module = self.module
        child = node
        is_called_later = False
        for parent in module.ancestors(node):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(parent, name, None)
                index = _places(module, parent, name).get(child) if isinstance(block, list) else None
                if index is not None:
                    whole = is_called_later and isinstance(parent, ast.Module)
                    yield from self._of_block(parent, name, cast("list[ast.stmt]", block), None if whole else index)
                    if isinstance(parent, ast.Try) and name == "orelse":
                        yield from self._of_block(parent, "body", parent.body, None)
            if isinstance(parent, FUNCTIONS):
                is_called_later = True
                yield from self._of_function(parent, depth)
            child = parent

    def _of_block(self, parent: ast.AST, name: str, block: list[ast.stmt], end: int | None) -> Iterator[Demand]:
        """The demands of the first statements of a block, read once for all that stands in it."""
        known = _known_demands(self.module).of_blocks
        if (parent, name) not in known:
            known[parent, name] = [
                (index, demand) for index, statement in enumerate(block) for demand in self._made_here(statement)
            ]
        for index, demand in known[parent, name]:
            if end is None or index < end:
                yield demand

    def _made_here(self, statement: ast.stmt, depth: int = 0) -> tuple[Demand, ...]:
        known = _known_demands(self.module).of_statements
        if statement not in known:
            known[statement] = ()  # a function that calls itself
            known[statement] = tuple(self._made_by_statement(statement, {}, depth))
        return known[statement]

    def _of_function(self, function: FunctionNode, depth: int) -> Iterator[Demand]:
        """What was asked before a function can run: by the `__init__` of its object, or by whoever calls it."""
        owner = self.module.parents.get(function)
        if isinstance(owner, ast.ClassDef) and is_of_an_object(function):
            yield from self.made_by_class(owner, 0)
        if depth < _DEEP and (function.name.startswith("_") or is_script(self.module)):
            yield from self._of_callers(function, depth)

    def _of_callers(self, function: FunctionNode, depth: int) -> tuple[Demand, ...]:
        """What every call of a function stands behind."""
        known = _known_demands(self.module).of_callers
        if function not in known:
            known[function] = ()  # a function that calls itself
            asked = [set(self.before(site, depth + 1)) for site in call_sites(self.module, function)]
            known[function] = tuple(sorted(set.intersection(*asked), key=str)) if asked else ()
        return known[function]

    def made_by_class(self, cls: ast.ClassDef, depth: int) -> Iterator[Demand]:
        """What is asked before an object of a class is there."""
        own = next((item for item in cls.body if isinstance(item, FUNCTIONS) and item.name == "__init__"), None)
        if own is not None:
            yield from self._of_block(own, "body", own.body, None)
        else:
            yield from self._made_by_bases(cls, depth)

    def _made_by_bases(self, cls: ast.ClassDef, depth: int) -> Iterator[Demand]:
        for base in cls.bases if depth < _DEEP else ():
            local = [c for c in self.module.classes if isinstance(base, ast.Name) and c.name == base.id]
            if len(local) == 1 and local[0] is not cls:
                yield from self.made_by_class(local[0], depth + 1)
            elif not local and (found := self._asking(base)) is not None:
                other, name = found
                classes = [c for c in other.classes if c.name == name]
                if len(classes) == 1:
                    yield from self._other(other).made_by_class(classes[0], depth + 1)

    # -- what -----------------------------------------------------------------------------------------------------

    def made_by(self, block: Iterable[ast.stmt], bound: Bound, depth: int) -> Iterator[Demand]:
        """What the statements of a block certainly ask, with the values of parameters that are known."""
        is_certain = True
        for statement in block:
            found = self._made_here(statement, depth) if not bound else self._made_by_statement(statement, bound, depth)
            yield from (demand if is_certain else demand._replace(specifier=None) for demand in found)
            if isinstance(statement, ast.Return):
                return
            if isinstance(statement, ast.If) and self._truth(statement.test, bound) is None:
                ends = (*statement.body[-1:], *statement.orelse[-1:])
                is_certain = is_certain and not any(isinstance(end, ast.Return) for end in ends)

    def _made_by_statement(self, statement: ast.stmt, bound: Bound, depth: int) -> Iterator[Demand]:
        self._steps[0] -= 1
        if self._steps[0] < 0:
            what = "what it requires of releases takes more than {} steps to find, and was not all found"
            budget.limit(_MOST_STEPS, what, self.module.path)
            return
        if isinstance(statement, (ast.Expr, ast.Return)):
            if isinstance(statement.value, ast.Call):
                yield from self._made_by_call(statement.value, bound, depth)
        elif isinstance(statement, ast.Try):
            if all(ends_with_an_error(handler.body) for handler in statement.handlers):
                yield from self.made_by((*statement.body, *statement.orelse), bound, depth)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            yield from self.made_by(statement.body, bound, depth)
        elif isinstance(statement, ast.For):
            yield from self._made_by_loop(statement, bound, depth)
        elif isinstance(statement, ast.Assert):
            yield from self._tested(statement, statement.test, True)
        elif isinstance(statement, ast.If):
            if ends_with_an_error(statement.body) and not statement.orelse:
                yield from self._tested(statement, statement.test, False)
            truth = self._truth(statement.test, bound)
            if truth is not None:
                yield from self.made_by(statement.body if truth else statement.orelse, bound, depth)

    def _tested(self, statement: ast.stmt, test: ast.expr, outcome: bool) -> Iterator[Demand]:
        """What is known of the installed releases where a test has this outcome."""
        for asked in asked_by(self.module, test, outcome) if compares(self.module) else ():
            yield Demand(asked.package, asked.specifier, self.module.location(statement))

    def _truth(self, test: ast.expr, bound: Bound) -> bool | None:
        if not bound and not may_be_switched_off(self.module):
            return None

        def atom(node: ast.expr) -> bool | None:
            if isinstance(node, ast.Name) and node.id in bound:
                return None if bound[node.id] is UNKNOWN else bool(bound[node.id])
            return False if is_way_out(node, self.module) else None

        return evaluate(test, atom)

    def _made_by_loop(self, loop: ast.For, bound: Bound, depth: int) -> Iterator[Demand]:
        """`for requirement in ("trl>=0.9", "peft>=0.7"): require_version(requirement)`."""
        values = self._value(loop.iter, bound)
        if isinstance(values, dict):
            values = list(values)
        if isinstance(loop.target, ast.Name) and isinstance(values, (list, tuple)) and len(values) <= 50:
            for value in values:
                yield from self.made_by(loop.body, {**bound, loop.target.id: value}, depth)

    def _made_by_call(self, call: ast.Call, bound: Bound, depth: int) -> Iterator[Demand]:
        if is_super_init(call) and (cls := self.module.class_of(call)) is not None:
            yield from self._made_by_bases(cls, depth)
        name = key_of(call.func).rpartition(".")[2]
        if depth > _DEEP or not name:
            return
        origins = self.module.names.origins(call.func)
        outer = any(is_foreign(origin) for origin in origins)
        if name in _REQUIRING or any(origin.endswith(_dotted(_REQUIRING)) and outer for origin in origins):
            own = None if outer else self._function(call)
            if own is None:
                given = argument(call, "requirement", 0)
                yield from self._read(given if isinstance(given, ast.expr) else None, call, bound)
                return
        if any(origin.startswith("transformers.") and origin.endswith(_dotted(_MINIMUM)) for origin in origins):
            least = self._value(argument(call, "min_version", 0), bound)
            yield Demand("transformers", f">={least}" if isinstance(least, str) else None, self.module.location(call))
            return
        if not outer and is_telling(call.func, self.module):
            yield from self._made_by_helper(call, bound, depth)

    def _made_by_helper(self, call: ast.Call, bound: Bound, depth: int) -> Iterator[Demand]:
        found = self._function(call)
        if found is None:
            return
        module, function = found
        given = self._given(call, function, bound)
        reader = self if module is self.module else self._other(module)
        place = self.module.location(call)
        for demand in reader.made_by(function.body, given, depth + 1):
            # What the helper was told here is asked here; what it asks of itself stands there.
            yield demand._replace(place=place) if given else demand

    def _given(self, call: ast.Call, function: FunctionNode, bound: Bound) -> Bound:
        """The values of the parameters of a helper, UNKNOWN where they are not literal."""
        names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
        is_method = bool(names) and names[0] in ("self", "cls") and isinstance(call.func, ast.Attribute)
        values: Bound = {}
        for position, name in enumerate([*names[is_method:], *(arg.arg for arg in function.args.kwonlyargs)]):
            node = argument(call, name, position if name in names else None)
            default = default_of(function, name)
            node = default if not isinstance(node, ast.expr) and default is not None else node
            values[name] = self._value(node, bound)
        return values

    # -- values ---------------------------------------------------------------------------------------------------

    def _read(self, node: ast.expr | None, call: ast.Call, bound: Bound) -> Iterator[Demand]:
        text = self._value(node, bound)
        place = self.module.location(call)
        if isinstance(text, str):
            match = _REQUIREMENT.match(text[:_LONGEST])
            if match is not None and match[2].strip():
                specifier = ",".join(part.replace(" ", "") for part in match[2].split(",") if part.strip())
                yield Demand(match[1].lower().replace("_", "-"), specifier, place)
            return
        # `f"trl{SPECIFIER}"`: which package it is may be known.
        first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else None
        match = _NAMED.match(str(first.value) + "=") if isinstance(first, ast.Constant) else None
        if match is not None:
            yield Demand(match[1].lower().replace("_", "-"), None, place)

    def _value(self, node: object, bound: Bound) -> object:
        """A literal, also through a name that is assigned one literal, a joined string, or a key of such a dict."""
        if not isinstance(node, ast.expr):
            return UNKNOWN
        if isinstance(node, ast.Name) and node.id in bound:
            return bound[node.id]
        if isinstance(node, ast.JoinedStr):
            parts = [
                self._value(part.value if isinstance(part, ast.FormattedValue) else part, bound) for part in node.values
            ]
            return "".join(map(str, parts)) if UNKNOWN not in parts else UNKNOWN
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self._value(node.left, bound), self._value(node.right, bound)
            return left + right if isinstance(left, str) and isinstance(right, str) else UNKNOWN
        if isinstance(node, ast.Subscript):
            table, key = self._value(node.value, bound), self._value(node.slice, bound)
            return table.get(key, UNKNOWN) if isinstance(table, dict) and isinstance(key, (str, int)) else UNKNOWN
        if isinstance(node, (ast.Name, ast.Attribute)):
            known = self.module.value(node)
            if known is UNKNOWN and (found := self._imported(node)) is not None:
                other, name = found
                return other.value(ast.Name(name, ast.Load()))
            if known is UNKNOWN and len(values := bindings(self.module).get(key_of(node), [])) == 1:
                return self._value(values[0], {}) if isinstance(values[0], (ast.JoinedStr, ast.BinOp)) else UNKNOWN
            return known
        return self.module.value(node)

    # -- names ----------------------------------------------------------------------------------------------------

    def _imported(self, node: ast.expr) -> tuple[PythonModule, str] | None:
        with suppress(OSError, SourceError):
            return imported_name(self.module, node, self.project)
        return None

    def _asking(self, node: ast.expr) -> tuple[PythonModule, str] | None:
        """As `_imported`, where the bytes of the other file say that it asks for releases."""
        path = imported_file(self.module, node, self.project)
        with suppress(OSError, SourceError):
            if path is not None and self.project.files.holds(path, *_NEEDLES):
                return self._imported(node)
        return None

    def _function(self, call: ast.Call) -> tuple[PythonModule, FunctionNode] | None:
        """The function of the project that a call runs: of its module, of its class, or imported."""
        module, name = self.module, key_of(call.func)
        last = name.rpartition(".")[2]
        if name == last or name == f"self.{last}":
            own = functions_named(module, last)
            if len(own) == 1:
                return module, own[0]
        found = self._asking(call.func)
        if found is None:
            return None
        other, last = found
        own = functions_named(other, last)
        return (other, own[0]) if len(own) == 1 else None


def _dotted(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f".{name}" for name in names)
