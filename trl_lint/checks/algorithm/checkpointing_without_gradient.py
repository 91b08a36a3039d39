"""TRL732: layers under an adapter are computed again by checkpoints that begin at an input without a gradient."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import FieldTrainerRule, also_at, first_found, said_at
from trl_lint.checks.algorithm._reward_models import adapter_config, leaves_alone
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import judge_pins, level_in
from trl_lint.finding import Finding
from trl_lint.python.module import mentions
from trl_lint.regexes import regex
from trl_lint.run.runs import Run
from trl_lint.run.trainer import Line, TrainerCall
from trl_lint.run.trainer.facts import Thing, argument_of
from trl_lint.run.trainer.made import Made
from trl_lint.run.trainer.models import is_handed_on, is_name, loader, only, possible_lines
from trl_lint.run.trainer.running import is_on, value_in

# GRPOTrainer that does not make the input of the first layer require gradients: read in 0.14.0, 0.15.2 and 0.16.0,
# which does. Run with 0.15.2, 0.24.0 and 0.29.1 on a model of one layer.
_WITHOUT = ">=0.14.0,<0.16.0"
# The layers of embeddings, by the names that families of models give them.
_INPUTS = frozenset({"embed_tokens", "wte", "wpe", "embed_in", "word_embeddings"})
# Code that does it by itself.
_BY_HAND = regex(r"enable_input_require_grads|prepare_model_for|requires?_grad|get_input_embeddings")


class CheckpointingWithoutGradient(FieldTrainerRule):
    code = "TRL732"
    words = (b"peft_config", b"get_peft_model")
    needles = (b"gradient_checkpointing",)
    fields = ("gradient_checkpointing",)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.trainer != "trl.GRPOTrainer" or call.own is not None or is_unsloth(call.module):
            return
        if not mentions(call.module, _BY_HAND):
            yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        switch = only(call.field("gradient_checkpointing"), run)
        if switch is None or not is_on(switch, run) or not _is_reentrant(call, run):
            return None
        given = isinstance(argument_of(call, "peft_config", run), Thing)
        lines = possible_lines(call.lines("model"), run)
        if not lines or not all(_has_adapter(line, given) for line in lines):
            return None
        configs = [adapter_config(line, call, run) for line in lines]
        if not all(config is not None and leaves_alone(config, _INPUTS.__contains__, run) for config in configs):
            return None  # embeddings that are trained have a gradient
        verdict = judge_pins(call.environment, {"trl": _WITHOUT}, level_in(self, run))
        if verdict is None:
            return None
        message = (
            "with an adapter nothing before the first layer has a gradient, and reentrant checkpoints begin there: the "
            'first step stops ("element 0 of tensors does not require grad"); give '
            f'`gradient_checkpointing_kwargs={{"use_reentrant": False}}` ({verdict.scope})'
        )
        place = said_at(call, switch, run)
        related = (*also_at(call, place), *verdict.related)
        return self.finding(place, message, severity=verdict.severity, related=related)


def _is_reentrant(call: TrainerCall, run: Run | None) -> bool:
    """Whether the checkpoints certainly are reentrant, as they are by default."""
    kwargs: Made | None = only(call.field("gradient_checkpointing_kwargs"), run)
    if kwargs is None or kwargs.changes:
        return False
    if kwargs.kind == "dict":
        made = only(kwargs.entry("use_reentrant"), run)
        return made is not None and (made.kind == "absent" or value_in(made, run) is True)
    return value_in(kwargs, run) is None


def _has_adapter(line: Line, is_given: bool) -> bool:
    """Whether a model certainly gets an adapter of PEFT, and nothing else is done to it."""
    if is_handed_on(line.steps):
        return False
    if any(change.kind != "set" or not change.path.startswith("config.") for change in line.changes):
        return False
    if line.made.kind == "call" and line.made.origin == "peft.get_peft_model":
        return True
    return is_given and (is_name(line.made) or loader(line) is line.made)


rule = CheckpointingWithoutGradient()
