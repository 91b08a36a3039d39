"""What the classes of one release refuse and warn about, with the condition, read from their source.

Every config class with a `__post_init__` of its own or of a base of the package is executed in terms of its fields
(`conditions_statements`), then every trainer whose constructor takes such a config, with the fields as the config left
them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import lru_cache

from trl_lint.knowledge.histories import block as history_block
from trl_lint.knowledge.refresher.conditions_declared import declares, is_model, run_validators, tell_declared
from trl_lint.knowledge.refresher.conditions_flags import choices_of_flags, types_of_flags
from trl_lint.knowledge.refresher.conditions_programs import NOTHING, Program, facts_of_program
from trl_lint.knowledge.refresher.conditions_raw import default_node, fields_in, member_of_enum
from trl_lint.knowledge.refresher.conditions_source import ClassSource, Sources, Trees, read_sources
from trl_lint.knowledge.refresher.conditions_state import CONFIG, TRAINER, Closure, Found, Frame, Machine
from trl_lint.knowledge.refresher.conditions_statements import call_function
from trl_lint.knowledge.refresher.conditions_terms import (
    FALSE,
    NO_VALUES,
    NONE,
    Term,
    can_be,
    can_be_known,
    reasons,
    render,
)
from trl_lint.python.default_text import last_name
from trl_lint.records import NamedTuple

_LONGEST_VALUE = 700  # characters of what a field becomes; longer ones are chains of tests of the machine
_CONFIG_NAMES = ("args", "config")
NO_COMMANDS: Mapping[str, str] = {}
# ms-swift: what a checkpoint says takes the place of flags. Whoever asks leaves commands alone that load it.
FROM_A_CHECKPOINT = ("load_args_from_ckpt",)
# Packages whose configs are bases of those of other packages: what they leave of their fields is written down.
_WITH_HEIRS = frozenset({"transformers"})


class Owner(NamedTuple):
    """Who says something: a class, or a program under the name by which it is asked, and its module."""

    name: str
    module: str


class Condition(NamedTuple):
    """What a class says, as text. `kind`: refuse, warn, before (`sentence` is the field that the base from another
    package gets so), after (a field as the constructor leaves it), base (`sentence` is a class of another package whose
    constructor runs), default (`sentence` is a field whose default is a member of an enum, `condition` its text), flag
    (`sentence` is a field that a command gives, `condition` the texts that it may give), type
    (`condition` is a field whose values are of the type `sentence`).

    `condition` is "" where it cannot be expressed, and then `reason` tells why; a part that is not known is `_` in it.
    `when` is `construct` or `trainer`, `owner` the name of the class and `home` its module.
    """

    owner: str
    kind: str
    when: str
    condition: str
    sentence: str
    holder: str
    line: int
    reason: str
    home: str

    @property
    def is_full(self) -> bool:
        return bool(self.condition) and not self.reason


def release_conditions(
    package: str,
    members: Mapping[str, tuple[int, bytes]],
    known: Trees,
    modules: tuple[str, ...] = ("*",),
    programs: tuple[Program, ...] = (),
    flags: tuple[str, ...] = (),
    commands: Mapping[str, str] = NO_COMMANDS,
    constructed: tuple[str, ...] = (),
) -> list[Condition]:
    """The conditions of one release, by class in the order of the modules, statements in the order of execution.

    Only the classes of `modules` are asked: names, or beginnings of names with a star; and the `programs`. `flags`: the
    modules, written so, whose dataclasses are parsed from a command. `commands`: by name the dataclass that is made of
    its flags, `module:Class`. `constructed`: the modules, written so, whose classes are asked by the constructor that
    they write.
    """
    sources = read_sources(package, members, known)
    found: list[Condition] = []
    said: dict[str, list[Condition]] = {}
    for command, reference in commands.items():
        made = sources.class_at(reference)
        if made is not None and reference not in said:
            said[reference] = _of_config(sources, made, left=FROM_A_CHECKPOINT)[0]
        found += [each._replace(owner=command) for each in said.get(reference, ())]
    for program in programs:
        for name, module, facts in facts_of_program(sources, program):
            owner = Owner(name, module)
            found += [_condition(owner, "construct", fact) for fact in facts if fact.condition != FALSE]
    for name in sorted(sources.modules):
        for cls in sources.modules[name].classes.values() if _is_asked(name, (*modules, *constructed)) else ():
            if _is_config(sources, cls):
                found += _of_config(sources, cls, has_blocks=any(not each.is_flat for each in programs))[0]
            elif _is_asked(name, constructed) and _constructor_of(sources, cls) is not None:
                found += _of_config(sources, cls)[0]
            elif cls.name.endswith("Trainer") and "__init__" in cls.functions and not _is_second_name(sources, cls):
                found += _of_trainer(sources, cls)
    for cls, field, values, line in choices_of_flags(sources, flags):
        found.append(Condition(cls.name, "flag", "construct", values, field, "flags", line, "", cls.module))
    for cls, field, kind, line in types_of_flags(sources, flags):
        found.append(Condition(cls.name, "type", "construct", field, kind, "flags", line, "", cls.module))
    return list(dict.fromkeys(found))


def _is_asked(name: str, modules: tuple[str, ...]) -> bool:
    return any(name.startswith(each[:-1]) if each.endswith("*") else name == each for each in modules)


def _is_config(sources: Sources, cls: ClassSource) -> bool:
    own = [each for each in sources.order(cls) if isinstance(each, ClassSource)]
    is_made = any(each.is_dataclass for each in own) or any(
        isinstance(each, str) and each.endswith(":Struct") for each in sources.order(cls)
    )
    return (is_made and any("__post_init__" in each.functions for each in own)) or declares(sources, cls)


def _constructor_of(sources: Sources, cls: ClassSource) -> Closure | None:
    """The constructor that the package writes for a class."""
    order = [each for each in sources.order(cls) if isinstance(each, ClassSource)]
    found = next((each for each in order if "__init__" in each.functions), None)
    return Closure(found.module, found.functions["__init__"], found, None) if found is not None else None


def _made_by(sources: Sources, cls: ClassSource) -> Closure | None:
    """What runs when a config is made: its `__post_init__`, or the constructor where the class has none."""
    for each in sources.order(cls):
        if isinstance(each, ClassSource) and "__post_init__" in each.functions:
            return Closure(each.module, each.functions["__post_init__"], each, None)
        if isinstance(each, str) and each in sources.external_bases(cls):
            return None
    return None if _is_config(sources, cls) else _constructor_of(sources, cls)


def _is_second_name(sources: Sources, cls: ClassSource) -> bool:
    """Whether a class stands in for one of the same name that has moved: it hands on whatever it is given."""
    init = cls.functions["__init__"].args
    is_open = len([*init.posonlyargs, *init.args]) == 1 and init.vararg is not None and init.kwarg is not None
    bases = [each for each in sources.order(cls)[1:] if isinstance(each, ClassSource)]
    return is_open and not init.kwonlyargs and any(each.name == cls.name for each in bases)


@lru_cache(maxsize=256)
def _names_of(reference: str) -> frozenset[str]:
    module, _, name = reference.partition(":")
    package = module.partition(".")[0]
    # `TrainingArguments` is imported from the package's root, and stands in another module.
    for symbol in (f"class {reference}", f"class transformers.training_args:{name}"):
        found = history_block(package, symbol)
        if found is not None:
            return frozenset(fact.lstrip("!") for fact in found.names() if not fact.startswith("."))
    return frozenset()


def _may_change(reference: str, field: str) -> bool:
    names = _names_of(reference)
    return not names or field in names


def _of_config(
    sources: Sources, cls: ClassSource, has_blocks: bool = False, left: Iterable[str] = ()
) -> tuple[list[Condition], Machine]:
    """What a config class says when it is made; `left`: functions that are taken to do nothing."""
    machine = Machine(sources, _may_change, has_blocks)
    machine.results = dict.fromkeys(left, NONE)
    machine.classes[CONFIG] = cls
    this = Term("object", CONFIG)
    if is_model(sources, cls):
        tell_declared(machine, cls)
        run_validators(machine, cls, Frame(machine, Closure(cls.module, NOTHING, None, None), {}))
    made = _made_by(sources, cls)
    if made is not None:
        init = made.node.args
        given = {p.arg: Term("field", p.arg) for p in [*init.posonlyargs, *init.args, *init.kwonlyargs][1:]}
        call_function(machine.function(made, this), [], given, Frame(machine, made, {"self": this}))
    found = [_condition(cls, "construct", fact) for fact in machine.facts if fact.condition != FALSE]
    for name, value in sorted(machine.before.items()):
        found.append(_field(cls, "before", name, value))
    found += _enum_defaults(machine, cls)
    found += [Condition(cls.name, "base", "construct", "True", b, cls.name, 0, "", cls.module) for b in machine.bases]
    if sources.package in _WITH_HEIRS and _is_config(sources, cls):
        found += _final_fields(machine, cls)
    return found, machine


def _enum_defaults(machine: Machine, cls: ClassSource) -> list[Condition]:
    """The defaults that are members of an enum of texts, of fields that a fact mentions."""
    sources = machine.sources
    mentioned = {name for fact in machine.facts for name in fields_in(fact.condition)}
    found = {}
    for each in reversed([each for each in sources.order(cls) if isinstance(each, ClassSource)]):
        for name, node in each.fields.items():
            member = member_of_enum(sources, each, default_node(node)) if name in mentioned else None
            found[name] = render(member) if member is not None else ""
    return [
        Condition(cls.name, "default", "construct", text, name, cls.name, 0, "", cls.module)
        for name, text in sorted(found.items())
        if text
    ]


def _final_fields(machine: Machine, cls: ClassSource) -> list[Condition]:
    """What the constructor leaves of the fields that it changed."""
    return [
        _field(cls, "after", name, value)
        for (owner, name), value in sorted(machine.heap.items())
        if owner == CONFIG and value != Term("field", name) and not name.startswith("_")
    ]


def _of_trainer(sources: Sources, cls: ClassSource) -> list[Condition]:
    init = cls.functions["__init__"]
    parameters = [*init.args.posonlyargs, *init.args.args, *init.args.kwonlyargs][1:]
    config = next(
        (found for p in parameters if p.arg in _CONFIG_NAMES and (found := _annotated(sources, cls, p)) is not None),
        None,
    )
    name = next((p.arg for p in parameters if p.arg in _CONFIG_NAMES), "")
    if config is not None and _is_config(sources, config):
        machine = _of_config(sources, config)[1]
        machine.facts = []
    else:
        machine = Machine(sources, _may_change)
        if config is not None:
            machine.classes[CONFIG] = config
    machine.classes[TRAINER] = cls
    this = Term("object", TRAINER)
    closure = Closure(cls.module, init, cls, None)
    given: dict[str, Term] = {p.arg: Term("arg", p.arg) for p in parameters}
    if name and CONFIG in machine.classes:
        given[name] = Term("object", CONFIG)
    call_function(machine.function(closure, this), [], given, Frame(machine, closure, {"self": this}))
    return [_condition(cls, "trainer", fact) for fact in machine.facts if fact.condition != FALSE]


def _annotated(sources: Sources, cls: ClassSource, parameter: ast.arg) -> ClassSource | None:
    """The config class that a parameter is annotated with."""
    for node in ast.walk(parameter.annotation) if parameter.annotation is not None else ():
        name = last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.strip().rpartition(".")[2]
        if name.endswith(("Config", "Arguments")):
            found = sources.class_at(f"{cls.module}:{name}")
            if found is not None:
                return found
    return None


def _condition(cls: ClassSource | Owner, when: str, fact: Found) -> Condition:
    why = reasons(fact.condition)
    # A condition that needs what is not known can never be told to hold.
    condition = render(fact.condition) if can_be(fact.condition, True) else ""
    sentence = " ".join(fact.sentence.split())
    reason = min(why, default="")
    return Condition(cls.name, fact.kind, when, condition, sentence, fact.holder, fact.line, reason, cls.module)


def _field(cls: ClassSource, kind: str, name: str, value: Term) -> Condition:
    why = reasons(value)
    is_known = can_be_known(value) and value.operator not in NO_VALUES
    text = render(value) if is_known else ""
    if len(text) > _LONGEST_VALUE:
        text = ""
    reason = min(why, default="" if text else "an object")
    return Condition(cls.name, kind, "construct", text, name, cls.name, 0, reason, cls.module)
