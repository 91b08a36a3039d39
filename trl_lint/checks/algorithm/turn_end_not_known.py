"""TRL739: a base model learns chats whose turns do not end with the token that its tokenizer ends texts with."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import FieldTrainerRule, first_found
from trl_lint.checks.algorithm._tokenizers import HARMLESS, tokenizer_name
from trl_lint.checks.algorithm.no_assistant_tokens import is_off
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import judge_pins, level_in
from trl_lint.finding import Finding
from trl_lint.knowledge.models import habit_of
from trl_lint.python.module import mentions
from trl_lint.regexes import regex
from trl_lint.run.columns import Columns, columns_of
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall, is_absent
from trl_lint.run.trainer.running import possible_in

# The field came with it (sft_trainer.py of 0.17.0); no release looks at the template of a tokenizer for itself.
_HAS_FIELD = ">=0.17.0"
# What sets another end or another template, or tells by hand where to stop.
_OTHERWISE = regex(
    r"im_end|eos_token|generation_config|stop_token|chat_template\s{0,4}=|setup_chat_format|clone_chat_template"
    r"|get_chat_template|skip_prepare"
)
_FIELDS = ("eos_token", "chat_template_path", "dataset_kwargs")


class TurnEndNotKnown(FieldTrainerRule):
    code = "TRL739"
    words = (b"SFTTrainer",)
    needles = (b"Qwen/Qwen2",)  # the models whose end of a turn `rules/models/models.toml` tells
    fields = ("model_name_or_path",)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.trainer != "trl.SFTTrainer" or call.own is not None or is_unsloth(call.module):
            return
        if mentions(call.module, _OTHERWISE) or not all(
            is_absent(call.given(name)) for name in ("formatting_func", "data_collator")
        ):
            return
        yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        name = tokenizer_name(call, run, HARMLESS)
        end = habit_of(name).turn_end if name else ""
        if not end or not all(is_off(call, field, run) for field in _FIELDS):
            return None
        datasets = columns_of(possible_in(call.given("train_dataset"), run))
        if not datasets or not all(map(_is_chat, datasets)):
            return None
        verdict = judge_pins(call.environment, {"trl": _HAS_FIELD}, level_in(self, run))
        if verdict is None:
            return None
        begun = tuple(one.places[0]._replace(message="the chats") for one in datasets if one.places)
        message = (
            f"{name} is a base model: its chat template ends each turn with `{end}`, and its tokenizer takes another "
            f'token for the end, so the trained model may write on behind its answers; give `eos_token="{end}"` '
            f"({verdict.scope})"
        )
        return self.finding(call.location, message, severity=verdict.severity, related=(*begun[:1], *verdict.related))


def _is_chat(columns: Columns) -> bool:
    """Whether a dataset certainly holds messages that SFTTrainer renders with the template."""
    kinds = columns.certain
    return kinds.get("messages") == "messages" or kinds.get("prompt") == kinds.get("completion") == "messages"


rule = TurnEndNotKnown()
