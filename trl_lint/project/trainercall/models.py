"""What is known of a model that a trainer is given: how it was loaded, quantised, and whether it has an adapter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from trl_lint.missing import UNKNOWN
from trl_lint.project.runs import Run
from trl_lint.project.trainercall import TrainerCall, is_absent
from trl_lint.project.trainercall.lines import Line
from trl_lint.project.trainercall.made import Made, Options
from trl_lint.project.trainercall.running import holds_in, possible_in, value_in
from trl_lint.python.guards import Truth
from trl_lint.records import NamedTuple

# What gives a model an adapter that is trained. Read in peft 0.21.2; Unsloth's classes have a `get_peft_model` as well.
_ADAPTERS = ("get_peft_model", "prepare_peft_model")
_MERGES = ("merge_and_unload", "unload", "get_base_model")
_UNSLOTH = frozenset({"FastLanguageModel", "FastVisionModel", "FastModel", "FastTextModel"})
# Quantisation configs of transformers 5.23.0 that are not of bitsandbytes.
_OTHER_CONFIGS = frozenset(
    {
        "GPTQConfig", "AwqConfig", "AqlmConfig", "QuantoConfig", "EetqConfig", "HqqConfig", "TorchAoConfig",
        "FbgemmFp8Config", "CompressedTensorsConfig", "HiggsConfig", "Mxfp4Config", "VptqConfig", "SpQRConfig",
        "FineGrainedFP8Config", "AutoRoundConfig", "BitNetQuantConfig", "FPQuantConfig",
    }
)  # fmt: skip

Bits = Literal["4bit", "8bit", "other", "none", "unknown"]
_SWITCHES: tuple[tuple[str, Bits], ...] = (("load_in_4bit", "4bit"), ("load_in_8bit", "8bit"))


class Quantised(NamedTuple):
    """How the weights of a model are quantised in a run, and what says so.

    `bits`: "other" for GPTQ, AWQ and the like, "none" where they certainly are not. `place`: the argument, or the
    config that holds it; None where there is none. `config`: the call of `BitsAndBytesConfig`.
    """

    bits: Bits
    place: Made | None = None
    config: Made | None = None


def loader(line: Line) -> Made | None:
    """The `from_pretrained` that loaded a model; None where it was made otherwise, or nobody knows."""
    source = line.source
    return source if source.kind == "call" and source.name == "from_pretrained" else None


def is_unsloth(made: Made) -> bool:
    """Whether a call is one of Unsloth's classes, which place, quantise and patch models in ways of their own."""
    return made.origin.partition(".")[0] == "unsloth" or not _UNSLOTH.isdisjoint(made.origin.split("."))


def has_adapter(line: Line) -> Truth:
    """Whether the trainer is given a model with an adapter; None where nobody can tell."""
    for made in line.steps:
        if made.kind == "call" and made.name in _MERGES:
            return False
        if made.kind == "call" and (made.name in _ADAPTERS or _loads_adapter(made)):
            return True
    changes = [change for made in line.steps for change in made.changes if change.kind == "call"]
    if any(change.path.rpartition(".")[2] in ("add_adapter", "load_adapter") for change in changes):
        return True
    return False if line.is_known else None


def _loads_adapter(made: Made) -> bool:
    classes = made.origin.split(".")
    return made.name == "from_pretrained" and any("Peft" in name for name in classes)


def quantised(line: Line, run: Run | None, call: TrainerCall | None = None) -> Quantised:
    """How the model of a line is quantised when it is loaded. A checkpoint that is quantised itself is not seen.

    With `call`, a model that is named is one that TRL loads with the `model_init_kwargs` of that trainer.
    """
    load = loader(line)
    if load is not None:
        return _of_arguments(load.argument, load, run)
    if call is None or not is_name(line.made) or not call.trainer.startswith("trl."):
        return Quantised("unknown")
    if not is_absent(call.given("quantization_config")):  # a parameter of GRPO and others from trl 1.9 on
        config = only(call.given("quantization_config"), run)
        return Quantised("unknown") if config is None else _of_config(config, run)
    kwargs = only(call.field("model_init_kwargs"), run)
    if kwargs is None or kwargs.kind not in ("dict", "absent", "literal"):
        return Quantised("unknown")
    return _of_arguments(kwargs.entry, kwargs, run) if kwargs.kind == "dict" else Quantised("none")


def is_name(made: Made) -> bool:
    """Whether a trainer is given the name of a model, which it loads itself."""
    return made.kind == "field" or (made.kind == "literal" and isinstance(made.value, str))


def _of_arguments(asked: Callable[[str], Options], load: Made, run: Run | None) -> Quantised:
    for name, bits in _SWITCHES:
        made = only(asked(name), run)
        value = UNKNOWN if made is None else value_in(made, run)
        if made is None or value is UNKNOWN:
            return Quantised("unknown")
        if value is True:
            return Quantised(bits, made)
        if made.kind == "absent" and is_unsloth(load) and name == "load_in_4bit":
            return Quantised("4bit", load)  # the default of its loaders
    config = only(asked("quantization_config"), run)
    return Quantised("unknown") if config is None else _of_config(config, run)


def _of_config(config: Made, run: Run | None) -> Quantised:
    if config.kind == "absent" or config.is_none:
        return Quantised("none")
    if config.kind != "call":
        return Quantised("unknown")
    if config.name in _OTHER_CONFIGS:
        return Quantised("other", config)
    if config.name == "get_quantization_config":
        holders = config.argument("model_args", 0)
        asked = {name: tuple(one for holder in holders for one in holder.attribute(name)) for name, _ in _SWITCHES}
        found = None
    elif config.name == "BitsAndBytesConfig":
        asked = {name: config.argument(name, position) for name, position in (("load_in_8bit", 0), ("load_in_4bit", 1))}
        found = config
    else:
        return Quantised("unknown")
    for name, bits in _SWITCHES:
        values = [value_in(one, run) for one in possible_in(asked[name], run)]
        if len(values) != 1 or values[0] is UNKNOWN:
            return Quantised("unknown")
        if values[0] is True or values[0] == "true":
            return Quantised(bits, config, found)
    return Quantised("none")


def only(options: Options, run: Run | None) -> Made | None:
    """The one possibility that certainly holds in a run; None where there are several, or a test of it is open."""
    found = possible_in(options, run)
    return found[0] if len(found) == 1 and not found[0].under else None


def possible_lines(lines: tuple[Line, ...], run: Run | None) -> list[Line]:
    """The lines that may come about in a run. A None beside others is what a name holds before it is set."""
    found = [line for line in lines if holds_in(line.under, run) is not False]
    given = [line for line in found if not line.source.is_none]
    return given or found
