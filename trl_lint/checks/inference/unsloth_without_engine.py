"""TRL805: a trainer that Unsloth has patched looks for a vLLM engine which the model was loaded without."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule, first_found, place_for, seen_at
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall
from trl_lint.run.trainer.made import Made
from trl_lint.run.trainer.models import is_unsloth, loader, only, possible_lines
from trl_lint.run.trainer.running import value_in

_TRAINERS = frozenset({"trl.GRPOTrainer", "trl.OnlineDPOTrainer", "trl.RLOOTrainer"})
# Releases whose trainer takes `model.vllm_engine` whatever the model has: read in 2025.3.17, 2025.6.12, 2025.10.1 and
# 2026.3.1; 2026.10.9 asks first.
_UNASKED = ">=2025.3.17,<=2026.3.1"
# Releases that load a model for full fine-tuning without handing `fast_inference` on: read in 2025.3.17, 2025.6.12 and
# 2025.7.11; 2025.8.10 hands it on.
_DROPPED = ">=2025.3.17,<=2025.7.11"


class UnslothWithoutEngine(TrainerRule):
    code = "TRL805"
    words = (b"unsloth",)
    needles = (b"use_vllm",)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.trainer not in _TRAINERS or call.own is not None:
            return
        yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        loads = [loader(line) for line in possible_lines(call.lines("model"), run)]
        load = loads[0] if len(loads) == 1 else None
        switch = only(call.field("use_vllm"), run)
        if load is None or not is_unsloth(load) or switch is None or value_in(switch, run) is not True:
            return None
        fast = only(load.argument("fast_inference"), run)
        full = only(load.argument("full_finetuning"), run)
        if fast is None or full is None:
            return None
        if value_in(fast, run) is True:
            return self._finding(call, full, switch, _DROPPED, _FULL) if value_in(full, run) is True else None
        is_off = fast.kind == "absent" or value_in(fast, run) is False
        return self._finding(call, load, switch, _UNASKED, _WITHOUT) if is_off else None

    def _finding(self, call: TrainerCall, made: Made, switch: Made, releases: str, message: str) -> Finding | None:
        environment = call.environment
        verdict = judge_pins(environment, {"unsloth": releases}, Level(self))
        if verdict is None:
            return None
        related = (*seen_at(call, made, "the model"), switch.location._replace(message="vLLM"), *verdict.related)
        here = place_for(call, made)
        return self.finding(here, f"{message} ({verdict.scope})", severity=verdict.severity, related=related)


_WITHOUT = (
    "`use_vllm` takes the engine that Unsloth loads with the model, and this one is loaded without: add "
    "`fast_inference=True` (AttributeError: no attribute 'vllm_engine')"
)
_FULL = (
    "Unsloth loads no engine for full fine-tuning, and passes over `fast_inference`: leave `use_vllm` or "
    "`full_finetuning` out (AttributeError: no attribute 'vllm_engine')"
)


rule = UnslothWithoutEngine()
