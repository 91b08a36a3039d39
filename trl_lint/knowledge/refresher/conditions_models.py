"""What a model of pydantic refuses of a config that is read from a file, in the order in which pydantic looks at it:

validators of the whole before its fields, the later ones first; what the fields may be, with the validators of each;
validators of the whole afterwards. Those before may change the config, and those afterwards see defaults.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.knowledge.refresher.conditions_declared import (
    allowed_values,
    bounds_of,
    is_model,
    outside_of,
    takes_none,
    validator_mode,
    validators,
)
from trl_lint.knowledge.refresher.conditions_raw import (
    DATA,
    OF_MACHINE,
    ROOT,
    alias_of,
    field_of,
    is_required,
    plain,
    read_key,
    without_machine,
)
from trl_lint.knowledge.refresher.conditions_source import ClassSource, Sources
from trl_lint.knowledge.refresher.conditions_state import CONFIG, Closure, Found, Frame, Heap, Machine
from trl_lint.knowledge.refresher.conditions_statements import call_function
from trl_lint.knowledge.refresher.conditions_terms import (
    TRUE,
    Term,
    choice,
    compare,
    conjunction,
    const,
    operation,
    unknown,
)
from trl_lint.knowledge.refresher.conditions_types import takes_others, type_of
from trl_lint.records import NamedTuple


class Validator(NamedTuple):
    """A validator, the class that has it, and the fields that it is asked of; none for the whole."""

    owner: ClassSource
    name: str
    kind: str
    mode: str
    fields: tuple[str, ...] = ()


def facts_of_model(sources: Sources, cls: ClassSource, hidden: tuple[str, ...]) -> list[Found]:
    """What a model says of a config that is read from a file. `hidden`: keys that no file has, of the machine."""
    machine = Machine(sources, lambda reference, field: False)
    machine.reads_dict = True
    machine.heap = {(CONFIG, name): unknown(OF_MACHINE) for name in hidden}
    known = list(_validators(sources, cls))
    for each in reversed([each for each in known if each.kind == "model_validator" and each.mode == "before"]):
        _run_before(machine, each)
    _look_at_fields(machine, cls, [each for each in known if each.kind == "field_validator"])
    machine.heap = _with_defaults(machine, cls)
    machine.classes[CONFIG] = cls
    for each in known:
        if each.kind == "model_validator" and each.mode == "after":
            _run(machine, each, [], Term("object", CONFIG))
    for each in known:
        if each.mode not in ("before", "after"):
            machine.path.append(unknown(f"a validator of the kind {each.mode or each.kind}"))
            _run(machine, each, [unknown("arguments that are not written out")], None)
            machine.path.pop()
    # Validators move from class to class; what they say stays.
    return [
        fact._replace(
            condition=plain(without_machine(fact.condition)),
            holder=f"config.{fact.holder.partition('.')[2] or 'fields'}",
        )
        for fact in machine.facts
    ]


def _validators(sources: Sources, cls: ClassSource) -> Iterator[Validator]:
    """The validators of a model and its bases, the oldest first; one that is overridden stands where it stood."""
    found: dict[str, Validator] = {}
    for owner in reversed([each for each in sources.order(cls) if isinstance(each, ClassSource)]):
        for name, call in validators(owner):
            kind, mode, fields = validator_mode(call)
            found[name] = Validator(owner, name, kind, mode, fields)
    yield from found.values()


def _run(machine: Machine, validator: Validator, given: list[Term], this: Term | None) -> Term:
    owner = validator.owner
    closure = Closure(owner.module, owner.functions[validator.name], owner, None)
    depth = len(machine.path)
    found = call_function(machine.function(closure, this), given, {}, Frame(machine, closure, {}))
    del machine.path[depth:]
    return found


def _run_before(machine: Machine, validator: Validator) -> None:
    found = _run(machine, validator, [Term("class", validator.owner.reference), DATA], None)
    if found != DATA:
        machine.lost = "a validator that makes another config"


def _look_at_fields(machine: Machine, cls: ClassSource, known: list[Validator]) -> None:
    """What each field may be, if it is given: its validators, what is declared of it."""
    for owner, name, node in _fields(machine.sources, cls):
        for key in dict.fromkeys((alias_of(node.value) or name, name)):
            _look_at_field(machine, owner, name, key, node, [each for each in known if name in each.fields])
        if is_required(node):
            absent = compare("not in", const(name), ROOT)
            if (CONFIG, name) not in machine.heap and not alias_of(node.value) and not machine.lost:
                machine.facts.append(
                    Found("refuse", absent, f"ValidationError: {name}: Field required", owner.name, node.lineno)
                )


def _look_at_field(
    machine: Machine, owner: ClassSource, name: str, key: str, node: ast.AnnAssign, known: list[Validator]
) -> None:
    value = read_key(machine, const(key))
    is_given = TRUE if (CONFIG, key) in machine.heap else compare("in", const(key), ROOT)
    machine.path.append(is_given)
    for each in known:
        if each.mode == "before":
            value = _run(machine, each, [Term("class", each.owner.reference), value], None)
    machine.path.pop()
    _tell_declared(machine, owner, key, value, node, is_given, [])
    is_asked = value == Term("field", key) and not any(each.mode not in ("before", "after") for each in known)
    is_asked = is_asked and key == (alias_of(node.value) or name)  # of two names the other one counts
    if is_asked:
        _tell_type(machine, owner, key, node)
    inner = _model_of(machine.sources, owner.module, node.annotation)
    is_asked = is_asked and inner is not None and not takes_others(machine.sources, inner)
    for inner_owner, inner_name, inner_node in _fields(machine.sources, inner) if inner is not None else ():
        if is_asked:
            _tell_type(machine, inner_owner, f"{key}.{alias_of(inner_node.value) or inner_name}", inner_node)
        inner_key = const(alias_of(inner_node.value) or inner_name)
        held = operation("method", value, inner_key, names=("get",))
        is_there = compare("in", inner_key, value)
        _tell_declared(machine, inner_owner, f"{key}.{inner_name}", held, inner_node, is_there, [value])
    machine.path.append(is_given)
    for each in known:
        if each.mode == "after":
            value = _run(machine, each, [Term("class", each.owner.reference), value], None)
    machine.path.pop()
    if known and key == name:
        machine.heap[CONFIG, key] = choice(is_given, value, read_key(machine, const(key)))


def _tell_type(machine: Machine, owner: ClassSource, path: str, node: ast.AnnAssign) -> None:
    """Tell the type of a field that nothing changes before pydantic looks at it."""
    kind = type_of(machine.sources, owner.module, node.annotation)
    if kind and not allowed_values(machine.sources, owner.module, node.annotation):  # those are told as values
        machine.facts.append(Found("type", Term("field", path), kind, owner.name, node.lineno))


def _tell_declared(
    machine: Machine,
    owner: ClassSource,
    name: str,
    value: Term,
    node: ast.AnnAssign,
    is_given: Term,
    around: list[Term],
) -> None:
    """Tell what a field may be, where it is given; `around`: that the block is there in which it stands."""
    is_said = [] if takes_none(machine.sources, owner.module, node.annotation) else [is_given]
    said = (*outside_of(machine.sources, owner.module, value, name, node.annotation), *bounds_of(value, name, node))
    for condition, words in said:
        condition = conjunction([*around, *is_said, condition])
        machine.facts.append(Found("refuse", condition, f"ValidationError: {words}", owner.name, node.lineno))


def _model_of(sources: Sources, module: str, annotation: ast.expr) -> ClassSource | None:
    """The model that a field holds, where it holds nothing else but None."""
    names = [node.id for node in ast.walk(annotation) if isinstance(node, ast.Name) and node.id != "Optional"]
    cls = sources.class_at(f"{module}:{names[0]}") if len(names) == 1 else None
    return cls if cls is not None and not sources.is_enum(cls) and is_model(sources, cls) else None


def _fields(sources: Sources, cls: ClassSource) -> Iterator[tuple[ClassSource, str, ast.AnnAssign]]:
    told = {"model_config"}
    for each in [each for each in sources.order(cls) if isinstance(each, ClassSource)]:
        for name, node in each.fields.items():
            if name not in told:
                told.add(name)
                yield each, name, node


def _with_defaults(machine: Machine, cls: ClassSource) -> Heap:
    """What the fields are that validators have changed, or may have been given by another name."""
    changed = {name for _, name in machine.heap}
    return {
        (CONFIG, name): field_of(machine, owner, name, node)
        for owner, name, node in _fields(machine.sources, cls)
        if machine.lost or name in changed or alias_of(node.value) in changed
    }
