"""TRL704: a quantised model is to be trained, and no adapter is put on it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule, first_found, place_for, seen_at
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.finding import Finding
from trl_lint.python.module import mentions
from trl_lint.regexes import regex
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall
from trl_lint.run.trainer.facts import argument_of
from trl_lint.run.trainer.models import Quantised, has_adapter, is_name, possible_lines, quantised

# Those whose constructor is that of `transformers.Trainer` in every release.
_TRAINERS = frozenset(
    {
        "BCOTrainer", "CPOTrainer", "DPOTrainer", "GKDTrainer", "GRPOTrainer", "KTOTrainer", "ORPOTrainer",
        "PRMTrainer", "RewardTrainer", "SFTTrainer", "Seq2SeqTrainer", "Trainer",
    }
)  # fmt: skip
# Functions that put an adapter on a model in place, by their names.
_IN_PLACE = regex(r"\b(?:add|inject|load|attach|apply|init|set|setup)_\w{0,40}(?:adapter|lora|peft)", re.IGNORECASE)


class QuantisedModelWithoutAdapter(TrainerRule):
    code = "TRL704"
    needles = (b"load_in_4bit", b"load_in_8bit")
    runs = True
    launched = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        """A command of a framework that loads the model itself."""
        from trl_lint.checks._run_models import package_of
        from trl_lint.checks.verdict import Level, judge_releases

        config, package = run.config, package_of(run)
        given = config.given_setting("quantised")
        held = config.held("quantised")
        if not isinstance(given, Setting) or held is None or not held.bare or run.script or package not in run.choices:
            return

        def is_bare(release: str) -> bool:
            return (
                config.is_read("quantised", run.launch.subcommand, release)
                and config.is_on("quantised", release) is True
                and isinstance(config.setting("adapter", release), Setting)
                and config.is_on("adapter", release) is False
            )

        chosen = run.choices[package]
        verdict = judge_releases(chosen, is_bare, Level(self, run.launch.is_documentation))
        if verdict is None:
            return
        what = (
            "the trainer stops, because quantised weights cannot be trained"
            if held.bare == "stops"
            else "those weights have no gradients, and only embeddings, norms and the head are trained"
        )
        yield self.finding(
            given.location or run.launch.location,
            f"the model is loaded in few bits and nothing puts an adapter on it: {what}; set "
            f"`{config.option('adapter', verdict.version)}`, or load the model unquantised ({verdict.scope})",
            severity=verdict.severity,
            related=verdict.related,
        )

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.name not in _TRAINERS or is_unsloth(call.module) or mentions(call.module, _IN_PLACE):
            return
        yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        found = read_bare(call, run)
        if found is None or found.place is None:
            return None
        bits = found.bits.removesuffix("bit")
        message = (
            f"the model is loaded in {bits} bits and nothing puts an adapter on it: the trainer stops, because "
            "quantised weights cannot be trained; give it a `peft_config`, or load the model unquantised"
        )
        where = (run.launch.location._replace(message="the run"),) if run is not None else ()
        return self.finding(
            place_for(call, found.place), message, related=(*seen_at(call, found.place, "quantised here"), *where)
        )


def read_bare(call: TrainerCall, run: Run | None) -> Quantised | None:
    """How the model of a trainer is quantised in a run in which it certainly has no adapter; None where it may."""

    if argument_of(call, "peft_config", run) is not None:
        return None
    lines = possible_lines(call.lines("model"), run)
    if not lines or any(has_adapter(line) is not False and not is_name(line.made) for line in lines):
        return None
    found = [quantised(line, run, call) for line in lines]
    return found[0] if all(one.bits in ("4bit", "8bit") for one in found) else None


rule = QuantisedModelWithoutAdapter()
