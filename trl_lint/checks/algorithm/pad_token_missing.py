"""TRL726: a trainer has to pad, and its tokenizer has no token for that."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule, first_found
from trl_lint.checks.algorithm._tokenizers import tokenizer_name
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding
from trl_lint.knowledge.models import habit_of
from trl_lint.python.module import mentions
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall, is_absent

# What may be set on a tokenizer that has no pad token after that either.
_HARMLESS = frozenset({"padding_side", "truncation_side", "model_max_length", "chat_template", "add_eos_token"})


class _Pads(NamedTuple):
    """A trainer that pads without a pad token of its own, in some releases. `loads`: it may load the tokenizer itself;
    `spared_by`: the field of its config that brings another value; `fails`: what it says.
    """

    releases: str
    loads: bool
    spared_by: str
    fails: str


# Read in grpo_trainer.py of 0.14.0, 0.15.2, 0.16.1 and 0.17.0, which puts the end of text in its place, and in
# dpo_trainer.py of 0.11.4, 0.12.2, 0.13.0, 0.15.2, 0.19.1, 0.23.1 and 0.24.0.
_TRAINERS = {
    "trl.GRPOTrainer": _Pads(
        ">=0.14.0,<0.17.0", True, "", "Asking to pad but the tokenizer does not have a padding token"
    ),
    "trl.DPOTrainer": _Pads(">=0.12.0,<0.24.0", False, "padding_value", "`pad_token_id` is missing"),
}

# What is said of pad tokens: maybe of this tokenizer, also after the trainer was made.
_PADS = regex(r"pad_token|padding_value|setup_chat_format|clone_chat_template")


class PadTokenMissing(TrainerRule):
    code = "TRL726"
    # Parts of the ids of models that are known to have no pad token: without them there is nothing to look for.
    needles = (b"gpt2", b"Llama-2", b"Llama-3", b"huggyllama")

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        row = _TRAINERS.get(call.trainer)
        if row is None or call.own is not None or is_unsloth(call.module) or mentions(call.module, _PADS):
            return
        yield from first_found(call, lambda run: self._in_run(call, row, run))

    def _in_run(self, call: TrainerCall, row: _Pads, run: Run | None) -> Finding | None:
        if not row.loads and is_absent(call.given("processing_class")):
            return None
        named = tokenizer_name(call, run, _HARMLESS)
        if not named or habit_of(named).pad != "none" or (row.spared_by and not is_absent(call.field(row.spared_by))):
            return None
        verdict = judge_pins(call.environment, {"trl": row.releases}, Level(self))
        if verdict is None:
            return None
        message = (
            f"the tokenizer of {named} has no pad token, and {call.name} needs one to make batches (ValueError: "
            f"{row.fails}): set `tokenizer.pad_token = tokenizer.eos_token` and pass it as `processing_class` "
            f"({verdict.scope})"
        )
        location = call.module.location(call.call.func)
        return self.finding(location, message, severity=verdict.severity, related=verdict.related)


rule = PadTokenMissing()
