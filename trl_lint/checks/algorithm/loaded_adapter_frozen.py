"""TRL752: a trainer is given an adapter that PEFT froze when it loaded it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule, first_found, place_for, seen_at
from trl_lint.checks._trainers import HF_TRAINERS
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.finding import Finding
from trl_lint.python.module import mentions
from trl_lint.regexes import regex
from trl_lint.run.runs import Run
from trl_lint.run.trainer import Line, TrainerCall
from trl_lint.run.trainer.made import Made
from trl_lint.run.trainer.models import only, possible_lines
from trl_lint.run.trainer.running import value_in

# Code that thaws it, or puts another adapter on.
_BY_HAND = regex(
    r"requires_grad|set_adapter|add_adapter|load_adapter|get_peft_model\(|merge_and_unload|inference_mode|train_adapter"
    r"|set_requires_grad|peft_config"
)
_KEEPING = frozenset({"to", "cuda", "half", "bfloat16", "float", "eval", "train"})


class LoadedAdapterFrozen(TrainerRule):
    code = "TRL752"
    words = (
        b"PeftModel",
        b"AutoPeftModelForCausalLM",
        b"PeftModelForCausalLM",
        b"AutoPeftModelForSequenceClassification",
    )
    needles = (b".train(",)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.trainer in HF_TRAINERS and not is_unsloth(call.module) and not mentions(call.module, _BY_HAND):
            yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        loads = [_frozen(line, run) for line in possible_lines(call.lines("model"), run)]
        load = loads[0] if loads and None not in loads else None
        if load is None or not _trains(call):
            return None
        message = (
            "PEFT freezes an adapter that it loads unless it is told otherwise: the trainer has nothing to train, and "
            'stops at the first step ("element 0 of tensors does not require grad"), or changes nothing, unsaid, where '
            "checkpoints make the inputs ask for gradients; give `is_trainable=True`"
        )
        return self.finding(place_for(call, load), message, related=seen_at(call, load, "loaded here"))


def _frozen(line: Line, run: Run | None) -> Made | None:
    """The call of PEFT that loaded the adapter of a model, where it certainly does not leave it trainable."""
    for made in line.steps:
        if made.kind != "call":
            return None
        if made.name == "from_pretrained" and any("Peft" in part for part in made.origin.split(".")):
            said = only(made.argument("is_trainable"), run)
            is_off = said is not None and (said.kind == "absent" or value_in(said, run) is False)
            return made if is_off and made.origin.startswith("peft.") else None
        if not made.origin.startswith(".") or made.name not in _KEEPING:
            return None
    return None


def _trains(call: TrainerCall) -> bool:
    """Whether the script trains, and does not only evaluate."""
    found = (one.func for one in call.module.calls if isinstance(one.func, ast.Attribute) and one.func.attr == "train")
    return any("train" in call.module.segment(func.value).lower() for func in found)


rule = LoadedAdapterFrozen()
