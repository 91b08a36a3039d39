"""A command of OpenRLHF, and the flags of its program in a release or in the project's own copy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache

from trl_lint import tracked
from trl_lint.coverage import COPY, CUT, HIDDEN, NO_DEFAULT, NO_RELEASE, NOT_KNOWN, PARSER, Reason
from trl_lint.finding import Location
from trl_lint.knowledge.api import facts
from trl_lint.knowledge.programs import programs
from trl_lint.knowledge.ranges import holds
from trl_lint.memos import per_project
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.project.own_copy import has_own_copy
from trl_lint.project.stack import Choices
from trl_lint.records import NamedTuple
from trl_lint.run.config import Config, Layer, Read, Role, Versions, Workers, nothing_known, times
from trl_lint.run.effective import Said, Setting, Unknown, without_reason
from trl_lint.run.inputs import Inputs
from trl_lint.run.readers.argparse_flags import Arguments, Fault, Flag, read_arguments, read_flag
from trl_lint.run.readers.own_argparse import OwnParser, parser_of

Flags = Mapping[str, Flag]
_PACKAGE = "openrlhf"


class OpenRLHFRun(NamedTuple):
    """A launch of OpenRLHF.

    `own`: the flags of the project's own file at `path`, none where it has no such file; None where releases are
    judged.
    """

    launch: Launch
    module: str
    own: Flags | None
    path: str
    choices: Choices


def read_run(launch: Launch, project: Project) -> OpenRLHFRun | None:
    """A launch of OpenRLHF whose flags are known; None for all else."""
    found = run_or_reason(launch, project)
    return found if isinstance(found, OpenRLHFRun) else None


@per_project
def run_or_reason(launch: Launch, project: Project) -> OpenRLHFRun | Reason | None:
    """As `read_run`, with the reason why the flags of a launch of OpenRLHF are not known."""
    path = launch.script_path
    module = launch.module or ""
    if module not in programs("openrlhf"):
        module = _module_at(path) if path is not None and launch.module is None else ""
    if not module:
        return None
    if launch.command.errors:
        return CUT
    environment = project.environment(launch.source.path)
    choices = environment.choices
    if environment.package("openrlhf").source != "target":
        if path is not None:
            own = parser_of(path, project)
            return OpenRLHFRun(launch, module, own.flags, path, choices) if isinstance(own, OwnParser) else PARSER
        if launch.candidates or has_own_copy("openrlhf", launch.source.path, project):
            is_checkout = not launch.candidates and environment.package("openrlhf").is_own
            return OpenRLHFRun(launch, module, {}, "", choices) if is_checkout else COPY
    elif launch.module is None:
        return COPY
    return OpenRLHFRun(launch, module, None, "", choices)


def _module_at(path: str) -> str:
    """`openrlhf.cli.train_sft` for `…/openrlhf/cli/train_sft.py`, "" for other files."""
    parts = os.path.splitext(path)[0].split(os.sep)[-3:]
    name = ".".join(parts)
    if path.endswith(".py") and "cli" in parts:
        tracked.note_name("openrlhf")
    return name if path.endswith(".py") and name in programs("openrlhf") else ""


@lru_cache(maxsize=256)
def flags_in_release(module: str, version: str) -> Flags | None:
    """The flags of a program in a release; None if they are not recorded, empty if there is no such program."""
    found = facts("openrlhf", f"flags {module}", version)
    if isinstance(found, Missing):
        return {} if found is ABSENT else None
    flags = {name: read_flag(name, text) for name, text in found.items() if name.startswith("--")}
    return {**flags, "--help": read_flag("--help", "False action=store_true")}


def arguments_in(run: OpenRLHFRun, version: str) -> Arguments | None:
    """What a release makes of the command line; None if its flags are not known."""
    flags = flags_of(run, version)
    return read_arguments(run.launch.args, flags) if flags else None


def flags_of(run: OpenRLHFRun, version: str) -> Flags | None:
    """The flags of the project's own file, or those of a release."""
    return run.own if run.own is not None else flags_in_release(run.module, version)


def release_of(run: OpenRLHFRun) -> str:
    """The newest release in use that knows all flags of a command, else the newest; "" where none is known."""
    releases = run.choices.releases(_PACKAGE)[::-1]
    read = ((release, arguments_in(run, release)) for release in releases)
    fitting = (name for name, said in read if said and not any(one.kind == "unknown" for one in said.faults))
    return next(fitting, releases[0] if releases else "")


def read_config(inputs: Inputs) -> Config:
    """The options of OpenRLHF: what its parser makes of the command line."""
    found, here = run_or_reason(inputs.launch, inputs.project), inputs.launch.location
    if not isinstance(found, OpenRLHFRun):
        return nothing_known(inputs.framework, found or NOT_KNOWN, here)
    versions = {} if found.own is not None else {_PACKAGE: release_of(found)}
    if not all(versions.values()):
        return nothing_known(inputs.framework, NO_RELEASE, here)
    arguments = arguments_in(found, versions.get(_PACKAGE, ""))
    if arguments is None:
        return nothing_known(inputs.framework, NO_RELEASE, here)
    source = inputs.launch.source

    def given(name: str) -> Said:
        word = arguments.words.get(f"--{name}")
        if word is not None:
            value = arguments.values.get(f"--{name}", UNKNOWN)
            return Setting(value, "flag", source.location(word.start, word.end))
        return Unknown(HIDDEN, here) if arguments.hidden else ABSENT

    def defaults(versions: Versions) -> Read:
        flags = flags_of(found, versions.get(_PACKAGE, "")) or {}

        def default(name: str) -> Said:
            known = flags.get(f"--{name}")
            if known is None:
                return ABSENT if flags else Unknown(NO_RELEASE, here)
            return (
                Unknown(NO_DEFAULT) if isinstance(known.default, Missing) else Setting(known.default, "default", None)
            )

        return default

    layer = Layer(given, lambda: (flag[2:] for flag in arguments.words))
    return Config(inputs.framework, (layer,), defaults, versions, _PACKAGE)


def place_of(fault: Fault, launch: Launch) -> Location:
    """The flag where it is written as it is, else the whole word."""
    word = fault.word
    if fault.kind == "unknown":
        return launch.place_of(word, fault.flag)
    return launch.source.location(word.start, word.end)


# -- what Ray starts ------------------------------------------------------------------------------------------------

# cli/train_ppo_ray.py, `train`, read in 0.5.8, 0.6.2, 0.7.0, 0.8.5, 0.9.0, 0.10.1, 0.10.4, 0.11.0 and 0.11.2: actor and
# reference share a placement group where they are colocated; with all models colocated so do the critic, the reward
# model and, unless the training is asynchronous, vLLM; a colocated critic and reward model get one of their own all the
# same. Nothing is given back. What each option is called, to 0.10.1 and since 0.10.2:
_PPO = "openrlhf.cli.train_ppo_ray"
_SHARED_SINCE = ">=0.5.8"
_NAMES = {
    "all": ("colocate_all_models", "train.colocate_all"),
    "actor and reference": ("colocate_actor_ref", "train.colocate_actor_ref"),
    "critic and reward": ("colocate_critic_reward", "train.colocate_critic_reward"),
    "asynchronous": ("async_train", "train.async_enable"),
    "kl": ("init_kl_coef", "algo.kl.init_coef"),
    "estimator": ("advantage_estimator", "algo.advantage.estimator"),
    "remote": ("remote_rm_url", "reward.remote_url"),
    "agent": ("agent_func_path", "train.agent_func_path"),
    "engines": ("vllm_num_engines", "vllm.num_engines"),
    "ranks": ("vllm_tensor_parallel_size", "vllm.tensor_parallel_size"),
}


def workers_of(inputs: Inputs, config: Config) -> tuple[Workers, ...]:
    """The groups that a PPO command puts on GPUs; of what an older release or a copy shares nothing is known."""
    run = read_run(inputs.launch, inputs.project)
    if run is None or run.module != _PPO:
        return ()
    said = {what: _first(names, config) for what, names in _NAMES.items()}
    actor = _group("trainer", "actor", config)
    unsure = any(isinstance(one, Unknown) or (isinstance(one, Setting) and one.value is UNKNOWN)
                 for one in said.values())  # fmt: skip
    if unsure or run.own is not None or not holds(_SHARED_SINCE, config.release):
        return (actor, Workers("engine", UNKNOWN, UNKNOWN, "engine"))
    value = {what: one.value if isinstance(one, Setting) else None for what, one in said.items()}
    has_critic = value["estimator"] == "gae"
    apart: Role | None = "critic" if has_critic and value["critic and reward"] else None
    shared: Role | None = "trainer" if value["all"] else None
    found = [actor]
    kl = said["kl"].number if isinstance(said["kl"], Setting) else None
    if kl is not None and kl > 0:
        found.append(
            _group("reference", "ref", config, shared or ("trainer" if value["actor and reference"] else None))
        )
    if value["engines"]:
        number = times(without_reason(said["engines"]), without_reason(said["ranks"]))
        pool: Role = "trainer" if shared and not value["asynchronous"] else "engine"
        found.append(Workers("engine", number, pool=pool, size=without_reason(said["ranks"])))
    if has_critic:
        found.append(_group("critic", "critic", config, apart or shared))
    if not value["remote"] and not value["agent"]:
        found.append(_group("reward", "reward", config, apart or shared))
    return tuple(found)


def _first(names: tuple[str, ...], config: Config) -> Said:
    return next((said for name in names if (said := config.final(name)) is not ABSENT), ABSENT)


def _group(role: Role, name: str, config: Config, pool: Role | None = None) -> Workers:
    nodes, each = (
        without_reason(_first((f"{name}_{what}", f"{name}.{what}"), config))
        for what in ("num_nodes", "num_gpus_per_node")
    )
    return Workers(role, times(each, nodes), nodes, pool or role)
