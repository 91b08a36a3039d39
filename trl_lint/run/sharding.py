"""How a run shards the model over its processes, as its configs say."""

from __future__ import annotations

from trl_lint.finding import Location
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.run.effective import Said, Setting, without_reason
from trl_lint.run.runs import Run

# Variables that make accelerate wrap the model otherwise, by their beginnings (utils/launch.py writes them).
_VARIABLES = ("ACCELERATE_", "FSDP_")
OTHER_FIELDS = ("deepspeed", "fsdp", "fsdp_config", "parallelism_config")
_OTHER_OPTIONS = frozenset({"--use_deepspeed", "--use_fsdp", "--cpu", "--tpu"})


def is_plain_ddp(run: Run) -> bool:
    """Whether a run of several processes certainly wraps the model in DistributedDataParallel and nothing else."""
    is_other = run.recipe is not None or any(run.config.given(name) is not ABSENT for name in OTHER_FIELDS)
    return not is_other and starts_plain_ddp(run)


def starts_plain_ddp(run: Run) -> bool:
    """The same, as far as the launcher decides it and not the training arguments (`OTHER_FIELDS`)."""
    is_other = run.deepspeed is not None or run.launch.options.keys() & _OTHER_OPTIONS
    if is_other or any(name.startswith(_VARIABLES) for name in run.launch.env):
        return False
    kind = run.configs.accelerate.given("distributed_type")
    return kind.value == "MULTI_GPU" if isinstance(kind, Setting) else run.launch.launcher == "torchrun"


def backend_of(run: Run) -> Setting | Missing:
    """Who shards the model, in the words of accelerate: DEEPSPEED, FSDP, MULTI_GPU; UNKNOWN where nothing says it.

    What starts the processes decides, else the training arguments that name a config of DeepSpeed.
    """
    said = run.configs.accelerate.given("distributed_type")
    if isinstance(said, Setting) and isinstance(said.value, str):
        return said
    return _named(run.config.given("deepspeed"))


def _named(said: Said) -> Setting | Missing:
    if not isinstance(said, Setting) or not isinstance(said.value, str) or said.value in ("", "None"):
        return UNKNOWN
    return said._replace(value="DEEPSPEED")


def fsdp_version(run: Run) -> int | None:
    """1 or 2 where what starts the processes shards by FSDP; None where it does not, or nobody knows."""
    config = run.configs.accelerate
    kind, said = config.given("distributed_type"), config.given("fsdp_config.fsdp_version")
    if not isinstance(kind, Setting) or kind.value != "FSDP":
        return None
    if isinstance(said, Setting):
        return said.integer if said.value is not None else 1
    return 1 if said is ABSENT else None


def zero_stage(run: Run) -> Setting | Missing:
    """The ZeRO stage of a run, and what says so; UNKNOWN where no DeepSpeed config of the run says one."""
    said = without_reason(run.configs.deepspeed.given("zero_optimization.stage"))
    return said if isinstance(said, Setting) else UNKNOWN


def zero3_place(run: Run) -> Location | None:
    """Where a run is told to use ZeRO-3; None where it is not, or nobody knows."""
    said = zero_stage(run)
    return said.location if isinstance(said, Setting) and said.integer == 3 else None
