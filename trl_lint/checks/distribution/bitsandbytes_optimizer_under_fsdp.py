"""TRL122: an optimizer of bitsandbytes under FSDP, which cannot update the weights, or not save its state."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._run_models import trains_all
from trl_lint.checks._started import processes_of
from trl_lint.checks.distribution._accelerators import backend_of
from trl_lint.checks.distribution._checkpoints import saves_less
from trl_lint.checks.distribution._integer_weights import first_fsdp
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding, Location
from trl_lint.missing import ABSENT
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.run.trainer import trainer_calls

# For these transformers makes one of bitsandbytes: trainer.py of 4.48.3 and 4.57.6, trainer_optimizer.py of 5.23.0.
_EIGHT_BITS = frozenset(
    {
        "adamw_bnb_8bit", "adamw_8bit", "paged_adamw_8bit", "ademamix_8bit", "paged_ademamix_8bit", "lion_8bit",
        "paged_lion_8bit", "rmsprop_bnb_8bit",
    }
)  # fmt: skip
OPTIMIZERS = _EIGHT_BITS | {
    "paged_adamw_32bit", "ademamix", "paged_ademamix_32bit", "lion_32bit", "paged_lion_32bit", "rmsprop_bnb",
    "rmsprop_bnb_32bit",
}  # fmt: skip
# The operators are those of torch's dispatcher and know no DTensor: run with 0.47.0, 0.48.2, 0.49.1, 0.50.2.
_REFUSES = ">=0.47.0"
# `FSDP.optim_state_dict` takes each tensor of the state for one of the parameter's shape, which tables and scales of 8
# bits are not; 0.49.2 hides them from it. Run on two gloo ranks with 0.43.3, 0.45.5, 0.47.0, 0.49.1, 0.49.2, 0.50.2.
_CANNOT_SAVE = "<0.49.2"
_TYPE = "fsdp_config.fsdp_state_dict_type"


class BitsandbytesOptimizerUnderFsdp(Rule):
    code = "TRL122"
    runs = True
    launched = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        if run.framework not in ("trl", "transformers"):
            return
        said = run.config.given("optim")
        if not isinstance(said, Setting) or said.value not in OPTIMIZERS or _has_its_own(run):
            return
        if run.launch.script_path is None or processes_of(run) < 2:
            return
        backend = backend_of(run.launch, run.project)
        if backend is not None and backend.kind == "FSDP2":
            yield from self._cannot_update(run, said, backend.location)
        elif said.value in _EIGHT_BITS and (place := first_fsdp(run)) is not None and _saves_state(run):
            yield from self._cannot_save(run, said, place)

    def _cannot_update(self, run: Run, said: Setting, backend: Location) -> Iterator[Finding]:
        message = (
            f"`{said.value}` is an optimizer of bitsandbytes, whose first step stops under FSDP2: it cannot update the "
            "DTensors that each process has of the model; take `adamw_torch_fused`, or that of torchao, "
            "`adamw_torch_8bit`, where transformers has it"
        )
        yield from self._found(run, said, backend, message, {"bitsandbytes": _REFUSES}, Level(self))

    def _cannot_save(self, run: Run, said: Setting, backend: Location) -> Iterator[Finding]:
        calls = trainer_calls(run.script.module, run.project) if run.script is not None else ()
        if len(calls) != 1 or not calls[0].is_certain:
            return
        # Of less than 4096 weights the state is not of 8 bits: parts of a small adapter may have so few.
        level = Level(self) if trains_all(calls[0], run) else Level("warning")
        message = (
            "the run stops at its first checkpoint: before bitsandbytes 0.49.2 FSDP cannot gather the state of "
            f"`{said.value}`; take a later release, another optimizer such as `adamw_torch_fused`, or save without the "
            "state (`save_only_model=True`)"
        )
        yield from self._found(run, said, backend, message, {"bitsandbytes": _CANNOT_SAVE}, level)

    def _found(
        self, run: Run, said: Setting, backend: Location, message: str, releases: dict[str, str], level: Level
    ) -> Iterator[Finding]:
        verdict = judge_pins(run.environment, releases, level)
        if verdict is None:
            return
        here = said.location or run.launch.location
        related = [place for place in (backend, run.launch.location) if place[:3] != here[:3]]
        message = f"{message} ({verdict.scope})"
        yield self.finding(here, message, severity=verdict.severity, related=(*related, *verdict.related))


def _saves_state(run: Run) -> bool:
    """Whether a run certainly writes checkpoints with the state of its optimizer, gathered by FSDP."""
    said = run.configs.accelerate.given(_TYPE)
    kind = said.value if isinstance(said, Setting) else None
    return kind in (None, "FULL_STATE_DICT", "SHARDED_STATE_DICT") and not saves_less(run)


def _has_its_own(run: Run) -> bool:
    """Whether the script may give the trainer an optimizer that it made, or does not train."""
    if run.script is None:
        return False
    words = ("optimizers", "optimizer_cls_and_kwargs", "create_optimizer", "bnb.optim")
    if any(word in run.script.module.text for word in words) or ".train(" not in run.script.module.text:
        return True
    # A trainer of the project may make its optimizer itself, and training arguments a plugin of their own.
    is_own = any(call.own is not None for call in trainer_calls(run.script.module, run.project))
    return is_own or any(run.config.given(name) is not ABSENT for name in ("fsdp", "fsdp_config"))


rule = BitsandbytesOptimizerUnderFsdp()
