"""TRL728: examples are packed into one sequence, and the attention is not told where each of them begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from trl_lint.checks._trainer_rule import FieldTrainerRule, also_at, first_found, said_at
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import Verdict, judge_pins, judge_releases, level_in
from trl_lint.finding import Finding
from trl_lint.knowledge.ranges import holds
from trl_lint.missing import UNKNOWN
from trl_lint.python.module import mentions
from trl_lint.regexes import regex
from trl_lint.run.runs import Run
from trl_lint.run.trainer import Line, TrainerCall
from trl_lint.run.trainer.configs import field_in
from trl_lint.run.trainer.made import Made, Options
from trl_lint.run.trainer.models import is_handed_on, is_name, loader, only, possible_lines
from trl_lint.run.trainer.running import value_in

# The collator gets positions only with flash attention (`return_position_ids`), in one row without padding. Read in
# 0.19.0, 0.19.1, 0.20.0, 0.21.0, 0.22.2 and 0.23.0; 0.18.2 does not pack so, and 0.23.1 always gives them.
_WITHOUT = ">=0.19.0,<0.23.1"
# `DPOTrainer` gives positions and no mask. transformers makes a mask of them from 4.53.1 on (masking_utils.py); with
# 4.52.4 and sdpa, what stands before changes the logits. The option came with 0.14.0, and 0.29.0 takes no notice of it.
_DPO = {"trl": ">=0.14.0,<0.29.0", "transformers": "<4.53.1"}
_PACKS = frozenset({"ffd", "bfd"})
# What else decides which attention a model gets.
_OTHERS = ("config", "use_flash_attention_2", "experimental_attention_implementation")

# What sets the attention, or gives positions, in another way.
_BY_HAND = regex(r"_attn_implementation\s{0,4}=|set_attn_implementation|return_position_ids|data_collator|Flattening")

Asked = Callable[[str], Options]


class PackedWithoutPositions(FieldTrainerRule):
    code = "TRL728"
    words = (b"SFTTrainer", b"DPOTrainer")
    needles = (b"packing", b"padding_free")
    fields = ("packing", "padding_free")

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        judge = {"trl.SFTTrainer": self._in_run, "trl.DPOTrainer": self._in_dpo}.get(call.trainer)
        if judge is None or call.own is not None or is_unsloth(call.module) or mentions(call.module, _BY_HAND):
            return
        yield from first_found(call, lambda run: judge(call, run) if _have_no_flash(call, run) else None)

    def _in_dpo(self, call: TrainerCall, run: Run | None) -> Finding | None:
        environment = call.environment
        versions = environment.choices.newest(("trl", "transformers"))
        if field_in(call, "padding_free", run, versions) is not True:
            return None
        verdict = judge_pins(environment, _DPO, level_in(self, run))
        if verdict is None:
            return None
        return self._finding(call, "padding_free", run, verdict)

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        choices = call.environment.choices
        if "trl" not in choices:
            return None

        def is_bad(release: str) -> bool:
            versions = {**choices.newest(("trl", "transformers")), "trl": release}
            return holds(_WITHOUT, release) and flattened(call, run, versions) != ""

        verdict = judge_releases(choices["trl"], is_bad, level_in(self, run))
        if verdict is None:
            return None
        option = flattened(call, run, {**choices.newest(("trl", "transformers")), "trl": verdict.version})
        return self._finding(call, option, run, verdict)

    def _finding(self, call: TrainerCall, option: str, run: Run | None, verdict: Verdict) -> Finding:
        message = (
            f"`{option}` puts several examples into one row, and without flash attention this release does not tell "
            "the model where they begin: each one attends to those before it; load the model with "
            f'`attn_implementation="flash_attention_2"`, or leave `{option}` out ({verdict.scope})'
        )
        made = only(call.field(option), run)
        place = call.location if made is None or made.kind == "absent" else said_at(call, made, run)
        related = (*also_at(call, place), *verdict.related)
        return self.finding(place, message, severity=verdict.severity, related=related)


def flattened(call: TrainerCall, run: Run | None, versions: dict[str, str]) -> Literal["packing", "padding_free", ""]:
    """The option that certainly puts several examples into one row with these releases."""
    if field_in(call, "packing", run, versions) is True:
        return "packing" if field_in(call, "packing_strategy", run, versions) in _PACKS else ""
    if field_in(call, "padding_free", run, versions) is not True:
        return ""
    size = field_in(call, "per_device_train_batch_size", run, versions)
    return "padding_free" if isinstance(size, int) and size > 1 else ""  # one alone attends to itself


def _have_no_flash(call: TrainerCall, run: Run | None) -> bool:
    lines = possible_lines(call.lines("model"), run)
    return bool(lines) and all(_has_no_flash(line, call, run) for line in lines)


def _has_no_flash(line: Line, call: TrainerCall, run: Run | None) -> bool:
    """Whether a model certainly has another attention than a flash attention."""
    if is_handed_on(line.steps) or any("attn" in one.path or one.kind == "other" for one in line.changes):
        return False
    load = loader(line)
    if load is not None:
        return load.origin.startswith("transformers.") and _is_other(load.argument, run)
    if not is_name(line.made):
        return False
    kwargs: Made | None = only(call.field("model_init_kwargs"), run)
    if kwargs is None:
        return False
    if kwargs.kind == "dict":
        return not kwargs.changes and _is_other(kwargs.entry, run)
    return value_in(kwargs, run) is None


def _is_other(asked: Asked, run: Run | None) -> bool:
    if any(made.kind != "absent" for name in _OTHERS for made in asked(name)):
        return False
    said = only(asked("attn_implementation"), run)
    value = UNKNOWN if said is None else value_in(said, run)
    return value is None or (isinstance(value, str) and value in ("eager", "sdpa"))


rule = PackedWithoutPositions()
