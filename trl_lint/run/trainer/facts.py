"""Facts about the arguments of a trainer, for conditions that releases state about them.

`argument_of(call, "peft_config", run)` answers with a plain value (None, a text, a number), with a `Thing` where it is
certainly an object, or with UNKNOWN. Two things are the same object where their `identity` is.
"""

from __future__ import annotations

import builtins

from trl_lint.missing import UNKNOWN
from trl_lint.records import NamedTuple
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall
from trl_lint.run.trainer.attributes import bases_of
from trl_lint.run.trainer.lines import Line
from trl_lint.run.trainer.made import Made
from trl_lint.run.trainer.models import has_adapter
from trl_lint.run.trainer.running import holds_in, is_none_in, value_in

_PLAIN_BASES = frozenset({"str", "StrEnum", "int", "float", "IntEnum", "bytes"})
_MODEL_ROLES = frozenset({"model", "ref_model", "reward_model"})


class Thing(NamedTuple):
    """An object that a trainer is certainly given: neither None nor text.

    `classes`: names of classes that it is an instance of; of any other nothing is known. `identity`: equal for what is
    certainly the same object, and for nothing else.
    """

    classes: frozenset[str]
    identity: tuple[object, ...]


def argument_of(call: TrainerCall, role: str, run: Run | None) -> object:
    """What a trainer is given for a parameter in a run: a plain value, a `Thing`, or UNKNOWN."""
    lines = [line for line in call.lines(role) if holds_in(line.under, run) is not False]
    found = [_of_line(line, role, run) for line in lines]
    if not found or UNKNOWN in found:
        return UNKNOWN
    first = found[0]
    if all(type(one) is type(first) and one == first for one in found):
        return first
    if all(isinstance(one, Thing) for one in found):
        things = [one for one in found if isinstance(one, Thing)]
        classes = frozenset.intersection(*(one.classes for one in things))
        return Thing(classes, ("one of", *(one.identity for one in things)))
    return UNKNOWN


def _of_line(line: Line, role: str, run: Run | None) -> object:
    made = line.made
    if made.kind in ("absent", "literal", "field"):
        value = value_in(made, run)
        return value if isinstance(value, (str, int, float, bool, type(None))) else UNKNOWN
    none = is_none_in(made, run)
    if none is True:
        return None
    if none is None or not made.is_known or _may_be_plain(made):
        return UNKNOWN
    return Thing(_classes_of(line, role), (id(made.node), id(made.frame), made.item))


def _may_be_plain(made: Made) -> bool:
    """Whether what is no literal may still be a text, or a number."""
    if made.kind == "name":  # a constant of a library, by its spelling
        return made.name.isupper()
    if made.kind == "call":  # of a builtin: `str(path)`
        return made.origin in dir(builtins)
    if made.kind != "instance" or not isinstance(made.base, Made):
        return made.kind == "parsed"
    bases = bases_of(made.frame.resolver, made.base)
    return any(one.kind == "name" and one.name in _PLAIN_BASES for one in bases)


def _classes_of(line: Line, role: str) -> frozenset[str]:
    made = line.made
    if role in _MODEL_ROLES:
        # What is loaded by transformers has no adapter, unless the checkpoint itself is one.
        return frozenset({"PeftModel"}) if has_adapter(line) is True else frozenset()
    if made.kind in ("list", "dict"):
        return frozenset({made.kind})
    if made.kind == "call" and made.name[:1].isupper():
        return frozenset({made.name})
    return _dataset(line) if role in ("train_dataset", "eval_dataset") else frozenset()


def _dataset(line: Line) -> frozenset[str]:
    """Whether a dataset is streamed, where its source says so."""
    source = line.source
    if source.kind != "call" or source.name not in ("load_dataset", "from_list", "from_dict", "from_generator"):
        return frozenset()
    if any(made.kind == "call" and made.name == "to_iterable_dataset" for made in line.steps):
        return frozenset({"IterableDataset"})
    if source.name != "load_dataset":
        return frozenset({"IterableDataset" if "IterableDataset" in source.origin.split(".") else "Dataset"})
    streaming = [value_in(made, None) for made in source.argument("streaming")]
    return frozenset({"IterableDataset"}) if streaming == [True] else frozenset()
