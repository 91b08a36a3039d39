"""Which trainer a run trains with: what a trainer of a library refuses, one of the project's own may take."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from trl_lint.python.guards import last_name

if TYPE_CHECKING:
    from trl_lint.project.runs import Run

# Those that are a `transformers.Trainer` in every release; PPO, and RLOO up to 0.21, have a loop of their own.
_TRAINERS = frozenset(
    {
        "transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.BCOTrainer", "trl.CPOTrainer", "trl.DPOTrainer",
        "trl.GKDTrainer", "trl.GRPOTrainer", "trl.KTOTrainer", "trl.ORPOTrainer", "trl.PRMTrainer", "trl.RewardTrainer",
        "trl.SFTTrainer",
    }
)  # fmt: skip


def uses_trainer(run: Run, dotted: str) -> bool:
    """Whether the run certainly builds a trainer of the library ("" stands for any), and not only one of its own."""
    if not dotted or (run.parser is not None and run.parser.kind == "trl-command"):
        return True
    names = run.script.module.names if run.script is not None else None
    return names is not None and any(
        names.is_certain(call.func) and names.origins(call.func) == {dotted}
        for call in (run.script.module.calls if run.script is not None else ())
    )


def library_trainer(run: Run) -> ast.Call | None:
    """The call that builds the only trainer of the script, if that is certainly one of trl or transformers."""
    if run.script is None:
        return None
    module = run.script.module
    found = [call for call in module.calls if last_name(call.func).endswith("Trainer")]
    if len(found) != 1 or not module.names.is_certain(found[0].func):
        return None
    origins = module.names.origins(found[0].func)
    if len(origins) != 1 or not origins <= _TRAINERS:
        return None
    return found[0]
