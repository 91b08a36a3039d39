"""What a name or an attribute is: a field, a property that is followed, a method, a constant of a module, a fact."""

from __future__ import annotations

import ast
import builtins

from trl_lint.knowledge.refresher.conditions_made import changed, is_changed
from trl_lint.knowledge.refresher.conditions_raw import field_of
from trl_lint.knowledge.refresher.conditions_source import ClassSource
from trl_lint.knowledge.refresher.conditions_state import CONFIG, ELSEWHERE, Closure, Frame, Machine
from trl_lint.knowledge.refresher.conditions_terms import Term, const, is_const, operation, unknown
from trl_lint.python.default_text import last_name

# Properties of transformers.TrainingArguments and attributes of accelerate's objects that tell of the run.
_RUN_FACTS = {
    "num_processes": "num_processes", "world_size": "num_processes", "process_index": "rank",
    "local_process_index": "local_rank", "n_gpu": "n_gpu", "is_deepspeed_enabled": "deepspeed",
    "is_fsdp_enabled": "fsdp", "device": "device", "parallel_mode": "parallel_mode",
    "deepspeed_plugin": "deepspeed_plugin",
}  # fmt: skip
_RUN_OBJECTS = frozenset({"num_processes", "is_deepspeed_enabled", "is_fsdp_enabled"})
_PLUGIN = Term("fact", "deepspeed_plugin")
_TYPES = frozenset(
    {"str", "int", "float", "bool", "list", "dict", "tuple", "set", "type", "object", "complex", "bytes"}
)


def read_attribute(value: Term, name: str, frame: Frame) -> Term:
    """`value.name`."""
    machine = frame.machine
    if value.operator == "object":
        found = machine.heap.get((value.parts[0], name))
        return found if found is not None else initial(machine, value.parts[0], name, frame)
    if value.operator == "module":
        return global_value(machine, value.parts[0], name)
    if value.operator == "class":
        return read_class(machine, value, name)
    if machine.has_blocks and value.operator == "field":
        return read_setting(machine, f"{value.parts[0]}.{name}")
    if name in _RUN_OBJECTS:
        return Term("fact", _RUN_FACTS[name])
    if value == _PLUGIN and name == "zero_stage":
        return Term("fact", name)
    if is_changed(value, machine):
        return changed(value)
    if is_const(value) and name == "value":
        return value  # a member of an enum stands for its value
    return operation("attribute", value, names=(name,))


def read_setting(machine: Machine, name: str) -> Term:
    """A setting of a block, by its dotted name."""
    found = machine.heap.get((CONFIG, name))
    return found if found is not None else Term("field", name)


def initial(machine: Machine, owner: str, name: str, frame: Frame | None = None) -> Term:
    """What an attribute of the config or the trainer is before anything was assigned to it."""
    if owner == CONFIG and (owner not in machine.classes or "." in name):
        return Term("field", name)  # the settings of a program, which are no class
    if owner == ELSEWHERE:
        return Term("fact", _RUN_FACTS[name]) if name in _RUN_FACTS else Term("base", name)
    if owner not in machine.classes:
        return unknown("an object that depends on values")
    cls = machine.classes[owner]
    this = Term("object", owner)
    sources = machine.sources
    for each in sources.order(cls):
        if not isinstance(each, ClassSource):
            continue
        if name in each.fields and owner in machine.made:
            return read_setting(machine, f"{machine.made[owner]}.{name}")
        if name in each.fields and machine.reads_dict:
            return field_of(machine, each, name, each.fields[name])
        if name in each.fields and owner == CONFIG:
            return _field(machine, owner, name, sources.external_bases(cls))
        if name in each.values:
            return _constant(machine, each.module, each.values[name])
        if name in each.functions:
            function = each.functions[name]
            method = machine.function(Closure(each.module, function, each, None), this)
            decorators = {last_name(d) for d in function.decorator_list}
            if decorators & {"property", "cached_property"}:
                return unknown("a property") if frame is None else call(method, [], {}, frame)
            if "staticmethod" in decorators:
                return Term("function", method.parts[0])
            return method
    bases = sources.external_bases(cls)
    if name in _RUN_FACTS and (owner != CONFIG or bases):
        return Term("fact", _RUN_FACTS[name])
    if owner == CONFIG and bases:
        return _field(machine, owner, name, bases)
    if machine.reads_dict and bases:
        return Term("base", name)
    return unknown("an attribute of an object made in the constructor")


def _field(machine: Machine, owner: str, name: str, bases: list[str]) -> Term:
    """A field as given, or as it is after the base from another package ran."""
    if owner in machine.ran and any(machine.may_change(base, name) for base in bases):
        return Term("base", name)
    return Term("field", name)


def read_class(machine: Machine, value: Term, name: str) -> Term:
    cls = machine.sources.class_at(value.parts[0])
    if cls is None:
        return unknown("a call into another package")
    for each in machine.sources.order(cls):
        if isinstance(each, ClassSource) and name in each.values:
            return _constant(machine, each.module, each.values[name])
        if isinstance(each, ClassSource) and name in each.functions:
            is_bound = any(last_name(d) == "classmethod" for d in each.functions[name].decorator_list)
            closure = Closure(each.module, each.functions[name], each, None)
            return machine.function(closure, value if is_bound and machine.reads_dict else None)
    if name == "__name__":
        return const(cls.name)
    return unknown("an attribute of a class")


def _constant(machine: Machine, module: str, node: ast.expr) -> Term:
    """A constant of a module or class: evaluated where nothing but constants is around it."""
    from trl_lint.knowledge.refresher.conditions_expressions import evaluate

    if len(machine.stack) > 40 or node in machine.stack:
        return unknown("constants in a circle")
    holder = ast.parse("def constant(): pass").body[0]
    assert isinstance(holder, ast.FunctionDef)
    facts, path, heap = machine.facts, machine.path, machine.heap
    machine.facts, machine.path, machine.heap = [], [], {}
    machine.stack.append(node)
    try:
        found = evaluate(node, Frame(machine, Closure(module, holder, None, None), {}))
    finally:
        machine.stack.pop()
        machine.facts, machine.path, machine.heap = facts, path, heap
    return found if found.operator != "unknown" else unknown("a constant that is computed at import")


def global_value(machine: Machine, module: str, name: str) -> Term:
    """What a name of a module is."""
    reference = machine.sources.resolve(f"{module}:{name}")
    home, _, original = reference.partition(":")
    source = machine.sources.modules.get(home)
    if not original:
        return Term("module", home)
    if source is None or not source.name:
        return _foreign(home, original)
    if original in source.classes:
        return Term("class", reference)
    if original in source.functions:
        return machine.function(Closure(home, source.functions[original], None, None), None)
    if original in source.values:
        if _is_filled_later(source.values[original]):
            return unknown("a table that is filled at import")
        return _constant(machine, home, source.values[original])
    if original in _TYPES:
        return Term("class", original)
    return Term("class", f"builtins:{original}") if hasattr(builtins, original) else unknown(f"the name {original}")


def _is_filled_later(node: ast.expr) -> bool:
    """Whether a module begins a table with nothing in it: a registry, which decorators and other modules fill."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("dict", "list", "set") and not node.args and not node.keywords
    return (isinstance(node, ast.Dict) and not node.keys) or (isinstance(node, ast.List) and not node.elts)


def _foreign(home: str, name: str) -> Term:
    """A name of another package or of a module that does not stand in the archive."""
    if home == "os" and name == "environ":
        return Term("fact", "environment")
    if name == "__version__":
        return Term("fact", "version", const(home.partition(".")[0]))
    if home == "omegaconf" and name == "MISSING":
        return const("???")
    if name[:1].isupper():
        return Term("class", f"{home}:{name}")
    return Term("module", f"{home}.{name}")


def call(function: Term, arguments: list[Term], named: dict[str, Term], frame: Frame) -> Term:
    from trl_lint.knowledge.refresher.conditions_statements import call_function

    return call_function(function, arguments, named, frame)
