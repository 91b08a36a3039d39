"""TRL804: the weights of a quantised policy are sent to a vLLM engine that expects them unquantised."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule, first_found, place_for, seen_at
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall
from trl_lint.run.trainer.configs import field_in
from trl_lint.run.trainer.models import only, possible_lines, quantised

_TRAINERS = frozenset({"trl.GRPOTrainer", "trl.RLOOTrainer"})
# From here on an engine of the trainer itself is told of 4-bit weights, and refuses 8-bit ones. Read in 0.25.1, 0.26.0,
# 0.29.1 and 1.16.0. A server is told of neither in any release.
_TOLD = "0.26.0"


class QuantisedPolicyWithVllm(TrainerRule):
    code = "TRL804"
    needles = (b"load_in_4bit", b"load_in_8bit")

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.trainer not in _TRAINERS or call.own is not None or "unsloth" in call.module.names.modules():
            return
        choices = call.environment.choices
        if "trl" not in choices:
            return
        yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        lines = possible_lines(call.lines("model"), run)
        found = [quantised(line, run, call) for line in lines]
        if not found or not all(one.bits in ("4bit", "8bit") for one in found):
            return None
        policy = found[0]
        switch = only(call.field("use_vllm"), run)
        if policy.place is None or switch is None:
            return None
        choices = call.environment.choices

        def is_bad(release: str) -> bool:
            versions = {**choices.newest(("trl", "transformers")), "trl": release}
            if field_in(call, "use_vllm", run, versions) is not True:
                return False
            if before(release, _TOLD):
                return True
            mode = field_in(call, "vllm_mode", run, versions)
            return mode == "server" or (mode == "colocate" and policy.bits == "8bit")

        verdict = judge_releases(choices["trl"], is_bad, Level(self))
        if verdict is None:
            return None
        bits = policy.bits.removesuffix("bit")
        is_own = not before(verdict.version, _TOLD) and policy.bits == "4bit"
        advice = 'use `vllm_mode="colocate"`' if is_own else "load the policy unquantised, or leave `use_vllm` out"
        message = (
            f"vLLM loads this policy unquantised and gets its weights in {bits} bits, which do not fit: {advice} "
            f"({verdict.scope})"
        )
        here = place_for(call, policy.place)
        shown = (*seen_at(call, policy.place, "quantised here"), switch.location._replace(message="vLLM"))
        related = tuple(place for place in shown if place[:3] != here[:3])
        return self.finding(here, message, severity=verdict.severity, related=(*related, *verdict.related))


def before(release: str, other: str) -> bool:
    from packaging.version import Version

    return Version(release) < Version(other)


rule = QuantisedPolicyWithVllm()
