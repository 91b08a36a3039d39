"""What the training arguments of a trainer come to in a run, with the defaults of a release."""

from __future__ import annotations

from collections.abc import Mapping

from trl_lint import asked
from trl_lint.knowledge.api import resolve, signature
from trl_lint.missing import UNKNOWN
from trl_lint.run.effective import Setting, as_bool, of_default
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall
from trl_lint.run.trainer.made import Made
from trl_lint.run.trainer.models import only
from trl_lint.run.trainer.running import setting_of, value_in


def field_in(call: TrainerCall, name: str, run: Run | None, versions: Mapping[str, str]) -> object:
    """What a field of the training arguments is in a run with these releases; UNKNOWN where nobody can tell."""
    found = _field_in(call, name, run, versions)
    if asked.log is not None:
        is_known = found is not UNKNOWN
        text = repr(found) if is_known else "not known: what the trainer is given cannot be followed to one value"
        asked.note(asked.Answer("value", name, text, call.location, is_known))
    return found


def _field_in(call: TrainerCall, name: str, run: Run | None, versions: Mapping[str, str]) -> object:
    made = only(call.field(name), run)
    if made is None:
        return UNKNOWN
    if made.kind == "absent":
        return _default(call, name, run, versions)
    if made.kind == "field" and run is not None:
        said = setting_of(made, run)
        if not isinstance(said, Setting):
            return UNKNOWN
        if said.location is None:
            return _default(call, name, run, versions)
        truth = as_bool(said.value) if isinstance(said.value, str) else None
        return said.value if truth is None else truth
    return value_in(made, run)


def is_said(made: Made, run: Run | None) -> bool:
    """Whether a field has a value that somebody wrote down, in the script, a recipe or the command."""
    if made.kind != "field" or run is None:
        return made.kind != "absent"
    setting = setting_of(made, run)
    return isinstance(setting, Setting) and setting.location is not None


def _default(call: TrainerCall, name: str, run: Run | None, versions: Mapping[str, str]) -> object:
    """The default of a field, in the one class that the arguments are made of."""
    classes = {made.origin for made in call.given("args") if made.kind == "call"}
    if run is not None and run.arguments_class:
        classes |= {run.arguments_class} if not classes else set()
    if len(classes) != 1:
        return UNKNOWN
    found = resolve(classes.pop(), versions)
    parameter = signature(found, versions).parameters.get(name) if isinstance(found, str) else None
    default = of_default(parameter.default) if parameter is not None else UNKNOWN
    return default.value if isinstance(default, Setting) else UNKNOWN
