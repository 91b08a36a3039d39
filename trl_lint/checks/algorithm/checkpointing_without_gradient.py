"""TRL732: layers under an adapter are computed again by checkpoints that begin at an input without a gradient.

Or whose weights DistributedDataParallel takes for unused before they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._started import Started
from trl_lint.checks._trainer_rule import FieldTrainerRule, also_at, first_found, first_started, said_at
from trl_lint.checks._trainers import HF_TRAINERS
from trl_lint.checks.algorithm._reward_models import adapter_config, leaves_alone
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import judge_pins, level_in
from trl_lint.finding import Finding
from trl_lint.python.module import mentions
from trl_lint.regexes import regex
from trl_lint.run.runs import Run
from trl_lint.run.sharding import OTHER_FIELDS, starts_plain_ddp
from trl_lint.run.trainer import Line, TrainerCall
from trl_lint.run.trainer.facts import Thing, argument_of
from trl_lint.run.trainer.made import Made
from trl_lint.run.trainer.models import is_handed_on, is_name, loader, only, possible_lines
from trl_lint.run.trainer.possible_changes import LOOKING
from trl_lint.run.trainer.running import is_on, value_in

# GRPOTrainer that does not make the input of the first layer require gradients: read in 0.14.0, 0.15.2 and 0.16.0,
# which does. Run with 0.15.2, 0.24.0 and 0.29.1 on a model of one layer.
_WITHOUT = ">=0.14.0,<0.16.0"
# The trainer lets DistributedDataParallel look for unused parameters unless the model is one of transformers, which a
# `PeftModel` is not (`_wrap_model`): read in 4.36.2 to 5.23.0. Until 5.0 checkpoints are reentrant by default, and for
# trainers of TRL until 0.27. Run with 4.57.1 in two processes.
_LOOKS = {"transformers": ">=4.36"}
_BY_DEFAULT = {"transformers": ">=4.36,<5"}
_BY_DEFAULT_IN_TRL = {"trl": "<0.27"}
# The layers of embeddings, by the names that families of models give them.
_INPUTS = frozenset({"embed_tokens", "wte", "wpe", "embed_in", "word_embeddings"})
# Code that does it by itself.
_BY_HAND = regex(r"enable_input_require_grads|prepare_model_for|requires?_grad|get_input_embeddings")


class CheckpointingWithoutGradient(FieldTrainerRule):
    code = "TRL732"
    words = (b"peft_config", b"get_peft_model")
    needles = (b"gradient_checkpointing", b"yaml.", b"json.load")
    fields = ("gradient_checkpointing",)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.own is not None or is_unsloth(call.module):
            return
        found = (
            list(first_started(call, lambda started: self._twice(call, started))) if call.trainer in HF_TRAINERS else []
        )
        if not found and call.trainer == "trl.GRPOTrainer" and not mentions(call.module, _BY_HAND):
            found = list(first_found(call, lambda run: self._in_run(call, run)))
        yield from found

    def _twice(self, call: TrainerCall, started: Started) -> Finding | None:
        """Weights that DistributedDataParallel takes for unused, and which the checkpoints use later."""
        run = started.run
        switch, kwargs = only(call.field("gradient_checkpointing"), run), _reentrant(call, run)
        if switch is None or not is_on(switch, run) or kwargs is None or not starts_plain_ddp(run):
            return None
        given = [only(call.field(name), run) for name in ("ddp_find_unused_parameters", *OTHER_FIELDS)]
        if not all(one is not None and value_in(one, run) is None for one in given) or not _adapted(call, run):
            return None
        is_said = value_in(kwargs, run) is True
        conditions = _LOOKS if is_said else _BY_DEFAULT
        if not is_said and call.trainer.startswith("trl."):
            conditions = conditions | _BY_DEFAULT_IN_TRL
        verdict = judge_pins(call.environment, conditions, level_in(self, run))
        if verdict is None:
            return None
        message = (
            "with an adapter the trainer lets DistributedDataParallel look for unused weights, and reentrant "
            'checkpoints use them later: the first step stops ("Expected to mark a variable ready only once"); give '
            f'`gradient_checkpointing_kwargs={{"use_reentrant": False}}`, or `ddp_find_unused_parameters=False` '
            f"({verdict.scope})"
        )
        place = said_at(call, kwargs if is_said else switch, run)
        related = (*also_at(call, place), *started.related, *verdict.related)
        return self.finding(place, message, severity=verdict.severity, related=related)

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        switch = only(call.field("gradient_checkpointing"), run)
        if switch is None or not is_on(switch, run) or _reentrant(call, run) is None:
            return None
        lines = possible_lines(call.lines("model"), run)
        if not _adapted(call, run):
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


def _adapted(call: TrainerCall, run: Run | None) -> bool:
    """Whether the model of a trainer certainly gets an adapter of PEFT, and nothing else is done to it."""
    given = isinstance(argument_of(call, "peft_config", run), Thing)
    lines = possible_lines(call.lines("model"), run)
    return bool(lines) and all(_has_adapter(line, given) for line in lines)


def _reentrant(call: TrainerCall, run: Run | None) -> Made | None:
    """What makes the checkpoints certainly reentrant: the switch that says so, or that nothing says otherwise."""
    kwargs: Made | None = only(call.field("gradient_checkpointing_kwargs"), run)
    if kwargs is None or kwargs.changes:
        return None
    if kwargs.kind == "dict" or kwargs.is_loaded:
        made = only(kwargs.entry("use_reentrant"), run)
        return made if made is not None and (made.kind == "absent" or value_in(made, run) is True) else None
    return kwargs if value_in(kwargs, run) is None else None


def _has_adapter(line: Line, is_given: bool) -> bool:
    """Whether a model certainly gets an adapter of PEFT, and nothing else is done to it."""
    if is_handed_on(line.steps):
        return False
    if not all(
        change.path in LOOKING if change.kind == "call" else change.kind == "set" and change.path.startswith("config.")
        for change in line.changes
    ):
        return False
    if line.made.kind == "call" and line.made.origin == "peft.get_peft_model":
        return True
    return is_given and (is_name(line.made) or loader(line) is line.made)


rule = CheckpointingWithoutGradient()
