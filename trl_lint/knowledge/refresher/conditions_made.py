"""Classes of objects: of a config, of what a trainer is given, and of what its constructor makes of that."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from trl_lint.knowledge.refresher.conditions_source import ClassSource
from trl_lint.knowledge.refresher.conditions_state import CONFIG
from trl_lint.knowledge.refresher.conditions_terms import (
    FALSE,
    NONE,
    TRUE,
    Term,
    bounded,
    choice_of_truth,
    is_const,
    lost,
    unknown,
)
from trl_lint.python.default_text import dotted

if TYPE_CHECKING:
    from trl_lint.knowledge.refresher.conditions_state import Frame, Machine

_CHANGED = "an object changed in place"
_NO_CLASS = "the class of an object"
_ADAPTED, _PLAIN = "PeftModel", "PreTrainedModel"  # neither is the other
_HELD = frozenset({"model", "train_dataset", "eval_dataset"})
# What functions give back: peft.get_peft_model (peft/mapping_func.py), and trl.trainer.utils.create_model_from_path,
# which ends in `from_pretrained` of a class of transformers.
_GIVES = {"get_peft_model": _ADAPTED, "create_model_from_path": _PLAIN}


def as_made(name: str, found: Term) -> Term:
    """The result of a call that could not be followed, with its class where the name of the function tells it."""
    if found.operator != "unknown":
        return found
    owner, _, function = name.rpartition(".")
    cls = _GIVES.get(function, "")
    if function == "from_pretrained":
        owner = owner.rpartition(".")[2]
        if owner.startswith("AutoModel") and not owner.endswith("ValueHead"):
            cls = _PLAIN
        elif owner.startswith(_ADAPTED):
            cls = _ADAPTED
    return Term("unknown", found.parts[0], cls) if cls else lost(found)


def is_adapted(term: Term) -> Term:
    """Whether a model has an adapter of peft around it."""
    if term.operator == "if":
        condition, first, second = term.parts
        return choice_of_truth(condition, is_adapted(first), is_adapted(second))
    if term.operator == "unknown":
        made = _made_as(term)
        return TRUE if made == _ADAPTED else FALSE if made == _PLAIN else lost(term)
    if term == NONE:
        return FALSE
    if term.operator in ("arg", "field", "base", "attribute"):
        return Term("fact", "is_peft_model", term)
    return unknown("a fact about an object")


def _made_as(term: Term) -> str:
    made = term.parts[1] if len(term.parts) > 1 else ""
    return made if isinstance(made, str) else ""


def other_items(term: Term, reason: str) -> Term:
    """A list whose items were replaced: its length is known, if nothing else."""
    return Term("unknown", reason, of_same_length(term))


def of_same_length(term: Term) -> Term:
    """What is as long as a list."""
    held = term.parts[1] if term.operator == "unknown" and len(term.parts) > 1 else None
    return held if isinstance(held, Term) else term


def is_instance(value: Term, kinds: Term, frame: Frame) -> Term:
    """`isinstance(value, kinds)`."""
    if value.operator == "object":
        return _is_config(value, kinds, frame.machine)
    if value.operator in ("class", "function", "module"):
        return unknown(_NO_CLASS)
    names = _names(kinds)
    if names == [_ADAPTED] and value.operator in ("if", "unknown") and _has_made(value):
        return is_adapted(value)
    if value.operator == "unknown":
        return lost(value)
    if not names:
        return unknown(_NO_CLASS)
    terms = [Term("variable", name) for name in names]
    return bounded(Term("call", "isinstance", value, terms[0] if len(terms) == 1 else Term("tuple", *terms)))


def _has_made(term: Term) -> bool:
    if term.operator == "if":
        return any(map(_has_made, term.parts[1:]))
    return term.operator == "unknown" and bool(_made_as(term))


def _names(kinds: Term) -> list[str]:
    """The names of the classes that are asked for, none where one of them is not known."""
    names = []
    for cls in _classes(kinds):
        if cls.operator not in ("class", "module"):
            return []
        names.append(cls.parts[0].rpartition(":")[2].rpartition(".")[2])
    return names


def _classes(kinds: Term) -> list[Term]:
    every = kinds.parts if kinds.operator in ("tuple", "list", "union") else (kinds,)
    return [cls for cls in every if cls != NONE]


def _is_config(value: Term, kinds: Term, machine: Machine) -> Term:
    """Whether the config is of a class: a trainer is read as it is when it gets the config that it asks for."""
    cls = machine.classes.get(value.parts[0])
    if cls is None or value.parts[0] != CONFIG:
        return unknown(_NO_CLASS)
    order = machine.sources.order(cls)
    own = {each.reference if isinstance(each, ClassSource) else each for each in order}
    asked = {each.parts[0] for each in _classes(kinds) if each.operator == "class"}
    return TRUE if own & asked else unknown(_NO_CLASS)


def note_change(term: Term, machine: Machine) -> bool:
    """Note that attributes of what a trainer is given change; False for other terms."""
    leaves = list(_leaves(term))
    if not all(leaf.operator in ("arg", "unknown") or leaf == NONE for leaf in leaves):
        return False
    machine.changed.update(leaf for leaf in leaves if leaf.operator == "arg")
    return True


def _leaves(term: Term) -> list[Term]:
    if term.operator != "if":
        return [term]
    return [leaf for part in term.parts[1:] for leaf in _leaves(part)]


def is_changed(term: Term, machine: Machine) -> bool:
    """Whether attributes of a term may be others than those of what the trainer was given."""
    return bool(machine.changed) and (term in machine.changed or any(is_changed(part, machine) for part in term.terms))


def changed(term: Term) -> Term:
    """What is known of an attribute of such a term."""
    return unknown(_CHANGED) if not is_const(term) else term


def keep_given(owner: str, given: dict[str, Term], machine: Machine) -> None:
    """What the `Trainer` of transformers holds of its arguments: themselves, of which it may set attributes.

    Read in `__init__` of transformers/trainer.py, 4.40.2 to 5.23.0.
    """
    for name in _HELD & given.keys():
        note_change(given[name], machine)
        machine.heap[owner, name] = given[name]


def iterated_by(node: ast.Call) -> ast.expr | None:
    """What `next(iter(x))` gives the first of."""
    inner = node.args[0] if len(node.args) == 1 else None
    is_iter = isinstance(inner, ast.Call) and dotted(inner.func) == "iter" and len(inner.args) == 1
    return inner.args[0] if is_iter and isinstance(inner, ast.Call) else None
