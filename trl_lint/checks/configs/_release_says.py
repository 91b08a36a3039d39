"""What the releases in use say of a run in their own code (`rules/conditions`): which of it is true of its values.

Who speaks: the config class of the run, classes beside it that its parser fills, and the trainers that it certainly
builds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from trl_lint.checks._trainers import HF_TRAINERS
from trl_lint.checks.configs._run_world import RunWorld, Values, all_that_differs
from trl_lint.checks.configs._trainer_given import Given
from trl_lint.checks.configs._trainers_of_run import PACKAGES, is_known, trainers_of
from trl_lint.checks.drift._calls import accepts, arguments, callee_of
from trl_lint.finding import Location, Severity
from trl_lint.knowledge.condition_answers import Answers
from trl_lint.knowledge.condition_language import CRASH
from trl_lint.knowledge.condition_names import words_in
from trl_lint.knowledge.conditions import Condition
from trl_lint.knowledge.conditions_join import Asked, Statement, all_that_is_said, statements, trainer_statements
from trl_lint.memos import per_project
from trl_lint.project import Project
from trl_lint.project.stack import Choice
from trl_lint.python.guards import is_expected_to_fail
from trl_lint.records import NamedTuple
from trl_lint.run.config_runs import ConfigRun, config_runs
from trl_lint.run.effective import Setting
from trl_lint.run.parsers import fields_of
from trl_lint.run.runs import Run

WARNING = frozenset({"warn", "trainer-warn"})
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
    several do. `raises`: the release has no words of its own for it, its check of the values raises.
    """

    code: str
    location: Location
    message: str
    severity: Severity
    related: tuple[Location, ...]
    raises: bool = False


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
    return RunWorld(run, run.arguments_class if speaker.is_trainer else speaker.dotted, versions, speaker.given, values)


def started_at(run: Run) -> tuple[Location, ...]:
    """Where the run is started, if that belongs to what is said of it."""
    is_certain = run.launch.launcher and not isinstance(run, ConfigRun)
    return (run.launch.location._replace(message="the run"),) if is_certain else ()


def said_of(run: Run) -> list[Said]:
    """All that the releases in use say of a run and that is true of its values."""
    return _said(run, run.project)


def said_of_configs(run: Run) -> list[tuple[ConfigRun, list[Said]]]:
    """The same of each config that the script of a run builds besides; for the rules that look at one run in turn.

    Of several commands that start the script alike, the first one has them.
    """
    last = _last_asked(run.project)
    if run not in last:
        last.clear()
        last[run] = _of_configs(run)
    return last[run]


@per_project
def _last_asked(project: Project) -> dict[Run, list[tuple[ConfigRun, list[Said]]]]:
    """The run that was asked about last: those of all runs together would be too many to keep."""
    return {}


def _of_configs(run: Run) -> list[tuple[ConfigRun, list[Said]]]:
    if run.origin is not None:
        return []
    world = world_of(run, Speaker(run.arguments_class), run.choices.newest(PACKAGES))
    facts = tuple(world.fact(name, ()) for name in ("num_processes", "zero3"))
    key = run.launch.script_path, run.launch.is_documentation, run.is_launched, *facts
    place = run.launch.location
    if _first_started(run.project).setdefault(key, place) != place:
        return []
    return [(each, list(_read(each))) for each in config_runs(run)]


@per_project
def _first_started(project: Project) -> dict[tuple[object, ...], Location]:
    """By script, and all of a command that matters to its configs, where the command stands that was judged first.

    A script that nobody starts has another run in each check of a project, at one place.
    """
    return {}


@per_project
def _said(run: Run, project: Project) -> list[Said]:
    """The statements, worked out once for the rules that tell of them.

    They refer to the run: kept with it, they would keep each other.
    """
    return list(_read(run))


def _read(run: Run) -> Iterator[Said]:
    for speaker in speakers(run):
        for asked in PACKAGES:
            if asked in run.choices and (asked == speaker.package or speaker.package in run.choices):
                for found in _of_package(run, speaker, asked):
                    yield Said(speaker, run.choices[asked], found)


def speakers(run: Run) -> Iterator[Speaker]:
    """The classes that certainly look at the values of the run, and of which something is recorded.

    None where a class of the project stands between, which may repair what theirs would refuse.
    """
    if _is_changed(run):
        return
    others = run.parser.fields.bases if run.parser is not None else ()
    for dotted in dict.fromkeys((run.arguments_class, *(each for each in others if each in _BESIDE))):
        if is_known(dotted) or (dotted == run.arguments_class and dotted.partition(".")[0] in PACKAGES):
            yield Speaker(dotted)
    if run.parser is not None and run.parser.kind == "trl-command":
        dotted = run.arguments_class.removesuffix("Config") + "Trainer"
        if is_known(dotted):
            yield Speaker(dotted, is_trainer=True)
        if dotted in HF_TRAINERS:
            yield Speaker(_BASE, is_trainer=True)
    elif run.script is not None:
        yield from _trainers(run)


def _trainers(run: Run) -> Iterator[Speaker]:
    """The trainers of the libraries that the script builds with the arguments of the run."""
    from trl_lint.checks.configs._trainer_given import HandedOn
    from trl_lint.checks.configs._trainer_objects import ObjectsGiven

    for built in trainers_of(run):
        given = ObjectsGiven(built.dotted, built.call, built.module, run)
        yield Speaker(built.dotted, given, is_trainer=True)
        if built.dotted in HF_TRAINERS and built.dotted.startswith("trl."):
            yield Speaker(_BASE, HandedOn(given), is_trainer=True)


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
    alike = alike_for(run, speaker, asked)
    about = Asked(asked, _Concerning(run, speaker).__getitem__, Answers(_common_answers(run.project)))
    values: Values = {}
    true: dict[str, list[Statement]] = {}
    found: dict[tuple[str, str], ByRelease] = {}
    for version in chosen.releases:
        first = alike[version]
        if not is_made(run, {**others, asked: version}):
            continue
        if first not in true:
            world = world_of(run, speaker, {**others, asked: first}, values)
            every = statements_of(run, speaker, world, about)
            true[first] = [each for each in every if _stops(each, about.answers)]
        for statement in true[first]:
            said = statement.condition
            found.setdefault((said.holder, said.sentence), {}).setdefault(version, statement)
    yield from _joined(found.values())


def is_made(run: Run, versions: dict[str, str]) -> bool:
    """Whether the config of a run may be made: the class that the script calls knows each keyword.

    Else that is told, and what the values come to is no matter.
    """
    return all(accepts(dotted, name, versions) is not False for dotted, name in _given(run, run.project))


@per_project
def _given(run: Run, project: Project) -> list[tuple[str, str]]:
    """The class of the config that the script makes, with each keyword that it is certainly given."""
    script = run.script
    callee = callee_of(script.call, script.module) if script is not None and script.call is not None else None
    if script is None or script.call is None or callee is None:
        return []
    return [(callee.dotted, each.name) for each in arguments(script.call) if each.name not in callee.own]


def _joined(found: Iterable[ByRelease]) -> list[ByRelease]:
    """What is said, with what other releases say in other words of the same condition."""
    joined: list[ByRelease] = []
    by_condition: dict[tuple[str, str, str], ByRelease] = {}
    for said in found:
        conditions = [each.condition for each in said.values()]
        keys = {(one.holder, one.kind, one.condition) for one in conditions}
        before = next((by_condition[key] for key in sorted(keys) if key in by_condition), None)
        if before is not None and before.keys().isdisjoint(said):
            before.update(said)
        else:
            joined.append(before := said)
        for key in keys:
            by_condition.setdefault(key, before)
    return joined


def _stops(statement: Statement, answers: Answers) -> bool:
    """Whether a statement is true, or ends the run in words of Python's: its condition cannot be evaluated."""
    truth = answers.truth(statement.condition.condition, statement.world)
    return truth is True or (truth is CRASH and may_crash(statement.condition))


def may_crash(condition: Condition) -> bool:
    """Whether a condition that raises ends the run: what is not known in it may be who catches that."""
    return condition.kind not in WARNING and "_" not in words_in(condition.condition)


@per_project
def _common_answers(project: Project) -> Answers:
    """What conditions came to for earlier runs of a project."""
    return Answers()


class _Kind(NamedTuple):
    """Whoever speaks alike: the class, whether it is a trainer, the class of the config, the trainer that is called."""

    dotted: str
    is_trainer: bool
    config: str
    trainer: str


def alike_for(run: Run, speaker: Speaker, asked: str) -> dict[str, str]:
    """By release of a package that the run may use, the first one that says the same of it; see `_alike`."""
    trainer = speaker.given.trainer if speaker.given is not None else ""
    kind = _Kind(
        speaker.dotted, speaker.is_trainer, run.arguments_class if speaker.is_trainer else speaker.dotted, trainer
    )
    return _alike(kind, asked, tuple(run.choices.newest(PACKAGES).items()), tuple(run.choices[asked].releases))


@lru_cache(maxsize=256)
def _alike(kind: _Kind, asked: str, others: tuple[tuple[str, str], ...], releases: tuple[str, ...]) -> dict[str, str]:
    """By release of a package, the first one that says the same of the same values, with the same defaults.

    Of a hundred releases twenty differ, and no more need to be asked.
    """
    firsts: dict[object, str] = {}
    found: dict[str, str] = {}
    package, name = kind.dotted.partition(".")[0], kind.dotted.rpartition(".")[2]
    for version in releases:
        versions = {**dict(others), asked: version}
        said = all_that_is_said(package, name, versions, kind.config if kind.is_trainer else "")
        key = version if said is None else (said, all_that_differs(kind.config, kind.trainer, versions))
        found[version] = firsts.setdefault(key, version)
    return found


def statements_of(run: Run, speaker: Speaker, world: RunWorld, asked: Asked | None = None) -> Iterator[Statement]:
    """What a class says of a run in the releases of a world, or what is asked for of it."""
    if not speaker.is_trainer:
        return statements(speaker.package, speaker.name, world.versions, world, asked)
    return trainer_statements(speaker.package, speaker.name, run.arguments_class, world.versions, world, asked)


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
        said = self._run.config.given(name)
        found = self[name] = isinstance(said, Setting) and said.location is not None
        return found
