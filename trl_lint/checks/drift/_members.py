"""Attributes and methods that are read from objects which the file builds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from trl_lint.checks.drift._calls import is_patched, is_unsloth, parameter
from trl_lint.checks.drift._classes import Callee
from trl_lint.checks.drift._objects import builds_objects, object_of, stored
from trl_lint.checks.drift._past import elsewhere
from trl_lint.checks.drift._wording import word_gone
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Verdict, judge
from trl_lint.knowledge.members import declares, has_member, is_method
from trl_lint.knowledge.presence import points_of_parameter
from trl_lint.project import Project
from trl_lint.project.stack import Choices, choices_at
from trl_lint.python.guards import key_of
from trl_lint.python.module import PythonModule
from trl_lint.python.version_guards import is_guarded
from trl_lint.records import NamedTuple

_OPENING = frozenset({"setattr", "vars", "delattr"})


class Read(NamedTuple):
    """An attribute that is read from an object of a class."""

    node: ast.Attribute
    owner: Callee


class GoneMember(NamedTuple):
    """An attribute that the releases in use lack: where it is read, in source order, and what to say of the first."""

    reads: list[Read]
    known: Choices
    verdict: Verdict
    message: str


def reads(module: PythonModule) -> Iterator[Read]:
    """The attributes that are read from objects of known classes, in source order.

    Not those that the file assigns to any object, and none of an object whose attributes it sets by name.
    """
    if is_patched(module) or not builds_objects(module):
        return
    assigned = stored(module)
    nodes = [
        node
        for node in module.of(ast.Attribute)
        if isinstance(node.ctx, ast.Load)
        and node.attr not in assigned
        and not node.attr.startswith("_")
        and isinstance(node.value, (ast.Name, ast.Attribute, ast.Call))
    ]
    opened = opened_objects(module)
    for node in sorted(nodes, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0)):
        owner = object_of(node.value, module)
        if owner is None or node.attr in owner.own or (is_unsloth(module) and owner.package in ("trl", "transformers")):
            continue
        if not (opened and ("" in opened or key_of(node.value) in opened)) and not is_narrowed(module, node):
            yield Read(node, owner)


def opened_objects(module: PythonModule) -> set[str]:
    """Objects that get attributes by name (`setattr(args, name, …)`, `vars(args)`, `args.__dict__`), by their keys.

    "" stands for one that is not known.
    """
    found = set()
    for call in module.calls:
        if isinstance(call.func, ast.Name) and call.func.id in _OPENING:
            found.add(key_of(call.args[0]) if call.args else "")
    for node in module.of(ast.Attribute):
        if node.attr in ("__dict__", "__class__"):
            found.add(key_of(node.value))
    return found - {"self"}


def is_narrowed(module: PythonModule, node: ast.Attribute) -> bool:
    """Whether a test on the way asks which class the object is of: then the branch may be for another one."""
    key = key_of(node.value)
    tests = (
        parent if isinstance(parent, ast.BoolOp) else parent.test
        for parent in module.ancestors(node)
        if isinstance(parent, (ast.If, ast.IfExp, ast.While, ast.BoolOp))
    )
    return any(
        isinstance(call, ast.Call)
        and key_of(call.func) in ("isinstance", "issubclass", "type")
        and bool(call.args)
        and key_of(call.args[0]).startswith(key)
        for test in tests
        for call in ast.walk(test)
    )


def gone_members(module: PythonModule, project: Project, rule: Rule) -> list[GoneMember]:
    """The attributes that the releases in use lack, each with all of its reads: the first one stops the program."""
    found: dict[tuple[str, str], GoneMember] = {}
    for read in reads(module):
        known = choices_at(module, read.node, project, read.owner.package)
        judged = judge_read(read, known, module, rule) if known is not None else None
        if known is None or judged is None or read.owner.package not in known:
            continue
        first = found.setdefault((read.owner.dotted, read.node.attr), GoneMember([], known, *judged))
        first.reads.append(read)
    return list(found.values())


def judge_read(read: Read, known: Choices, module: PythonModule, rule: Rule) -> tuple[Verdict, str] | None:
    """The verdict on an attribute and what to say of it; None where it is there or where nothing is proved."""
    question = (rule.code, "member", read.owner.dotted, read.node.attr)
    found = known.remembered(question, lambda: _judge_member(read.owner, read.node.attr, known, rule))
    return None if found is None or is_guarded(module, read.node, is_narrowed=True) else found


def _judge_member(owner: Callee, name: str, known: Choices, rule: Rule) -> tuple[Verdict, str] | None:
    """The verdict on an attribute wherever it is read in this environment."""
    dotted = owner.dotted
    points = points_of_parameter(f"{dotted}.{name}", name)
    if owner.package not in known:
        return None
    newest = known.newest(points)
    ask = partial(has_member, dotted, name)
    if has_member(dotted, name, newest) is None:
        return None
    past = elsewhere(dotted, points, newest, partial(declares, dotted, name))
    if past is None:
        return None
    is_gone = ask(newest) is False
    verdict = judge(known, points, ask, rule, past.package if is_gone else owner.package)
    if verdict is None:
        return None
    having = {**newest, past.package: past.releases[-1]}
    what = "method" if is_method(dotted, name, having) else "attribute"
    last = parameter(dotted, name, {**newest, past.package: past.older}) if past.older else None
    is_followed = last is not None and last.successor and has_member(dotted, last.successor, newest)
    from trl_lint.checks.drift._remedies import remedy_of_field

    remedy = remedy_of_field(dotted, name, last.successor if last is not None and is_followed else "", newest)
    return verdict, word_gone(verdict, past, what, name, owner.name, remedy)
