"""Configuration documents of training programs, recognised by what stands in them, not by their names.

What counts as whose document was measured on some two thousand YAML and JSON files of training projects and of others
(Kubernetes, workflows, compose files, model configs): a kind needs several keys that only its program uses.
"""

from __future__ import annotations

import os
from typing import Literal

from trl_lint.finding import Location
from trl_lint.sources import Source, SourceError, SourceFile
from trl_lint.sources.nodes import Entry, Mapping, Node, Scalar, Value, find, value_of
from trl_lint.words import words

Kind = Literal["accelerate", "deepspeed", "trl-recipe", "axolotl", "llamafactory", "verl", "other"]


MAX_BYTES = 1_000_000  # above it a file is data

# Words of which at least one group must occur in the bytes of a file before it is parsed.
_NEEDLES: tuple[tuple[bytes, ...], ...] = (
    (b"distributed_type",),
    (b"compute_environment",),
    (b"zero_optimization",),
    (b"train_micro_batch_size_per_gpu",),
    (b"train_batch_size", b"gradient_accumulation_steps"),
    (b"train_batch_size", b"optimizer"),
    (b"train_batch_size", b"scheduler"),
    (b"train_batch_size", b"fp16"),
    (b"train_batch_size", b"bf16"),
    (b"model_name_or_path",),
    (b"base_model", b"micro_batch_size"),
    (b"base_model", b"datasets"),
    (b"base_model", b"sequence_len"),
    (b"actor_rollout_ref",),
    (b"ppo_trainer", b"defaults"),
)

# accelerate.commands.config.config_args: BaseConfig and ClusterConfig, all releases to 1.15.
_ACCELERATE_KEYS = words("""
    compute_environment distributed_type mixed_precision use_cpu debug num_processes machine_rank num_machines
    gpu_ids main_process_ip main_process_port rdzv_backend same_network main_training_function enable_cpu_affinity
    fp8_config deepspeed_config fsdp_config tp_config parallelism_config megatron_lm_config ipex_config
    mpirun_config downcast_bf16 tpu_name tpu_zone tpu_use_cluster tpu_use_sudo command_file commands tpu_vm tpu_env
    dynamo_config dynamo_backend fp16
""")
_DISTRIBUTED_TYPES = words("""
    NO MULTI_CPU MULTI_GPU MULTI_NPU MULTI_MLU MULTI_SDAA MULTI_MUSA MULTI_XPU MULTI_HPU MULTI_NEURON DEEPSPEED FSDP
    XLA MEGATRON_LM TPU MPS TP
""")
_COMPUTE_ENVIRONMENTS = ("LOCAL_MACHINE", "AMAZON_SAGEMAKER")

_DEEPSPEED_KEYS = words("""
    train_batch_size train_micro_batch_size_per_gpu gradient_accumulation_steps gradient_clipping optimizer
    scheduler fp16 bf16 bfloat16 amp zero_optimization zero_allow_untested_optimizer zero_force_ds_cpu_optimizer
    wall_clock_breakdown steps_per_print prescale_gradients gradient_predivide_factor sparse_gradients
    communication_data_type activation_checkpointing flops_profiler comms_logger aio tensorboard wandb csv_monitor
    data_types checkpoint dump_state memory_breakdown elasticity
""")

# transformers.TrainingArguments; only names that no other family of configuration files uses in the same way.
_TRAINING_KEYS = words("""
    output_dir learning_rate per_device_train_batch_size per_device_eval_batch_size gradient_accumulation_steps
    num_train_epochs max_steps lr_scheduler_type lr_scheduler_kwargs warmup_ratio warmup_steps logging_steps
    logging_strategy save_strategy save_steps save_total_limit eval_strategy evaluation_strategy eval_steps
    report_to gradient_checkpointing gradient_checkpointing_kwargs bf16 fp16 tf32 max_grad_norm weight_decay optim
    seed push_to_hub hub_model_id hub_strategy hub_model_revision overwrite_output_dir log_level do_eval do_train
    run_name remove_unused_columns dataloader_num_workers ddp_timeout adam_beta1 adam_beta2 adam_epsilon
""")

_LLAMAFACTORY_STAGES = ("pt", "sft", "rm", "ppo", "dpo", "kto")
_LLAMAFACTORY_KEYS = frozenset(("finetuning_type", "template", "dataset"))
_AXOLOTL_KEYS = words("""
    micro_batch_size sequence_len datasets adapter val_set_size sample_packing num_epochs flash_attention lora_r
    lora_target_linear dataset_prepared_path special_tokens pad_to_sequence_len train_on_inputs
""")
_VERL_KEYS = frozenset(("data", "trainer", "critic", "algorithm", "reward_model", "hydra", "defaults", "ray_init"))


class Document:
    """A recognised document: what kind it is, the text it stands in, and its tree."""

    __slots__ = ("kind", "root", "source")

    def __init__(self, kind: Kind, source: Source, root: Node) -> None:
        self.kind = kind
        self.source = source
        self.root = root

    @property
    def path(self) -> str:
        return self.source.path

    @property
    def mapping(self) -> Mapping | None:
        """The root, if it is a mapping."""
        return self.root if isinstance(self.root, Mapping) else None

    def value(self, path: str) -> Value:
        """The scalar at a dotted path of keys; None where there is none."""
        return value_of(find(self.root, path))

    def place(self, entry: Entry, message: str = "") -> Location:
        """Where a key and its value stand."""
        return self.source.location(entry.key.start, max(entry.key.end, entry.value.end), message)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.path}>"


def read_document(file: SourceFile) -> Document | None:
    """The document in a YAML or JSON file; None for a file that cannot be one (its bytes name nothing of ours).

    `kind` is "other" for what names something of ours and is none of the known kinds. Raises SourceError where a
    candidate is malformed, save for templates (`{{ … }}`, `{% … %}`), which are not YAML before they are filled in.
    """
    extension = os.path.splitext(file.path)[1].lower()
    if extension not in (".yaml", ".yml", ".json") or not _is_candidate(file.data):
        return None
    source = Source(file, "json" if extension == ".json" else "yaml")
    try:
        from trl_lint.sources.trees import read_trees

        roots = read_trees(source)
    except SourceError:
        if b"{{" in file.data or b"{%" in file.data:
            return None
        raise
    if not roots:
        return None
    # The programs read one document; several in a file are somebody else's format.
    kind = recognise(roots[0]) if len(roots) == 1 else "other"
    return Document(kind, source, roots[0])


def _is_candidate(data: bytes) -> bool:
    return len(data) <= MAX_BYTES and any(all(word in data for word in group) for group in _NEEDLES)


def recognise(root: Node) -> Kind:
    """Whose document a tree is, "other" where it is nobody's of ours."""
    if not isinstance(root, Mapping):
        return "other"
    keys = root.keys()
    if is_accelerate(root, keys):
        return "accelerate"
    if is_deepspeed(root, keys):
        return "deepspeed"
    if is_verl(root, keys):
        return "verl"
    if is_llamafactory(root, keys):
        return "llamafactory"
    if is_axolotl(root, keys):
        return "axolotl"
    if is_trl_recipe(root, keys):
        return "trl-recipe"
    return "other"


def is_accelerate(root: Mapping, keys: set[str]) -> bool:
    """A file of `accelerate config`: a known distributed type (an unquoted NO is False) among keys of ClusterConfig."""
    known = _ACCELERATE_KEYS.intersection(keys)
    if value_of(root.get("compute_environment")) in _COMPUTE_ENVIRONMENTS and len(known) >= 2:
        return True
    kind = root.get("distributed_type")
    if not isinstance(kind, Scalar):
        return False
    is_whole = len(known) == 2 == len(keys)  # such a small file may hold nothing else
    return (len(known) >= 3 or is_whole) and (kind.value is False or kind.value in _DISTRIBUTED_TYPES)


def is_deepspeed(root: Mapping, keys: set[str]) -> bool:
    known = _DEEPSPEED_KEYS.intersection(keys)
    if isinstance(root.get("zero_optimization"), Mapping):
        return "model_name_or_path" not in keys
    has_batch = not known.isdisjoint(("train_batch_size", "train_micro_batch_size_per_gpu"))
    has_engine = any(isinstance(root.get(name), Mapping) for name in ("optimizer", "scheduler", "fp16", "bf16"))
    return has_batch and has_engine and len(known) >= 3


def is_verl(root: Mapping, keys: set[str]) -> bool:
    """A Hydra config of verl: the worker group no other program has, or a defaults list with verl's trainer."""
    if isinstance(root.get("actor_rollout_ref"), Mapping) and not _VERL_KEYS.isdisjoint(keys):
        return True
    defaults = root.get("defaults")
    if defaults is None or isinstance(defaults, (Scalar, Mapping)):
        return False
    return any(value_of(item) in ("ppo_trainer", "ppo_megatron_trainer") for item in defaults.items)


def is_llamafactory(root: Mapping, keys: set[str]) -> bool:
    if value_of(root.get("stage")) not in _LLAMAFACTORY_STAGES:
        return False
    return "model_name_or_path" in keys and not _LLAMAFACTORY_KEYS.isdisjoint(keys)


def is_axolotl(root: Mapping, keys: set[str]) -> bool:
    return isinstance(value_of(root.get("base_model")), str) and len(_AXOLOTL_KEYS.intersection(keys)) >= 3


def is_trl_recipe(root: Mapping, keys: set[str]) -> bool:
    """Arguments of a transformers-style training script: a model and at least three of TrainingArguments' names."""
    if not isinstance(value_of(root.get("model_name_or_path")), str):
        return False
    return len(_TRAINING_KEYS.intersection(keys)) >= 3 and keys.isdisjoint(("finetuning_type", "template"))
