"""Configs and trainers that the project defines itself, or has a copy of: what constructing one of them takes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from trl_lint import budget
from trl_lint.checks.drift._calls import accepts, all_arguments, is_called_like_known, is_patched
from trl_lint.checks.drift._classes import Argument, imported, own_classes, root_of
from trl_lint.knowledge.presence import points_of_parameter
from trl_lint.project import Project
from trl_lint.project.modules import imported_name, is_in_one_place, known_file
from trl_lint.project.stack import choices_at
from trl_lint.python.guards import bindings, key_of
from trl_lint.python.module import PythonModule
from trl_lint.python.scopes import scopes
from trl_lint.records import NamedTuple
from trl_lint.sources import SourceError

_DEEP = 6  # names that are imported from where they are imported, and bases of bases
_CONSTRUCTION = frozenset({"__init__", "__new__"})
_DATACLASS = "dataclasses.dataclass"
# Bases that add nothing to what a constructor takes.
_PLAIN = frozenset(
    {
        "abc.ABC", "typing.Generic", "typing.Protocol", "collections.abc.Mapping", "collections.abc.MutableMapping",
        "collections.abc.Callable", "collections.abc.Iterable", "typing.Mapping",
    }
)  # fmt: skip


class OwnClass(NamedTuple):
    """A class of the project: the keywords that constructing it takes, None where it may take any."""

    cls: ast.ClassDef
    home: PythonModule
    takes: frozenset[str] | None


def misfits(
    calls: Iterable[ast.Call], module: PythonModule, project: Project
) -> Iterator[tuple[ast.Call, OwnClass, Argument]]:
    """The keywords of calls that no version of the class takes: not that of the project, nor that of a release."""
    for call in calls:
        own = own_class_of(call, module, project)
        if own is None or own.takes is None:
            continue
        for argument in all_arguments(call, module, project):
            if argument.name not in own.takes and not _is_of_release(call, argument.name, module, project):
                yield call, own, argument


def own_class_of(call: ast.Call, module: PythonModule, project: Project) -> OwnClass | None:
    """The class of the project that a call certainly constructs, if it is named like a config or a trainer."""
    first = root_of(call.func)
    if not is_called_like_known(call.func) or not isinstance(first, ast.Name) or is_patched(module):
        return None
    if not isinstance(scopes(module).binding(first), (ast.ClassDef, ast.Import, ast.ImportFrom)):
        return None
    found = _class_named(call.func, module, project)
    return None if found is None else OwnClass(*found, _parameters(*found, project, 0))


def _is_of_release(call: ast.Call, name: str, module: PythonModule, project: Project) -> bool:
    """Whether a call of a package that the project has a copy of may reach a release, and that takes the keyword."""
    callee = imported(call.func, module)
    known = choices_at(module, call, project, callee.package) if callee is not None else None
    if callee is None or known is None:
        return False
    return accepts(callee.dotted, name, known.newest(points_of_parameter(callee.dotted, name))) is True


def _class_named(
    node: ast.expr, module: PythonModule, project: Project, depth: int = 0
) -> tuple[ast.ClassDef, PythonModule] | None:
    """The one class that a name stands for, and its module; None where something else may be meant."""
    if depth > _DEEP:
        budget.limit(_DEEP, "classes that are imported over more than {} modules were not read", module.path)
        return None
    name = key_of(node)
    if not name or name.startswith("self."):
        return None
    if module.names.is_imported(name.partition(".")[0]):
        if not is_in_one_place(module, name, project):
            return None
        found = imported_name(module, node, project)
        return None if found is None else _class_in(found[1], found[0], project, depth)
    return _class_in(name, module, project, depth)


def _class_in(name: str, home: PythonModule, project: Project, depth: int) -> tuple[ast.ClassDef, PythonModule] | None:
    """The class of a name in a module: defined there, or imported by its name or with all others."""
    cls = own_classes(home).get(name)
    if cls is not None:
        is_one = isinstance(home.parents.get(cls), ast.Module) and not home.names.is_imported(name)
        return (cls, home) if is_one and name not in bindings(home) and not is_patched(home) else None
    if "." in name or name in bindings(home) or any(one.name == name for one in home.classes):
        return None
    if home.names.is_imported(name):
        return _class_named(ast.Name(name, ast.Load()), home, project, depth + 1)
    found = []
    for statement in home.imports:
        if not isinstance(statement, ast.ImportFrom) or statement.names[0].name != "*":
            continue
        path = known_file("." * statement.level + (statement.module or ""), home.path, project)
        if path is None or path == home.path:
            continue
        with suppress(OSError, SourceError):
            if project.files.holds(path, name.encode(), b"import *"):
                found.append(_class_in(name, project.module_in(path), project, depth + 1))
    found = [one for one in found if one is not None]
    return found[0] if len(found) == 1 else None


def _parameters(cls: ast.ClassDef, home: PythonModule, project: Project, depth: int) -> frozenset[str] | None:
    """The keywords that constructing a class takes; None where that is not certain."""
    if depth > _DEEP:
        budget.limit(_DEEP, "bases of bases more than {} classes away were not read", home.path)
        return None
    body = list(_statements(cls.body))
    constructors = [one for one in body if not _CONSTRUCTION.isdisjoint(_bound_by(one))]
    if cls.keywords or not all(_is_dataclass(one, home) for one in cls.decorator_list):
        return None
    if constructors:
        only = constructors[0]
        is_plain = len(constructors) == 1 and isinstance(only, ast.FunctionDef) and only.name == "__init__"
        return _of_function(only) if is_plain and isinstance(only, ast.FunctionDef) and only in cls.body else None
    taken: frozenset[str] = frozenset()
    bases = [base for base in cls.bases if not _is_plain(base, home)]
    for base in bases:
        found = _class_named(base, home, project)
        above = _parameters(*found, project, depth + 1) if found is not None else None
        if above is None or (len(bases) > 1 and not cls.decorator_list):
            return None
        taken |= above
    return taken | _fields(body) if cls.decorator_list else taken


def _of_function(function: ast.FunctionDef) -> frozenset[str] | None:
    given = function.args
    if given.kwarg is not None or function.decorator_list:
        return None
    return frozenset(one.arg for one in (*given.args[0 if given.posonlyargs else 1 :], *given.kwonlyargs))


def _is_dataclass(node: ast.expr, home: PythonModule) -> bool:
    """Whether a decorator is that of the standard library, which makes the constructor of the fields."""
    call = node if isinstance(node, ast.Call) else None
    func = node.func if isinstance(node, ast.Call) else node
    if home.names.origins(func) != {_DATACLASS} or not home.names.is_certain(func):
        return False
    return call is None or all(one.arg not in (None, "init") for one in call.keywords)


def _is_plain(base: ast.expr, home: PythonModule) -> bool:
    node = base.value if isinstance(base, ast.Subscript) else base
    name = key_of(node)
    if name == "object":
        return True
    return home.names.origins(node) <= _PLAIN and bool(home.names.origins(node))


def _statements(block: Sequence[ast.AST]) -> Iterator[ast.stmt]:
    """The statements of a class, those under tests too: one field too many is harmless."""
    for statement in block:
        if isinstance(statement, ast.stmt):
            yield statement
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for field in ("body", "handlers", "orelse", "finalbody", "cases"):
                yield from _statements(getattr(statement, field, ()))


def _bound_by(statement: ast.stmt) -> set[str]:
    """The names that a statement of a class binds by itself."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {one.asname or one.name for one in statement.names}
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {one.id for one in targets if isinstance(one, ast.Name)}


def _fields(body: list[ast.stmt]) -> frozenset[str]:
    found = (one.target for one in body if isinstance(one, ast.AnnAssign))
    return frozenset(target.id for target in found if isinstance(target, ast.Name))
