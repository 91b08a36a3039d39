"""Models with a head that scores a text, and the adapters on them."""

from __future__ import annotations

from trl_lint.missing import UNKNOWN
from trl_lint.project.runs import Run
from trl_lint.project.trainercall import Line, TrainerCall
from trl_lint.project.trainercall.made import Made
from trl_lint.project.trainercall.models import MERGES, loader, only
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
    if any(made.kind == "call" and made.name in MERGES for made in line.steps):
        return None  # that of a model may be gone again
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


def leaves_alone(config: Made, layers: frozenset[str], are_linear: bool, run: Run | None) -> bool:
    """Whether a `LoraConfig` certainly trains none of some layers: it saves no others, and targets none of these.

    `are_linear`: the target `all-linear` may mean them.
    """
    saved = [only(config.argument(name), run) for name in ("modules_to_save", "trainable_token_indices")]
    target = only(config.argument("target_modules"), run)
    if target is None or not all(made is not None and (made.kind == "absent" or made.is_none) for made in saved):
        return False
    if target.kind == "absent" or target.is_none:
        return True
    if target.kind == "literal":
        return target.value == "all-linear" and not are_linear
    items = target.items() if target.kind == "list" and not target.changes else None
    values = [UNKNOWN if (one := only(item, run)) is None else value_in(one, run) for item in items or ()]
    return bool(values) and all(isinstance(value, str) and value not in layers for value in values)
