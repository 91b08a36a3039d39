"""What `accelerate launch` and DeepSpeed read beside the options of the program: their own options and config files.

Options of the launcher go over its file (commands/launch.py, `_validate_launch_command`, read in 0.20.3 to 1.15.0), and
what its file says of DeepSpeed stands for a config of DeepSpeed where nothing names one (utils/dataclasses.py,
`DeepSpeedPlugin`).
"""

from __future__ import annotations

from functools import cached_property

from trl_lint.coverage import CONFIGURATION, HIDDEN, NO_DEFAULT, NOT_KNOWN
from trl_lint.knowledge.configs import option_of
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.project.launch import Launch
from trl_lint.run.config import Config, Layer, Read, Versions, why
from trl_lint.run.effective import Said, Setting, Unknown, of_document, of_flag
from trl_lint.run.inputs import Inputs

PACKAGE = "accelerate"
# Options of the launcher that choose a backend before the file is asked, and the backend.
BACKEND_OPTIONS = {
    "multi_gpu": "MULTI_GPU",
    "use_deepspeed": "DEEPSPEED",
    "use_fsdp": "FSDP",
    "use_megatron_lm": "MEGATRON_LM",
    "tpu": "XLA",
    "cpu": "NO",
}
# Blocks whose keys may be written without the beginning of their option in every release.
SHORT_KEYS = ("fsdp_config", "fp8_config")
# What DeepSpeed calls the keys of the block `deepspeed_config`.
_INLINE = {
    "zero_optimization.stage": "zero_stage",
    "zero_optimization.offload_optimizer.device": "offload_optimizer_device",
    "zero_optimization.offload_param.device": "offload_param_device",
    "zero_optimization.stage3_gather_16bit_weights_on_model_save": "zero3_save_16bit_model",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
    "gradient_clipping": "gradient_clipping",
}


class Configs:
    """What the parts of a run read beside its own options, each when it is asked for."""

    def __init__(self, run: Inputs) -> None:
        self._run = run

    @cached_property
    def accelerate(self) -> Config:
        """What `accelerate launch`, or the command of TRL, starts the processes by."""
        launch, document = self._run.launch, self._run.accelerate
        program = launch.program
        layers = []
        if program is not None and program.accelerate_config:
            layers.append(_of_options(launch, is_launcher=program.starts_programs))
        if document is not None:
            layers.append(Layer(lambda name: _of_file(self._run, name)))
        elif layers and not _chooses(launch):  # the machine may have a default config
            layers.append(Layer(lambda name: Unknown(CONFIGURATION, launch.location)))
        return Config(PACKAGE, tuple(layers), _no_defaults, self._run.choices.newest((PACKAGE,)), PACKAGE)

    @cached_property
    def deepspeed(self) -> Config:
        """The config of DeepSpeed: the file that something names, else what the config of accelerate says of it."""
        document, block = self._run.deepspeed, self.accelerate.block("deepspeed_config")
        kind = self.accelerate.given("distributed_type")

        def read(name: str) -> Said:
            if document is not None:
                return why(of_document(document, name), CONFIGURATION)
            if isinstance(kind, Setting) and kind.value == "DEEPSPEED":
                return block.given(_INLINE.get(name, name))
            return Unknown(NOT_KNOWN)

        return Config("deepspeed", (Layer(read),), _no_defaults, {}, "deepspeed")


def _chooses(launch: Launch) -> bool:
    """Whether a command without a config file chooses who shards the model: then it leaves nothing to one."""
    is_named = "--config_file" in launch.options
    return not is_named and any(f"--{option}" in launch.options for option in BACKEND_OPTIONS)


def _of_options(launch: Launch, is_launcher: bool) -> Layer:
    """The options of a launcher, or the flags of a program that hands them to it."""

    def read(name: str) -> Said:
        if name == "distributed_type":
            for option, backend in BACKEND_OPTIONS.items():
                if isinstance(found := said(option), Setting):
                    return found._replace(value=backend)
        block, _, key = name.rpartition(".")
        return said(option_of(block, key))

    def said(option: str) -> Said:
        if not is_launcher:
            return why(of_flag(launch, option), HIDDEN, launch.location)
        word = launch.options.get(f"--{option}")
        if word is None:
            return Unknown(HIDDEN, launch.location) if launch.hides_options() else ABSENT
        value = True if word.text == f"--{option}" else UNKNOWN if word.text is None else word.text
        return Setting(value, "launcher", launch.source.location(word.start, word.end))

    return Layer(read)


def _of_file(inputs: Inputs, name: str) -> Said:
    document = inputs.accelerate
    if document is None:
        return ABSENT
    found = of_document(document, name, "accelerate")
    block, _, key = name.rpartition(".")
    if found is ABSENT and block in SHORT_KEYS:
        prefix = option_of(block, "")
        found = of_document(document, f"{block}.{key.removeprefix(prefix)}", "accelerate")
    return why(found, CONFIGURATION)


def _no_defaults(versions: Versions) -> Read:
    return lambda name: Unknown(NO_DEFAULT)
