"""TRL119: checkpoints of an adapter under FSDP2 hold the part of the first process alone."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._started import processes_of
from trl_lint.checks.distribution._checkpoints import saves_less, trains_adapter
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding, Location
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.run.sharding import fsdp_version
from trl_lint.run.trainer import trainer_calls

_KEY = "fsdp_config.fsdp_state_dict_type"
# `_get_model_state_dict` gives the adapter as it lies on each process, and the first one writes it: read in 1.7.0 to
# 1.14.0 (utils/fsdp_utils.py). 1.6.0 refuses a full state dict, 1.15.0 gathers the adapter.
_WRITES_ONE = ">=1.7.0,<1.15.0"


class AdapterCheckpointOfOneShard(Rule):
    code = "TRL119"
    runs = True
    launched = True

    def check_run(self, run: Run) -> Iterator[Finding]:
        said = run.configs.accelerate.given(_KEY)
        if not isinstance(said, Setting) or str(said.value).upper() != "FULL_STATE_DICT" or said.location is None:
            return
        if run.launch.script_path is None or processes_of(run) < 2 or fsdp_version(run) != 2 or saves_less(run):
            return
        place = _adapter(run)
        verdict = judge_pins(run.environment, {"accelerate": _WRITES_ONE}, Level(self)) if place is not None else None
        if place is None or verdict is None:
            return
        yield self.finding(
            said.location,
            "with FULL_STATE_DICT a checkpoint holds the first process's part of the adapter alone, and who resumes "
            f"from it loses the rest: use SHARDED_STATE_DICT ({verdict.scope})",
            severity=verdict.severity,
            related=(
                place._replace(message="the trainer"),
                run.launch.location._replace(message="the run"),
                *verdict.related,
            ),
        )


def _adapter(run: Run) -> Location | None:
    """Where the one trainer of a run is made, if it certainly trains an adapter."""
    calls = trainer_calls(run.script.module, run.project) if run.script is not None else ()
    return calls[0].location if len(calls) == 1 and calls[0].is_certain and trains_adapter(calls[0], run) else None


rule = AdapterCheckpointOfOneShard()
