"""Quantised weights of the models that trainers are given, in runs with FSDP."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._started import Started
from trl_lint.checks._trainer_rule import first_started, place_for, seen_at
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Location
from trl_lint.missing import UNKNOWN
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.run.sharding import fsdp_version
from trl_lint.run.trainer import TrainerCall
from trl_lint.run.trainer.models import Quantised, is_unsloth, only, possible_lines, quantised
from trl_lint.run.trainer.running import value_in

_INTEGERS = frozenset({"uint8", "int8", "torch.uint8", "torch.int8"})


def integer_weight_findings(rule: Rule, call: TrainerCall) -> Iterator[Finding]:
    """The quantised model that a trainer is given, in the first run in which FSDP cannot flatten it."""
    yield from first_started(call, lambda started: _in_run(rule, call, started))


def _in_run(rule: Rule, call: TrainerCall, started: Started) -> Finding | None:
    place = first_fsdp(started.run)
    if place is None:
        return None
    lines = possible_lines(call.lines("model"), started.run)
    found = [quantised(line, started.run, call) for line in lines if not is_unsloth(line.source)]
    if not found or len(found) < len(lines) or not all(is_integer(one, started.run) for one in found):
        return None
    first = found[0]
    if first.place is None:
        return None
    related = (*seen_at(call, first.place, "quantised here"), place, *started.related)
    return rule.finding(place_for(call, first.place), _message(first), related=related)


def _message(found: Quantised) -> str:
    if found.bits == "8bit":
        return (
            'FSDP stops at these 8-bit weights ("Cannot flatten integer dtype tensors"): load the model in 4 bits with '
            "`bnb_4bit_quant_storage`, or unquantised"
        )
    return (
        'FSDP stops at 4-bit weights that are stored as integers ("Cannot flatten integer dtype tensors"): give '
        "`bnb_4bit_quant_storage` the dtype that the model is loaded in, such as torch.bfloat16"
    )


def is_integer(found: Quantised, run: Run | None) -> bool:
    """Whether quantised weights are certainly stored as integers."""
    if found.bits == "8bit":
        return True
    if found.bits != "4bit" or found.place is None:
        return False
    if found.config is None:
        return found.place.kind == "literal"  # the switch of `from_pretrained`, which has no storage beside it
    storage = only(found.config.argument("bnb_4bit_quant_storage"), run)
    if storage is None:
        return False
    if storage.kind == "name":
        return storage.origin in _INTEGERS
    value = value_in(storage, run)
    return value is None or (value is not UNKNOWN and value in _INTEGERS)


def first_fsdp(run: Run) -> Location | None:
    """Where a run is told to use FSDP in its first version; None where it is not, or another, or nobody knows."""
    if run.launch.launcher != "accelerate" or fsdp_version(run) != 1:
        return None
    said = run.configs.accelerate.given("distributed_type")
    return said.location._replace(message="FSDP") if isinstance(said, Setting) and said.location is not None else None
