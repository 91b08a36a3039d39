"""Which packages are read, from which release on, and which of their files.

Every file not named here stays unread, and what it defines is unknown to the reader, never missing.
"""

from __future__ import annotations

import re

from trl_lint.records import NamedTuple


class Package(NamedTuple):
    """How one package is read. Modules are told by regular expressions over their dotted names.

    `since`: the oldest release read. `wanted`: the files read (names of the installed tree). `unlisted`: modules
    that are not listed, nor anything below them, unless they were read; neither are modules with more than `depth`
    names.
    `tables`: modules whose names are written. `defined`: modules whose classes and functions are written.
    `messages`: modules whose messages are written. `hooks`: modules of classes whose underscore methods are written
    too, because projects override them. `partial`: modules whose names from files that nobody reads are not listed,
    because they are too many or often another's (forks of verl): what such a table lacks is unknown. `only_fields`:
    of classes nothing but the parameters is written. `imported_as`: the name in import statements, if it is another.
    """

    name: str
    since: str
    wanted: str
    unlisted: tuple[str, ...] = ()
    depth: int = 9
    tables: str = ".*"
    defined: str = ".*"
    messages: str = ".*"
    hooks: str = "$^"
    partial: str = "$^"
    only_fields: bool = False
    imported_as: str = ""

    @property
    def root(self) -> str:
        """What its modules begin with."""
        return self.imported_as or self.name

    def is_wanted(self, path: str) -> bool:
        return re.fullmatch(self.wanted, path) is not None

    def is_unlisted(self, module: str) -> bool:
        """Whether nothing is said about a module."""
        is_below = any(f"{module}.".startswith(f"{prefix}.") for prefix in self.unlisted)
        if not is_below and module.count(".") < self.depth:
            return False
        path = module.replace(".", "/")
        return not re.fullmatch(self.wanted, f"{path}.py") and not re.fullmatch(self.wanted, f"{path}/__init__.py")

    def has_table(self, module: str) -> bool:
        return re.fullmatch(self.tables, module) is not None

    def has_definitions(self, module: str) -> bool:
        return re.fullmatch(self.defined, module) is not None

    def has_messages(self, module: str) -> bool:
        return re.fullmatch(self.messages, module) is not None

    def has_hooks(self, module: str) -> bool:
        return re.fullmatch(self.hooks, module) is not None

    def is_partial(self, module: str) -> bool:
        return re.fullmatch(self.partial, module) is not None


PACKAGES = {
    package.name: package
    for package in (
        Package(
            "trl",
            "0.0.1",
            r"trl/.*\.py",
            unlisted=("trl.tests",),
            messages=r"trl(?!\.experimental).*",
            hooks=r"trl\.trainer\.\w+",
        ),
        Package(
            "transformers",
            "4.30",
            r"transformers/(__init__|activations|cache_utils|configuration_utils|debug_utils|deepspeed|file_utils"
            r"|feature_extraction_utils|hf_argparser|image_utils|modeling_outputs|modeling_utils|optimization"
            r"|processing_utils|pytorch_utils|tokenization_\w+|trainer\w*|training_args\w*"
            r"|utils/(__init__|deprecation|generic|hub|import_utils|logging|quantization_config|versions|peft_utils)"
            r"|models/auto/\w+|data/__init__|data/data_collator|pipelines/__init__"
            r"|generation/(__init__|configuration_utils|logits_process|stopping_criteria|streamers|utils)"
            r"|integrations/(__init__|deepspeed|fsdp|peft|integration_utils|accelerate))\.py",
            unlisted=("transformers.models", "transformers.kernels", "transformers.testing_utils"),
            depth=2,
            tables=r"transformers(?!.*(tf|flax)_|\.models\.auto\.(?!auto_factory|modeling_auto)|.*mistral|\.(activations"
            r"|feature_extraction_utils|pytorch_utils|debug_utils|modeling_outputs|image_utils|processing_utils)"
            r"|\.utils\.(generic|hub|versions|peft_utils)|\.generation\.streamers).*",
            defined=r"transformers\.(training_args\w*|trainer\w*|hf_argparser|data\.data_collator|optimization|pipelines"
            r"|generation\.configuration_utils|utils\.quantization_config|integrations\.(deepspeed|fsdp))",
            messages=r"transformers\.(trainer|trainer_utils|training_args|hf_argparser|data\.data_collator"
            r"|integrations\.(deepspeed|fsdp|peft))",
            hooks=r"transformers\.trainer",
            partial="transformers",
        ),
        Package(
            "accelerate",
            "0.12",
            r"accelerate/(?!test_utils/).*\.py",
            unlisted=("accelerate.test_utils", "accelerate.commands.menu"),
            tables=r"accelerate(?!\.commands|\.utils\.megatron).*",
            defined=r"accelerate(\.(accelerator|state|big_modeling|data_loader|launchers|logging|parallelism_config|local_sgd"
            r"|utils\.(dataclasses|random|operations|other|memory|fsdp_utils|deepspeed|environment)))?",
            messages=r"accelerate\.(accelerator|launchers|parallelism_config|commands\.(launch|config\.config_args)"
            r"|utils\.(dataclasses|launch|fsdp_utils))",
        ),
        Package(
            "peft",
            "0.1",
            r"peft/.*\.py",
            tables=r"peft(\.(peft_model|mapping\w*|config|auto|mixed_model|helpers|import_utils|utils(\.\w+)?|tuners"
            r"|tuners\.\w+|tuners\.\w+\.config))?",
            defined=r"peft\.(peft_model|mapping\w*|config|auto|mixed_model|helpers|utils\.(other|peft_types|config)"
            r"|tuners\.\w+\.config|tuners\.(lora|prefix_tuning|p_tuning|prompt_tuning|adalora|ia3))",
            messages=r"peft\.(peft_model|config|utils\.save_and_load|tuners\.tuners_utils)",
        ),
        Package(
            "deepspeed",
            "0.9",
            r"deepspeed/(__init__|constants|utils/(__init__|exceptions|groups)"
            r"|runtime/(__init__|config|config_utils|constants"
            r"|precision_config|engine|bf16_optimizer|fp16/\w+|zero/\w+|swap_tensor/\w+config|activation_checkpointing/config"
            r"|data_pipeline/(config|constants)|tensor_parallel/config|lr_schedules|hybrid_engine)"
            r"|comm/config|monitor/config|compile/config|profiling/config|profiling/constants|inference/config"
            r"|autotuning/(config|constants)|launcher/(runner|launch|constants)|elasticity/(config|constants)"
            r"|nebula/(config|constants)|checkpoint/constants|ops/\w+/__init__|accelerator/\w+)\.py",
            unlisted=(
                "deepspeed.inference",
                "deepspeed.model_implementations",
                "deepspeed.module_inject",
                "deepspeed.ops",
            ),
            depth=2,
            tables=r"deepspeed(\.(runtime|runtime\.(config|engine|zero)|utils|ops\.\w+))?",
            defined=r"deepspeed",
            messages=r"deepspeed\.(__init__|runtime\.(config|config_utils|precision_config|zero\.config)|launcher\.\w+)",
        ),
        Package(
            "vllm",
            "0.4",
            r"vllm/(__init__|version|envs|sampling_params|pooling_params|outputs|config|config/\w+|lora/request"
            r"|engine/(arg_utils|llm_engine|async_llm_engine)|entrypoints/(__init__|llm|utils)|entrypoints/llm/\w+"
            r"|entrypoints/(openai|launchers|common)/cli_args|entrypoints/openai/api_server|entrypoints/cli/serve"
            r"|scripts|utils|utils/(__init__|(argparse|network|system|mem|async|import|func|torch)_utils|mem_constants|counter|cache)"
            r"|distributed/(__init__|utils|communication_op|parallel_state|device_communicators/pynccl)"
            r"|distributed/weight_transfer/\w+|inputs/__init__|inputs/data|multimodal/__init__)\.py",
            depth=2,
            tables=r"vllm(?!.*\.(api_server|serve|launchers\.\w+|common\.\w+)$)(\.(sampling_params|pooling_params"
            r"|outputs|lora\.request|engine\.\w+|entrypoints(\.\w+)*|inputs|distributed(\.\w+)*|utils(\.\w+)?))?",
            defined=r"vllm\.(sampling_params|pooling_params|lora\.request|entrypoints\.llm(\.\w+)?|distributed\.utils"
            r"|distributed\.device_communicators\.pynccl|engine\.arg_utils)",
            messages=r"vllm\.(engine\.arg_utils|entrypoints\.llm(\.\w+)?|sampling_params)",
        ),
        Package("openrlhf", "0", r"openrlhf/.*\.py", tables="openrlhf", defined="$^", messages=r"openrlhf\.cli\.\w+"),
        Package(
            "verl",
            "0",
            r"verl/trainer/.*\.ya?ml|verl/(__init__|protocol|trainer/.*|utils/config|workers/config/.*)\.py",
            unlisted=("verl",),
            tables="verl",
            partial="verl",
            defined="$^",
            messages=r"verl\.(trainer\.(main_ppo|ppo\.ray_trainer|config.*)|utils\.config|workers\.config.*)",
        ),
        Package(
            "llamafactory",
            "0.7",
            r"llamafactory/(hparams/\w+|extras/(constants|misc|packages)|data/template)\.py",
            unlisted=("llamafactory",),
            tables="$^",
            messages=r"llamafactory\.hparams\.\w+",
            only_fields=True,
        ),
        Package(
            "ms-swift",
            "2.0",
            r"swift/(__init__|cli/(_megatron/)?\w+|llm/(__init__|\w+|argument/.*|utils/(__init__|argument)|(train|infer|export|eval"
            r"|sampling|app)/\w+)|arguments/.*|pipelines/.*|trainers/(__init__|\w*arguments?|\w*args\w*)|ray_utils/\w+"
            r"|ray/\w+|rlhf_trainers/(__init__|\w*arg\w*)|trainers/rlhf_arguments|ui/(__init__|app)|utils/(__init__|\w*arg\w*)"
            r"|dataset/__init__|tuners?/__init__|plugin/__init__|megatron/(arguments?|export|train|pipelines/\w+)/\w+)\.py",
            depth=2,
            tables="$^",
            messages="$^",
            only_fields=True,
            imported_as="swift",
        ),
        Package(
            "axolotl",
            "0.5",
            r"axolotl/(utils/(schemas/.*|config/models/input/.*)|integrations/.*)\.py",
            unlisted=("axolotl",),
            tables="$^",
            messages="$^",
            only_fields=True,
        ),
        Package(
            "torchtune",
            "0.1",
            r"torchtune/.*\.py",
            unlisted=("torchtune._cli",),
            tables=r"torchtune(\.(data|datasets|training|utils|modules|config|rlhf|generation))?",
            defined="$^",
            messages="$^",
        ),
    )
}
