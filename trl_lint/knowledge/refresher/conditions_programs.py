"""What a program refuses of its settings: a function of the package is executed with the whole config."""

from __future__ import annotations

import ast

from trl_lint.knowledge.refresher.conditions_declared import is_model
from trl_lint.knowledge.refresher.conditions_expressions import evaluate
from trl_lint.knowledge.refresher.conditions_models import facts_of_model
from trl_lint.knowledge.refresher.conditions_parsed import facts_of_parsed
from trl_lint.knowledge.refresher.conditions_source import Source, Sources
from trl_lint.knowledge.refresher.conditions_state import CONFIG, TRAINER, Closure, Found, Frame, Machine
from trl_lint.knowledge.refresher.conditions_statements import block, call_function
from trl_lint.knowledge.refresher.conditions_terms import Term
from trl_lint.python.default_text import last_name
from trl_lint.records import NamedTuple

_PARSERS = frozenset({"parse_args"})

_NOTHING = ast.parse("def __main__(): pass").body[0]
assert isinstance(_NOTHING, ast.FunctionDef)
NOTHING = _NOTHING  # the function that stands for what is in none


class Program(NamedTuple):
    """Where a program checks its settings.

    `place` is `module:function`, `module:Class` (its constructor), `module:Model` of pydantic that a config file is
    read into, or `module:` (what the module does when it is started, from the line on that parses the arguments); a
    star at the end of the module for all that begin so. `owner` is the name by which it is asked, "" for that of
    the module. `assumed`: parameters and attributes that the caller decides, as expressions over `config`.
    `hidden`: keys of a model that no file has.
    `parsed`: of a function, what makes the dataclasses that it looks at, and the list of these classes. `is_flat`: no
    setting holds others, neither its own nor those of the classes of the package.
    """

    place: str
    owner: str = ""
    assumed: tuple[tuple[str, str], ...] = ()
    hidden: tuple[str, ...] = ()
    parsed: tuple[str, str] | None = None
    is_flat: bool = False


def facts_of_program(sources: Sources, program: Program) -> list[tuple[str, str, list[Found]]]:
    """What a program says: its name, its module and its statements; for each module that the program names."""
    module, _, name = program.place.partition(":")
    found = []
    for each in sorted(sources.modules):
        if each == module or (module.endswith("*") and each.startswith(module[:-1])):
            facts = _facts(sources, sources.modules[each], name, program)
            if facts:
                found.append((program.owner or each, each, facts))
    return found


def _facts(sources: Sources, source: Source, name: str, program: Program) -> list[Found]:
    model = source.classes.get(name)
    if model is not None and is_model(sources, model):
        return facts_of_model(sources, model, program.hidden)
    if program.parsed is not None:
        return facts_of_parsed(sources, source, name, *program.parsed, dict(program.assumed))
    machine = Machine(sources, lambda reference, field: False, has_blocks=True)
    root = Term("object", CONFIG)
    closure = Closure(source.name, NOTHING, None, None)
    frame = Frame(machine, closure, {"config": root})
    terms = {each: evaluate(ast.parse(text, mode="eval").body, frame) for each, text in program.assumed}
    machine.facts = []
    machine.assumed = terms
    if not name:
        _run_main(source, frame, root)
    elif name in source.functions:
        function = source.functions[name]
        given = {**{each.arg: root for each in function.args.args[:1]}, "config": root, **terms}
        call_function(machine.function(Closure(source.name, function, None, None), None), [], given, frame)
    elif name in source.classes:
        cls = source.classes[name]
        machine.classes[TRAINER] = cls
        init = machine.function(Closure(source.name, cls.functions["__init__"], cls, None), Term("object", TRAINER))
        call_function(init, [], {"config": root}, frame)
    return machine.facts


def _run_main(source: Source, frame: Frame, root: Term) -> None:
    """What a module does after it has parsed its arguments."""
    for number, node in enumerate(source.main):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and last_name(node.value.func) in _PARSERS:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                frame.names = {target.id: root}
                block(source.main[number + 1 :], frame)
            return
