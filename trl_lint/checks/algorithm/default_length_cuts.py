"""TRL736: texts end at a default length, though the script speaks of longer ones."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule, first_found
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import judge_releases, level_in
from trl_lint.finding import Finding, Location
from trl_lint.knowledge.ranges import holds
from trl_lint.project.stack import Choices
from trl_lint.python.module import mentions
from trl_lint.regexes import regex
from trl_lint.run.runs import Run
from trl_lint.run.trainer import Line, TrainerCall, is_absent
from trl_lint.run.trainer.configs import field_in, is_said
from trl_lint.run.trainer.made import Made
from trl_lint.run.trainer.models import is_handed_on, loader, only, possible_lines
from trl_lint.run.trainer.running import possible_in, value_in

_TEXTS = frozenset(
    f"trl.{name}Trainer" for name in ("SFT", "DPO", "KTO", "ORPO", "CPO", "BCO", "Reward")
)  # trained on texts of the dataset
_ANSWERS = frozenset({"trl.GRPOTrainer", "trl.RLOOTrainer"})
_OF_TEXTS = ("max_length", "max_seq_length")
_OF_ANSWERS = "max_completion_length"
# With these the texts are cut elsewhere, or not at all; before 0.13 the trainer took the lengths itself.
_ELSEWHERE = ("data_collator", "formatting_func", *_OF_TEXTS)
_NOT_PREPARED = "dataset_kwargs"
# Before 0.15 SFT takes the smaller of this and the tokenizer's length where nothing is given: sft_trainer.py of 0.9.6,
# 0.12.1 and 0.14.0.
_SFT_BEFORE = "<0.15.0"
_SFT_THEN = 1024
# What may leave nothing to cut: rows that are chosen by their length, and texts that the script cuts itself.
_SHORTENED = regex(r"\.filter\(|\bmax_length|max_seq_length|truncation\s{0,4}=")
# Who sets a length that no model has means that there is none.
_LONGEST = 1 << 18
# Rewards of TRL that look for an answer behind the thoughts: rewards/__init__.py of 0.19.1 and 1.16.0.
_AFTER_THOUGHTS = frozenset({"accuracy_reward", "reasoning_accuracy_reward", "think_format_reward"})
_SHORT = 512


class DefaultLengthCuts(TrainerRule):
    code = "TRL736"
    words = tuple(name.rpartition(".")[2].encode() for name in sorted(_TEXTS | _ANSWERS))
    needles = (b"model_max_length", *(name.encode() for name in sorted(_AFTER_THOUGHTS)))

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.own is not None or is_unsloth(call.module):
            return
        if call.trainer in _TEXTS and all(is_absent(call.given(name)) for name in _ELSEWHERE):
            if mentions(call.module, _SHORTENED) or any(map(_is_written_down, call.lines("train_dataset"))):
                return
            yield from first_found(call, lambda run: self._texts_cut(call, run))
        elif call.trainer in _ANSWERS and "enable_thinking" not in call.module.text:
            yield from first_found(call, lambda run: self._answers_cut(call, run))

    def _texts_cut(self, call: TrainerCall, run: Run | None) -> Finding | None:
        choices = call.environment.choices
        wished = _length_of_tokenizer(call, run)
        if wished is None or "trl" not in choices or not _is_left(call, (*_OF_TEXTS, _NOT_PREPARED), run):
            return None
        longest, place = wished

        def length_in(release: str) -> int:
            return _usual_length(call, run, choices, release)

        verdict = judge_releases(choices["trl"], lambda one: 0 < length_in(one) < longest, level_in(self, run))
        if verdict is None:
            return None
        message = (
            f"{call.name} cuts every text at {length_in(verdict.version)} tokens, its default, and does not go by the "
            f"tokenizer, which is for {longest}: give the length to the trainer as well ({verdict.scope})"
        )
        return self.finding(call.location, message, severity=verdict.severity, related=(place, *verdict.related))

    def _answers_cut(self, call: TrainerCall, run: Run | None) -> Finding | None:
        choices = call.environment.choices
        thinking = _thinking(call, run)
        if not thinking or "trl" not in choices or not _is_left(call, (_OF_ANSWERS,), run):
            return None

        def length_in(release: str) -> int:
            return _default_in(call, _OF_ANSWERS, run, choices, release)

        verdict = judge_releases(choices["trl"], lambda one: 0 < length_in(one) <= _SHORT, level_in(self, run))
        if verdict is None:
            return None
        message = (
            f"every answer ends after {length_in(verdict.version)} tokens, the default of `{_OF_ANSWERS}`, and "
            f"`{thinking}` looks for what stands at their end: thoughts that are cut bring no reward; give a length "
            f"({verdict.scope})"
        )
        return self.finding(call.location, message, severity="info", related=verdict.related)


def _is_written_down(line: Line) -> bool:
    """Whether the rows stand in the code, as those of a trial do: what is long there was meant to be."""
    return line.source.origin.startswith("datasets.Dataset.from_")


def _is_left(call: TrainerCall, names: tuple[str, ...], run: Run | None) -> bool:
    """Whether certainly nobody gives these fields of the training arguments."""
    found = [only(call.field(name), run) for name in names]
    return all(made is not None and not is_said(made, run) for made in found)


def _default_in(call: TrainerCall, name: str, run: Run | None, choices: Choices, release: str) -> int:
    """The default of a length in a release of trl; 0 where there is none, or nobody knows."""
    value = field_in(call, name, run, {**choices.newest(("trl", "transformers")), "trl": release})
    return value if isinstance(value, int) else 0


def _usual_length(call: TrainerCall, run: Run | None, choices: Choices, release: str) -> int:
    found = max(_default_in(call, name, run, choices, release) for name in _OF_TEXTS)
    is_smaller = call.trainer == "trl.SFTTrainer" and holds(_SFT_BEFORE, release)
    return found or (_SFT_THEN if is_smaller else 0)


def _length_of_tokenizer(call: TrainerCall, run: Run | None) -> tuple[int, Location] | None:
    """The length that the tokenizer of a trainer is certainly loaded with, or set to, and where."""
    lines = possible_lines(call.lines("processing_class"), run)
    if len(lines) != 1 or lines[0].under or is_handed_on(lines[0].steps):
        return None
    load = loader(lines[0])
    made = only(load.argument("model_max_length"), run) if load is not None else None
    found: tuple[object, Location] | None = None
    if made is not None and made.kind != "absent":
        found = value_in(made, run), made.location
    for change in lines[0].changes:
        if change.path == "model_max_length" or change.kind == "other":
            if change.kind != "set" or change.under or change.value is None:
                return None
            found = change.frame.module.value(change.value), change.location
    length = found[0] if found is not None else None
    if found is None or isinstance(length, bool) or not isinstance(length, int) or length > _LONGEST:
        return None
    return length, found[1]._replace(message="the tokenizer's length")


def _thinking(call: TrainerCall, run: Run | None) -> str:
    """The reward of TRL that tells that the answers are to hold thoughts; "" where none does."""
    rewards = [one for made in possible_in(call.given("reward_funcs"), run) for one in _each(made)]
    for made in rewards:
        if made.kind == "name" and made.origin.startswith("trl.") and made.name in _AFTER_THOUGHTS:
            return made.name
    return ""


def _each(made: Made) -> tuple[Made, ...]:
    items = made.items() if made.kind == "list" else None
    return tuple(one for options in items for one in options) if items is not None else (made,)


rule = DefaultLengthCuts()
