"""Which trainer a run trains with: what a trainer of a library refuses, one of the project's own may take."""

from __future__ import annotations

import ast

from trl_lint.memos import per_module
from trl_lint.python.guards import last_name, never_runs
from trl_lint.python.module import PythonModule
from trl_lint.run.runs import Run

# Those that are a `transformers.Trainer` in every release; PPO, and RLOO up to 0.21, have a loop of their own.
HF_TRAINERS = frozenset(
    {
        "transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.BCOTrainer", "trl.CPOTrainer", "trl.DPOTrainer",
        "trl.GKDTrainer", "trl.GRPOTrainer", "trl.KTOTrainer", "trl.ORPOTrainer", "trl.PRMTrainer", "trl.RewardTrainer",
        "trl.SFTTrainer",
    }
)  # fmt: skip
# Configs whose trainers are a `transformers.Trainer`. PPO, and RLOO up to 0.21, drive DeepSpeed themselves.
_CONFIGS = frozenset(
    {
        "BCOConfig", "CPOConfig", "DPOConfig", "DistillationConfig", "GKDConfig", "GRPOConfig", "KTOConfig",
        "NashMDConfig", "ORPOConfig", "OnlineDPOConfig", "PRMConfig", "RewardConfig", "SFTConfig",
        "Seq2SeqTrainingArguments", "TrainingArguments", "XPOConfig",
    }
)  # fmt: skip


def uses_trainer(run: Run, dotted: str) -> bool:
    """Whether the run certainly builds a trainer of the library ("" stands for any), and not only one of its own."""
    if not dotted or run.arguments.is_filled or (run.parser is not None and run.parser.kind == "trl-command"):
        return True
    return run.script is not None and dotted in called(run.script.module)


@per_module
def called(module: PythonModule) -> frozenset[str]:
    """The dotted names that a module certainly calls; asked for once for each thing that a trainer may refuse."""
    names = module.names
    calls = (call for call in module.calls if names.is_certain(call.func))
    callees = (names.origins(call.func) for call in calls if not _is_dead_trainer(module, call))
    return frozenset(name for origins in callees for name in origins)


def _is_dead_trainer(module: PythonModule, call: ast.Call) -> bool:
    return last_name(call.func).endswith("Trainer") and never_runs(module, call)


def library_trainer(run: Run) -> ast.Call | None:
    """The call that builds the only trainer of the script, if that is certainly one of trl or transformers."""
    if run.script is None:
        return None
    return _only_trainer(run.script.module)


@per_module
def _only_trainer(module: PythonModule) -> ast.Call | None:
    found = only_trainer(module)
    return found[0] if found is not None and found[1] in HF_TRAINERS else None


@per_module
def only_trainer(module: PythonModule) -> tuple[ast.Call, str] | None:
    """The call that builds the only trainer of a module, and its dotted name, if both are certain."""
    found = [call for call in module.calls if last_name(call.func).endswith("Trainer")]
    if len(found) != 1 or not module.names.is_certain(found[0].func):
        return None
    origins = module.names.origins(found[0].func)
    return (found[0], next(iter(origins))) if len(origins) == 1 else None


def is_compared(run: Run) -> bool:
    """Whether the trainer of a run certainly compares the arguments with its other configs; its releases are known."""
    package, _, config = run.arguments_class.rpartition(".")
    return config in _CONFIGS and _builds_trainer(run) and package.partition(".")[0] in run.choices


def _builds_trainer(run: Run) -> bool:
    """Whether the run certainly trains with a trainer and not in a loop of its own."""
    if run.parser is not None and run.parser.kind == "trl-command":
        return True
    calls = run.script.module.calls if run.script is not None else ()
    return any(last_name(call.func).endswith("Trainer") for call in calls)
