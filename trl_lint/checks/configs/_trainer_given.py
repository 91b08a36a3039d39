"""What a script gives to a trainer, as far as the call and the names in it say.

Conditions of releases ask for it through `Given`: whoever knows more of the objects answers in its place.
"""

from __future__ import annotations

import ast
from typing import Protocol

from trl_lint.finding import Location
from trl_lint.knowledge.condition_things import Thing
from trl_lint.knowledge.trainer_arguments import keeps_kind, made_by, thing_of
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.python.guards import bindings
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.records import NamedTuple

_DEEP = 8  # names and operators around a value; further in it is unknown
_MOST = 1000  # as many as a starred argument may stand for


class Value(NamedTuple):
    """What an argument is: a plain value, a `Thing` or UNKNOWN (`trl_lint.knowledge.condition_language`), and where it
    is given.
    """

    value: object
    location: Location


class Given(Protocol):
    """The arguments of one trainer. `trainer`: the dotted name of its class; `positional`: how many arguments have no
    name, at most.
    """

    trainer: str
    location: Location
    positional: int

    def argument(self, name: str, position: int | None) -> Value | Missing:
        """An argument by name, or by its position in the call (0-based); ABSENT if it is certainly not given."""
        ...

    def keywords(self) -> frozenset[str]:
        """The names of the arguments that are given by name."""
        ...


@per_module
def _names_in(module: PythonModule) -> dict[tuple[str, int], object]:
    """What names are, by how deep they are asked for: the same for all the trainers that a script builds."""
    return {}


class CallGiven:
    """The arguments of a trainer as the call that builds it has them."""

    def __init__(self, trainer: str, call: ast.Call, module: PythonModule) -> None:
        self.trainer = trainer
        self.call = call
        self.module = module
        self.location = module.location(call.func)
        is_open = any(isinstance(item, ast.Starred) for item in call.args)
        self.positional = _MOST if is_open else len(call.args)
        self._names = _names_in(module)

    def argument(self, name: str, position: int | None) -> Value | Missing:
        node = argument(self.call, name, position)
        if isinstance(node, Missing):
            return node
        return Value(self.value(node), self.module.location(node))

    def keywords(self) -> frozenset[str]:
        return frozenset(keyword.arg for keyword in self.call.keywords if keyword.arg is not None)

    def value(self, node: ast.expr, depth: int = 0) -> object:
        """What an expression is, as far as its text says."""
        if depth > _DEEP:
            return UNKNOWN
        if isinstance(node, ast.Name):
            if (node.id, depth) not in self._names:
                self._names[node.id, depth] = self._named(node, depth)
            return self._names[node.id, depth]
        if isinstance(node, (ast.List, ast.Tuple)):
            items = [self.value(item, depth + 1) for item in node.elts]
            is_open = any(isinstance(item, ast.Starred) for item in node.elts)
            return UNKNOWN if is_open else items if isinstance(node, ast.List) else tuple(items)
        if isinstance(node, ast.IfExp):
            return _either([self.value(node.body, depth + 1), self.value(node.orelse, depth + 1)])
        if isinstance(node, ast.Lambda):
            return Thing(frozenset({"function"}), is_whole=True, is_true=True)
        if isinstance(node, ast.Subscript):
            return _part(self.value(node.value, depth + 1), self.module.value(node.slice))
        if isinstance(node, ast.Call):
            return self._made(node, depth)
        return self.module.value(node)

    def _named(self, node: ast.Name, depth: int) -> object:
        """What a name is that plain assignments bind and nothing else: of several, what they have in common.

        A list or dict may be changed after it was made.
        """
        known = bindings(self.module).get(node.id, ()) if self.module.names.is_literal_only(node.id) else ()
        values = [value for value in known if not _is_of_same_kind(value, node.id)]
        found = _either([self.value(value, depth + 1) for value in values]) if values else UNKNOWN
        return UNKNOWN if isinstance(found, (list, dict, set)) else found

    def _made(self, call: ast.Call, depth: int) -> object:
        dotted = _dotted(call.func, self.module)
        if dotted.startswith("datasets.") and dotted.endswith(".load_dataset"):
            return _loaded(call, self.module)
        made = made_by(dotted) if dotted else None
        if made is not None:
            return thing_of(made)
        if isinstance(call.func, ast.Attribute):
            owner = self.value(call.func.value, depth + 1)
            if isinstance(owner, Thing) and owner.kinds & _DATA_SETS:
                return _after(owner, call.func.attr)
        return UNKNOWN


class HandedOn:
    """What the trainers of trl hand on to `transformers.Trainer`, their base, as they were given it."""

    def __init__(self, given: Given) -> None:
        self._given = given
        self.trainer = given.trainer
        self.location = given.location
        self.positional = given.positional

    def argument(self, name: str, position: int | None) -> Value | Missing:
        return self._given.argument(name, position) if name in _HANDED_ON else UNKNOWN

    def keywords(self) -> frozenset[str]:
        return self._given.keywords()


# `super().__init__(…, eval_dataset=eval_dataset, …)` in all of them: the data may be prepared by then, None stays None.
_HANDED_ON = frozenset({"eval_dataset"})
_DATA_SETS = frozenset({"Dataset", "IterableDataset", "DatasetDict", "IterableDatasetDict"})
_WITH_SPLITS = {"DatasetDict": "Dataset", "IterableDatasetDict": "IterableDataset"}


def _dotted(node: ast.expr, module: PythonModule) -> str:
    origins = module.names.origins(node)
    return next(iter(origins)) if len(origins) == 1 and module.names.is_certain(node) else ""


def _loaded(call: ast.Call, module: PythonModule) -> object:
    """What `datasets.load_dataset` gives: of several splits one each, of a stream what cannot be counted."""
    streaming, split = argument(call, "streaming"), argument(call, "split", 4)
    flows = False if streaming is ABSENT else module.value(streaming)
    if not isinstance(flows, bool) or split is UNKNOWN:
        return UNKNOWN
    if split is not ABSENT and not isinstance(module.value(split), str):
        return UNKNOWN  # None gives all of them, a list several
    name = "IterableDataset" if flows else "Dataset"
    return Thing(frozenset({name if split is not ABSENT else f"{name}Dict"}), is_whole=True)


def _part(owner: object, key: object) -> object:
    """One split of a data set."""
    if isinstance(owner, Thing) and isinstance(key, str):
        name = next((_WITH_SPLITS[kind] for kind in owner.kinds if kind in _WITH_SPLITS), "")
        return Thing(frozenset({name}), is_whole=True) if name else UNKNOWN
    return UNKNOWN


def _is_of_same_kind(value: ast.expr, name: str) -> bool:
    """Whether a value is `name.map(…)` or another that is of the kind of what the name stood for before."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and keeps_kind(value.func.attr):
        value = value.func.value
        if isinstance(value, ast.Name) and value.id == name:
            return True
    return False


def _after(owner: Thing, method: str) -> object:
    if method == "train_test_split" and "Dataset" in owner.kinds:
        return Thing(frozenset({"DatasetDict"}), is_whole=True)
    return Thing(owner.kinds, owner.is_whole) if keeps_kind(method) else UNKNOWN


def _either(values: list[object]) -> object:
    """What is certain of a value that is one of several."""
    first, *others = values
    for other in others:
        if isinstance(first, Thing) and isinstance(other, Thing):
            first = first.or_else(other)
        elif type(first) is not type(other) or isinstance(first, (Thing, Missing, list, dict)) or first != other:
            return UNKNOWN
    return first
