"""The configuration that a command of verl (or another Hydra program of the project) overrides."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from trl_lint import looks
from trl_lint.checks.configs._asserts import (
    Level,
    judged,
)
from trl_lint.checks.configs._hydra import (
    CommandLine,
    Fault,
    Override,
    Tree,
    apply_all,
    copied,
    find,
    read_command_line,
    tree_of,
)
from trl_lint.checks.configs._hydra_files import Program, compose, read_program
from trl_lint.checks.drift._judging import Verdict, has_own_copy, ranges_of
from trl_lint.finding import Location, Severity
from trl_lint.knowledge.api import config_keys, facts
from trl_lint.knowledge.histories import block, releases
from trl_lint.knowledge.names import Missing
from trl_lint.knowledge.programs import config_of_engine, config_of_program, programs, successors
from trl_lint.project.modules import holds_module
from trl_lint.project.stack import Choices
from trl_lint.python.values import ABSENT
from trl_lint.records import NamedTuple

if TYPE_CHECKING:
    from trl_lint.checks.rule import Rule
    from trl_lint.project import Project
    from trl_lint.project.launches import Launch

_ENGINE = "model_engine"
_OWN_FOLDER = ("", "config", "./config")  # how a command names the folder that verl's programs look in anyway


class Own(NamedTuple):
    """The configuration of the project's own files, before the overrides."""

    tree: Tree
    program: Program
    overrides: tuple[Override, ...]

    @property
    def path(self) -> str:
        return os.path.join(self.program.folder, f"{self.program.config}.yaml")


class VerlRun(NamedTuple):
    """A launch with its overrides, and what they are applied to: the project's own files, or a release's (`own` None).

    `choices`: the releases in use.
    """

    launch: Launch
    line: CommandLine
    module: str
    own: Own | None
    choices: Choices

    @property
    def overrides(self) -> tuple[Override, ...]:
        return self.own.overrides if self.own is not None else self.line.overrides

    def tree(self, version: str) -> Tree | None:
        """The configuration in a release before the overrides, for the caller to change; None if it is not known."""
        if self.own is not None:
            return copied(self.own.tree)
        return self.release_tree(version)

    def release_tree(self, version: str) -> Tree | None:
        name = config_name(self, version)
        found = tree_in_release(name, version) if name else None
        if found is None or any(_chooses_group(override, found) for override in self.line.overrides):
            return None
        return copied(found)


def is_verl(launch: Launch) -> bool:
    return launch.module is not None and launch.module in programs("verl")


def read_run(launch: Launch, project: Project) -> VerlRun | None:
    """A launch of a Hydra program whose configuration is known; None for all else."""
    if launch.command.errors:
        return None
    targeted = is_verl(launch) and project.environment(launch.source.path).package("verl").source == "target"
    path = None if targeted else launch.script_path
    program = read_program(path, project) if path is not None else None
    if program is None and (not is_verl(launch) or (launch.candidates and not targeted)):
        return None
    line = read_command_line(launch)
    if line is None:
        return None
    choices = Choices(project.environment(launch.source.path))
    if program is not None and path is not None:
        own = _read_own(path, program, line, project)
        return VerlRun(launch, line, launch.module or "", own, choices) if own is not None else None
    if (
        line.groups
        or line.config_path not in _OWN_FOLDER
        or (not targeted and has_own_copy("verl", launch.source.path, project))
    ):
        return None
    return VerlRun(launch, line, launch.module or "", None, choices)


# -- the project's own files ----------------------------------------------------------------------------------------

_COMPOSED: WeakKeyDictionary[Project, dict[tuple[Program, tuple[tuple[str, str], ...]], Tree | None]] = (
    WeakKeyDictionary()
)


def _read_own(script: str, program: Program, line: CommandLine, project: Project) -> Own | None:
    if line.config_path:
        # Relative to the file that has `@hydra.main`, which is where its own `config_path` begins as well.
        above = os.path.dirname(script)
        program = program._replace(folder=os.path.normpath(os.path.join(above, line.config_path)))
    program = program._replace(config=line.config_name or program.config)
    chosen: dict[str, str] = {}
    overrides = []
    options = [(override, True) for override in line.groups]
    for override, is_group in (*options, *((override, _is_group(override, program)) for override in line.overrides)):
        if is_group:
            if override.sign or override.value is None or override.is_container or not override.is_certain:
                return None
            chosen[override.key] = override.value.strip("\"'")
        else:
            overrides.append(override)
    tree = _composed(program, chosen, project)
    return Own(tree, program, tuple(overrides)) if tree is not None else None


def _composed(program: Program, chosen: dict[str, str], project: Project) -> Tree | None:
    key = (program, tuple(sorted(chosen.items())))
    known = _COMPOSED.setdefault(project, {})
    if key not in known:
        known[key] = compose(program, chosen, project)
    return known[key]


def _is_group(override: Override, program: Program) -> bool:
    return "." not in override.key and looks.is_folder(os.path.join(program.folder, override.key))


# -- the histories --------------------------------------------------------------------------------------------------


def config_name(run: VerlRun, version: str) -> str:
    """The config whose keys a command overrides in a release, "" if that is not known."""
    name = run.line.config_name or config_of_program(run.module, version)
    engines = [override for override in run.line.overrides if override.key == _ENGINE]
    if not engines or not config_of_engine("dp", version):
        return name  # before there were engines it is a key like others
    if name != "ppo_trainer" or len(engines) > 1 or engines[0].sign or engines[0].value is None:
        return ""
    return config_of_engine(engines[0].value.strip("\"'"), version)


@lru_cache(maxsize=64)
def tree_in_release(name: str, version: str) -> Tree | None:
    """The configuration of a release, not to be changed; None if its keys are not recorded."""
    keys = config_keys("verl", name, version)
    if isinstance(keys, Missing):
        return None
    tree = tree_of(keys)
    if name.startswith("ppo_") and config_of_engine("dp", version):
        tree.setdefault(_ENGINE, name.removeprefix("ppo_").removesuffix("_trainer"))
    return tree


def _chooses_group(override: Override, tree: Tree) -> bool:
    """`data=legacy_data`: a whole section is replaced by a config of that name, which nobody recorded."""
    return "." not in override.key and isinstance(tree.get(override.key), dict) and not override.is_container


# -- TRL401 ---------------------------------------------------------------------------------------------------------


class UnknownKey(NamedTuple):
    """An override that Hydra refuses, or a module that is gone (`override` None)."""

    location: Location
    message: str
    severity: Severity
    related: tuple[Location, ...]
    override: Override | None = None
    fault: Fault | None = None


def unknown_keys(launch: Launch, rule: Rule, project: Project) -> Iterator[UnknownKey]:
    """The overrides of a launch that Hydra refuses in the releases in use."""
    run = read_run(launch, project)
    if run is None:
        return
    level = Level(rule, run.line.takes_more or launch.is_mild)
    if run.own is not None:
        tree = copied(run.own.tree)
        shown = os.path.relpath(run.own.path, project.root).replace(os.sep, "/")
        related = (Location(run.own.path, 0, 0, "the configuration begins here"),)
        for index, fault in apply_all(tree, run.overrides):
            override = run.overrides[index]
            others = _other_own_engines(run.own.program, project)
            message = _word(override, fault, run.own.tree, f"`{shown}`", None, others)
            yield UnknownKey(place_of(override, launch), message, level.severity, related, override, fault)
        return
    gone = _module_gone(run, level, project)
    if gone is not None:
        yield gone
        return
    yield from _refused_in_releases(run, level)


def _refused_in_releases(run: VerlRun, level: Level) -> Iterator[UnknownKey]:
    if "verl" not in run.choices:
        return
    newest = run.choices["verl"].newest
    faults: dict[str, dict[int, Fault] | None] = {}  # by release

    def faults_in(version: str) -> dict[int, Fault] | None:
        if version not in faults:
            faults[version] = _faults(run, version)
        return faults[version]

    now = faults_in(newest) or {}
    for index, override in enumerate(run.overrides):
        if index not in now:
            continue
        verdict = _judged(run, faults_in, index, level)
        if verdict is None:
            continue
        tree = tree_in_release(config_name(run, newest), newest)
        assert tree is not None
        others = _other_engines(run, newest)
        message = _word(override, now[index], tree, verdict.where, config_name(run, newest), others)
        yield UnknownKey(
            place_of(override, run.launch), message, verdict.severity, verdict.related, override, now[index]
        )


def _judged(
    run: VerlRun, faults_in: Callable[[str], dict[int, Fault] | None], index: int, level: Level
) -> Verdict | None:
    def ask(versions: dict[str, str]) -> bool | None:
        found = faults_in(versions["verl"])
        return None if found is None else index not in found

    points = {"verl": frozenset(range(len(releases("verl"))))}
    return judged(run.choices, points, ask, level, "verl")


def _faults(run: VerlRun, version: str) -> dict[int, Fault] | None:
    tree = run.tree(version)
    return None if tree is None else dict(apply_all(tree, run.overrides))


def _module_gone(run: VerlRun, level: Level, project: Project) -> UnknownKey | None:
    """`python -m verl.trainer.main_generation` where the release has no such module."""
    dotted = run.module.removeprefix("verl")
    ever = block("verl", "modules")
    if ever is None or dotted not in ever.names():
        return None

    def ask(versions: dict[str, str]) -> bool | None:
        found = facts("verl", "modules", versions["verl"])
        return None if isinstance(found, Missing) else dotted in found

    if "verl" not in run.choices or ask({"verl": run.choices["verl"].newest}) is not False:
        return None
    points = {"verl": frozenset(at for at, _ in ever.changes(dotted))}
    verdict = judged(run.choices, points, ask, level, "verl")
    if verdict is None or holds_module(run.module, project):
        return None
    having = [version for version in releases("verl") if ask({"verl": version})]
    message = f"there is no module `{run.module}` in {verdict.where}; verl {ranges_of(having, releases('verl'))} has it"
    return UnknownKey(run.launch.location, message, verdict.severity, verdict.related)


def _word(
    override: Override, fault: Fault, tree: Tree, where: str, config: str | None, others: Iterator[tuple[str, Tree]]
) -> str:
    """Say what Hydra refuses and why, which releases take it, and what to write.

    `config`: the name of the configuration where releases are judged, None for the project's own files. `others`: the
    configurations of the other engines.
    """
    key = override.key
    if fault == "append":
        return (
            f"`+{key}` adds a key that {where} has already: Hydra stops with `Could not append to config`; "
            f"`++{key}` sets it whether it is there or not"
        )
    if fault == "delete":
        return f"`~{key}` deletes a key that is not in {where}: Hydra stops with `Could not delete from config`"
    name = f"the `{config}` configuration of {where}" if config else where
    sentences = [f"`{key}` is not in {name}, and Hydra stops with `Could not override`"]
    if config is not None:
        having = [v for v in releases("verl") if _has(config, v, key)]
        if having:
            sentences.append(f"verl {ranges_of(having, releases('verl'))} has it")
        successor = next((new for new in successors("verl", key) if find(tree, new) is not ABSENT), "")
        if successor:
            sentences.append(f"its successor is `{successor}`")
    above = find(tree, key.rpartition(".")[0]) if "." in key else None
    if above == {} or above is None:
        sentences.append(f"`+{key}` adds it")
    elif engine := next((name for name, other in others if find(other, key) is not ABSENT), ""):
        sentences.append(f"`{engine}` has it")
    return "; ".join(sentences)


def _other_engines(run: VerlRun, version: str) -> Iterator[tuple[str, Tree]]:
    """The configurations of the other engines, by what selects them."""
    current = config_name(run, version)
    for config in ("ppo_trainer", "ppo_megatron_trainer", "ppo_veomni_trainer", "ppo_torchtitan_trainer"):
        tree = tree_in_release(config, version) if current.startswith("ppo_") and config != current else None
        if tree is not None:
            name = str(tree.get(_ENGINE, ""))
            is_engine = config_of_engine(name, version) == config
            yield f"{_ENGINE}={name}" if is_engine else f"--config-name={config}", tree


def _other_own_engines(program: Program, project: Project) -> Iterator[tuple[str, Tree]]:
    folder = os.path.join(program.folder, _ENGINE)
    for file in looks.names(folder) if looks.is_folder(folder) else ():
        name = file.removesuffix(".yaml")
        tree = _composed(program, {_ENGINE: name}, project)
        if tree is not None:
            yield f"{_ENGINE}={name}", tree


def _has(config: str, version: str, key: str) -> bool:
    tree: Any = tree_in_release(config, version)
    return tree is not None and find(tree, key) is not ABSENT


def place_of(override: Override, launch: Launch) -> Location:
    """The key of an override where it is written as it is, else the whole word."""
    word = override.word
    quote = word.raw[:1] if word.raw[:1] in ("'", '"') else ""
    if word.raw.startswith(quote + override.head):
        start = word.start + len(quote)
        return launch.source.location(start, start + len(override.head))
    return launch.source.location(word.start, word.end)
