"""How a run shards the model over its processes, as its configs say."""

from __future__ import annotations

from trl_lint.finding import Location
from trl_lint.missing import UNKNOWN, Missing
from trl_lint.run.effective import Setting, of_document
from trl_lint.run.runs import Run


def zero_stage(run: Run) -> Setting | Missing:
    """The ZeRO stage of a run, and what says so; UNKNOWN where no DeepSpeed config of the run says one."""
    if run.deepspeed is not None:
        said = of_document(run.deepspeed, "zero_optimization.stage", "recipe")
    elif run.accelerate is not None and run.accelerate.value("distributed_type") == "DEEPSPEED":
        said = of_document(run.accelerate, "deepspeed_config.zero_stage", "accelerate")
    else:
        return UNKNOWN
    return said if isinstance(said, Setting) else UNKNOWN


def zero3_place(run: Run) -> Location | None:
    """Where a run is told to use ZeRO-3; None where it is not, or nobody knows."""
    said = zero_stage(run)
    return said.location if isinstance(said, Setting) and said.integer == 3 else None
