"""Settings in blocks (`config.actor.strategy`): a block is asked for what it may lack, and objects are made of it."""

from __future__ import annotations

from trl_lint.knowledge.refresher.conditions_source import ClassSource
from trl_lint.knowledge.refresher.conditions_state import CONFIG, Closure, Found, Frame
from trl_lint.knowledge.refresher.conditions_terms import NONE, Term, conjunction, const, is_const, operation, unknown

ROOT = "root"  # the name by which the whole config is asked for what it may not have
# The function by which verl makes a dataclass of a block; which one, `_target_` in the block says.
_MAKERS = frozenset({"omega_conf_to_dataclass"})
# Functions that give back their config with other words for the same settings.
_SAME = frozenset({"hierarchize"})


def is_block(term: Term, frame: Frame) -> bool:
    """Whether a term may be a block of settings, the whole config among them."""
    if not frame.machine.has_blocks:
        return False
    return term.operator == "field" or (term == Term("object", CONFIG) and CONFIG not in frame.machine.classes)


def ask_block(block: Term, name: Term, default: Term | None, frame: Frame) -> Term:
    """`block.get(name, default)`; without a default whether the block has it."""
    whole = Term("field", ROOT) if block.operator == "object" else block
    if not is_const(name):
        return unknown("a dynamic getattr")
    key = str(name.parts[0]) if block.operator == "object" else f"{block.parts[0]}.{name.parts[0]}"
    held = frame.machine.heap.get((CONFIG, key))
    if held is not None:
        return held
    if default is None:
        return operation("compare", name, whole, names=("in",))
    return operation("method", whole, name, *([default] if default != NONE else []), names=("get",))


def make(name: str, arguments: list[Term], frame: Frame) -> Term | None:
    """The object that a function makes of a block; None for other functions."""
    if not arguments or not is_block(arguments[0], frame):
        return None
    if name in _SAME:
        return arguments[0]
    if name not in _MAKERS or arguments[0].operator != "field":
        return None
    return Term("object", f"made {arguments[0].parts[0]}")


def is_made(term: Term, frame: Frame) -> bool:
    """Whether a term is an object made of a block, of which nothing else is known."""
    return (
        term.operator == "object" and term.parts[0].startswith("made ") and term.parts[0] not in frame.machine.classes
    )


def call_made(this: Term, method: str, arguments: list[Term], named: dict[str, Term], frame: Frame) -> Term:
    """A method of an object that is made of a block: what each class that it may be of says, if it is of that class."""
    machine, owner = frame.machine, this.parts[0]
    block = owner.removeprefix("made ")
    heap, depth, told = dict(machine.heap), len(machine.path), len(machine.facts)
    said: dict[Found, list[Term]] = {}
    for cls in _classes_with(method, len(arguments) + len(named), frame):
        machine.classes[owner], machine.made[owner] = cls, block
        _call(cls, this, "__post_init__", [], {}, frame)
        del machine.facts[told:]  # what the constructor says is told of the class
        _call(cls, this, method, arguments, named, frame)
        for fact in machine.facts[told:]:
            said.setdefault(fact, []).append(const(f".{cls.name}"))
        del machine.facts[told:], machine.path[depth:]
        machine.heap = dict(heap)
    machine.classes.pop(owner, None)
    machine.made.pop(owner, None)
    for fact, names in said.items():
        is_one = Term("method", "endswith", Term("field", f"{block}._target_"), Term("tuple", *names))
        machine.facts.append(fact._replace(condition=conjunction([is_one, fact.condition])))
    return unknown("an object that depends on values")


def _call(cls: ClassSource, this: Term, name: str, arguments: list[Term], named: dict[str, Term], frame: Frame) -> None:
    from trl_lint.knowledge.refresher.conditions_statements import call_function

    holder = _holder(cls, name, frame)
    if holder is not None:
        closure = Closure(holder.module, holder.functions[name], holder, None)
        call_function(frame.machine.function(closure, this), arguments, named, frame)


def _holder(cls: ClassSource, method: str, frame: Frame) -> ClassSource | None:
    order = frame.machine.sources.order(cls)
    return next((each for each in order if isinstance(each, ClassSource) and method in each.functions), None)


def _classes_with(method: str, most: int, frame: Frame) -> list[ClassSource]:
    """The dataclasses that have a method which takes so many arguments."""
    found = {}
    for module in frame.machine.sources.modules.values():
        for cls in module.classes.values():
            holder = _holder(cls, method, frame) if cls.is_dataclass else None
            if holder is not None and len(holder.functions[method].args.args) > most:
                found[cls.name] = cls
    return [found[name] for name in sorted(found)]
