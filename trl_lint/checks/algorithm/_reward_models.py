"""Models with a head that scores a text, and the adapters on them."""

from __future__ import annotations

from trl_lint.project.runs import Run
from trl_lint.project.trainercall import Line, TrainerCall
from trl_lint.project.trainercall.made import Made
from trl_lint.project.trainercall.models import loader, only
from trl_lint.project.trainercall.running import value_in

_CLASS = "ForSequenceClassification"


def scoring_load(line: Line) -> Made | None:
    """The `from_pretrained` of a class of transformers with such a head; None where it is another, or nobody knows."""
    load = loader(line)
    if load is None or not load.origin.startswith("transformers."):
        return None
    return load if load.origin.split(".")[-2].endswith(_CLASS) else None


def adapter_config(line: Line, call: TrainerCall, run: Run | None) -> Made | None:
    """The one `LoraConfig` of the model that a trainer is given; None where there is none, or it is not certain."""
    wrapped = line.step("get_peft_model")
    options = wrapped.argument("peft_config", 1) if wrapped is not None else call.given("peft_config")
    config = only(options, run)
    if config is None or config.kind != "call" or config.name != "LoraConfig" or config.changes:
        return None
    return config


def task_of(config: Made, run: Run | None) -> str | None:
    """The task of a config: `CAUSAL_LM`, "" where none is given; None where it is not known."""
    made = only(config.argument("task_type"), run)
    if made is None:
        return None
    if made.kind == "name":
        return made.origin.rpartition(".")[2]
    value = value_in(made, run)
    return "" if value is None else value if isinstance(value, str) else None
