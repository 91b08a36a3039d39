"""The configuration that a command of verl (or another Hydra program of the project) overrides."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from weakref import WeakKeyDictionary

from trl_lint import tracked
from trl_lint.coverage import (
    CONFIGURATION,
    COPY,
    CUT,
    HIDDEN,
    NO_DEFAULT,
    NO_RELEASE,
    NOT_KNOWN,
    NOT_PLAIN,
    REWRITTEN,
    Reason,
)
from trl_lint.finding import Location
from trl_lint.knowledge.api import config_keys
from trl_lint.knowledge.programs import config_of_engine, config_of_program, programs
from trl_lint.memos import per_project
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.project.own_copy import copies_of_module, has_own_copy
from trl_lint.project.stack import Choices
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.config import Config, Layer, Read, Role, Versions, Workers, nothing_known, times
from trl_lint.run.effective import Said, Setting, Unknown, without_reason
from trl_lint.run.inputs import Inputs
from trl_lint.run.readers.hydra import (
    CommandLine,
    Mandatory,
    Override,
    Tree,
    apply_all,
    copied,
    find,
    read_command_line,
    read_value,
    tree_of,
)
from trl_lint.run.readers.hydra_files import (
    NotUnderstoodError,
    Program,
    compose,
    loaded_config,
    merge,
    read_program,
)
from trl_lint.sources import SourceError
from trl_lint.sources.nodes import Entry, Mapping, Scalar, value_of
from trl_lint.sources.nodes import Sequence as ListNode
from trl_lint.sources.nodes import find as find_node

_PACKAGE = "verl"
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


class Over(NamedTuple):
    """A config of the project that begins with one of a release: what it says itself, and the file that says it."""

    path: str
    body: Mapping

    def values(self) -> Iterator[tuple[str, Entry]]:
        """The dotted keys of its values, with the places of both."""
        waiting, seen = [("", self.body)], set()
        while waiting:
            above, block = waiting.pop()
            if id(block.entries) in seen:
                continue  # an alias
            seen.add(id(block.entries))
            for entry in block.entries:
                dotted = f"{above}.{entry.key.value}".lstrip(".")
                if isinstance(entry.value, Mapping):
                    waiting.append((dotted, entry.value))
                else:
                    yield dotted, entry


class VerlRun(NamedTuple):
    """A launch with its overrides, and what they are applied to: the project's own files, or a release's (`own` None).

    `choices`: the releases in use. `over`: what the project lays over the configuration of the release.
    """

    launch: Launch
    line: CommandLine
    module: str
    own: Own | None
    choices: Choices
    over: Over | None = None

    @property
    def over_keys(self) -> frozenset[str]:
        """The keys that the project's own config sets over those of the release."""
        return frozenset(key for key, _ in self.over.values()) if self.over is not None else frozenset()

    def places_over(self, keys: Sequence[str]) -> tuple[Location, ...]:
        """Where that config sets some of these keys which the command leaves alone."""
        over, left = self.over, set(keys) - {override.key for override in self.overrides}
        if over is None:
            return ()
        return tuple(
            Location(over.path, entry.key.start, entry.value.end, "set here")
            for key, entry in over.values()
            if key in left
        )

    @property
    def overrides(self) -> tuple[Override, ...]:
        return self.own.overrides if self.own is not None else self.line.overrides

    def tree(self, version: str) -> Tree | None:
        """The configuration in a release before the overrides, for the caller to change; None if it is not known."""
        if self.own is not None:
            return copied(self.own.tree)
        return self.release_tree(version)

    def composed(self, version: str) -> Tree | None:
        """The configuration in a release with the overrides; None if it is not known or Hydra refuses the command."""
        tree = self.tree(version)
        return None if tree is None or any(True for _ in apply_all(tree, self.overrides)) else tree

    def below(self, version: str) -> Tree | None:
        """The configuration of a release, not to be changed; None if it is not known."""
        name = config_name(self, version)
        found = tree_in_release(name, version) if name else None
        return None if found is None or any(_chooses_group(one, found) for one in self.line.overrides) else found

    def release_tree(self, version: str) -> Tree | None:
        found = self.below(version)
        if found is None:
            return None
        tree = copied(found)
        if self.over is not None:
            merge(tree, self.over.body)
            tree.pop("hydra", None)
        return tree


def is_verl(launch: Launch) -> bool:
    return launch.module is not None and launch.module in programs("verl")


def read_run(launch: Launch, project: Project) -> VerlRun | None:
    """A launch of a Hydra program whose configuration is known; None for all else."""
    found = run_or_reason(launch, project)
    return found if isinstance(found, VerlRun) else None


@per_project
def run_or_reason(launch: Launch, project: Project) -> VerlRun | Reason | None:
    """As `read_run`, with the reason why the configuration of a launch of a Hydra program is not known."""
    if launch.command.errors:
        return CUT if is_verl(launch) else None
    package = project.environment(launch.source.path).package("verl") if is_verl(launch) else None
    targeted = package is not None and package.source == "target"
    path = None if targeted else launch.script_path
    if package is not None and not package.pins and not targeted and not launch.candidates:
        copies = copies_of_module(launch.module or "", project)  # nothing else is said to be installed
        if copies and (len(copies) > 1 or launch.is_elsewhere):
            return COPY
        path = copies[0] if copies else None
    program = read_program(path, project) if path is not None else None
    if program is None and (not is_verl(launch) or (launch.candidates and not targeted)):
        return CONFIGURATION if is_verl(launch) else None
    line = read_command_line(launch)
    if line is None:
        return CUT
    choices = project.environment(launch.source.path).choices
    if program is not None and path is not None:
        own = _read_own(path, program, line, project)
        if own is not None:
            return VerlRun(launch, line, launch.module or "", own, choices)
        return _read_over(path, program, VerlRun(launch, line, _STARTED, None, choices), project) or CONFIGURATION
    if line.groups or line.config_path not in _OWN_FOLDER:
        return CONFIGURATION
    if not targeted and has_own_copy("verl", launch.source.path, project):
        return COPY
    return VerlRun(launch, line, launch.module or "", None, choices)


# -- the project's own files ----------------------------------------------------------------------------------------

# What a script of the project imports that starts verl's own trainer with a config of its own.
_STARTED = "verl.trainer.main_ppo"
_STARTS_IT = rb"(?m)^from[ \t]+verl\.trainer\.main_ppo[ \t]+import[^\n]*\brun_ppo\b"
_CHANGES_IT = (
    rb"(?m)^[ \t]+(?:\w+(?:\.\w+){1,20}|config|cfg|conf)[ \t]*=[^=]|"
    rb"\bOmegaConf\.(?:update|merge)\b|\bopen_dict\b|\bsetattr\b"
)
_VERLS_FOLDER = regex(r"(?:pkg|file)://\S*\bverl[./]trainer[./]config/?\Z")

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


def _read_over(script: str, program: Program, run: VerlRun, project: Project) -> VerlRun | None:
    """A run of verl's trainer with a config of the project that begins with one of verl's; None for all else."""
    line = run.line
    if line.groups or line.config_path not in _OWN_FOLDER or has_own_copy("verl", script, project):
        return None
    try:
        files = project.files
        if not files.fits(script, _STARTS_IT) or files.fits(script, _CHANGES_IT):
            return None
        path = os.path.join(program.folder, f"{line.config_name or program.config}.yaml")
        loaded = loaded_config(path, project)
        merge({}, loaded.body)
    except (NotUnderstoodError, OSError, SourceError, RecursionError):
        return None
    names = [node.value if isinstance(node, Scalar) else None for node in loaded.defaults]
    listed = find_node(loaded.body, "hydra.searchpath")
    places = [str(value_of(item)) for item in listed.items] if isinstance(listed, ListNode) else []
    if names[1:] not in ([], ["_self_"]) or loaded.header is not None or not any(map(_VERLS_FOLDER.match, places)):
        return None
    line = line._replace(config_name=str(names[0] or "") if names else "", config_path="")
    return run._replace(line=line, over=Over(path, loaded.body)) if line.config_name else None


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
    """The key of an override where it is written as it is, or where a variable gets it, else the whole word."""
    word = override.word
    quote = word.raw[:1] if word.raw[:1] in ("'", '"') else ""
    if word.raw.startswith(quote + override.head):
        start = word.start + len(quote)
        return launch.source.location(start, start + len(override.head))
    found = launch.written(override.head) if "$" in word.raw else None
    return found or launch.source.location(word.start, word.end)


# -- the options ----------------------------------------------------------------------------------------------------


def read_config(inputs: Inputs) -> Config:
    """The options of verl: the overrides, over what a config of the project says, over that of the release."""
    found, here = run_or_reason(inputs.launch, inputs.project), inputs.launch.location
    if not isinstance(found, VerlRun):
        return nothing_known(inputs.framework, found or NOT_KNOWN, here)
    versions = found.choices.newest((_PACKAGE,))
    if found.own is None and not versions:
        return nothing_known(inputs.framework, NO_RELEASE, here)
    is_composed = found.composed(versions.get(_PACKAGE, "")) is not None

    def defaults(versions: Versions) -> Read:
        tree = found.own.tree if found.own is not None else found.below(versions.get(_PACKAGE, ""))
        if tree is None or not is_composed:
            return lambda name: Unknown(CONFIGURATION, here)
        return lambda name: _read(tree, name)

    layers = [_of_overrides(found)]
    if found.over is not None:
        layers.append(_of_over(found.over))
    return Config(inputs.framework, tuple(layers), defaults, versions, _PACKAGE)


def _read(tree: Tree, name: str) -> Said:
    value = find(tree, name)
    if isinstance(value, Missing):
        return Unknown(NO_DEFAULT) if value is UNKNOWN else value
    return Unknown(NOT_PLAIN) if isinstance(value, (dict, list, Mandatory)) else Setting(value, "default", None)


def _of_overrides(run: VerlRun) -> Layer:
    """What the command sets: the last override of a key counts, and one of a whole block hides what is in it."""
    overrides = run.overrides
    unsure = next((override for override in reversed(overrides) if not override.is_certain), None)
    last = {override.key: at for at, override in enumerate(overrides)}

    def read(name: str) -> Said:
        parts = name.split(".")
        around = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
        at = max((last[key] for key in around if key in last), default=None)
        if at is None:
            return ABSENT if unsure is None else Unknown(HIDDEN, place_of(unsure, run.launch))
        override = overrides[at]
        place, is_taken_out = place_of(override, run.launch), override.sign == "~"
        if override.key != name or (override.is_container and override.is_certain and not is_taken_out):
            return Unknown(NOT_PLAIN, place)
        value = read_value(override.value) if override.is_certain else UNKNOWN
        if is_taken_out or isinstance(value, (Missing, Mandatory)):
            return Unknown(REWRITTEN if is_taken_out else HIDDEN, place)
        return Setting(value, "flag", place)

    return Layer(read, lambda: last)


def _of_over(over: Over) -> Layer:
    """What a config of the project says over that of the release."""
    said: dict[str, Said] = {}
    for key, entry in over.values():
        value = value_of(entry.value) if isinstance(entry.value, Scalar) else UNKNOWN
        is_plain = isinstance(value, (str, int, float, bool, type(None))) and "${" not in str(value)
        said[key] = Setting(
            value if is_plain else UNKNOWN, "recipe", Location(over.path, entry.key.start, entry.value.end)
        )
    return Layer(lambda name: said.get(name, ABSENT), lambda: said)


# -- what Ray starts ------------------------------------------------------------------------------------------------

# trainer/main_ppo.py (`init_resource_pool_mgr`) and main_generation.py of 0.3.0 to 0.9.1, later main_ppo_sync.py,
# main_ppo_v0.py and ppo/v1/trainer_base.py too: one pool for what trains and generates, and pools of their own for
# others, if they are asked for. Other programs are started by torchrun, or have no GPU.
_BY_RAY = tuple(
    f"verl.trainer.{name}" for name in ("main_ppo", "main_ppo_sync", "main_generation", "main_generation_server")
)
_POOLS: tuple[tuple[Role, str, str], ...] = (
    ("reward", "reward_model", "enable_resource_pool"),
    ("reward", "reward.reward_model", "enable_resource_pool"),
    ("teacher", "distillation", "enabled"),
)
_ROLLOUT = "actor_rollout_ref.rollout"


def workers_of(inputs: Inputs, config: Config) -> tuple[Workers, ...]:
    """The pools of a program of verl, one process a GPU."""
    if inputs.launch.module not in _BY_RAY:
        return ()
    said = config.final("trainer.device")
    device = str(said.value or "cuda") if isinstance(said, Setting) else "cuda" if said is ABSENT else ""
    pool = _pool("trainer", "trainer", config)._replace(device=device)
    found = [pool]
    nodes = config.final(f"{_ROLLOUT}.nnodes")
    if nodes is ABSENT or (isinstance(nodes, Setting) and not nodes.value):
        size = without_reason(config.setting("tensor_parallel"))
        found.append(Workers("engine", pool.number, pool.nodes, "trainer", size, device))
    else:
        found.append(_pool("engine", _ROLLOUT, config)._replace(device=device))
    for role, block, switch in _POOLS if pool.total is not None else ():
        is_on = config.final(f"{block}.{switch}")
        if any(one.role == role for one in found):
            continue  # the block of another release
        if isinstance(is_on, Unknown):
            found.append(Workers(role, UNKNOWN, UNKNOWN, role, device=device))
        elif isinstance(is_on, Setting) and is_on.truth:
            found.append(_pool(role, block, config)._replace(device=device))
    return tuple(found)


def _pool(role: Role, block: str, config: Config) -> Workers:
    nodes = without_reason(config.final(f"{block}.nnodes"))
    return Workers(role, times(without_reason(config.final(f"{block}.n_gpus_per_node")), nodes), nodes, role)
