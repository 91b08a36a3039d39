"""What a program refuses that parses its config into several dataclasses and looks at them together (LLaMA-Factory).

The dataclasses are made of the file, in the order in which the parser names them; then the function runs that looks at
them. What the file does not have is the default of the dataclass.
"""

from __future__ import annotations

import ast

from trl_lint.knowledge.refresher.conditions_raw import plain, without_machine
from trl_lint.knowledge.refresher.conditions_source import ClassSource, Source, Sources
from trl_lint.knowledge.refresher.conditions_state import ELSEWHERE, Closure, Found, Frame, Machine
from trl_lint.knowledge.refresher.conditions_statements import call_function
from trl_lint.knowledge.refresher.conditions_terms import Term, const, unknown

_KNOWN = frozenset({"zero3"})  # facts that the files of a run tell


def facts_of_parsed(
    sources: Sources, source: Source, name: str, parser: str, classes: str, assumed: dict[str, str]
) -> list[Found]:
    """What a function says of the dataclasses that `parser` makes; `classes`: the list of them in the same module.

    `assumed`: functions of which it is known what they return.
    """
    machine = Machine(sources, lambda reference, field: False)
    machine.reads_dict = True
    listed = source.values.get(classes)
    if name not in source.functions or not isinstance(listed, (ast.List, ast.Tuple)):
        return []
    made = []
    for item in listed.elts:
        cls = sources.class_at(f"{source.name}:{item.id}") if isinstance(item, ast.Name) else None
        made.append(Term("object", cls.name if cls is not None else ELSEWHERE))
        if cls is not None:
            machine.classes[cls.name] = cls
            _make(machine, cls)
    for function, text in assumed.items():
        machine.results[function] = const(ast.literal_eval(text))
    machine.results[parser] = Term("tuple", *made)
    closure = Closure(source.name, source.functions[name], None, None)
    call_function(machine.function(closure, None), [unknown("a file")], {}, Frame(machine, closure, {}))
    return [
        fact._replace(
            condition=plain(without_machine(fact.condition, _KNOWN)), holder=f"config.{fact.holder.rpartition('.')[2]}"
        )
        for fact in machine.facts
    ]


def _make(machine: Machine, cls: ClassSource) -> None:
    """Run what a dataclass does when it is made."""
    this = Term("object", cls.name)
    for each in machine.sources.order(cls):
        if isinstance(each, ClassSource) and "__post_init__" in each.functions:
            closure = Closure(each.module, each.functions["__post_init__"], each, None)
            call_function(machine.function(closure, this), [], {}, Frame(machine, closure, {"self": this}))
            return
