"""Facts about the arguments of a trainer, for conditions that releases state about them.

`argument_of(call, "peft_config", run)` answers with a plain value (None, a text, a number), with a `Thing` where it is
certainly an object, or with UNKNOWN. Two things are the same object where their `identity` is.
"""

from __future__ import annotations

from trl_lint.missing import UNKNOWN
from trl_lint.project.runs import Run
from trl_lint.project.trainercall import TrainerCall
from trl_lint.project.trainercall.lines import Line
from trl_lint.project.trainercall.made import Made
from trl_lint.project.trainercall.models import has_adapter
from trl_lint.project.trainercall.running import holds_in, is_none_in, value_in
from trl_lint.python.guards import Truth
from trl_lint.records import NamedTuple

_MODEL_ROLES = frozenset({"model", "ref_model", "reward_model"})


class Thing(NamedTuple):
    """An object that a trainer is certainly given: neither None nor text.

    `classes`: names of classes that it is an instance of; `others`: names of classes that it certainly is none of. Of a
    class in neither nothing is known. `identity`: equal for what is certainly the same object, and for nothing else.
    """

    classes: frozenset[str]
    others: frozenset[str]
    identity: tuple[object, ...]

    def is_instance(self, name: str) -> Truth:
        """Whether it is an instance of a class of this name; None where nobody can tell."""
        return True if name in self.classes else False if name in self.others else None


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
        others = frozenset.intersection(*(one.others for one in things))
        return Thing(classes, others, ("one of", *(one.identity for one in things)))
    return UNKNOWN


def _of_line(line: Line, role: str, run: Run | None) -> object:
    made = line.made
    if made.kind in ("absent", "literal", "field"):
        value = value_in(made, run)
        return value if isinstance(value, (str, int, float, bool, type(None))) else UNKNOWN
    none = is_none_in(made, run)
    if none is True:
        return None
    if none is None or not made.is_known:
        return UNKNOWN
    classes, others = _classes_of(line, role)
    return Thing(classes, frozenset({"str", *others}), (id(made.node), id(made.frame), made.item))


def _classes_of(line: Line, role: str) -> tuple[frozenset[str], frozenset[str]]:
    made = line.made
    if role in _MODEL_ROLES:
        adapter = has_adapter(line)
        if adapter is True:
            return frozenset({"PeftModel"}), frozenset()
        # What is loaded by transformers has no adapter, unless the checkpoint itself is one.
        return frozenset(), frozenset()
    if made.kind == "list":
        return frozenset({"list"}), frozenset()
    if made.kind == "dict":
        return frozenset({"dict"}), frozenset()
    if made.kind == "call" and made.name[:1].isupper():
        return frozenset({made.name}), frozenset()
    if role in ("train_dataset", "eval_dataset"):
        return _dataset(line)
    return frozenset(), frozenset()


def _dataset(line: Line) -> tuple[frozenset[str], frozenset[str]]:
    """Whether a dataset is streamed, where its source says so."""
    source = line.source
    if source.kind != "call" or source.name not in ("load_dataset", "from_list", "from_dict", "from_generator"):
        return frozenset(), frozenset()
    if any(made.kind == "call" and made.name == "to_iterable_dataset" for made in line.steps):
        return frozenset({"IterableDataset"}), frozenset({"Dataset"})
    if source.name != "load_dataset":
        return frozenset({"Dataset"}), frozenset({"IterableDataset"})
    streaming = [value_in(made, None) for made in source.argument("streaming")]
    if streaming == [True]:
        return frozenset({"IterableDataset"}), frozenset({"Dataset"})
    return (
        (frozenset(), frozenset({"IterableDataset"})) if streaming in ([None], [False]) else (frozenset(), frozenset())
    )


def is_same(one: Made, other: Made) -> bool:
    """Whether two possibilities are certainly one object."""
    return one.node is other.node and one.frame is other.frame and one.item == other.item
