"""What is known of a model that a trainer is given: how it was loaded, quantised, and whether it has an adapter."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Literal

from trl_lint.memos import per_module
from trl_lint.missing import UNKNOWN
from trl_lint.python.guards import Truth
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall, is_absent
from trl_lint.run.trainer.lines import Line
from trl_lint.run.trainer.made import Change, Made, Options
from trl_lint.run.trainer.possible_changes import LOOKING, may_be_changed
from trl_lint.run.trainer.running import holds_in, possible_in, value_in

# What gives a model an adapter that is trained. Read in peft 0.21.2; Unsloth's classes have a `get_peft_model` as well.
_ADAPTERS = ("get_peft_model", "prepare_peft_model")
_ADDING = frozenset({"add_adapter", "load_adapter"})
# Attributes by which transformers tells an adapter, and quantised weights. Read in 4.57.6 and 5.23.0.
_TELLING = frozenset({"_hf_peft_config_loaded", "hf_quantizer", "is_quantized"})
MERGES = ("merge_and_unload", "unload", "get_base_model")
# What gives back a model with the layers that it got, or an adapter on them (`lines.py`).
_SAME_LAYERS = LOOKING | {
    "cast_mixed_precision_params", "clone_chat_template", "from_pretrained", "get_peft_model", "prepare",
    "prepare_model", "prepare_model_for_int8_training", "prepare_model_for_kbit_training", "prepare_peft_model",
    "setup_chat_format",
}  # fmt: skip
_AUTO = "transformers.Auto"
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


def checkpoint(line: Line, call: TrainerCall, run: Run | None = None) -> Options:
    """What a model is loaded by, where that tells its class: the names of a checkpoint, none where it does not.

    It does not tell where the checkpoint or the project may bring code of its own, where a config is given, and where a
    class is named: that of Llama loads checkpoints of other families.
    """
    source = line.source
    if any(map(registers_classes, {call.module, source.frame.module})):
        return ()
    if is_name(source):
        return (source,) if _is_named_alone(call, run) else ()
    is_auto = source.kind == "call" and source.name == "from_pretrained" and source.origin.startswith(_AUTO)
    if not is_auto or not is_off(source.argument("trust_remote_code"), run) or not is_absent(source.argument("config")):
        return ()
    return source.argument("pretrained_model_name_or_path", 0)


def _is_named_alone(call: TrainerCall, run: Run | None) -> bool:
    """Whether a trainer loads its model with no arguments that may choose another class."""
    if is_absent(call.given("args")):
        return True
    for made in call.field("model_init_kwargs"):
        if made.kind == "dict":
            if not is_off(made.entry("trust_remote_code"), run) or not is_absent(made.entry("config")):
                return False
        elif value_in(made, run) is not None:
            return False
    return is_off(call.field("trust_remote_code"), run)


def is_off(options: Options, run: Run | None = None) -> bool:
    """Whether a switch is certainly not on: nothing gives it, or False is given."""
    return all(one.kind == "absent" or value_in(one, run) is False for one in options)


@per_module
def registers_classes(module: PythonModule) -> bool:
    """Whether a module tells transformers of classes of its own (`AutoModel.register(…)`)."""
    found = [call for call in module.calls if isinstance(call.func, ast.Attribute) and call.func.attr == "register"]
    return any(origin.startswith(_AUTO) for call in found for origin in module.names.origins(call.func))


def is_unsloth(made: Made) -> bool:
    """Whether a call is one of Unsloth's classes, which place, quantise and patch models in ways of their own."""
    return made.origin.partition(".")[0] == "unsloth" or not _UNSLOTH.isdisjoint(made.origin.split("."))


def has_adapter(line: Line) -> Truth:
    """Whether the trainer is given a model with an adapter; None where nobody can tell."""
    after: list[Made] = []  # the steps from where there certainly was none
    is_sure = line.is_known
    for made in line.steps:
        after.append(made)
        if made.kind == "call" and made.name in MERGES:
            is_sure = True
            break
        if made.kind == "call" and (made.name in _ADAPTERS or _loads_adapter(made)):
            return True
    changes = [change for made in after for change in made.changes]
    names = [change.path.rpartition(".")[2] for change in changes if change.kind == "call"]
    if not _ADDING.isdisjoint(names):
        return True
    is_touched = any(change.kind == "other" or change.path in _TELLING for change in changes)
    return None if not is_sure or is_touched or is_handed_on(after) else False


def is_handed_on(steps: Iterable[Made]) -> bool:
    """Whether an object was an argument of a call on its way of which nobody knows what it does with it."""
    return any(may_be_changed(stay) for made in steps for stay in made.stays)


def has_own_layers(line: Line) -> bool:
    """Whether a model certainly has the layers that it was loaded with, but for an adapter: nothing else was put in."""
    ways = [made for made in line.steps[:-1] if made.kind != "call" or made.name not in _SAME_LAYERS]
    return not ways and not is_handed_on(line.steps) and all(map(_leaves_layers, line.changes))


def _leaves_layers(change: Change) -> bool:
    """Whether a statement sets a plain value or a field of the config, or calls what is known to put nothing in."""
    if change.path.startswith(("config.", "generation_config.")):
        return True
    if change.kind == "call":
        return change.path in LOOKING
    return change.kind == "set" and isinstance(change.value, ast.Constant)


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
    if config.is_nothing:
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
