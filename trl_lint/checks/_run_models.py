"""The model that a run trains: its id, and whether all of it is trained."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.finding import Location
from trl_lint.missing import ABSENT
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall, is_absent, trainer_calls
from trl_lint.run.trainer.models import checkpoint, has_adapter, has_own_layers, is_name, possible_lines
from trl_lint.run.trainer.running import value_in


def trained_model(run: Run) -> tuple[str, Location | None]:
    """The id of the one model that a run trains, and where it stands; "" where that is not known."""
    if run.script is None:
        return _of_setting(run)
    calls = [call for call in trainer_calls(run.script.module, run.project) if not call.is_dead]
    found = [one for call in calls for one in named_models(call, run)]
    return found[0] if len({identifier for identifier, _ in found}) == 1 else ("", None)


def _of_setting(run: Run) -> tuple[str, Location | None]:
    """The model of a command of TRL."""
    said, remote = run.config.given("model_name_or_path"), run.config.given("trust_remote_code")
    is_plain = remote is ABSENT or (isinstance(remote, Setting) and remote.truth is False)
    if not is_plain or run.config.given("model_init_kwargs") is not ABSENT:
        return "", None
    return (said.value, said.location) if isinstance(said, Setting) and isinstance(said.value, str) else ("", None)


def named_models(call: TrainerCall, run: Run | None) -> Iterator[tuple[str, Location | None]]:
    """The models that a trainer may be given, "" for one whose layers are not certainly those of its family."""
    for line in possible_lines(call.lines("model"), run):
        is_sure = call.is_certain and call.own is None and not call.is_prepared and has_own_layers(line)
        for made in (checkpoint(line, call, run) if is_sure else ()) or (None,):
            value = value_in(made, run) if made is not None else None
            yield (value, made.location) if made is not None and isinstance(value, str) else ("", None)


def trains_all(call: TrainerCall, run: Run) -> bool:
    """Whether a trainer certainly trains no adapter, but the weights of the model."""
    lines = possible_lines(call.lines("model"), run)
    is_whole = bool(lines) and all(is_name(line.made) or has_adapter(line) is False for line in lines)
    return is_whole and is_absent(call.given("peft_config"))
