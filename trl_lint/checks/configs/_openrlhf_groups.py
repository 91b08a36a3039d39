"""The groups of processes that a PPO command of OpenRLHF puts on GPUs, and which of them share theirs.

openrlhf/cli/train_ppo_ray.py, `train`, read in 0.5.8, 0.6.2, 0.7.0, 0.8.5, 0.9.0, 0.10.1, 0.10.4 and 0.11.0: actor and
reference share a placement group where they are colocated; with all models colocated so do the critic, the reward model
and, unless the training is asynchronous, vLLM; a colocated critic and reward model get one of their own all the same.
Nothing is given back. Ray refuses an actor for a bundle that its placement group does not have
(`check_placement_group_index` of ray/util/placement_group.py), and lets wait who asks for more GPUs than there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from trl_lint.checks.configs._asserts import (
    AbsentSettingError,
    Assertion,
    Problem,
    UnknownValueError,
    Values,
    broken,
    places,
)
from trl_lint.checks.configs._openrlhf_refusals import setting_name, settings_of
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level
from trl_lint.knowledge.condition_language import UNKNOWN, Block
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.run.readers.openrlhf import OpenRLHFRun, arguments_in, flags_of, read_run

PROGRAM = "openrlhf.cli.train_ppo_ray"
RELEASES = ">=0.5.8"
# What each setting is called, to 0.10.1 and since 0.10.2.
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


def values_in(run: OpenRLHFRun, version: str) -> Values | None:
    """The settings of a command in a release, by their own names; None where they are not known."""
    settings = settings_of(run, version) if run.module == PROGRAM else None
    return Values(partial(_value, settings.whole)) if settings is not None else None


def _value(whole: Block, key: str) -> Any:
    found: Any = whole
    for part in key.split("."):
        if not isinstance(found, Block) or part not in found:
            raise AbsentSettingError
        found = found[part]
    if found is UNKNOWN or isinstance(found, Block):
        raise UnknownValueError
    return found


def _said(v: Values, what: str) -> Any:
    """A setting by what it is about; None where the release has none."""
    return next((v(name) for name in _NAMES[what] if v.has(name)), None)


def _size(v: Values, group: str) -> int:
    """The GPUs of a group."""
    dotted = v.has(f"{group}.num_nodes")
    return v.number(f"{group}.num_nodes" if dotted else f"{group}_num_nodes") * v.number(
        f"{group}.num_gpus_per_node" if dotted else f"{group}_num_gpus_per_node"
    )


def _has_critic(v: Values) -> bool:
    return bool(_said(v, "estimator") == "gae")


def _has_reward_model(v: Values) -> bool:
    return not _said(v, "remote") and not _said(v, "agent")


def groups(v: Values) -> dict[str, int]:
    """The GPUs that are asked for, by the groups that share them. Raises UnknownValueError."""
    actor = _size(v, "actor")
    shares_all = bool(_said(v, "all"))
    has_reference = _said(v, "kl") > 0
    found = {"actor": actor}
    if has_reference and not shares_all and not _said(v, "actor and reference"):
        found["reference"] = _size(v, "ref")
    engines = _said(v, "engines")
    if engines and not (shares_all and not _said(v, "asynchronous")):
        found["vLLM"] = engines * _said(v, "ranks")
    apart = _has_critic(v) and bool(_said(v, "critic and reward"))
    if _has_critic(v) and (apart or not shares_all):
        found["critic"] = _size(v, "critic")
    if _has_reward_model(v) and not apart and not shares_all:
        found["reward"] = _size(v, "reward")
    return found


def _beyond(v: Values, group: str, what: str) -> str | None:
    if not _said(v, "all") or (_has_critic(v) and _said(v, "critic and reward")):
        return None
    shared, wanted = _size(v, "actor"), _size(v, group)
    if wanted <= shared:
        return None
    return (
        f"all models share the {shared} GPUs of the actor, and the {what} is to have {wanted}: Ray has no bundle "
        f"{shared} for it (ValueError); give it the nodes and GPUs of the actor"
    )


def critic_beyond_the_actor(v: Values) -> str | None:
    return _beyond(v, "critic", "critic") if _has_critic(v) else None


def reward_model_beyond_the_actor(v: Values) -> str | None:
    return _beyond(v, "reward", "reward model") if _has_reward_model(v) else None


ASSERTIONS = (Assertion(RELEASES, critic_beyond_the_actor), Assertion(RELEASES, reward_model_beyond_the_actor))


def misfits(launch: Launch, rule: Rule, project: Project) -> Iterator[Problem]:
    """TRL403: what Ray refuses of the groups of a command."""
    run = read_run(launch, project)
    if run is None or run.own is not None or run.module != PROGRAM or "openrlhf" not in run.choices:
        return
    newest = run.choices["openrlhf"].newest
    arguments, flags = arguments_in(run, newest), flags_of(run, newest)
    words = {setting_name(name, flags): word for name, word in arguments.words.items()} if arguments and flags else {}
    level = Level(rule, launch.is_mild, of_code=False)
    for found in broken(ASSERTIONS, "openrlhf", run.choices, partial(values_in, run), level):
        location, beside = places(found.keys, words, launch)
        message = f"OpenRLHF stops: {found.message} ({found.verdict.scope})"
        yield Problem(location, message, found.verdict.severity, (*beside, *found.verdict.related))
