"""Statements: the order in which fields are repaired, tested and refused."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal

from trl_lint.knowledge.refresher.conditions_expressions import evaluate, sentence_of, truth
from trl_lint.knowledge.refresher.conditions_loops import attempt, catch, loop, written
from trl_lint.knowledge.refresher.conditions_made import note_change
from trl_lint.knowledge.refresher.conditions_objects import initial
from trl_lint.knowledge.refresher.conditions_raw import is_data, spoil_fields, store_key
from trl_lint.knowledge.refresher.conditions_state import CONFIG, DEEPEST, Frame, merge_heaps, merge_names
from trl_lint.knowledge.refresher.conditions_terms import (
    FALSE,
    NONE,
    TRUE,
    Term,
    choice,
    conjunction,
    disjunction,
    is_const,
    negation,
    operation,
    unknown,
    untrue,
)
from trl_lint.python.default_text import dotted, last_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from trl_lint.knowledge.refresher.conditions_source import Function
    from trl_lint.knowledge.refresher.conditions_state import Heap

End = Literal["goes on", "returns", "raises"]
# What changes how many items a list or a dict has, and which.
_GROWING = frozenset({"append", "extend", "insert", "pop", "popitem", "remove", "clear", "update", "setdefault", "add"})
_HARMLESS = frozenset({"debug", "info", "get", "add_callback", "warning_advice"})


def call_function(function: Term, arguments: list[Term], named: dict[str, Term], frame: Frame) -> Term:
    """The value of a call that is followed; it may change attributes and refuse."""
    machine = frame.machine
    closure = machine.functions[function.parts[0]]
    node = closure.node
    if node.name in machine.results:
        return machine.results[node.name]
    if len(machine.stack) >= DEEPEST or node in machine.stack:
        return unknown("calls that are too deep")
    if isinstance(node, ast.AsyncFunctionDef) or any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(node)):
        return unknown("a generator")
    bound = list(function.parts[1:])
    names = {**(closure.around or {}), **_bind(node, bound + arguments, named, frame, closure.module)}
    inner = Frame(machine, closure, names)
    machine.stack.append(node)
    try:
        end = block(node.body, inner)
    finally:
        machine.stack.pop()
    del machine.path[inner.entered :]
    value = NONE
    heap = machine.heap
    returns = inner.returns
    if end != "goes on" and returns:
        _, value, heap = returns.pop()
    for condition, other, other_heap in reversed(returns):
        value = choice(condition, other, value)
        heap = merge_heaps(condition, other_heap, heap, initial_of(inner))
    machine.heap = heap
    return value


def _bind(node: Function, arguments: list[Term], named: dict[str, Term], frame: Frame, module: str) -> dict[str, Term]:
    taken = node.args
    positional = [*taken.posonlyargs, *taken.args]
    names: dict[str, Term] = {}
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(taken.defaults)) + list(taken.defaults)
    for number, (parameter, default) in enumerate(
        [*zip(positional, defaults, strict=True), *zip(taken.kwonlyargs, taken.kw_defaults, strict=True)]
    ):
        if number < min(len(arguments), len(positional)):
            names[parameter.arg] = arguments[number]
        elif parameter.arg in named:
            names[parameter.arg] = named[parameter.arg]
        elif "**" in named or default is None:
            names[parameter.arg] = unknown("arguments that are not written out")
        else:
            names[parameter.arg] = evaluate(default, frame)
    for rest in (taken.vararg, taken.kwarg):
        if rest is not None:
            names[rest.arg] = unknown("arguments that are not written out")
    return names


def initial_of(frame: Frame) -> Callable[[tuple[str, str]], Term]:
    return lambda key: initial(frame.machine, key[0], key[1])


def block(statements: list[ast.stmt], frame: Frame) -> End:
    """Execute statements. The path grows by what must hold for the rest of the function to be reached."""
    for node in statements:
        end = _statement(node, frame)
        if end != "goes on":
            return end
        if FALSE in frame.machine.path:
            return "returns"
    return "goes on"


def _statement(node: ast.stmt, frame: Frame) -> End:
    machine = frame.machine
    if isinstance(node, ast.If):
        return _if(node, frame)
    if isinstance(node, ast.Raise):
        _refuse(node.exc, TRUE, frame, node)
        return "raises"
    if isinstance(node, ast.Assert):
        condition = untrue(truth(node.test, frame))
        text = sentence_of(evaluate(node.msg, frame), machine.has_blocks) if node.msg is not None else ""
        machine.tell("refuse", condition, f"AssertionError: {text}", frame, node)
    elif isinstance(node, ast.Return):
        value = evaluate(node.value, frame) if node.value is not None else NONE
        frame.returns.append((conjunction(machine.path[frame.entered :]), value, dict(machine.heap)))
        return "returns"
    elif isinstance(node, (ast.Continue, ast.Break)):
        return "returns"
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        _assign(node, frame)
    elif isinstance(node, ast.Expr):
        _expression(node.value, frame)
    elif isinstance(node, (ast.For, ast.While)):
        return loop(node, frame)
    elif isinstance(node, ast.Try):
        return attempt(node, frame)
    elif isinstance(node, ast.With):
        told = len(machine.facts)
        end = block(node.body, frame)
        contexts = [i.context_expr for i in node.items]
        if any(isinstance(each, ast.Call) and last_name(each.func) == "suppress" for each in contexts):
            catch(machine, told)
            return "goes on"
        return end
    elif isinstance(node, ast.FunctionDef):
        from trl_lint.knowledge.refresher.conditions_state import Closure

        frame.names[node.name] = machine.function(Closure(frame.module, node, None, frame.names), None)
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        _import(node, frame)
    elif isinstance(node, ast.Delete):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and is_data(evaluate(target.value, frame), frame):
                store_key(machine, evaluate(target.slice, frame), NONE)
            else:
                store(target, unknown("del"), frame)
    elif isinstance(node, ast.Match):
        names, attributes = written([node], frame)
        frame.forget(names, attributes, "a match statement")
    return "goes on"


def _import(node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
    from trl_lint.knowledge.refresher.conditions_objects import global_value
    from trl_lint.knowledge.refresher.conditions_source import import_home

    source = frame.machine.sources
    package = frame.module if f"{frame.module}.__init__" in source.modules else frame.module.rpartition(".")[0]
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            frame.names[alias.asname or alias.name] = global_value(
                frame.machine, import_home(package, node), alias.name
            )
        else:
            frame.names[alias.asname or alias.name.partition(".")[0]] = Term("module", alias.name)


def _refuse(exception: ast.expr | None, condition: Term, frame: Frame, node: ast.stmt) -> None:
    if exception is None:
        return  # what was raised before goes on
    text = ""
    name = last_name(exception.func if isinstance(exception, ast.Call) else exception)
    if isinstance(exception, ast.Call) and exception.args:
        text = sentence_of(evaluate(exception.args[0], frame), frame.machine.has_blocks)
    if name == "NotImplementedError" and not text and condition == TRUE and not frame.machine.path:
        return
    frame.machine.tell("refuse", condition, f"{name}: {text}", frame, node)


def _if(node: ast.If, frame: Frame) -> End:
    machine = frame.machine
    condition = truth(node.test, frame)
    if is_const(condition):
        return block(node.body if condition.parts[0] else node.orelse, frame)
    saved, depth = frame.save(), len(machine.path)
    ends: list[End] = []
    after: list[tuple[dict[str, Term], Heap]] = []
    guards: list[list[Term]] = []
    for side, body in ((condition, node.body), (negation(condition), node.orelse)):
        frame.restore(saved)
        machine.path.append(side)
        ends.append(block(body, frame))
        after.append((frame.names, machine.heap))
        guards.append(machine.path[depth + 1 :])
        del machine.path[depth:]
    first, second = ends
    if first == second == "goes on":
        (names, heap), (other_names, other_heap) = after
        frame.names = merge_names(condition, names, other_names)
        machine.heap = merge_heaps(condition, heap, other_heap, initial_of(frame))
        machine.path += [disjunction([negation(condition), guard]) for guard in guards[0]]
        machine.path += [disjunction([condition, guard]) for guard in guards[1]]
        return "goes on"
    for number, side in ((0, condition), (1, negation(condition))):
        if ends[number] == "goes on":
            frame.names, machine.heap = after[number]
            # After a refusal nothing has to be said: with either of the two the values are refused.
            machine.path += [side] * (ends[1 - number] == "returns") + guards[number]
            return "goes on"
    return "raises" if first == second == "raises" else "returns"


def _assign(node: ast.Assign | ast.AnnAssign | ast.AugAssign, frame: Frame) -> None:
    if node.value is None:
        return
    if isinstance(node, ast.AugAssign):
        load = ast.copy_location(ast.BinOp(_loaded(node.target), node.op, node.value), node)
        store(node.target, evaluate(load, frame), frame)
        return
    value = evaluate(node.value, frame)
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        store(target, value, frame)


def _loaded(target: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(target), mode="eval").body


def store(target: ast.expr, value: Term, frame: Frame) -> None:
    if isinstance(target, ast.Name):
        frame.names[target.id] = value
    elif isinstance(target, ast.Attribute):
        owner = evaluate(target.value, frame)
        if owner.operator == "object":
            if value.operator == "unknown":
                value = frame.machine.assumed.get(target.attr, value)
            frame.machine.heap[owner.parts[0], target.attr] = value
        elif owner.operator == "field" and frame.machine.has_blocks:
            frame.machine.heap[CONFIG, f"{owner.parts[0]}.{target.attr}"] = value
        elif not _is_given(target.value, frame):
            _spoil(target.value, "an object changed in place", frame)
    elif isinstance(target, ast.Subscript):
        _store_item(target, value, frame)
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = value.parts if value.operator in ("tuple", "list") else ()
        for number, item in enumerate(target.elts):
            known = parts[number] if len(parts) == len(target.elts) else unknown("unpacking")
            store(item.value if isinstance(item, ast.Starred) else item, known, frame)


def _is_given(place: ast.expr, frame: Frame) -> bool:
    """Whether what an attribute is set on is (an attribute of) an argument of a trainer; then it is noted.

    The argument itself stays what it was: of its class, None or not.
    """
    while isinstance(place, ast.Attribute):
        place = place.value
    return isinstance(place, ast.Name) and note_change(evaluate(place, frame), frame.machine)


def _store_item(target: ast.Subscript, value: Term, frame: Frame) -> None:
    """`d["k"] = v` makes another dict of the same name: `d | {"k": v}`."""
    key = unknown("a slice") if isinstance(target.slice, ast.Slice) else evaluate(target.slice, frame)
    old = evaluate(target.value, frame)
    if is_data(old, frame):
        store_key(frame.machine, key, value)
        return
    if frame.machine.reads_dict and isinstance(target.value, ast.Name):
        spoil_fields(old, frame.machine)  # the same dict may be a part of the config
    if is_const(key) and old.operator in ("field", "dict", "binary", "if") and isinstance(key.parts[0], str):
        item = Term("dict", key, value) if value.operator not in ("unknown", "text") else None
        new = operation("binary", old, item, names=("|",)) if item is not None else unknown("a dict changed in place")
        _replace(target.value, new, frame)
    else:
        _spoil(target.value, "a dict or list changed in place", frame)


def _replace(place: ast.expr, value: Term, frame: Frame) -> None:
    if isinstance(place, ast.Name):
        frame.names[place.id] = value
    elif isinstance(place, ast.Attribute):
        owner = evaluate(place.value, frame)
        if owner.operator == "object":
            frame.machine.heap[owner.parts[0], place.attr] = value
    elif isinstance(place, ast.Subscript) and is_data(evaluate(place.value, frame), frame):
        store_key(frame.machine, evaluate(place.slice, frame), value)


def _spoil(place: ast.expr, reason: str, frame: Frame) -> None:
    """What is changed in place is unknown, under every name that it is known by."""
    while isinstance(place, (ast.Subscript, ast.Attribute)) and not _is_attribute_of_object(place, frame):
        place = place.value
    if isinstance(place, ast.Name) and frame.names.get(place.id, NONE).operator == "object":
        return
    old = evaluate(place, frame)
    _replace(place, unknown(reason), frame)
    if frame.machine.reads_dict:
        spoil_fields(old, frame.machine)
    if old.operator in ("field", "base"):
        for key, held in list(frame.machine.heap.items()):
            if held == old:
                frame.machine.heap[key] = unknown(reason)
        frame.machine.heap["config", old.parts[0]] = unknown(reason)


def _is_attribute_of_object(place: ast.expr, frame: Frame) -> bool:
    return isinstance(place, ast.Attribute) and evaluate(place.value, frame).operator == "object"


def _expression(node: ast.expr, frame: Frame) -> None:
    machine = frame.machine
    evaluate(node, frame)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr not in _HARMLESS:
        owner = node.func.value
        if dotted(owner) in ("warnings", "logger", "logging", "self") or isinstance(owner, ast.Call):
            return
        if isinstance(owner, (ast.Name, ast.Attribute, ast.Subscript)):
            held = evaluate(owner, frame)
            is_grown = node.func.attr in _GROWING
            if held.operator == "if" and not is_grown and isinstance(owner, ast.Name) and note_change(held, machine):
                return
            is_kept = held.operator in ("object", "module", "class", "function")
            if not is_kept and (is_grown or held.operator not in ("arg", "unknown")):
                _spoil(owner, "a dict or list changed in place", frame)
