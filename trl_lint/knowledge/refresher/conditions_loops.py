"""Loops and exceptions: what is said once for each item, and what somebody may catch."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from trl_lint.knowledge.refresher.conditions_expressions import each_of, evaluate
from trl_lint.knowledge.refresher.conditions_made import other_items
from trl_lint.knowledge.refresher.conditions_raw import is_data
from trl_lint.knowledge.refresher.conditions_state import CONFIG, merge_heaps, merge_names
from trl_lint.knowledge.refresher.conditions_terms import TRUE, Term, conjunction, const, is_const, negation, unknown
from trl_lint.python.default_text import dotted, last_name

if TYPE_CHECKING:
    from trl_lint.knowledge.refresher.conditions_state import Frame, Machine
    from trl_lint.knowledge.refresher.conditions_statements import End

_CARRIED = "state carried through a loop"
_LONGEST_LOOP = 40
_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError"})


def loop(node: ast.For | ast.While, frame: Frame) -> End:
    """A loop over items that are known runs once for each; of another one every turn may be any item's."""
    from trl_lint.knowledge.refresher.conditions_statements import block, store

    items = evaluate(node.iter, frame) if isinstance(node, ast.For) else None
    known = _items(items)
    has_break = any(isinstance(each, ast.Break) for each in ast.walk(node))
    if isinstance(node, ast.For) and known is not None and len(known) <= _LONGEST_LOOP and not has_break:
        for item in known:
            depth = len(frame.machine.path)
            store(node.target, item, frame)
            end = block(node.body, frame)
            if not any(isinstance(each, ast.Return) for each in ast.walk(node)):
                del frame.machine.path[depth:]  # `continue` skips the rest of one turn
            elif end != "goes on":
                return end
        return block(node.orelse, frame)
    names, attributes = written(node.body, frame)
    kept = {name: other_items(frame.names[name], _CARRIED) for name in _refilled(node) if name in frame.names}
    frame.forget(names, attributes, _CARRIED)
    depth, told = len(frame.machine.path), len(frame.machine.facts)
    variable = None
    if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and not has_break and not names:
        frame.variables += 1
        variable = f"e{frame.variables}"
        frame.names[node.target.id] = Term("variable", variable)
    elif isinstance(node, ast.For):
        store(node.target, unknown(_CARRIED), frame)
    block(node.body, frame)
    del frame.machine.path[depth:]
    for number in range(told, len(frame.machine.facts)):
        fact = frame.machine.facts[number]
        condition = fact.condition
        if variable is not None and items is not None:
            parts = condition.terms if condition.operator == "and" else [condition]
            inner = [part for part in parts if _mentions(part, variable)]
            outer = [part for part in parts if part not in inner]
            condition = conjunction([*outer, each_of("any", conjunction(inner), variable, items, TRUE)])
        else:
            condition = conjunction([condition, unknown(_CARRIED)])
        frame.machine.facts[number] = fact._replace(condition=condition)
    frame.forget(names, attributes, _CARRIED)
    frame.names.update(kept)
    if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
        frame.names[node.target.id] = unknown(_CARRIED)
    return "goes on"


def _refilled(node: ast.For | ast.While) -> set[str]:
    """The lists to which `for i, x in enumerate(…)` does nothing but to set items of: `items[i] = …`."""
    if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call) or not isinstance(node.target, ast.Tuple):
        return set()
    index = node.target.elts[0]
    if dotted(node.iter.func) != "enumerate" or not isinstance(index, ast.Name):
        return set()
    found: set[str] = set()
    other: set[str] = set()
    for part in (each for statement in node.body for each in ast.walk(statement)):
        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and isinstance(part.ctx, ast.Store):
            is_item = isinstance(part.slice, ast.Name) and part.slice.id == index.id
            (found if is_item else other).add(part.value.id)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, (ast.Store, ast.Del)):
            other.add(part.id)
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            other.update(each.id for each in (part.func.value,) if isinstance(each, ast.Name))
    return found - other if index.id not in other else set()


def _mentions(term: Term, variable: str) -> bool:
    if term.operator == "variable":
        return bool(term.parts[0] == variable)
    return any(_mentions(part, variable) for part in term.terms)


def _items(items: Term | None) -> list[Term] | None:
    if items is None:
        return None
    if items.operator in ("list", "tuple", "set"):
        return items.terms
    if items.operator == "dict":
        return list(items.parts[::2])
    if items.operator == "method" and items.parts[0] == "items" and items.parts[1].operator == "dict":
        parts = items.parts[1].parts
        return [Term("tuple", key, value) for key, value in zip(parts[::2], parts[1::2], strict=True)]
    if is_const(items) and isinstance(items.parts[0], (tuple, list)):
        return [const(item) for item in items.parts[0]]
    return None


def attempt(node: ast.Try, frame: Frame) -> End:
    """What a handler that does not raise catches is no refusal; what it assigns may or may not be."""
    from trl_lint.knowledge.refresher.conditions_statements import block, initial_of

    machine = frame.machine
    machine_path = len(machine.path)
    catches = any(not _always_raises(handler.body) for handler in node.handlers)
    saved, told = frame.save(), len(machine.facts)
    end = block(node.body, frame)
    if catches:
        catch(machine, told)
    after, guards = (frame.names, machine.heap), machine.path[machine_path:]
    for handler in node.handlers:
        frame.restore(saved)
        del machine.path[machine_path:]
        missing = _missing_import(node.body, handler)
        condition = missing if missing is not None else unknown("an exception that is caught")
        machine.path.append(condition)
        handler_end = block(handler.body, frame)
        del machine.path[machine_path:]
        if handler_end == "goes on":
            after = (
                merge_names(condition, frame.names, after[0]),
                merge_heaps(condition, machine.heap, after[1], initial_of(frame)),
            )
            end = "goes on"
    frame.names, machine.heap = after
    machine.path += guards
    if end == "goes on":
        end = block(node.orelse, frame)
    last = block(node.finalbody, frame)
    return end if last == "goes on" else last


def catch(machine: Machine, told: int) -> None:
    """Refusals told since then are caught by somebody, for all that is known."""
    reason = unknown("an exception that is caught")
    for number in range(told, len(machine.facts)):
        fact = machine.facts[number]
        if fact.kind == "refuse":
            machine.facts[number] = fact._replace(condition=conjunction([fact.condition, reason]))


def _always_raises(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Raise)


def _missing_import(body: list[ast.stmt], handler: ast.ExceptHandler) -> Term | None:
    """`try: import x` with a handler of ImportError: it runs where x is not installed."""
    if not body or handler.type is None or last_name(handler.type) not in _IMPORT_ERRORS:
        return None
    first = body[0]
    if len(body) == 1 and isinstance(first, (ast.Import, ast.ImportFrom)):
        name = first.names[0].name if isinstance(first, ast.Import) else (first.module or "")
        if name and not (isinstance(first, ast.ImportFrom) and first.level):
            return negation(Term("fact", "installed", const(name.partition(".")[0].replace("_", "-"))))
    return None


def written(body: list[ast.stmt], frame: Frame) -> tuple[set[str], set[tuple[str, str]]]:
    """The names and the attributes of objects that statements assign to."""
    names: set[str] = set()
    attributes: set[tuple[str, str]] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                owner = frame.names.get(node.value.id) if isinstance(node.value, ast.Name) else None
                if owner is not None and owner.operator == "object":
                    attributes.add((owner.parts[0], node.attr))
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                base = node.value
                is_dict = isinstance(base, ast.Name) and is_data(frame.names.get(base.id, TRUE), frame)
                if is_dict and isinstance(node.slice, ast.Constant):
                    attributes.add((CONFIG, str(node.slice.value)))
                elif isinstance(base, ast.Name) and not is_dict:
                    names.add(base.id)
                elif isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
                    owner = frame.names.get(base.value.id)
                    if owner is not None and owner.operator == "object":
                        attributes.add((owner.parts[0], base.attr))
    return names, attributes
