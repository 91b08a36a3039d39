"""Classes that a project derives from those of a package, over several bases and over its modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from trl_lint.checks.drift._calls import TRAINERS, calls_of_others, is_patched
from trl_lint.checks.drift._classes import Callee, imported
from trl_lint.project import Project
from trl_lint.project.stack import Choices, choices_at
from trl_lint.python.guards import key_of
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple

_PLAIN_BASES = frozenset({"object", "ABC", "Generic", "Protocol"})
_PLAIN_TRAINERS = frozenset({"transformers.Trainer", "transformers.trainer.Trainer"})
_BASES_DEEP = 4  # bases of bases; beyond them a class is unknown
_CONSTRUCTION = frozenset({"__init__", "__new__"})


class Trainer(NamedTuple):
    """The trainer of a package that a class comes from, "" for a mix-in that comes from none; the methods that classes
    of the project define on the way and that do not call what they override; and all that these classes bind, with
    `__init__` where a decorator, a metaclass or another line of their module may have put another one in its place.
    """

    dotted: str
    defined: frozenset[str]
    between: frozenset[str]


def trainer_of(cls: ast.ClassDef, module: PythonModule, project: Project, depth: int = 0) -> Trainer | None:
    """The one imported trainer among the bases of a class, with its mix-ins; None where a base is not understood."""
    from trl_lint.checks.drift._override_fixes import calls_above

    own = [s for s in cls.body if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef))]
    defined = frozenset(method.name for method in own if not calls_above(method, module))
    between: frozenset[str] = frozenset()
    dotted = ""
    for base in cls.bases:
        if key_of(base).rpartition(".")[2] in _PLAIN_BASES:
            continue
        found = _base(base, cls, module, project, depth)
        if found is None or (dotted and found.dotted and not {dotted, found.dotted} & _PLAIN_TRAINERS):
            return None
        # `class Mine(SchedulerMixin, DPOTrainer)`, and the mix-in is a Trainer as well.
        dotted = found.dotted if dotted in _PLAIN_TRAINERS or not dotted else dotted
        defined, between = defined | found.defined, between | found.between
    return Trainer(dotted, defined, between | _bound_by(cls, module) if depth else between)


def _bound_by(cls: ast.ClassDef, module: PythonModule) -> frozenset[str]:
    """The names that the body of a class binds; and `__init__` where something else may do so."""
    nodes = [node for statement in cls.body for node in ast.walk(statement)]
    bound = {
        alias.asname or alias.name for node in nodes for alias in getattr(node, "names", ()) if type(alias) is ast.alias
    }
    bound |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    is_plain = not cls.keywords and not cls.decorator_list and not is_patched(module)
    return frozenset(bound if is_plain else bound | _CONSTRUCTION)


def _base(
    base: ast.expr, cls: ast.ClassDef | None, module: PythonModule, project: Project, depth: int
) -> Trainer | None:
    callee = imported(base, module)
    if callee is not None:
        known = callee.package in ("trl", "transformers")
        return Trainer(callee.dotted, frozenset(), frozenset()) if known else None
    if depth >= _BASES_DEEP:
        return None
    home, name = module, base.id if isinstance(base, ast.Name) else ""
    if key_of(base) and module.names.is_imported(key_of(base).partition(".")[0]):
        from trl_lint.project.modules import imported_name

        elsewhere = imported_name(module, base, project)
        if elsewhere is None:
            return None
        home, name = elsewhere
    found = [c for c in home.classes if c.name == name and c is not cls]
    return trainer_of(found[0], home, project, depth + 1) if len(found) == 1 else None


def inherited_calls(module: PythonModule, project: Project) -> Iterator[tuple[ast.Call, Callee, Choices]]:
    """The calls of trainers and configs of the project that have mix-ins or stand in another module, with the class of
    a package whose constructor they inherit, as `judged_calls`. Only calls with a keyword that some release renamed are
    looked at.
    """
    for call in calls_of_others(module):
        if any(keyword.arg in _renamed() for keyword in call.keywords):
            callee = _constructor(call.func, module, project)
            known = choices_at(module, call, project, callee.package) if callee is not None else None
            if callee is not None and known is not None:
                yield call, callee, known


@cache
def _renamed() -> frozenset[str]:
    from trl_lint.knowledge.renames import renames

    return frozenset(row.old for row in renames())


def _constructor(node: ast.expr, module: PythonModule, project: Project) -> Callee | None:
    """What constructing a class of the project calls; None where a class on the way has its own say in that."""
    if key_of(node).endswith(TRAINERS):
        trainer = _base(node, None, module, project, 0)
        if trainer is None or not trainer.dotted or not _CONSTRUCTION.isdisjoint(trainer.between):
            return None
        return Callee(trainer.dotted, frozenset())
    from trl_lint.run.parsers import fields_of

    fields = fields_of(node, module, project)
    if fields is None or fields.is_changed or len(fields.bases) != 1:
        return None
    return Callee(fields.bases[0], frozenset(fields.own))
