"""Keys of an accelerate config that do not go together."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from trl_lint.checks.configs._accelerate import SEVERAL_DEVICES, SHARDING, AccelerateFile, read_accelerate
from trl_lint.checks.configs._problems import Problem, is_filled, never, outside
from trl_lint.finding import Location
from trl_lint.knowledge import configs
from trl_lint.project.documents import Document
from trl_lint.project.launch_reader import gpu_ids
from trl_lint.sources.nodes import Entry, value_of

# DeepSpeedPlugin._deepspeed_config_checks, accelerate 0.16.0 to 1.15.0 (the paths since 0.20.0).
_SET_BY_THE_FILE = (
    "gradient_accumulation_steps", "gradient_clipping", "zero_stage", "zero3_save_16bit_model", "offload_param_device",
    "offload_optimizer_device", "offload_param_nvme_path", "offload_optimizer_nvme_path",
)  # fmt: skip
_SIZES = ("dp_replicate", "dp_shard", "tp", "cp", "sp")
_PARALLEL = "parallelism_config.parallelism_config_"


def contradictions(document: Document) -> Iterator[Problem]:
    """Everything in one file that excludes, or silently switches off, something else in it."""
    file = read_accelerate(document)
    if file is None:
        return
    yield from _several_backends(file)
    if file.backend == "DEEPSPEED":
        yield from _deepspeed(file, document)
    if file.fsdp is not None:
        yield from _fsdp(file, document)
    yield from _gpus(file, document)
    yield from _machines(file)
    yield from _single_process(file, document)
    if file.backend in SEVERAL_DEVICES | SHARDING and is_filled(file.root.get("parallelism_config")):
        yield from _parallelism(file, document)


def _several_backends(file: AccelerateFile) -> Iterator[Problem]:
    """Two blocks for two backends: `distributed_type` decides, and the other block is ignored."""
    if file.backend not in SHARDING:
        return
    for block, backend in configs.backend_blocks().items():
        entry = file.root.entry(block)
        if entry is not None and backend != file.backend and is_filled(entry.value):
            message = f"`{block}` is ignored beside `distributed_type: {file.backend}`, because one backend is used"
            place = entry._replace(value=entry.key)
            yield Problem(place, message, "accelerate", never, "warning", file.replacing())


# -- DeepSpeed --------------------------------------------------------------------------------------------------------


def _deepspeed(file: AccelerateFile, document: Document) -> Iterator[Problem]:
    named = file.entry("deepspeed_config.deepspeed_config_file")
    path = file.text("deepspeed_config.deepspeed_config_file")
    if named is not None and path not in (None, "None", "none"):
        related = (document.place(named, "the DeepSpeed config"),)
        for name in _SET_BY_THE_FILE:
            entry = file.entry(f"deepspeed_config.{name}")
            since = ">=0.20.0" if name.endswith("nvme_path") else ">=0.16.0"
            if entry is not None:
                yield _beside_the_file(entry, name, since, related, file, ())
        precision = file.entry("mixed_precision")
        if precision is not None and file.text("mixed_precision") not in (None, "None", "False"):
            yield _beside_the_file(precision, "mixed_precision", ">=0.16.0", related, file, ("mixed_precision",))
        return
    device = file.text("deepspeed_config.offload_param_device")
    entry = file.entry("deepspeed_config.offload_param_device")
    stage = file.text("deepspeed_config.zero_stage")
    if entry is not None and device is not None and device.lower() in ("cpu", "nvme") and stage in ("0", "1", "2"):
        message = f"`offload_param_device: {device}` has no effect at ZeRO stage {stage}: only stage 3 shards them"
        options = file.replacing("zero_stage", "offload_param_device")
        yield Problem(entry, message, "accelerate", never, "warning", options)


def _beside_the_file(
    entry: Entry, name: str, since: str, related: tuple[Location, ...], file: AccelerateFile, options: tuple[str, ...]
) -> Problem:
    message = (
        f"every process stops at `{name}` beside `deepspeed_config_file` (ValueError: When using "
        "`deepspeed_config_file`, the following accelerate config variables will be ignored): set it in that file only"
    )
    return Problem(entry, message, "accelerate", outside(since), options=file.replacing(*options), related=related)


# -- FSDP -------------------------------------------------------------------------------------------------------------


def _fsdp(file: AccelerateFile, document: Document) -> Iterator[Problem]:
    yield from _sync(file, document)
    yield from _fsdp2(file) if file.fsdp == 2 else _fsdp1(file)


def _fsdp1(file: AccelerateFile) -> Iterator[Problem]:
    reshard = file.entry("fsdp_config.fsdp_reshard_after_forward")
    wanted = (file.text("fsdp_config.fsdp_reshard_after_forward") or "").upper()
    if reshard is None or file.entry("fsdp_config.fsdp_sharding_strategy") is not None:
        return
    if wanted in ("SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"):
        message = (
            f"`fsdp_reshard_after_forward: {wanted}` has no effect in FSDP1: the launcher always sets "
            "`fsdp_sharding_strategy`, by default to FULL_SHARD, and that one counts"
        )
        options = file.replacing("fsdp_version", "fsdp_sharding_strategy")
        yield Problem(reshard, message, "accelerate", outside(">=1.6.0"), "warning", options)


def _fsdp2(file: AccelerateFile) -> Iterator[Problem]:
    kind = file.entry("fsdp_config.fsdp_state_dict_type")
    if kind is not None and (file.text("fsdp_config.fsdp_state_dict_type") or "").upper() == "LOCAL_STATE_DICT":
        message = "FSDP2 stops at LOCAL_STATE_DICT (ValueError): use SHARDED_STATE_DICT or FULL_STATE_DICT"
        options = file.replacing("fsdp_state_dict_type", "fsdp_version")
        yield Problem(kind, message, "accelerate", outside(">=1.6.0"), options=options)
    elif kind is not None and (file.text("fsdp_config.fsdp_state_dict_type") or "").upper() == "FULL_STATE_DICT":
        message = "FSDP2 stops at FULL_STATE_DICT (ValueError): use SHARDED_STATE_DICT"
        options = file.replacing("fsdp_state_dict_type", "fsdp_version")
        yield Problem(kind, message, "accelerate", outside(">=1.6.0,<1.7.0"), options=options)
    strategy = file.entry("fsdp_config.fsdp_sharding_strategy")
    named = (file.text("fsdp_config.fsdp_sharding_strategy") or "").upper()
    if strategy is None or file.entry("fsdp_config.fsdp_reshard_after_forward") is not None:
        return
    if named not in ("", "FULL_SHARD", "1", "NONE"):
        message = (
            f"`fsdp_sharding_strategy: {named}` has no effect in FSDP2: set `fsdp_reshard_after_forward`; without it "
            "the parameters are fully sharded"
        )
        options = file.replacing("fsdp_version")
        yield Problem(strategy, message, "accelerate", outside(">=1.6.0"), "warning", options)


def _sync(file: AccelerateFile, document: Document) -> Iterator[Problem]:
    """The launcher takes what YAML made of the values: the text "false" counts as true, and so does a missing key."""
    sync = file.entry("fsdp_config.fsdp_sync_module_states")
    known = file.scalar("fsdp_config.fsdp_sync_module_states")
    loading = file.entry("fsdp_config.fsdp_cpu_ram_efficient_loading")
    value = file.scalar("fsdp_config.fsdp_cpu_ram_efficient_loading")
    if sync is None or known is None or known.value or (loading is not None and (value is None or not value.value)):
        return
    default = " (on by default)" if loading is None else ""
    message = (
        "accelerate launch stops with a ValueError, because `fsdp_cpu_ram_efficient_loading`"
        f"{default} needs `fsdp_sync_module_states: true`"
    )
    related = () if loading is None else (document.place(loading, "switched on here"),)
    options = file.replacing("fsdp_sync_module_states", "fsdp_cpu_ram_efficient_loading")
    yield Problem(sync, message, "accelerate", outside(">=0.24.0"), options=options, related=related)


# -- machines, GPUs, processes ----------------------------------------------------------------------------------------


def _gpus(file: AccelerateFile, document: Document) -> Iterator[Problem]:
    entry, text = file.entry("gpu_ids"), file.text("gpu_ids")
    value = value_of(entry.value) if entry is not None else None
    if entry is None or not isinstance(value, str) or text in (None, "all") or file.is_unknown("num_machines"):
        return
    if (file.number("num_machines") or 1) != 1:
        return
    ids = value.split(",")
    if len(ids) < 2 and file.backend in SEVERAL_DEVICES:
        message = (
            f"`gpu_ids: {value}` names one GPU and `distributed_type: {file.backend}` needs two: accelerate launch "
            "stops (ValueError: Less than two GPU ids were configured)"
        )
        options = file.replacing("gpu_ids")
        yield Problem(entry, message, "accelerate", outside(">=0.17.0"), options=options)
        return
    visible, processes = gpu_ids(value), file.number("num_processes")
    if visible is None or processes is None or file.backend not in {"MULTI_GPU", "DEEPSPEED", "FSDP"}:
        return
    if value_of(file.root.get("use_cpu")) in (False, None) and len(visible) < processes:
        message = f"`gpu_ids: {value}` makes {len(visible)} GPUs visible to {processes} processes: two must share one"
        place = file.entry("num_processes")
        related = (document.place(place, "the number of processes"),) if place is not None else ()
        options = file.replacing("gpu_ids", "num_processes")
        yield Problem(entry, message, "accelerate", never, "warning", options, related=related)


def _machines(file: AccelerateFile) -> Iterator[Problem]:
    entry, machines = file.entry("num_machines"), file.number("num_machines")
    if entry is None or machines is None or machines < 2 or file.backend not in ("NO", "MULTI_CPU"):
        return
    if file.entry("main_process_ip") is not None and file.text("main_process_ip") != "None":
        return
    message = f"`num_machines: {machines}` without `main_process_ip`: accelerate launch cannot start the process"
    options = file.replacing("main_process_ip", "num_machines")
    yield Problem(entry, message, "accelerate", outside(">=0.26.0"), options=options, needs_launch=True)


def _single_process(file: AccelerateFile, document: Document) -> Iterator[Problem]:
    """The simple launcher starts one process on each machine, whatever the number says; mpirun is another matter."""
    entry, processes = file.entry("num_processes"), file.number("num_processes")
    machines = 1 if file.entry("num_machines") is None else file.number("num_machines")
    if file.backend != "NO" or entry is None or processes is None or machines is None or processes <= machines:
        return
    if is_filled(file.root.get("mpirun_config")):
        return
    kind = file.entry("distributed_type")
    message = f"`num_processes: {processes}` has no effect with `distributed_type: NO`: one process is started"
    related = (document.place(kind, "no distribution"),) if kind is not None else ()
    options = file.replacing("num_processes", "mpirun_hostfile")
    yield Problem(entry, message, "accelerate", never, "warning", options, related=related)


# -- parallelism ------------------------------------------------------------------------------------------------------


def _parallelism(file: AccelerateFile, document: Document) -> Iterator[Problem]:
    """ParallelismConfig.__post_init__ and _validate_accelerator."""
    block = file.root.entry("parallelism_config")
    if block is None or any(file.is_unknown(f"{_PARALLEL}{name}_size") for name in _SIZES):
        return
    sizes = {name: file.number(f"{_PARALLEL}{name}_size") for name in _SIZES}
    if any(size is None and file.entry(f"{_PARALLEL}{name}_size") is not None for name, size in sizes.items()):
        return
    full = {name: 1 if size is None else size for name, size in sizes.items()}
    if min(full.values()) < 1:
        return  # TRL402
    place = block._replace(value=block.key)
    options = file.replacing("num_processes", *(f"parallelism_config_{name}_size" for name in _SIZES))
    if (full["cp"] > 1 and full["sp"] > 1) or (
        (full["tp"] > 1 or full["cp"] > 1) and full["dp_replicate"] > 1 and full["dp_shard"] == 1
    ):
        return  # the class itself refuses these: `_accelerate_stated`
    yield from _total(file, document, place, full, options)


def _total(
    file: AccelerateFile, document: Document, place: Entry, sizes: dict[str, int], options: tuple[str, ...]
) -> Iterator[Problem]:
    total = prod(sizes.values())
    if total == 1:
        return
    entry, processes = file.entry("num_processes"), file.number("num_processes")
    if processes is not None and entry is not None and total != processes and sizes["sp"] == 1:
        message = (
            f"`parallelism_config` is for {total} processes ({_product(sizes)}), and `num_processes` is {processes} "
            "(ValueError)"
        )
        related = (document.place(entry, "the number of processes"),)
        yield Problem(place, message, "accelerate", outside(">=1.10.0"), options=options, related=related)
    elif file.fsdp == 1:
        message = "`parallelism_config` needs `fsdp_version: 2` (ValueError: only compatible with FSDP version 2)"
        yield Problem(place, message, "accelerate", outside(">=1.10.0"), options=(*options, "fsdp_version"))
    elif file.fsdp == 2 and sizes["dp_shard"] == sizes["cp"] == 1:
        message = "FSDP is chosen, but `dp_shard_size` and `cp_size` are 1: nothing is left to shard over (ValueError)"
        yield Problem(place, message, "accelerate", outside(">=1.15.0"), options=options)


def _product(sizes: dict[str, int]) -> str:
    return " × ".join(f"{name} {size}" for name, size in sizes.items() if size > 1)
