"""The trainers of a script that certainly get the training arguments of a run.

A run knows one config: what its parser gives, or what one call builds. A trainer that gets another one, or one of which
nobody can tell, is none of its trainers.
"""

from __future__ import annotations

import ast

from trl_lint import budget
from trl_lint.knowledge.conditions import has_conditions
from trl_lint.memos import per_module
from trl_lint.project import Project
from trl_lint.python.guards import is_expected_to_fail, last_name
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple
from trl_lint.run.parsers import dataclass_types, fields_of, training_class
from trl_lint.run.runs import Run
from trl_lint.run.trainer import Made, TrainerCall, trainers_by_call

PACKAGES = ("trl", "transformers")
_MOST_TRAINERS = 8  # of one config; each is held against all that the releases in use say of it
# Those of transformers that a `Trainer` is built with whatever config they get.
_ANY_CONFIG = frozenset({"Trainer", "Seq2SeqTrainer"})


class Built(NamedTuple):
    """A trainer of a library that a script builds: its dotted name, and the call."""

    dotted: str
    call: ast.Call
    module: PythonModule


def trainers_of(run: Run) -> list[Built]:
    """The trainers that a script builds with the arguments of a run, in the order of the text, the first of many."""
    script = run.script
    if script is None:
        return []
    asked: ast.Call | str = script.call if script.call is not None else run.arguments_class
    found = [
        Built(dotted, call, script.module)
        for dotted, call in _by_arguments(script.module, run.project).get(asked, ())
        if _is_for(dotted, run.arguments_class)
    ]
    if len(found) > _MOST_TRAINERS:
        reason = f"{_MOST_TRAINERS} of its {len(found)} trainers with one config were held against what releases refuse"
        budget.note(script.path, reason)
    return found[:_MOST_TRAINERS]


def is_known(dotted: str) -> bool:
    """Whether the releases of trl or transformers say anything of a class."""
    package, _, name = dotted.rpartition(".")
    return package.partition(".")[0] in PACKAGES and has_conditions(package.partition(".")[0], name)


@per_module
def _by_arguments(module: PythonModule, project: Project) -> dict[ast.Call | str, list[tuple[str, ast.Call]]]:
    """The trainers of libraries that a module builds, by the call that certainly made their arguments.

    Those that get what its parser gives stand under the class of that.
    """
    from trl_lint.checks.drift._calls import is_patched, is_unsloth

    found: dict[ast.Call | str, list[tuple[str, ast.Call]]] = {}
    for call in () if is_unsloth(module) or is_patched(module) else module.calls:
        if not last_name(call.func).endswith("Trainer") or not module.names.is_certain(call.func):
            continue
        origins = module.names.origins(call.func)
        dotted = next(iter(origins)) if len(origins) == 1 else ""
        if not is_known(dotted) or is_expected_to_fail(module, call):
            continue
        trainer = trainers_by_call(module, project).get(call)
        made = _arguments_of(trainer) if trainer is not None and trainer.is_certain else None
        if made is not None:
            found.setdefault(made, []).append((dotted, call))
    return found


def _arguments_of(trainer: TrainerCall) -> ast.Call | str | None:
    """The call that certainly made the arguments of a trainer, or the class that a parser gives them; None for others.

    Of several possibilities all must be that.
    """
    found = {_made_by(one, trainer.module, trainer.project) for one in trainer.given("args")}
    return found.pop() if len(found) == 1 else None


def _made_by(made: Made, module: PythonModule, project: Project) -> ast.Call | str | None:
    if made.kind in ("call", "instance") and not made.item:
        return made.node if isinstance(made.node, ast.Call) else None
    parser = made.base
    if made.kind != "parsed" or not isinstance(parser, Made) or parser.frame.module is not module:
        return None
    types = dataclass_types(parser.node, module) if isinstance(parser.node, ast.Call) else None
    place = made.item[0] if len(made.item) == 1 else None
    if types is None or not isinstance(place, int) or not 0 <= place < len(types):
        return None
    fields = fields_of(types[place], module, project)
    return (training_class(fields) or None) if fields is not None else None


def _is_for(trainer: str, config: str) -> bool:
    """Whether a trainer is built with configs of a class: `trl.DPOTrainer` with `trl.DPOConfig`."""
    name = trainer.rpartition(".")[2]
    same = name.removesuffix("Trainer") == config.rpartition(".")[2].removesuffix("Config")
    return same or (name in _ANY_CONFIG and config.startswith("transformers."))
