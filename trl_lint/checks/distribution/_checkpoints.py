"""What the checkpoints of a run hold: whether they are written to resume from, and whether of an adapter."""

from __future__ import annotations

from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.run.effective import Setting, Unknown
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall
from trl_lint.run.trainer.facts import Thing, argument_of
from trl_lint.run.trainer.models import has_adapter, possible_lines


def saves_less(run: Run) -> bool:
    """Whether a run may write no checkpoints, or none to resume from."""
    text = run.script.module.text if run.script is not None else ""
    if ".train(" not in text or "state_dict_type" in text.lower():
        return True  # the script may choose another type for itself
    # With these the training arguments make a plugin of their own.
    if any(run.config.given(name) is not ABSENT for name in ("fsdp", "fsdp_config")):
        return True
    strategy, alone = run.config.given("save_strategy"), run.config.given("save_only_model")
    if (
        isinstance(strategy, Unknown)
        or isinstance(alone, Unknown)
        or (isinstance(strategy, Setting) and strategy.value in ("no", False, UNKNOWN))
    ):
        return True
    return isinstance(alone, Setting) and alone.truth is not False


def trains_adapter(call: TrainerCall, run: Run) -> bool:
    """Whether a trainer certainly trains an adapter."""
    if isinstance(argument_of(call, "peft_config", run), Thing):
        return True
    lines = possible_lines(call.lines("model"), run)
    return bool(lines) and all(has_adapter(line) is True for line in lines)
