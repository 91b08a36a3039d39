"""TRL122: an optimizer of bitsandbytes is given the sharded tensors of FSDP2, which it cannot update."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._started import processes_of
from trl_lint.checks.distribution._accelerators import backend_of
from trl_lint.checks.distribution._integer_weights import OTHER_BACKENDS
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding
from trl_lint.missing import ABSENT
from trl_lint.project.effective import Setting
from trl_lint.project.runs import Run
from trl_lint.project.trainercall import trainer_calls

# For these transformers makes one of bitsandbytes: trainer.py of 4.48.3 and 4.57.6, trainer_optimizer.py of 5.23.0.
OPTIMIZERS = frozenset(
    {
        "adamw_bnb_8bit", "adamw_8bit", "paged_adamw_32bit", "paged_adamw_8bit", "ademamix", "ademamix_8bit",
        "paged_ademamix_32bit", "paged_ademamix_8bit", "lion_32bit", "lion_8bit", "paged_lion_32bit",
        "paged_lion_8bit", "rmsprop_bnb", "rmsprop_bnb_8bit", "rmsprop_bnb_32bit",
    }
)  # fmt: skip
# The operators are those of torch's dispatcher and know no DTensor: run with 0.47.0, 0.48.2, 0.49.1, 0.50.2.
_REFUSES = ">=0.47.0"


class BitsandbytesOptimizerUnderFsdp2(Rule):
    code = "TRL122"
    runs = True
    launched = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        if run.framework not in ("trl", "transformers"):
            return
        said = run.field("optim")
        if not isinstance(said, Setting) or said.value not in OPTIMIZERS or _has_its_own(run):
            return
        if run.launch.script_path is None or processes_of(run) < 2 or run.launch.options.keys() & OTHER_BACKENDS:
            return
        backend = backend_of(run.launch, run.project)
        if backend is None or backend.kind != "FSDP2":
            return
        verdict = judge_pins(run.environment, {"bitsandbytes": _REFUSES}, Level(self))
        if verdict is None:
            return
        here = said.location or run.launch.location
        related = [place for place in (backend.location, run.launch.location) if place[:3] != here[:3]]
        yield self.finding(
            here,
            f"`{said.value}` is an optimizer of bitsandbytes, whose first step stops under FSDP2: it cannot update the "
            "DTensors that each process has of the model; take `adamw_torch_fused`, or that of torchao, "
            f"`adamw_torch_8bit`, where transformers has it ({verdict.scope})",
            severity=verdict.severity,
            related=(*related, *verdict.related),
        )


def _has_its_own(run: Run) -> bool:
    """Whether the script may give the trainer an optimizer that it made."""
    if run.script is None:
        return False
    words = ("optimizers", "optimizer_cls_and_kwargs", "create_optimizer", "bnb.optim")
    if any(word in run.script.module.text for word in words):
        return True
    # A trainer of the project may make its optimizer itself, and training arguments a plugin of their own.
    is_own = any(call.own is not None for call in trainer_calls(run.script.module, run.project))
    return is_own or any(run.field(name) is not ABSENT for name in ("fsdp", "fsdp_config"))


rule = BitsandbytesOptimizerUnderFsdp2()
