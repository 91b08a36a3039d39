"""Adapters of trainers, what they leave alone, and models with a head that scores a text."""

from __future__ import annotations

import re
from collections.abc import Callable

from trl_lint.missing import UNKNOWN
from trl_lint.python.module import mentions
from trl_lint.run.runs import Run
from trl_lint.run.trainer import Line, TrainerCall
from trl_lint.run.trainer.made import Made
from trl_lint.run.trainer.models import MERGES, is_handed_on, loader, only
from trl_lint.run.trainer.possible_changes import receivers
from trl_lint.run.trainer.running import value_in

_CLASS = "ForSequenceClassification"
# What a `LoraConfig` trains besides its targets.
_BESIDES = ("modules_to_save", "trainable_token_indices", "target_parameters")


def scoring_load(line: Line) -> Made | None:
    """The `from_pretrained` of a class of transformers with such a head; None where it is another, or nobody knows."""
    load = loader(line)
    if load is None or not load.origin.startswith("transformers."):
        return None
    return load if load.origin.split(".")[-2].endswith(_CLASS) else None


def adapter_config(line: Line, call: TrainerCall, run: Run | None) -> Made | None:
    """The one `LoraConfig` of the model that a trainer is given; None where there is none, or it is not certain."""
    wrapped = line.step("get_peft_model")
    if any(made.kind == "call" and made.name in MERGES for made in line.steps):
        return None  # that of a model may be gone again
    options = wrapped.argument("peft_config", 1) if wrapped is not None else call.given("peft_config")
    config = only(options, run)
    if config is None or config.kind != "call" or config.name != "LoraConfig":
        return None
    if config.changes or is_handed_on((config,)):
        return None
    return config


def is_by_hand(line: Line, call: TrainerCall, words: re.Pattern[str]) -> bool:
    """Whether code that gets the model of a trainer has some words: its script, and functions of other modules."""
    others = (module for made in line.steps for stay in made.stays for module in receivers(stay))
    return mentions(call.module, words) or any(mentions(module, words) for module in others)


def task_of(config: Made, run: Run | None) -> str | None:
    """The task of a config: `CAUSAL_LM`, "" where none is given; None where it is not known."""
    made = only(config.argument("task_type"), run)
    if made is None:
        return None
    if made.kind == "name":
        return made.origin.rpartition(".")[2]
    value = value_in(made, run)
    return "" if value is None else value if isinstance(value, str) else None


def leaves_alone(config: Made, is_one: Callable[[str], bool], run: Run | None) -> bool:
    """Whether a `LoraConfig` certainly trains none of some layers: it saves no others, and targets none of these.

    `is_one`: whether a target, the name of a layer or `all-linear`, may mean one of them.
    """
    target = only(config.argument("target_modules"), run)
    if target is None or not all(is_left_out(config, name, run) for name in _BESIDES):
        return False
    if target.is_nothing:
        return True
    if target.kind == "literal":
        return _is_another(target.value, is_one)
    items = target.items() if target.kind == "list" and not target.changes else None
    values = [UNKNOWN if (one := only(item, run)) is None else value_in(one, run) for item in items or ()]
    return bool(values) and all(_is_another(value, is_one) for value in values)


def is_left_out(config: Made, name: str, run: Run | None) -> bool:
    """Whether a parameter of a config certainly is not given, or is None."""
    made = only(config.argument(name), run)
    return made is not None and made.is_nothing


def _is_another(target: object, is_one: Callable[[str], bool]) -> bool:
    """Whether a target certainly means other layers: a name, and neither a path nor an expression."""
    is_name = isinstance(target, str) and (target == "all-linear" or target.replace("_", "").isalnum())
    return is_name and not is_one(str(target))
