"""The way of an object from what it began with to the trainer: loading, wrapping, mapping."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from trl_lint.finding import Location
from trl_lint.records import NamedTuple
from trl_lint.run.trainer.made import Change, Conditions, Made, Options

_MOST_LINES = 32  # ways; the others end where they are, unknown before that
_LONGEST = 24  # steps of a way, likewise

# Functions that give back one of their arguments, changed: by the last part of their name and the item of the result,
# the parameter and its position. Read in peft 0.7.1 and 0.21.2, trl 0.9.6 and 1.16.0, accelerate 1.15.0.
_GIVES_BACK: dict[str, dict[object, tuple[str, int]]] = {
    "get_peft_model": {None: ("model", 0)},
    "prepare_model_for_kbit_training": {None: ("model", 0)},
    "prepare_model_for_int8_training": {None: ("model", 0)},
    "setup_chat_format": {0: ("model", 0), 1: ("tokenizer", 1)},
    "clone_chat_template": {0: ("model", 0), 1: ("tokenizer", 1)},
    "get_chat_template": {None: ("tokenizer", 0)},
    "create_reference_model": {None: ("model", 0)},
    "prepare_model": {None: ("model", 0)},
    "prepare_peft_model": {None: ("model", 0)},
    "train_on_responses_only": {None: ("trainer", 0)},
    "DataParallel": {None: ("module", 0)},
    "cast_mixed_precision_params": {None: ("model", 0)},
}
_OF_PEFT = frozenset({"PeftModel", "PeftModelForCausalLM", "PeftModelForSequenceClassification", "PeftMixedModel"})


class Line(NamedTuple):
    """One way in which an object came about. `steps`: how it was made, the last one first. `under`: all their tests."""

    steps: tuple[Made, ...]
    under: Conditions

    @property
    def made(self) -> Made:
        """What the trainer is given."""
        return self.steps[0]

    @property
    def source(self) -> Made:
        """What it began with: the call that loaded it, a literal, a field; of the kind "unknown" where nobody knows."""
        return self.steps[-1]

    @property
    def is_known(self) -> bool:
        return all(made.is_known for made in self.steps)

    def step(self, *names: str) -> Made | None:
        """The last step that is a call of a function, or of a method, of one of these names."""
        return next((made for made in self.steps if made.kind == "call" and made.name in names), None)

    @property
    def changes(self) -> tuple[Change, ...]:
        """What was done in place on the way, the earliest first."""
        return tuple(change for made in reversed(self.steps) for change in made.changes)

    @property
    def location(self) -> Location:
        return self.source.location


def lines_of(options: Iterable[Made]) -> tuple[Line, ...]:
    """The lines of all possibilities."""
    found: list[Line] = []
    waiting = [Line((made,), made.under) for made in options]
    while waiting:
        line = waiting.pop(0)
        before = before_step(line.source) if len(line.steps) < _LONGEST else None
        if before is None or len(found) + len(waiting) >= _MOST_LINES:
            found.append(line)
        else:
            waiting[:0] = [Line((*line.steps, made), (*line.under, *_new(made.under, line.under))) for made in before]
    return tuple(found)


def _new(conditions: Conditions, known: Conditions) -> Conditions:
    return tuple(one for one in conditions if one not in known)


def before_step(made: Made) -> Options | None:
    """What a step was made of; None where it is what the line begins with."""
    if made.kind == "part" and isinstance(made.base, Made):
        return (made.base,)
    if made.kind != "call" or not isinstance(made.node, ast.Call):
        return None
    if made.name in ("prepare", "prepare_model") and made.origin.startswith(".") and made.node.args:
        return _prepared(made)
    if made.origin.startswith(".") and isinstance(made.base, Made):
        return (made.base,)
    if made.name == "from_pretrained" and _OF_PEFT.intersection(made.origin.split(".")):
        return _argument(made, "model", 0)
    parameters = _GIVES_BACK.get(made.name)
    if parameters is None:
        return None
    item = made.item[0] if made.item else None
    parameter = parameters.get(item, parameters.get(None) if made.item == () else None)
    return _argument(made, *parameter) if parameter is not None else None


def _argument(made: Made, name: str, position: int) -> Options | None:
    found = made.argument(name, position)
    return None if any(one.kind == "absent" for one in found) else found


def _prepared(made: Made) -> Options | None:
    """What `accelerator.prepare(a, b)` gives back for one of its arguments."""
    assert isinstance(made.node, ast.Call)
    index = made.item[0] if made.item else 0
    arguments = made.node.args
    if not isinstance(index, int) or index >= len(arguments) or isinstance(arguments[index], ast.Starred):
        return None
    return made.frame.resolver.options(arguments[index], made.frame)
