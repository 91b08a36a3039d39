"""Runs: what one launch command starts, with everything it reads. The unit that lives or dies.

A run joins the launch, its script, the recipe, the accelerate and the DeepSpeed config, and the environment of the
script. Links are exact, one of several candidates, built into a library, or missing; what hangs on a link that is not
exact is unknown, never assumed. Where it is one of several, `Run.candidates` are the runs that it may be.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from trl_lint import asked, budget, tracked
from trl_lint.memos import per_project
from trl_lint.missing import Missing
from trl_lint.paths import DOCUMENTS
from trl_lint.project import READING_COMMANDS, Project
from trl_lint.project.stack import Choices
from trl_lint.run.effective import Setting, Unknown
from trl_lint.run.inputs import Link, LinkKind, Status
from trl_lint.run.parsers import ScriptParser, command_parser, training_class
from trl_lint.run.script import Script, read_script
from trl_lint.sources import Source, SourceError

if TYPE_CHECKING:
    from trl_lint.knowledge.api import Signature
    from trl_lint.knowledge.families import Program, TrainingKind
    from trl_lint.project.documents import Document
    from trl_lint.project.environment import Environment
    from trl_lint.project.launches import Launch
    from trl_lint.run.batch import Batch
    from trl_lint.run.candidates import Candidate
    from trl_lint.run.config import Arguments, Config, Workers
    from trl_lint.run.readers.accelerate import Configs
    from trl_lint.sources.shell import Word


_SEVERAL = ("candidates", "guesses", "rounds", "calls")


class Run:
    """One launch with what it reads. Everything is worked out when it is asked for.

    A candidate for a run (`run/candidates.py`) knows its `origin`, and the `files` that were chosen for its links.
    """

    def __init__(
        self,
        launch: Launch,
        project: Project,
        origin: Run | None = None,
        files: Mapping[LinkKind, str] | None = None,
    ) -> None:
        self.launch = launch
        self.project = project
        self.origin = origin
        self.files = files or {}
        self.is_launched = True  # by a command of the project; see `bare_run`
        self.is_partial = False  # whether what is not said of it may be said where nobody looks

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """What the run may be where its texts choose among several; empty where they do not, or say too little."""
        from trl_lint.run.candidates import candidates_of

        return candidates_of(self)

    @cached_property
    def guesses(self) -> tuple[Candidate, ...]:
        """The candidates while nobody sets the variables that have a default."""
        from trl_lint.run.candidates import candidates_of

        return candidates_of(self, defaults=True)

    @cached_property
    def rounds(self) -> tuple[Candidate, ...]:
        """The runs with each of the values that a sweep or a matrix tries."""
        from trl_lint.run.candidates import rounds_of

        return rounds_of(self)

    @cached_property
    def calls(self) -> tuple[Candidate, ...]:
        """The runs with the words that each call of its file or function hands on as `"$@"`."""
        from trl_lint.run.candidates import calls_of

        return calls_of(self)

    @property
    def name(self) -> str:
        """What is started, in a word or two: `trl grpo`, `train.py`, `verl.trainer.main_ppo`."""
        launch = self.launch
        if launch.subcommand:
            return f"{launch.launcher} {launch.subcommand}"
        if launch.script is not None:
            return os.path.basename((launch.script.text or launch.script.raw).replace("\\", "/"))
        return launch.module or launch.launcher

    @cached_property
    def framework(self) -> str:
        """Whose arguments the run takes: a framework of `rules/families`, "transformers", or "other"."""
        from trl_lint.knowledge.families import framework_of

        launch = self.launch
        known = framework_of(launch.program, launch.subcommand, launch.module)
        if known:
            return known
        if self.arguments_class:
            return "trl" if self.arguments_class.startswith("trl.") else "transformers"
        return "other"

    # -- links ----------------------------------------------------------------------------------------------------

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The files the command names: script, accelerate config, recipe, DeepSpeed config."""
        return tuple(self._links())

    def link(self, kind: LinkKind) -> Link | None:
        return next((link for link in self.links if link.kind == kind), None)

    def _links(self) -> Iterator[Link]:
        launch = self.launch
        if launch.script is not None:
            yield self._link("script", launch.script)
        program = launch.program
        if program is not None:
            yield from self._own("accelerate", program.accelerate_config, program)
        recipe = [*self._named("recipe", "--config")]
        if not recipe and (first := launch.first_config) is not None:
            recipe = [self._link("recipe", first)]
        yield from recipe
        own = [*self._own("deepspeed", program.deepspeed_config, program)] if program is not None else []
        yield from own or self._named("deepspeed", "--deepspeed")

    def _own(self, kind: LinkKind, option: str, program: Program) -> Iterator[Link]:
        """The file that an option of the program itself names; what starts others has its options before theirs."""
        if not program.starts_programs:
            yield from self._named(kind, option) if option else ()
        elif (word := self.launch.options.get(option)) is not None:
            yield self._link(kind, word)

    def _named(self, kind: LinkKind, flag: str) -> Iterator[Link]:
        word = self.launch.flag(flag)
        if not isinstance(word, Missing) and word.text != flag:
            yield self._link(kind, word)

    def _link(self, kind: LinkKind, word: Word) -> Link:
        location = self.launch.source.location(word.start, word.end)
        if kind in self.files:
            return Link(kind, word.text or word.raw, location, "exact", (self.files[kind],), word)
        if word.text is None:
            fitting = tuple(self._fitting(word))
            return Link(kind, word.raw, location, "candidates" if fitting else "unknown", fitting, word)
        paths = tuple(self.launch.files_named(word.text))
        if not paths and kind == "accelerate" and self.launch.launcher == "trl":
            from trl_lint.knowledge.commands import builtin_config

            if builtin_config(word.text) is not None:
                return Link(kind, word.text, location, "builtin", (), word)
        status: Status = "exact" if len(paths) == 1 else "candidates" if paths else "missing"
        return Link(kind, word.text, location, status, paths, word)

    def _fitting(self, word: Word) -> list[str]:
        """The files that a name may mean of which a part is not known."""
        from trl_lint.project.links import fitting_files
        from trl_lint.sources.shell_options import texts_of

        launch = self.launch
        named = [path for _, text in texts_of(word) for path in launch.files_named(text)]
        return list(dict.fromkeys(named)) or fitting_files(word, launch.source, launch.command.directory)

    def _document(self, kind: LinkKind, of_kind: str = "", is_recipe: bool = False) -> Document | None:
        """The document of a link that is one file; of any kind, or of one, or as a recipe whatever its keys are."""
        link = self.link(kind)
        if link is None or link.status != "exact" or not link.paths[0].endswith(DOCUMENTS):
            return None
        return read_quietly(link.paths[0], self.project, of_kind, is_recipe)

    @cached_property
    def accelerate(self) -> Document | None:
        """The accelerate config the command names."""
        return self._document("accelerate", "accelerate")

    @cached_property
    def recipe(self) -> Document | None:
        """The config file the script reads its arguments from."""
        if (found := self._document("recipe")) is not None and found.definition.recipe:
            return found
        is_other = found is None or found.kind == "other"
        return self._document("recipe", is_recipe=True) if is_other and self._reads_any_recipe() else None

    def _reads_any_recipe(self) -> bool:
        """Whether the parser reads the file that is named, whatever its keys: `--config`, or the only argument."""
        parser = self.parser
        may_have_more = parser is None or parser.kind != "transformers" or len(self.launch.args) == 1
        return parser is not None and (parser.kind == "trl-command" or (parser.reads_files and may_have_more))

    @cached_property
    def deepspeed(self) -> Document | None:
        """The DeepSpeed config: of the command line, the recipe, the script or the accelerate config."""
        if self.link("deepspeed") is not None:
            return self._document("deepspeed", "deepspeed")
        given = self.config.given("deepspeed")
        named = given.value if isinstance(given, Setting) else None
        if isinstance(given, Unknown):
            return None
        if named is None and self.accelerate is not None:
            named = self.accelerate.value(self.accelerate.definition.holds.deepspeed)
        path = self.launch.file_named(named) if isinstance(named, str) else None
        return read_quietly(path, self.project, "deepspeed") if path is not None else None

    # -- the script and its environment ---------------------------------------------------------------------------

    @cached_property
    def script(self) -> Script | None:
        path = self.launch.script_path
        if path is None:
            return None
        if self.is_launched:
            return read_script(path, self.project, is_launched=True)
        with tracked.for_itself(self.launch.source.path):  # nobody starts it: what it says counts for itself alone
            return read_script(path, self.project)

    @cached_property
    def parser(self) -> ScriptParser | None:
        """What reads the arguments of the run: that of the script, or of the command of TRL."""
        command = command_parser(self.launch)
        return command if command is not None else self.script.parser if self.script is not None else None

    @cached_property
    def arguments_class(self) -> str:
        """The dotted name of the class that holds the training arguments, "" if it is not known."""
        if self.parser is not None:
            return training_class(self.parser.fields)
        return self.script.config if self.script is not None else ""

    @cached_property
    def environment(self) -> Environment:
        """The packages the run has."""
        return self.project.environment_of(self.launch)

    @cached_property
    def choices(self) -> Choices:
        return self.environment.choices

    # -- values ---------------------------------------------------------------------------------------------------

    @cached_property
    def config(self) -> Config:
        """The options of the program that the run starts."""
        from trl_lint.run.readers import read_config

        return read_config(self)

    @cached_property
    def configs(self) -> Configs:
        """What its launcher and DeepSpeed read beside that."""
        from trl_lint.run.readers.accelerate import Configs

        return Configs(self)

    @cached_property
    def arguments(self) -> Arguments:
        """Its training arguments, also where a framework fills a class of TRL with its options."""
        from trl_lint.run.readers.classes import handed_on

        filled = None if self.arguments_class else handed_on(self, self.config)
        from trl_lint.run.config import Arguments

        return filled or Arguments(self.arguments_class, self.config)

    def signature(self, versions: dict[str, str]) -> Signature | None:
        """What the class of the training arguments takes with these releases; None if that is not known."""
        from trl_lint.run.readers.classes import signature_of

        return signature_of(self.arguments_class, tuple(versions.items()))

    @cached_property
    def kind(self) -> TrainingKind:
        """Whether it trains by reinforcement, on preferences, or in another way."""
        from trl_lint.run.method import kind_of

        return kind_of(self)

    @cached_property
    def method(self) -> str:
        """What it trains with, as its framework calls it: grpo, dpo, sft; "" where nothing says it."""
        from trl_lint.run.method import method_of

        return method_of(self)

    @cached_property
    def batch(self) -> Batch | None:
        """What it trains on between two updates; None where nobody can tell."""
        from trl_lint.run.batch import batch_of

        return batch_of(self, self.config)

    # -- processes and GPUs ---------------------------------------------------------------------------------------

    @property
    def processes(self) -> Setting | Missing:
        """How many processes train, over all machines; UNKNOWN where the texts do not say."""
        found = self.workers[0].number
        if asked.log is not None:
            asked.note(_answer_about_processes(self, found))
        return found

    @property
    def nodes(self) -> Setting | Missing:
        """The machines on which they do; UNKNOWN where the texts do not say."""
        return self.workers[0].nodes

    @cached_property
    def workers(self) -> tuple[Workers, ...]:
        """The processes by what they do: the trainer first, then what generates and scores, where the run starts it."""
        from trl_lint.run.processes import read_workers

        return read_workers(self)

    @cached_property
    def asked_of_ray(self) -> tuple[Workers, ...]:
        """The processes that Ray starts, on whatever machine it finds; none where a launcher starts them here."""
        return self.workers_by_ray(None)

    def workers_by_ray(self, config: Config | None) -> tuple[Workers, ...]:
        """The same with the options of other releases."""
        from trl_lint.run.readers import read_workers

        return read_workers(self, config or self.config) if self.launch.launcher == "python" else ()

    def release(self) -> None:
        """Let go of what is large, now that nobody asks for a while: the trees of scripts. What asks reads again."""
        script = self.__dict__.pop("script", None)
        if script is not None:
            self.project.readings.let_go(script.module)
        for candidate in (one for name in _SEVERAL for one in self.__dict__.get(name, ())):
            candidate.run.release()

    def __repr__(self) -> str:
        return f"<run {self.name} of {self.launch.source.path}>"


class _Runs:
    """The runs of a project, by their launches and by the files that they use."""

    def __init__(self, project: Project) -> None:
        from trl_lint.project.launch_table import LaunchTable

        project.part(LaunchTable)  # which takes over before this does
        self.project = project
        self.known: dict[Launch, Run] = {}

    @cached_property
    def all(self) -> list[Run]:
        from trl_lint.project.launch_table import all_launches

        return [run_of(launch, self.project) for launch in all_launches(self.project)]

    @cached_property
    def by_file(self) -> dict[str, list[Run]]:
        return budget.shared(READING_COMMANDS, self.project.root, self._table)

    def _table(self) -> dict[str, list[Run]]:
        table: dict[str, list[Run]] = {}
        for run in self.all:
            for linked in dict.fromkeys(path for link in run.links for path in link.paths):
                table.setdefault(linked, []).append(run)
        return table

    def take_over(self, before: _Runs, changed: Collection[str]) -> None:
        from trl_lint.project.launch_table import known_launches

        for launch in known_launches(self.project):
            run = before.known.get(launch)
            if run is not None and run.origin is None and "links" in vars(run):
                run_of(launch, self.project).links = run.links


def run_of(launch: Launch, project: Project) -> Run:
    """The run that a launch starts."""
    known = project.part(_Runs).known
    found = known.get(launch)
    if found is None:
        found = known[launch] = Run(launch, project)
    return found


def remember(run: Run) -> None:
    """Let `run_of` give this run for its launch: a candidate has a launch that no text holds."""
    run.project.part(_Runs).known[run.launch] = run


def all_runs(project: Project) -> list[Run]:
    """The runs of all launch commands of a project."""
    return project.part(_Runs).all


def runs_with(path: str, project: Project) -> list[Run]:
    """The runs that use the file at `path` through any of their links."""
    return project.part(_Runs).by_file.get(path, [])


def runs_in(source: Source, project: Project) -> list[Run]:
    """The runs of the commands that stand in one text, in its order."""
    return _runs_by_source(project).get(source, [])


@per_project
def _runs_by_source(project: Project) -> dict[Source, list[Run]]:
    table: dict[Source, list[Run]] = {}
    for run in all_runs(project):
        table.setdefault(run.launch.source, []).append(run)
    return table


def bare_run(path: str, project: Project) -> Run:
    """A run of a script that no command of the project starts: what the command line would say is not known."""
    from trl_lint.project.launch import Launch
    from trl_lint.sources.shell import Command, Word
    from trl_lint.sources.shell_state import State

    with tracked.for_itself(path):  # what is read of the script for this run concerns no other file
        source = project.module_in(path).source
    start = Word(os.path.basename(path), os.path.basename(path), 0, 0)
    hidden = Word(None, "$@", 0, 0, several=True)
    launch = Launch("", start, Command((start, hidden), State().view(), None, 0, 0), source)
    launch.script, launch.args, launch.candidates = start, (hidden,), (path,)
    run = Run(launch, project)
    run.is_launched = False
    run.candidates = run.guesses = run.rounds = run.calls = ()  # no text of a command that could choose among files
    return run


def read_quietly(path: str, project: Project, kind: str = "", is_recipe: bool = False) -> Document | None:
    """The document at a path, of any kind or of one; what is wrong with it is said where it is checked."""
    try:
        document = project.recipe_in(path) if is_recipe else project.document_in(path)
    except (OSError, SourceError):
        return None
    return document if document is not None and kind in ("", document.kind) else None


def files_of(run: Run) -> list[str]:
    """The files of the project that a run uses."""
    return [run.launch.source.path, *(path for link in run.links for path in link.paths)]


def _answer_about_processes(run: Run, found: Setting | Missing) -> asked.Answer:
    if isinstance(found, Setting) and found.is_known:
        return asked.Answer("value", "processes", f"{found.value} ({found.origin})", found.location)
    remedy = "say how many start, in the command or its accelerate config: --num_processes, --nproc_per_node"
    place = run.launch.location if run.is_launched else None
    why = "no command here starts this script" if not run.is_launched else "the command does not say"
    return asked.Answer("value", "processes", f"not known: {why}", place, False, remedy)
