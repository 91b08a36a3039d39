"""What a script gives to a trainer, as the way of each object to the call says.

The text of the call answers first (`_trainer_given.py`). Where it leaves an object open, because its name is bound
more than once or a function of the project makes it, the picture of the trainer call is asked.
"""

from __future__ import annotations

import ast
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

from trl_lint.checks.configs._trainer_given import CallGiven, Value
from trl_lint.knowledge.condition_things import Keys, Thing
from trl_lint.knowledge.trainer_arguments import made_by
from trl_lint.missing import UNKNOWN, Missing
from trl_lint.python.module import PythonModule

if TYPE_CHECKING:
    from trl_lint.run.runs import Run
    from trl_lint.run.trainer import Line, TrainerCall

# Methods of a module that give back the module itself. Read in torch/nn/modules/module.py of 2.13.0.
_GIVE_BACK = frozenset(
    {"to", "cuda", "cpu", "train", "eval", "half", "float", "bfloat16", "double", "type", "requires_grad_"}
)


_DATA_SETS = frozenset({"Dataset", "IterableDataset"})


class ObjectsGiven(CallGiven):
    """The arguments of a trainer: as the call has them, and as its objects came about in a run."""

    def __init__(self, trainer: str, call: ast.Call, module: PythonModule, run: Run) -> None:
        super().__init__(trainer, call, module)
        self._run = run
        self._answers: dict[tuple[str, int | None], Value | Missing] = {}
        self._things: dict[tuple[object, ...], Thing] = {}

    def argument(self, name: str, position: int | None) -> Value | Missing:
        key = name, position
        if key not in self._answers:
            found = self._argument(name, position)
            self._answers[key] = found if isinstance(found, Missing) else self._with_columns(name, found)
        return self._answers[key]

    def _with_columns(self, name: str, found: Value) -> Value:
        """The same, where it is a data set with what is known of its columns."""
        value, call = found.value, self._call
        if not isinstance(value, Thing) or not value.kinds & _DATA_SETS or call is None:
            return found
        keys = partial(_keys_of, call, name)
        return found._replace(value=Thing(value.kinds, value.is_whole, value.is_true, cache(keys)))

    def _argument(self, name: str, position: int | None) -> Value | Missing:
        found = super().argument(name, position)
        if isinstance(found, Missing):
            return found
        if found.value is not UNKNOWN and not isinstance(found.value, Thing):
            return found
        known = self._known(name)
        if known is UNKNOWN:
            return found
        if isinstance(known, Thing) and isinstance(found.value, Thing):
            known = found.value if known.kinds <= found.value.kinds else known
        return found._replace(value=known)

    @cached_property
    def _call(self) -> TrainerCall | None:
        from trl_lint.run.trainer import trainers_by_call

        found = trainers_by_call(self.module, self._run.project).get(self.call)
        return found if found is not None and found.is_certain else None

    def _known(self, name: str) -> object:
        """What the way of an argument says: a plain value, a `Thing` or UNKNOWN."""
        from trl_lint.run.trainer import facts, is_absent
        from trl_lint.run.trainer.running import holds_in

        call = self._call
        if call is None:
            return UNKNOWN
        if is_absent(call.given(name)):
            return UNKNOWN  # it is given by a position that the picture does not know
        said = facts.argument_of(call, name, self._run)
        if not isinstance(said, facts.Thing):
            return said
        lines = [line for line in call.lines(name) if holds_in(line.under, self._run) is not False]
        kinds = frozenset.intersection(*map(_kinds, lines)) | (said.classes - {"PeftModel"})
        if len(lines) != 1:
            return Thing(kinds)
        # The same object for whoever gets it, so that conditions can tell that it is.
        return self._things.setdefault(said.identity, Thing(kinds))


def _keys_of(call: TrainerCall, name: str) -> Keys:
    """The columns that all possibilities for a data set have, or lack."""
    from trl_lint.run.columns import columns_of

    known = columns_of(call.given(name))

    def has(column: str) -> bool | None:
        if known and all(column in each.certain for each in known):
            return True
        return False if known and all(each.lacks(column) for each in known) else None

    return Keys(has)


def _kinds(line: Line) -> frozenset[str]:
    """The classes of an object, by the last step on its way that does not give back what it was called on."""
    for made in line.steps:
        if made.kind == "call" and not (made.origin.startswith(".") and made.name in _GIVE_BACK):
            row = None if made.item else made_by(made.origin)
            return row.gives if row is not None else frozenset()
        if made.kind != "call":
            return frozenset()
    return frozenset()
