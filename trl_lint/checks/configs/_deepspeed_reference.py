"""A scheduler of a DeepSpeed config that is still "auto" when the trainer makes an engine of the reference model.

transformers puts numbers in place of `total_num_steps` and `warmup_num_steps` when training begins
(`trainer_config_finalize`, integrations/deepspeed.py of 4.57.6 and 5.23.0). The trainer hands a copy of the config to
`deepspeed.initialize` before that, for the reference model. With an `optimizer` in it DeepSpeed makes the scheduler at
once (`has_optimizer`, runtime/engine.py of 0.9.0, 0.12.6, 0.15.4, 0.18.3 and 0.19.8), and the word ends all three
schedulers with a TypeError or a ValueError (runtime/lr_schedules.py of these, run). TRL 1.9.1 takes both blocks out of
the copy (models/utils.py, `prepare_deepspeed`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from trl_lint.checks._run_models import trains_all
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Location, Severity
from trl_lint.memos import per_module
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.python.guards import is_expected_to_fail
from trl_lint.python.module import PythonModule, mentions
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall, trainer_calls
from trl_lint.run.trainer.configs import field_in
from trl_lint.run.trainer.models import loader
from trl_lint.sources.nodes import Entry, Mapping

# The releases that hand the whole config on: read in 0.8.6 to 1.9.1, all that are named in `Versions` of the page.
_GIVEN = {"trl.DPOTrainer": ">=0.8.6,<1.9.1", "trl.KTOTrainer": ">=0.8.6,<1.9.1"}
_OWN = {"trl.GRPOTrainer": ">=0.14.0,<1.9.1", "trl.RLOOTrainer": ">=0.24.0,<1.9.1"}
_PATCHES = regex(r"prepare_deepspeed")
_COUNTS = ("total_num_steps", "warmup_num_steps")
_SCHEDULERS = ("WarmupLR", "WarmupDecayLR", "WarmupCosineLR")


class Unscheduled(NamedTuple):
    """What is wrong, where the config says "auto", and what else shows it."""

    location: Location
    message: str
    severity: Severity
    related: tuple[Location, ...]


def unscheduled(run: Run, rule: Rule) -> Iterator[Unscheduled]:
    """The first number of steps that nobody has filled in when a trainer of the run prepares its reference model."""
    document = run.deepspeed
    entry = _unfilled(document) if document is not None else None
    if document is None or entry is None or run.script is None:
        return
    call = _first_with_reference(run.script.module, run.project)
    if call is None or not _has_reference(call, run) or not _reads(call, run, document):
        return
    releases = _GIVEN.get(call.trainer) or _OWN[call.trainer]
    verdict = judge_pins(call.environment, {"trl": releases}, Level(rule, run.launch.is_documentation))
    if verdict is None:
        return
    key = f"scheduler.params.{entry.key.value}"
    yield Unscheduled(
        document.place(entry),
        f'the {call.name} stops when it prepares the reference model: `{key}` is "auto", which only training fills '
        "in, and DeepSpeed wants a number; leave the `scheduler` and the `optimizer` out, write numbers, or take "
        f"trl 1.9.1 ({verdict.scope})",
        verdict.severity,
        (
            call.location._replace(message="the trainer"),
            run.launch.location._replace(message="the run"),
            *verdict.related,
        ),
    )


@per_module
def _first_with_reference(module: PythonModule, project: Project) -> TrainerCall | None:
    """The first trainer of a script that may have a reference model, looked for once for all runs."""
    for call in trainer_calls(module, project):
        is_of_kind = call.trainer in _OWN or (call.trainer in _GIVEN and _given(call))
        if is_of_kind and _is_made(call):
            return call
    return None


def _given(call: TrainerCall) -> bool:
    """Whether a trainer is certainly given a reference model that was loaded."""
    lines = call.lines("ref_model")
    return bool(lines) and all(loader(line) is not None for line in lines)


def _unfilled(document: Document) -> Entry | None:
    """The first number of steps that is "auto" in a config that has an optimizer and a scheduler of DeepSpeed."""
    root = document.root
    scheduler = root.get("scheduler") if isinstance(root, Mapping) and root.entry("optimizer") is not None else None
    if not isinstance(scheduler, Mapping) or getattr(scheduler.get("type"), "value", None) not in _SCHEDULERS:
        return None
    params = scheduler.get("params")
    found = [params.entry(name) for name in _COUNTS] if isinstance(params, Mapping) else []
    return next((one for one in found if one is not None and getattr(one.value, "value", None) == "auto"), None)


def _is_made(call: TrainerCall) -> bool:
    """Whether a run makes a trainer of TRL as it is, and ends where that fails."""
    is_plain = call.is_certain and not call.is_dead and call.own is None and not mentions(call.module, _PATCHES)
    return is_plain and not call.is_prepared and not is_expected_to_fail(call.module, call.call)


def _reads(call: TrainerCall, run: Run, document: Document) -> bool:
    """Whether the trainer certainly reads the config as it stands: nobody else in the script names the file."""
    named = field_in(call, "deepspeed", run, _newest(call))
    if not isinstance(named, str) and (named is not None or run.accelerate is None):
        return False
    return call.module.text.count(os.path.basename(document.path)) <= 1


def _newest(call: TrainerCall) -> dict[str, str]:
    return call.environment.choices.newest(("trl", "transformers"))


def _has_reference(call: TrainerCall, run: Run) -> bool:
    """Whether a trainer that is given a reference model, or may make one, certainly has one in a run."""
    if call.trainer in _GIVEN:
        return True
    if not trains_all(call, run):
        return False
    beta = field_in(call, "beta", run, _newest(call))
    return isinstance(beta, (int, float)) and beta != 0
