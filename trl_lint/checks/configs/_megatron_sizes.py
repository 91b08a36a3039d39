"""TRL403: sizes of `megatron sft` and `megatron rlhf` of ms-swift that do not fit the number of processes.

The fields, and what they are where no flag is given, read in megatron/argument(s)/megatron_args.py of ms-swift 3.4.0,
3.8.2, 3.12.4, 4.3.2 and 4.6.0. That the ranks are whole groups is asked by `initialize_model_parallel` of
megatron/core/parallel_state.py, that the batch is whole steps by num_microbatches_calculator.py beside it (both read in
megatron-core 0.12.0 and 0.15.0) and, from 4.3.2 on, by `_init_distributed` of the arguments; what GRPO samples by
`_check_batch_params` (3.12.4) and `validate_batch_dp_alignment` (4.3.2, 4.6.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from trl_lint.checks.configs._asserts import Assertion, Broken, Problem, UnknownValueError, Values, broken
from trl_lint.checks.configs._command_keys import is_left_alone
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level
from trl_lint.knowledge.families import arguments_of
from trl_lint.missing import ABSENT
from trl_lint.run.effective import Setting
from trl_lint.run.readers.command_words import Given, words_of
from trl_lint.run.runs import Run

PACKAGE = "ms-swift"
_WORLD = "processes"
_TENSOR, _PIPELINE, _CONTEXT = "tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size"
_EXPERT, _GLOBAL, _MICRO = "expert_model_parallel_size", "global_batch_size", "micro_batch_size"
_DEFAULTS: dict[str, int | str | None] = {
    _TENSOR: 1, _PIPELINE: 1, _CONTEXT: 1, _EXPERT: 1, _MICRO: 1, _GLOBAL: 16,
    "num_generations": 8, "generation_batch_size": None, "steps_per_generation": None, "rlhf_type": None,
}  # fmt: skip
# With these flags the sizes come from elsewhere, the processes are others, or the batch is made to fit.
_UNLESS = (
    "config", "load_args", "use_ray", "extra_megatron_kwargs", "rampup_batch_size", "decrease_batch_size_if_needed",
)  # fmt: skip


def _model_size(v: Values) -> int:
    return v.number(_TENSOR) * v.number(_PIPELINE) * v.number(_CONTEXT)


def _replicas(v: Values) -> int:
    """How often the model stands on the ranks. Raises UnknownValueError where no whole number of them does."""
    world, size = v.number(_WORLD), _model_size(v)
    if size < 1 or world < 1 or world % size:
        raise UnknownValueError
    return world // size


def ranks(v: Values) -> str | None:
    """Whole models on the ranks, and whole groups of experts."""
    world, size = v.number(_WORLD), _model_size(v)
    if size > 0 and world % size:
        return f"{world} processes are no multiple of {size}, the tensor x pipeline x context parallel sizes of a model"
    experts = v.number(_EXPERT) * v.number(_PIPELINE)
    if experts > 0 and world % experts:
        return f"{world} processes are no multiple of {experts}, the expert x pipeline parallel sizes"
    return None


def steps(v: Values) -> str | None:
    """Whole micro batches in a step."""
    replicas, micro, whole = _replicas(v), v.number(_MICRO), v.number(_GLOBAL)
    if micro < 1 or whole % (micro * replicas) == 0:
        return None
    return (
        f"`global_batch_size` {whole} is no multiple of {micro * replicas}: `micro_batch_size` {micro} x {replicas} "
        f"data parallel ({v.number(_WORLD)} processes / {_model_size(v)})"
    )


def prompts(v: Values) -> str | None:
    """Whole micro batches of the prompts that GRPO samples answers for."""
    if v("rlhf_type") != "grpo" or steps(v) is not None:
        return None
    batch, times = v("generation_batch_size"), v("steps_per_generation")
    if batch is not None and times is not None:
        return None  # another check
    size = v.number("generation_batch_size") if batch is not None else v.number(_GLOBAL)
    if times is not None:
        size *= v.number("steps_per_generation")
    group, needed = v.number("num_generations"), _replicas(v) * v.number(_MICRO)
    if group < 1 or size < 1 or needed < 1 or (size // group and size // group % needed == 0):
        return None
    return (
        f"a generation of {size} completions holds {size // group} prompts (`num_generations` {group}), no multiple of "
        f"{needed}: `micro_batch_size` {v.number(_MICRO)} x {_replicas(v)} data parallel"
    )


# With further machines, of which another place may tell, the ranks may fit; a batch that does not fit never will.
_OF_ALL_MACHINES = (Assertion(">=3.4.0", ranks),)
_OF_ANY_MACHINES = (Assertion(">=3.4.0", steps), Assertion(">=3.12.4", prompts))


def misfits(run: Run, rule: Rule) -> Iterator[Problem]:
    """What is refused of the sizes of a command whose processes are written beside it."""
    launch = run.launch
    program = launch.program
    if launch.launcher != "megatron" or program is None or program.ranks is None or launch.command.errors:
        return
    if launch.subcommand not in program.ranks.subcommands or program.ranks.processes not in launch.env.names():
        return
    given, family = words_of(launch, run.project), arguments_of(run.framework)
    if given is None or family is None or any(given.setting(name) is not ABSENT for name in _UNLESS):
        return
    if not (given.words and (given.words[0].text or "").startswith("-")) or is_left_alone(family, run.project):
        return
    read = partial(_values, run, given)
    exact = Level(rule, launch.is_mild, of_code=False)
    mild = exact._replace(is_mild=exact.is_mild or program.ranks.machines not in launch.env.names())
    for assertions, level in ((_OF_ALL_MACHINES, mild), (_OF_ANY_MACHINES, exact)):
        for found in broken(assertions, PACKAGE, run.choices, read, level):
            yield _problem(run, given, found)
            return


def _problem(run: Run, words: Given, found: Broken) -> Problem:
    """At the last of the settings that the command names, with the others beside it."""
    launch = run.launch
    said = (run.processes if key == _WORLD else words.setting(key) for key in found.keys)
    given = {one.location: None for one in said if isinstance(one, Setting) and one.location is not None}
    *beside, location = sorted(given, key=lambda place: (place.path == launch.source.path, place.start))
    related = tuple(place._replace(message="together with this") for place in beside)
    message = f"`megatron {launch.subcommand}` stops: {found.message} ({found.verdict.scope})"
    return Problem(location, message, found.verdict.severity, (*related, *found.verdict.related))


def _values(run: Run, given: Given, version: str) -> Values:
    return Values(partial(_value, run, given))


def _value(run: Run, given: Given, key: str) -> Any:
    said = run.processes if key == _WORLD else given.setting(key)
    if said is ABSENT:
        if given.may_abbreviate(key):
            raise UnknownValueError
        return _DEFAULTS[key]
    if not isinstance(said, Setting):
        raise UnknownValueError
    value = said.integer if said.integer is not None else said.value
    if not isinstance(value, int | str) or isinstance(value, bool):
        raise UnknownValueError
    return value
