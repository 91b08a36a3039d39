"""TRL754: an evaluation keeps the logits of all its tokens for `compute_metrics`."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule, first_found
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.finding import Finding
from trl_lint.knowledge.models import model_of
from trl_lint.python.guards import last_name
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.run.trainer import Line, TrainerCall
from trl_lint.run.trainer.models import is_name, loader, only, possible_lines
from trl_lint.run.trainer.running import is_on, setting_of, value_in

_TRAINERS = frozenset({"transformers.Trainer", "trl.SFTTrainer"})
_SPARING = ("prediction_loss_only", "batch_eval_metrics")


class EvaluationKeepsLogits(TrainerRule):
    code = "TRL754"
    needles = (b"compute_metrics",)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.trainer in _TRAINERS and call.own is None and not is_unsloth(call.module):
            yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        metrics = only(call.given("compute_metrics"), run)
        picked = only(call.given("preprocess_logits_for_metrics"), run)
        if (
            metrics is None
            or picked is None
            or metrics.kind not in ("function", "call", "instance")
            or not picked.is_nothing
        ):
            return None
        if not _evaluates(call, run) or any(
            _is_set(call, name, run) for name in ("prediction_loss_only", "batch_eval_metrics")
        ):
            return None
        lines = possible_lines(call.lines("model"), run)
        if not lines or not all(_is_causal(line, call) for line in lines):
            return None
        size = _size(lines[0], run)
        place = next((word.value for word in call.call.keywords if word.arg == "compute_metrics"), call.call)
        return self.finding(
            call.module.location(place),
            "for `compute_metrics` the evaluation keeps the logits of every token of every example, on the GPU"
            f"{size}: memory runs out; take what is needed of them in `preprocess_logits_for_metrics` "
            "(`logits.argmax(-1)`)",
        )


def _evaluates(call: TrainerCall, run: Run | None) -> bool:
    """Whether the trainer evaluates: by its arguments, or because the script asks it to."""
    names = {last_name(one.func) for one in call.module.calls}
    said = [only(call.field(name), run) for name in ("eval_strategy", "evaluation_strategy")]
    values = [value_in(one, run) for one in said if one is not None]
    return "evaluate" in names or any(isinstance(value, str) and value != "no" for value in values)


def _is_set(call: TrainerCall, name: str, run: Run | None) -> bool:
    """Whether a switch is on, or may be."""
    made = only(call.field(name), run)
    if made is None:
        return True
    said = setting_of(made, run) if made.kind == "field" and run is not None else None
    return is_on(made, run) or (made.kind not in ("absent", "literal") and not isinstance(said, Setting))


def _is_causal(line: Line, call: TrainerCall) -> bool:
    if is_name(line.made):
        return call.trainer == "trl.SFTTrainer" and line.made.kind == "literal"
    load = loader(line)
    return load is not None and load.origin.startswith("transformers.") and "ForCausalLM." in load.origin


def _size(line: Line, run: Run | None) -> str:
    """How much that is for an example of 1,000 tokens, where the vocabulary of the model is known."""
    load = loader(line)
    named = only(load.argument("pretrained_model_name_or_path", 0), run) if load is not None else line.made
    name = value_in(named, run) if named is not None else None
    known = model_of(name) if isinstance(name, str) else None
    if known is None or not known.vocabulary:
        return ""
    return f" ({known.vocabulary * 4000 / 1e9:.1f} GB for 1,000 tokens in float32)"


rule = EvaluationKeepsLogits()
