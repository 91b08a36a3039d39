"""What the releases in use say of a run in their own code (`rules/conditions`): which of it is true of its values.

Who speaks: the config class of the run, classes beside it that its parser fills, and the trainers that it certainly
builds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks._trainers import HF_TRAINERS
from trl_lint.checks.configs._run_world import RunWorld, Values
from trl_lint.checks.configs._trainer_given import CallGiven, Given
from trl_lint.finding import Location, Severity
from trl_lint.knowledge.condition_answers import Answers
from trl_lint.knowledge.condition_names import words_in
from trl_lint.knowledge.conditions import has_conditions
from trl_lint.knowledge.conditions_join import Asked, Statement, statements, trainer_statements
from trl_lint.memos import per_module, per_project
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.project.config_runs import ConfigRun
from trl_lint.project.effective import Setting
from trl_lint.project.parsers import fields_of
from trl_lint.project.runs import Run
from trl_lint.project.stack import Choice
from trl_lint.python.guards import bindings, last_name
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.records import NamedTuple

PACKAGES = ("trl", "transformers")
WARNING = frozenset({"warn", "trainer-warn"})
# Those of transformers that a `Trainer` is built with whatever config they get.
_ANY_CONFIG = frozenset({"Trainer", "Seq2SeqTrainer"})
# What holds a call whose failure is expected: `with pytest.raises(ValueError):`, `with self.assertRaises(…)`.
_EXPECTING = ("raises", "assertRaises", "assertRaisesRegex", "assertWarns", "warns")
_BASE = "transformers.Trainer"
# Classes beside that of the training arguments whose constructors speak.
_BESIDE = frozenset({"trl.ModelConfig", "trl.ScriptArguments"})

ByRelease = dict[str, Statement]
"""One thing that is said, by release: the statement that holds there."""


class Speaker(NamedTuple):
    """A class that speaks of a run: its dotted name, and the trainer's arguments where it is one."""

    dotted: str
    given: Given | None = None
    is_trainer: bool = False

    @property
    def package(self) -> str:
        return self.dotted.partition(".")[0]

    @property
    def name(self) -> str:
        return self.dotted.rpartition(".")[2]


class Refusal(NamedTuple):
    """A refusal that holds for the run: where, in which words, how severe, and the other places that it rests on.

    `code`: the rule that tells of it (`rules/semantics/topics.toml`); else TRL402 where one value decides, TRL403 where
    several do.
    """

    code: str
    location: Location
    message: str
    severity: Severity
    related: tuple[Location, ...]


class Said(NamedTuple):
    """A statement that is true of a run in some of the releases in use of `chosen`."""

    speaker: Speaker
    chosen: Choice
    releases: ByRelease

    def world(self, run: Run, version: str) -> RunWorld:
        """The values of the run with a release; the other packages are at their newest."""
        versions = {**run.choices.newest(PACKAGES), self.chosen.package.name: version}
        return world_of(run, self.speaker, versions)


def world_of(run: Run, speaker: Speaker, versions: dict[str, str], values: Values | None = None) -> RunWorld:
    """The values of a run as a class gets them."""
    return RunWorld(run, run.config if speaker.is_trainer else speaker.dotted, versions, speaker.given, values)


def started_at(run: Run) -> tuple[Location, ...]:
    """Where the run is started, if that belongs to what is said of it."""
    is_certain = run.launch.launcher and not isinstance(run, ConfigRun)
    return (run.launch.location._replace(message="the run"),) if is_certain else ()


def said_of(run: Run) -> list[Said]:
    """All that the releases in use say of a run and that is true of its values."""
    if isinstance(run, ConfigRun):
        return list(_read(run))  # nobody else has it: it need not be remembered
    return _said(run, run.project)


@per_project
def _said(run: Run, project: Project) -> list[Said]:
    """The statements, worked out once for the rules that tell of them.

    They refer to the run: kept with it, they would keep each other.
    """
    return list(_read(run))


def _read(run: Run) -> Iterator[Said]:
    if _is_changed(run):
        return
    for speaker in _speakers(run):
        for asked in PACKAGES:
            if asked in run.choices and (asked == speaker.package or speaker.package in run.choices):
                for found in _of_package(run, speaker, asked):
                    yield Said(speaker, run.choices[asked], found)


def _speakers(run: Run) -> Iterator[Speaker]:
    """The classes that certainly look at the values of the run, and of which something is recorded."""
    others = run.parser.fields.bases if run.parser is not None else ()
    for dotted in dict.fromkeys((run.config, *(each for each in others if each in _BESIDE))):
        if _is_known(dotted) or (dotted == run.config and dotted.partition(".")[0] in PACKAGES):
            yield Speaker(dotted)
    if run.parser is not None and run.parser.kind == "trl-command":
        dotted = run.config.removesuffix("Config") + "Trainer"
        if _is_known(dotted):
            yield Speaker(dotted, is_trainer=True)
        if dotted in HF_TRAINERS:
            yield Speaker(_BASE, is_trainer=True)
    elif run.script is not None:
        yield from _trainers(run, run.script.module)


def _is_known(dotted: str) -> bool:
    package, _, name = dotted.rpartition(".")
    return package.partition(".")[0] in PACKAGES and has_conditions(package.partition(".")[0], name)


def _trainers(run: Run, module: PythonModule) -> Iterator[Speaker]:
    """The trainers of the libraries that the script builds with the arguments of the run."""
    from trl_lint.checks.configs._trainer_given import HandedOn
    from trl_lint.checks.configs._trainer_objects import ObjectsGiven

    for dotted, call in _built_with(run, module):
        if not _is_for(dotted, run.config):
            continue
        given = ObjectsGiven(dotted, call, module, run)
        if _is_given(run, given, call):
            yield Speaker(dotted, given, is_trainer=True)
            if dotted in HF_TRAINERS and dotted.startswith("trl."):
                yield Speaker(_BASE, HandedOn(given), is_trainer=True)


class _Built(NamedTuple):
    """The trainers of libraries that a module builds, in its order, each with its dotted name; and by what stands for
    their arguments, an expression or a name, the numbers of those that get it.
    """

    trainers: tuple[tuple[str, ast.Call], ...]
    by_arguments: dict[ast.expr | str, list[int]]


def _built_with(run: Run, module: PythonModule) -> Iterator[tuple[str, ast.Call]]:
    """The trainers that may get the arguments of a run: of a config that is built in the module, those that name it."""
    built = _built(module)
    if not isinstance(run, ConfigRun):
        yield from built.trainers
        return
    mine = run.script.call if run.script is not None else None
    if mine is not None:
        keys = (mine, *_only_names(module).get(mine, ()))
        yield from (built.trainers[at] for at in sorted({at for key in keys for at in built.by_arguments.get(key, ())}))


@per_module
def _built(module: PythonModule) -> _Built:
    from trl_lint.checks.drift._calls import is_patched, is_unsloth

    trainers: list[tuple[str, ast.Call]] = []
    by_arguments: dict[ast.expr | str, list[int]] = {}
    for call in () if is_unsloth(module) or is_patched(module) else module.calls:
        if not last_name(call.func).endswith("Trainer") or not module.names.is_certain(call.func):
            continue
        origins = module.names.origins(call.func)
        dotted = next(iter(origins)) if len(origins) == 1 else ""
        if not _is_known(dotted) or is_expected_to_fail(module, call):
            continue
        for node in (argument(call, name) for name in ("args", "config")):
            if isinstance(node, ast.expr):
                by_arguments.setdefault(node.id if isinstance(node, ast.Name) else node, []).append(len(trainers))
        trainers.append((dotted, call))
    return _Built(tuple(trainers), by_arguments)


@per_module
def _only_names(module: PythonModule) -> dict[ast.expr, list[str]]:
    """The names that one assignment binds to an expression, and no other one to anything else."""
    found: dict[ast.expr, list[str]] = {}
    for name, values in bindings(module).items():
        if len(values) == 1:
            found.setdefault(values[0], []).append(name)
    return found


def _is_given(run: Run, given: CallGiven, call: ast.Call) -> bool:
    """Whether a trainer certainly gets the arguments of the run."""
    nodes = [argument(call, name) for name in ("args", "config")]
    if not isinstance(run, ConfigRun):
        return bool(call.args) or any(node is not ABSENT for node in nodes)
    mine = run.script.call if run.script is not None else None
    return any(node is mine or (isinstance(node, ast.Name) and given.is_named(node.id, mine)) for node in nodes)


def _is_for(trainer: str, config: str) -> bool:
    """Whether a trainer is built with configs of a class: `trl.DPOTrainer` with `trl.DPOConfig`."""
    name = trainer.rpartition(".")[2]
    same = name.removesuffix("Trainer") == config.rpartition(".")[2].removesuffix("Config")
    return same or (name in _ANY_CONFIG and config.startswith("transformers."))


def is_expected_to_fail(module: PythonModule, node: ast.AST) -> bool:
    """Whether a test expects a place to fail, or the same is called in another way where it does."""
    for parent in module.ancestors(node):
        if isinstance(parent, (ast.With, ast.AsyncWith)):
            if any(last_name(item.context_expr) in _EXPECTING for item in parent.items):
                return True
        elif isinstance(parent, ast.Try) and isinstance(node, ast.Call):
            inner = (each for handler in parent.handlers for each in ast.walk(handler) if isinstance(each, ast.Call))
            if any(last_name(each.func) == last_name(node.func) for each in inner):
                return True
    return False


def _is_changed(run: Run) -> bool:
    """Whether a class of the project stands between, which may repair what the library's would refuse."""
    if run.parser is not None:
        return run.parser.fields.is_changed
    script = run.script
    if run.is_partial:
        return False
    if script is None or script.call is None or is_expected_to_fail(script.module, script.call):
        return True
    fields = fields_of(script.call.func, script.module, run.project)
    return fields is None or fields.is_changed


def _of_package(run: Run, speaker: Speaker, asked: str) -> Iterator[ByRelease]:
    """What one package says, whose releases vary while the others are at their newest."""
    chosen = run.choices[asked]
    if chosen.is_tip:
        return  # the main branch may have changed its mind
    others = run.choices.newest(PACKAGES)
    found: dict[tuple[str, str], ByRelease] = {}
    about = Asked(asked, _Concerning(run, speaker).__getitem__, Answers())
    values: Values = {}
    for version in chosen.releases:
        world = world_of(run, speaker, {**others, asked: version}, values)
        for statement in _statements(run, speaker, world, about):
            said = statement.condition
            if about.answers.truth(said.condition, statement.world) is True:
                found.setdefault((said.holder, said.sentence), {}).setdefault(version, statement)
    yield from found.values()


def _statements(run: Run, speaker: Speaker, world: RunWorld, asked: Asked) -> Iterator[Statement]:
    if not speaker.is_trainer:
        return statements(speaker.package, speaker.name, world.versions, world, asked)
    return trainer_statements(speaker.package, speaker.name, run.config, world.versions, world, asked)


class _Concerning(dict[str, bool]):
    """Whether a condition mentions something that somebody wrote: asked of the same few hundred for every release.

    The call that builds a trainer is written, so that it says something about each of the arguments.
    """

    def __init__(self, run: Run, speaker: Speaker) -> None:
        self._is_call = speaker.given is not None
        self._is_written = _Written(run).__getitem__

    def __missing__(self, condition: str) -> bool:
        of_call = self._is_call and "arg." in condition
        found = self[condition] = of_call or any(map(self._is_written, words_in(condition)))
        return found


class _Written(dict[str, bool]):
    """Whether somebody wrote a field of a run."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __missing__(self, name: str) -> bool:
        said = self._run.field(name)
        found = self[name] = isinstance(said, Setting) and said.location is not None
        return found
