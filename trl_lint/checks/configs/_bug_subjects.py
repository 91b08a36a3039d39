"""What may meet a known fault of a release: the trainers, programs, documents and calls, each with its world.

A subject answers what a condition of `rules/bugs` asks, and where a name of it is written.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Protocol

from trl_lint.checks.configs._release_says import Speaker
from trl_lint.finding import Location
from trl_lint.knowledge.bugs import Entry
from trl_lint.knowledge.condition_language import UNKNOWN, Block, World
from trl_lint.knowledge.condition_names import dotted_names
from trl_lint.missing import ABSENT, Missing
from trl_lint.missing import UNKNOWN as UNKNOWN_VALUE
from trl_lint.project.launchers import may_hide
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.run.config import Config
from trl_lint.run.effective import Said, Setting, Unknown, as_bool, as_number, of_default, without_reason
from trl_lint.run.runs import Run
from trl_lint.run.sharding import fsdp_version, zero_stage

_PACKAGES = ("trl", "transformers")
_BITS = {"4bit": 4, "8bit": 8, "none": 0}


class Subject(Protocol):
    """`places`: what rows call it in `where`. `location`: where it stands. `is_certain`: False where it may be
    somebody else's who repairs the fault. `leaning`: names that are left to a default which others may replace.
    """

    places: tuple[str, ...]
    location: Location
    is_certain: bool
    leaning: set[str]

    def world(self, entry: Entry, versions: dict[str, str]) -> World: ...

    def written(self, name: str, versions: dict[str, str]) -> Location | None:
        """Where a name of a condition (`x`, `a.b`, `arg.x`, `fact()`) is given; None where nobody writes it."""
        ...


# -- facts of a run -----------------------------------------------------


class RunFacts:
    """What conditions ask of a run beside its settings, with the places that say so."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def value(self, name: str) -> object:
        known = getattr(self, f"_{name}", None)
        return known() if known is not None else UNKNOWN

    def place(self, name: str) -> Location | None:
        if name == "num_processes":
            said = self.run.processes
        elif name == "zero_stage":
            said = zero_stage(self.run)
        elif name in ("model_type", "vocab_size"):
            return self._model[1]
        elif name == "fsdp_version":
            given = self._config.given
            said = without_reason(given("fsdp_config.fsdp_version") or given("distributed_type"))
        else:
            return None
        return said.location if isinstance(said, Setting) else None

    def _num_processes(self) -> object:
        said = self.run.processes
        return said.integer if isinstance(said, Setting) and said.integer is not None else UNKNOWN

    def _zero_stage(self) -> object:
        said = zero_stage(self.run)
        if isinstance(said, Setting):
            return said.integer if said.integer is not None else UNKNOWN
        return 0 if self._backend not in ("", "DEEPSPEED") else UNKNOWN

    def _fsdp_version(self) -> object:
        if self.run.deepspeed is not None or self._backend not in ("", "FSDP"):
            return 0
        return fsdp_version(self.run) or UNKNOWN

    def _model_type(self) -> object:
        from trl_lint.knowledge.models import family_of, model_of

        name = self._model[0]
        if (known := model_of(name)) is not None:
            return known.model_type or known.family
        family = family_of(name) if name else None
        return family.model_type if family is not None else UNKNOWN

    def _vocab_size(self) -> object:
        from trl_lint.knowledge.models import model_of

        known = model_of(self._model[0])
        return known.vocabulary if known is not None and known.vocabulary else UNKNOWN

    @property
    def _backend(self) -> str:
        """What starts the processes shards by, "" where that is not known."""
        said = self._config.given("distributed_type")
        return str(said.value or "") if isinstance(said, Setting) else ""

    @property
    def _config(self) -> Config:
        return self.run.configs.accelerate

    @cached_property
    def _model(self) -> tuple[str, Location | None]:
        from trl_lint.checks._run_models import trained_model

        if self.run.script is not None and self.run.framework in _PACKAGES:
            return trained_model(self.run)
        said = self.run.config.setting("model")
        return (said.value, said.location) if isinstance(said, Setting) and isinstance(said.value, str) else ("", None)


class WithFacts:
    """A world and the facts of a run."""

    def __init__(self, world: World, facts: RunFacts) -> None:
        self._world = world
        self._facts = facts
        self.field, self.base, self.arg = world.field, world.base, world.arg

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        found = self._world.fact(name, arguments)
        return self._facts.value(name) if found is UNKNOWN and not arguments else found


# -- a trainer or a config of transformers and TRL --------------------------------------------------------------------


class OfTrainer:
    """A class that a run certainly builds, with its arguments."""

    def __init__(self, run: Run, speaker: Speaker, instead: str = "") -> None:
        self.run = run
        self.speaker = speaker
        self.places = places_of(instead or speaker.dotted)
        call = speaker.given.location if speaker.given is not None else None
        script = run.script
        if call is None and script is not None and script.call is not None:
            call = script.module.location(script.call.func)
        self.location = call or run.launch.location
        # A config alone, of which nobody knows what trains with it.
        self.is_certain = speaker.is_trainer
        self.leaning: set[str] = set()
        self._facts = TrainerFacts(run, speaker)

    def world(self, entry: Entry, versions: dict[str, str]) -> World:
        from trl_lint.checks.configs._release_says import world_of

        return WithFacts(world_of(self.run, self.speaker, versions), self._facts)

    def written(self, name: str, versions: dict[str, str]) -> Location | None:
        from trl_lint.checks.configs._release_says import world_of

        world = world_of(self.run, self.speaker, versions)
        if name.endswith("()"):
            return self._facts.place(name[:-2])
        if name.startswith("arg."):
            value = world.argument(name.removeprefix("arg."))
            return None if isinstance(value, Missing) or value.location == self.location else value.location
        said = world.setting(name)
        return said.location if isinstance(said, Setting) else None


class TrainerFacts(RunFacts):
    """The same, and how the model of a trainer is loaded."""

    def __init__(self, run: Run, speaker: Speaker) -> None:
        super().__init__(run)
        self._speaker = speaker

    def _loaded_in_bits(self) -> object:
        """4 or 8, 0 for no quantisation that transformers does while it loads."""
        from trl_lint.run.trainer import trainers_by_call
        from trl_lint.run.trainer.models import possible_lines, quantised

        given = self._speaker.given
        call = getattr(given, "call", None)
        if self.run.script is None or call is None:
            return UNKNOWN
        trainer = trainers_by_call(self.run.script.module, self.run.project).get(call)
        if trainer is None or not trainer.is_certain:
            return UNKNOWN
        found = {quantised(line, self.run, trainer).bits for line in possible_lines(trainer.lines("model"), self.run)}
        return _BITS.get(found.pop(), UNKNOWN) if len(found) == 1 else UNKNOWN


# -- programs, documents and calls: settings by dotted names -----------------------------------------------------


class Settings:
    """A world of settings that are asked for one by one: `a.b` of a condition is a block `a` with `b` in it."""

    def __init__(self, condition: str, read: Callable[[str], object]) -> None:
        self._root = Block("", {})
        for name in dotted_names(condition):
            *above, last = name.split(".")
            block = self._root
            for part in above:
                inner = block.get(part)
                if not isinstance(inner, Block):
                    inner = block[part] = Block(f"{block.path}.{part}".lstrip("."), {})
                block = inner
            if last not in block:
                block[last] = read(name)

    def field(self, name: str) -> object:
        return self._root.get(name, UNKNOWN)

    def base(self, name: str) -> object:
        return UNKNOWN

    def arg(self, name: str) -> object:
        return UNKNOWN

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        return UNKNOWN


class OfProgram:
    """A command of verl, OpenRLHF or a framework with a config file."""

    is_certain = True

    def __init__(self, run: Run, places: tuple[str, ...]) -> None:
        from trl_lint.checks.configs._asserts import program_place

        self.run = run
        self.places = places
        self.location = program_place(run.launch)
        self.leaning: set[str] = set()
        self._is_open = may_hide(run.launch.args)
        self._config = run.config
        self._facts = RunFacts(run)

    def world(self, entry: Entry, versions: dict[str, str]) -> World:
        return WithFacts(Settings(entry.condition, lambda name: self._value(name, entry, versions)), self._facts)

    def _value(self, name: str, entry: Entry, versions: dict[str, str]) -> object:
        from trl_lint.knowledge.programs import followed

        said, given = self._config.final(name), self._config.given(name)
        if self._is_open and not isinstance(given, Setting):
            # Arguments from outside may bring another one: that is told more mildly.
            said = self._config.default(name)
            self.leaning.add(name)
        if isinstance(said, Unknown) and self.run.framework == "verl":
            other = followed(name, versions.get("verl", ""))
            said = self._config.final(other) if other else said
        if isinstance(said, Unknown) and given is ABSENT:
            return entry.defaults.get(name, UNKNOWN)
        return typed(said)

    def written(self, name: str, versions: dict[str, str]) -> Location | None:
        if name.endswith("()"):
            return self._facts.place(name[:-2])
        said = self._config.given(name)
        return said.location if isinstance(said, Setting) else None


class OfCall:
    """A call of a class or a function of a library."""

    is_certain = True

    def __init__(self, call: ast.Call, module: PythonModule, dotted: str) -> None:
        self.call = call
        self.module = module
        self.dotted = dotted
        self.leaning: set[str] = set()
        self.places = places_of(dotted)
        self.location = module.location(call.func)

    def world(self, entry: Entry, versions: dict[str, str]) -> World:
        return Settings(entry.condition, lambda name: self._value(name, versions))

    def _given(self, name: str) -> ast.expr | Missing:
        found = argument(self.call, name)
        return UNKNOWN_VALUE if found is ABSENT and self.call.args else found

    def _value(self, name: str, versions: dict[str, str]) -> object:
        from trl_lint.knowledge.api import resolve, signature

        node = self._given(name)
        if node is not ABSENT:
            value = UNKNOWN_VALUE if isinstance(node, Missing) else self.module.value(node)
            return UNKNOWN if isinstance(value, Missing) else value
        target = resolve(self.dotted, versions)
        known = signature(target, versions).parameters.get(name) if isinstance(target, str) else None
        return typed(of_default(known.default)) if known is not None else UNKNOWN

    def written(self, name: str, versions: dict[str, str]) -> Location | None:
        node = self._given(name)
        return None if isinstance(node, Missing) else self.module.location(node)


def typed(said: Said | Missing) -> object:
    """A setting as its program has it: numbers and truths of a command line are no texts there."""
    if not isinstance(said, Setting) or isinstance(said.value, Missing):
        return UNKNOWN
    value = said.value
    if isinstance(value, str) and said.origin == "flag":
        number = as_number(value)
        if number is not None:
            return number
        if value.lower() in ("true", "false"):
            return as_bool(value)
    return value


# -- what a run has -----------------------------------------------------


def subjects_of(run: Run) -> Iterator[OfTrainer | OfProgram]:
    """Whatever of a run may meet a fault."""
    from trl_lint.knowledge.families import arguments_of

    launch = run.launch
    arguments = arguments_of(run.framework)
    if arguments is not None:
        yield OfProgram(run, (f"{arguments.package} {arguments.keys_for(launch.subcommand or 'train')}",))
    elif run.framework in ("verl", "openrlhf"):
        yield OfProgram(run, places_of(_program(run)))
    elif run.arguments_class:
        from trl_lint.checks.configs._release_says import speakers

        found = list(speakers(run))
        for speaker in found:
            yield OfTrainer(run, speaker)
        if not any(speaker.is_trainer for speaker in found) and not _builds_trainer(run):
            yield from (OfTrainer(run, speaker, trainer_of(speaker.dotted)) for speaker in found[:1])


def trainer_of(config: str) -> str:
    """The trainer that the arguments of a class are for, by its name."""
    stem, _, name = config.rpartition(".")
    if name == "TrainingArguments":
        return f"{stem}.Trainer"
    return f"{stem}.{name.removesuffix('Config')}Trainer"


def _builds_trainer(run: Run) -> bool:
    """Whether the script builds a trainer of which nobody can tell what it is, or changes those of the libraries."""
    from trl_lint.checks.drift._calls import is_patched, is_unsloth
    from trl_lint.python.guards import last_name

    if run.script is None:
        return False
    module = run.script.module
    if is_unsloth(module) or is_patched(module):
        return True
    return any(last_name(call.func).endswith("Trainer") for call in module.calls)


def _program(run: Run) -> str:
    from trl_lint.run.readers import openrlhf, verl

    if run.framework == "openrlhf":
        found = openrlhf.read_run(run.launch, run.project)
        return found.module if found is not None else ""
    started = verl.read_run(run.launch, run.project)
    return started.module if started is not None else ""


def places_of(dotted: str) -> tuple[str, ...]:
    """What `where` of a row may call a class or a module: itself, and all that is below the package it is in."""
    above = dotted.rpartition(".")[0]
    return (dotted, f"{above}.*") if above else (dotted,)


def calls_of(module: PythonModule, places: set[str]) -> Iterator[OfCall]:
    """The calls of a module that are certainly of one of the classes or functions that rows are about."""
    from trl_lint.python.guards import is_expected_to_fail, last_name
    from trl_lint.python.names import is_from

    names = {place.rpartition(".")[2] for place in places}
    for call in module.calls:
        if last_name(call.func) not in names or not module.names.is_certain(call.func):
            continue
        origins = module.names.origins(call.func)
        found = {next((place for place in places if is_from(origin, place)), "") for origin in origins}
        dotted = found.pop() if len(found) == 1 else ""
        if dotted and not is_expected_to_fail(module, call):
            yield OfCall(call, module, dotted)
