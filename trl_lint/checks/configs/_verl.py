"""The configuration that a command of verl (or another Hydra program of the project) overrides."""

from __future__ import annotations

import os
from functools import lru_cache
from weakref import WeakKeyDictionary

from trl_lint import tracked
from trl_lint.checks._own_copy import has_own_copy
from trl_lint.checks.configs._hydra import (
    CommandLine,
    Override,
    Tree,
    copied,
    read_command_line,
    tree_of,
)
from trl_lint.checks.configs._hydra_files import Program, compose, read_program
from trl_lint.finding import Location
from trl_lint.knowledge.api import config_keys
from trl_lint.knowledge.programs import config_of_engine, config_of_program, programs
from trl_lint.missing import Missing
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.project.stack import Choices
from trl_lint.records import NamedTuple

ENGINE = "model_engine"
_OWN_FOLDER = ("", "config", "./config")  # how a command names the folder that verl's programs look in anyway


class Own(NamedTuple):
    """The configuration of the project's own files, before the overrides."""

    tree: Tree
    program: Program
    overrides: tuple[Override, ...]
    chosen: dict[str, str]

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
    choices = project.environment(launch.source.path).choices
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
    tree = composed(program, chosen, project)
    return Own(tree, program, tuple(overrides), chosen) if tree is not None else None


def composed(program: Program, chosen: dict[str, str], project: Project) -> Tree | None:
    key = (program, tuple(sorted(chosen.items())))
    known = _COMPOSED.setdefault(project, {})
    if key not in known:
        known[key] = compose(program, chosen, project)
    return known[key]


def _is_group(override: Override, program: Program) -> bool:
    return "." not in override.key and tracked.is_folder(os.path.join(program.folder, override.key))


# -- the histories --------------------------------------------------------------------------------------------------


def config_name(run: VerlRun, version: str) -> str:
    """The config whose keys a command overrides in a release, "" if that is not known."""
    name = run.line.config_name or config_of_program(run.module, version)
    engines = [override for override in run.line.overrides if override.key == ENGINE]
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
        tree.setdefault(ENGINE, name.removeprefix("ppo_").removesuffix("_trainer"))
    return tree


def _chooses_group(override: Override, tree: Tree) -> bool:
    """`data=legacy_data`: a whole section is replaced by a config of that name, which nobody recorded."""
    return "." not in override.key and isinstance(tree.get(override.key), dict) and not override.is_container


def place_of(override: Override, launch: Launch) -> Location:
    """The key of an override where it is written as it is, else the whole word."""
    word = override.word
    quote = word.raw[:1] if word.raw[:1] in ("'", '"') else ""
    if word.raw.startswith(quote + override.head):
        start = word.start + len(quote)
        return launch.source.location(start, start + len(override.head))
    return launch.source.location(word.start, word.end)
