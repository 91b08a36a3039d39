"""Device maps of the models that trainers are given, in runs of several processes."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._started import Started
from trl_lint.checks._trainer_rule import first_started, place_for, seen_at
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_releases
from trl_lint.finding import Finding, Location
from trl_lint.knowledge.ranges import holds
from trl_lint.records import NamedTuple
from trl_lint.run.sharding import zero3_place
from trl_lint.run.trainer import Line, Made, TrainerCall
from trl_lint.run.trainer.models import is_name, is_unsloth, loader, only, possible_lines
from trl_lint.run.trainer.order import is_before
from trl_lint.run.trainer.running import value_in

# What accelerate works out a map for, with more than one device in it where more than one GPU is visible.
_SPREADING = frozenset({"auto", "balanced", "balanced_low_0", "sequential"})
# Releases in which TRL leaves a map alone that it is given for a model that it loads itself: read in 0.25.1, 0.26.0 to
# 0.26.2, which know DeepSpeed alone, and 0.27.0.
_LEFT_ALONE = {True: "<0.26.0", False: "<0.27.0"}


class Mapped(NamedTuple):
    """A `device_map` that a model is loaded with: what was given for it, and its value, "" for one that is no text."""

    made: Made
    text: str


def device_map_findings(rule: Rule, call: TrainerCall) -> Iterator[Finding]:
    """The device map of the model that a trainer is given, in the first run in which it is wrong."""
    yield from first_started(call, lambda started: _of_loaded(rule, call, started) or _of_named(rule, call, started))


def _of_loaded(rule: Rule, call: TrainerCall, started: Started) -> Finding | None:
    """The model that the script loads."""
    lines = possible_lines(call.lines("model"), started.run)
    maps = [_mapped(line, started) for line in lines]
    sure = [one for one in maps if one is not None]
    if not sure or len(sure) < len(maps):
        return None
    first = sure[0]
    place = zero3_place(started.run)
    if place is not None and all(_is_after_arguments(call, line) for line in lines):
        message = (
            f"`device_map{_shown(first)}` under ZeRO-3: transformers refuses to load the model, whose weights "
            "DeepSpeed places: leave `device_map` out"
        )
        return _finding(rule, call, first, started, message, (place._replace(message="ZeRO-3"),))
    if all(one.text for one in sure):
        message = (
            f"each of {started.processes} processes spreads the model over all GPUs with "
            f"`device_map{_shown(first)}`, and accelerate refuses to train it: leave `device_map` out"
        )
        return _finding(rule, call, first, started, message, ())
    return None


def _finding(
    rule: Rule, call: TrainerCall, mapped: Mapped, started: Started, message: str, more: tuple[Location, ...]
) -> Finding:
    related = (*seen_at(call, mapped.made, "the map"), *started.related, *more)
    return rule.finding(place_for(call, mapped.made), message, related=related)


def _of_named(rule: Rule, call: TrainerCall, started: Started) -> Finding | None:
    """The model that TRL loads by its name, with what `model_init_kwargs` says."""
    run = started.run
    if not call.trainer.startswith("trl.") or "trl" not in run.choices:
        return None
    named = possible_lines(call.lines("model"), run)
    if not named or not all(is_name(line.made) for line in named):
        return None
    kwargs = only(call.field("model_init_kwargs"), run)
    made = only(kwargs.entry("device_map"), run) if kwargs is not None and kwargs.kind == "dict" else None
    text = value_in(made, run) if made is not None else None
    if made is None or text not in _SPREADING:
        return None
    releases = _LEFT_ALONE[run.deepspeed is not None]
    verdict = judge_releases(run.choices["trl"], lambda version: holds(releases, version), Level(rule))
    if verdict is None:
        return None
    message = (
        f"each of {started.processes} processes spreads the model over all GPUs with "
        f'`"device_map": "{text}"`, and accelerate refuses to train it: leave it out ({verdict.scope})'
    )
    related = (*seen_at(call, made, "the map"), *started.related, *verdict.related)
    return rule.finding(place_for(call, made), message, severity=verdict.severity, related=related)


def _mapped(line: Line, started: Started) -> Mapped | None:
    """The map that a model is certainly loaded with; None where it may be another or none."""
    load = loader(line)
    if load is None or is_unsloth(load):
        return None
    made = only(load.argument("device_map"), started.run)
    if made is None:
        return None
    value = value_in(made, started.run)
    if isinstance(value, str):
        return Mapped(made, value if value in _SPREADING else "")
    is_map = made.kind == "dict" or (made.kind == "literal" and isinstance(value, int)) or _is_of_trl(made)
    return Mapped(made, "") if is_map else None


def _is_of_trl(made: Made) -> bool:
    return made.kind == "call" and made.name == "get_kbit_device_map"


def _shown(mapped: Mapped) -> str:
    return f'="{mapped.text}"' if mapped.text else ""


def _is_after_arguments(call: TrainerCall, line: Line) -> bool:
    """Whether the training arguments, which switch ZeRO-3 on, are certainly made before the model is loaded."""
    load = loader(line)
    arguments = call.given("args")
    return load is not None and all(is_before(made, load, call.frame) for made in arguments)
