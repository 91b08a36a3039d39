"""What verl and OpenRLHF refuse at start: each check with settings that it passes, refuses, and cannot tell about.

The settings are those of the releases (`rules/api`), with what a command would give; what is refused is what the
releases themselves say (`rules/conditions`), but for the rows of `_verl_asserts`.
"""

from __future__ import annotations

from typing import Any

import pytest

from trl_lint.checks.configs import _verl_asserts as verl
from trl_lint.checks.configs._asserts import AbsentSettingError, Assertion, UnknownValueError, Values, evaluate
from trl_lint.checks.configs._openrlhf_refusals import settings_from as settings_of_flags
from trl_lint.checks.configs._program_refusals import refused_in
from trl_lint.checks.configs._verl_refusals import settings_from as settings_of_tree
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.programs import config_of_engine, followed, successors
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.run.readers.hydra import copied, find, put
from trl_lint.run.readers.openrlhf import flags_in_release
from trl_lint.run.readers.verl import tree_in_release

ACTOR, ROLLOUT, REF = "actor_rollout_ref.actor", "actor_rollout_ref.rollout", "actor_rollout_ref.ref"
VERL: dict[str, Any] = {
    "trainer.n_gpus_per_node": 8,
    "trainer.nnodes": 1,
    "data.train_batch_size": 64,
    "algorithm.adv_estimator": "gae",
    "actor_rollout_ref.model.use_remove_padding": True,
    f"{ACTOR}.use_kl_loss": True,
    f"{ACTOR}.ppo_mini_batch_size": 32,
    f"{ACTOR}.ppo_micro_batch_size_per_gpu": 4,
    f"{ACTOR}.ulysses_sequence_parallel_size": 2,
    f"{REF}.log_prob_micro_batch_size_per_gpu": 4,
    f"{ROLLOUT}.name": "vllm",
    f"{ROLLOUT}.n": 4,
    f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu": 4,
    "critic.ppo_micro_batch_size_per_gpu": 4,
    "critic.ulysses_sequence_parallel_size": 2,
    "critic.model.use_remove_padding": True,
}
NO_CRITIC_SIZE = {"critic.ppo_micro_batch_size_per_gpu": None}
MEGATRON = {
    f"{ACTOR}.megatron.tensor_model_parallel_size": 2,
    f"{ACTOR}.megatron.pipeline_model_parallel_size": 2,
}
VEOMNI = {f"{ACTOR}.veomni.router_replay.mode": "R3"}


def config_for(version: str, settings: dict[str, Any]) -> str:
    if any(".veomni." in key for key in settings):
        return config_of_engine("veomni", version)
    return "ppo_megatron_trainer" if any(".megatron." in key for key in settings) else "ppo_trainer"


def refusals_of_verl(version: str, settings: dict[str, Any], unknown: str = "") -> list[str]:
    tree = tree_in_release(config_for(version, settings), version)
    assert tree is not None
    tree = copied(tree)
    given = {key: value for key, value in {**VERL, **settings}.items() if find(tree, key) is not ABSENT}
    for key, value in given.items():
        put(tree, key, UNKNOWN if key == unknown else value)
    found = refused_in("verl", version, settings_of_tree(tree, version, frozenset(given)))
    return [each.condition.sentence for each in found]


@pytest.mark.parametrize("version", releases("verl"))
def test_good_settings_of_verl(version: str) -> None:
    assert not refusals_of_verl(version, {})
    assert not refusals_of_verl(version, MEGATRON)


@pytest.mark.parametrize(
    ("version", "settings", "begins"),
    [
        ("0.2", {"data.train_batch_size": 33}, "real_train_batch_size ("),
        ("0.5.0", {"data.train_batch_size": 33}, "real_train_batch_size ("),
        ("0.5.0", {**MEGATRON, f"{ACTOR}.ppo_micro_batch_size_per_gpu": 3}, "real_train_batch_size ("),
        ("0.9.1", {"data.train_batch_size": 33}, "real_train_batch_size ("),
        ("0.4.0", {**MEGATRON, "trainer.n_gpus_per_node": 6}, "n_gpus ("),
        ("0.9.1", {**MEGATRON, "trainer.n_gpus_per_node": 6}, "n_gpus ("),
        ("0.3.0.post0", {f"{ACTOR}.ppo_mini_batch_size": 128}, ""),
        ("0.9.1", {f"{ACTOR}.ppo_mini_batch_size": 128}, "train_batch_size ("),
        ("0.9.1", {f"{ACTOR}.ppo_micro_batch_size_per_gpu": None}, "[actor] Please set at least one of"),
        ("0.2", {f"{ACTOR}.ppo_micro_batch_size": 16}, "[actor_rollout_ref.actor] You have set both"),
        ("0.9.1", {f"{ROLLOUT}.log_prob_micro_batch_size": 16}, "[actor_rollout_ref.rollout] You have set both"),
        ("0.2", {f"{REF}.log_prob_micro_batch_size_per_gpu": None}, "[actor_rollout_ref.ref] Please set at least"),
        ("0.9.1", {f"{REF}.log_prob_micro_batch_size": 8}, "[actor_rollout_ref.ref] You have set both"),
        (
            "0.9.1",
            {f"{ACTOR}.ppo_micro_batch_size": 16, f"{ACTOR}.ppo_mini_batch_size": 40},
            "ppo_mini_batch_size (",
        ),
        ("0.9.1", {f"{ACTOR}.ppo_micro_batch_size": 2}, "ppo_micro_batch_size ("),
        ("0.4.1", {"actor_rollout_ref.model.use_remove_padding": False}, "When using sequence parallelism for actor"),
        ("0.9.1", {"actor_rollout_ref.model.use_remove_padding": False}, "When using sequence parallelism for actor"),
        ("0.9.1", {f"{ROLLOUT}.val_kwargs.do_sample": True, f"{ROLLOUT}.temperature": 0}, "validation gen temperature"),
        ("0.6.1", {"actor_rollout_ref.model.lora_rank": 1024}, "LoRA rank in vLLM must be"),
        ("0.6.0", {f"{ROLLOUT}.expert_parallel_size": 4}, "expert_parallel_size must be equal to"),
        ("0.9.1", {f"{ROLLOUT}.expert_parallel_size": 4}, "expert_parallel_size must be equal to"),
        ("0.9.1", {f"{ROLLOUT}.pipeline_model_parallel_size": 2}, "Current rollout self.name={name} not implemented"),
        ("0.2", NO_CRITIC_SIZE, "[critic] Please set at least one of"),
        ("0.9.1", {**NO_CRITIC_SIZE, "critic.enable": True}, "[critic] Please set at least one of"),
        ("0.9.1", {"critic.ppo_micro_batch_size": 16}, "[critic] You have set both"),
        ("0.2", {"critic.ppo_micro_batch_size": 16, "critic.ppo_mini_batch_size": 40}, ""),
        ("0.9.1", {"critic.ppo_micro_batch_size": 2}, "critic.ppo_micro_batch_size ("),
        ("0.3.0.post0", {"critic.ppo_mini_batch_size": 128}, ""),
        ("0.9.1", {"critic.ppo_mini_batch_size": 128}, "train_batch_size ("),
        ("0.4.1", {"critic.model.use_remove_padding": False}, "When using sequence parallelism for critic"),
        (
            "0.7.1",
            {"critic.model.use_remove_padding": False, "critic.strategy": "fsdp2"},
            "When using sequence parallelism for critic",
        ),
        ("0.9.1", {**VEOMNI, f"{ACTOR}.use_remove_padding": False}, "router_replay requires use_remove_padding=True"),
        ("0.7.0", {f"{ACTOR}.router_replay.mode": "R4"}, "Invalid router_replay mode"),
        ("0.9.1", {f"{ACTOR}.megatron.router_replay.mode": "r3"}, "Invalid router_replay mode"),
        ("0.9.1", {f"{ROLLOUT}.mode": "sync"}, "Rollout mode 'sync' has been removed"),
        ("0.5.0", {f"{ACTOR}.loss_agg_mode": "token-median"}, "Invalid loss_agg_mode"),
        ("0.8.0", {f"{ACTOR}.loss_agg_mode": "token-sum"}, "Invalid loss_agg_mode"),
        ("0.9.1", {f"{ACTOR}.loss_agg_mode": "token-median"}, "Invalid loss_agg_mode"),
    ],
)
def test_bad_settings_of_verl(version: str, settings: dict[str, Any], begins: str) -> None:
    def is_told(unknown: str = "") -> bool:
        said = refusals_of_verl(version, settings, unknown)
        texts = [each.partition(":")[2].strip() for each in said]
        return any(text.startswith(begins) for text in texts) if begins else "" in texts

    assert is_told()
    for key in settings.keys() - MEGATRON.keys():
        assert not is_told(unknown=key) or key.endswith("strategy"), key


@pytest.mark.parametrize(
    ("version", "settings"),
    [
        ("0.1", {"data.train_batch_size": 33}),
        ("0.9.1", {"data.train_batch_size": 33, f"{ACTOR}.use_dynamic_bsz": True}),
        ("0.2", {f"{ACTOR}.ppo_mini_batch_size": 128}),
        ("0.6.1", {f"{ROLLOUT}.mode": "sync"}),
        ("0.7.1", {"actor_rollout_ref.model.lora_rank": 1024}),
        ("0.9.1", {f"{ROLLOUT}.expert_parallel_size": 4, f"{ROLLOUT}.name": "trtllm"}),
        ("0.9.1", {**NO_CRITIC_SIZE, "algorithm.adv_estimator": "grpo"}),
        ("0.9.1", {**NO_CRITIC_SIZE, "critic.enable": False}),
        ("0.9.1", {**NO_CRITIC_SIZE, "critic.use_dynamic_bsz": True}),
        ("0.2", {"critic.ppo_mini_batch_size": 128}),
        ("0.9.1", {"critic.ppo_mini_batch_size": 64}),
        ("0.9.1", {"critic.model.use_remove_padding": False}),
        ("0.4.1", {"critic.model.use_remove_padding": False, "critic.strategy": "fsdp2"}),
        ("0.7.1", {**VEOMNI, f"{ACTOR}.use_remove_padding": False}),
        ("0.9.1", {f"{ACTOR}.veomni.router_replay.mode": "disabled", f"{ACTOR}.use_remove_padding": False}),
        ("0.9.1", {f"{ACTOR}.router_replay.mode": "R4"}),
    ],
)
def test_settings_that_a_release_of_verl_does_not_look_at(version: str, settings: dict[str, Any]) -> None:
    assert not refusals_of_verl(version, settings)


@pytest.mark.parametrize("version", releases("verl"))
@pytest.mark.parametrize("config", ["ppo_trainer", "ppo_megatron_trainer", "ppo_veomni_trainer"])
def test_defaults_of_verl_lack_nothing_but_a_micro_batch_size(version: str, config: str) -> None:
    tree = tree_in_release(config, version)
    if tree is not None:
        said = refused_in("verl", version, settings_of_tree(copied(tree), version, frozenset()))
        # Some of the checks count with it before it is asked for.
        assert all("Please set at least one of" in each.condition.sentence or each.crashes for each in said)
        # Arguments from outside may give it.
        assert not refused_in("verl", version, settings_of_tree(copied(tree), version, frozenset(), is_open=True))


# -- rows that no release of verl states so -------------------------------------------------------------------------

WORKER: dict[str, Any] = {
    "trainer.n_gpus_per_node": 8,
    "trainer.nnodes": 1,
    "trainer.use_legacy_worker_impl": "auto",
    f"{ACTOR}.strategy": "fsdp",
    f"{ACTOR}.ppo_mini_batch_size": 32,
    f"{ACTOR}.ppo_micro_batch_size": None,
    f"{ACTOR}.ppo_micro_batch_size_per_gpu": 4,
    f"{ACTOR}.ulysses_sequence_parallel_size": 2,
    f"{ROLLOUT}.name": "vllm",
    f"{ROLLOUT}.n": 4,
}


def complaints(assertions: tuple[Assertion, ...], version: str, settings: dict[str, Any]) -> set[str]:
    def read(key: str) -> Any:
        if key not in settings:
            raise AbsentSettingError
        if settings[key] is ...:
            raise UnknownValueError
        return settings[key]

    found = [(each.check.__name__, evaluate(each, version, Values(read))) for each in assertions]
    return {name for name, (message, _) in found if message}


@pytest.mark.parametrize("version", releases("verl"))
def test_good_numbers_of_workers(version: str) -> None:
    assert not complaints((*verl.ASSERTIONS, *verl.LENGTHS, *verl.VALUES), version, WORKER)


@pytest.mark.parametrize(
    ("version", "settings", "name"),
    [
        ("0.4.0", {f"{ACTOR}.ppo_mini_batch_size": 0}, "mini_batch_of_nothing"),
        ("0.4.0", {f"{ACTOR}.ppo_mini_batch_size": 18}, "mini_batch_over_micro_batches_of_a_gpu"),
        ("0.7.1", {f"{ACTOR}.ppo_mini_batch_size": 18}, "guarded"),
    ],
)
def test_bad_numbers_of_workers(version: str, settings: dict[str, Any], name: str) -> None:
    assert name in complaints((*verl.ASSERTIONS, *verl.LENGTHS), version, {**WORKER, **settings})
    for key in settings:
        assert name not in complaints((*verl.ASSERTIONS, *verl.LENGTHS), version, {**WORKER, **settings, key: ...}), key


@pytest.mark.parametrize(
    ("version", "settings"),
    [
        ("0.8.0", {f"{ACTOR}.ppo_mini_batch_size": 18}),
        ("0.7.1", {f"{ACTOR}.ppo_mini_batch_size": 18, "trainer.use_legacy_worker_impl": "disable"}),
    ],
)
def test_releases_whose_workers_do_not_count(version: str, settings: dict[str, Any]) -> None:
    assert not complaints((*verl.ASSERTIONS, *verl.LENGTHS), version, {**WORKER, **settings})


ROLLOUTS = {f"{ROLLOUT}.name": "vllm", "trainer.n_gpus_per_node": 8, "data.max_prompt_length": 512}


def of_a_release(version: str, settings: dict[str, Any]) -> set[str]:
    """The assertions that fail with the defaults of a release and some settings."""
    tree = tree_in_release("ppo_trainer", version)
    assert tree is not None
    tree = copied(tree)
    given = {**ROLLOUTS, **settings}
    for key, value in given.items():
        put(tree, key, UNKNOWN if value is ... else value)

    def read(key: str) -> Any:
        value = find(tree, key)
        if value is ABSENT:
            raise AbsentSettingError
        if value is UNKNOWN and key not in given and (other := followed(key, version)):
            return read(other)
        if value is UNKNOWN or isinstance(value, (dict, list)):
            raise UnknownValueError
        return value

    found = [(each.check.__name__, evaluate(each, version, Values(read))) for each in (*verl.ASSERTIONS, *verl.LENGTHS)]
    return {name for name, (message, _) in found if message}


LONG = {"data.max_response_length": 8192}
TURNS = {f"{ROLLOUT}.multi_turn.enable": True}
SMALL = {"actor_rollout_ref.model.path": "microsoft/phi-2"}  # 2048 positions
HALF = {"data.max_prompt_length": 1024, "data.max_response_length": 1025}
OVERRIDE = "actor_rollout_ref.model.override_config"
ONE_GPU = {"trainer.n_gpus_per_node": 1}


@pytest.mark.parametrize(
    ("version", "settings", "name"),
    [
        ("0.3.0.post1", LONG, "longer_than_a_batch_of_tokens"),
        ("0.5.0", LONG, "longer_than_a_batch_of_tokens"),
        ("0.6.1", {f"{ROLLOUT}.max_model_len": 9000}, "longer_than_a_batch_of_tokens"),
        ("0.6.1", {f"{ROLLOUT}.max_num_batched_tokens": 1000}, "longer_than_a_batch_of_tokens"),
        ("0.3.0.post1", {**SMALL, **HALF}, "longer_than_the_model"),
        ("0.6.1", {**SMALL, **HALF}, "longer_than_the_model"),
        ("0.7.1", {**SMALL, f"{ROLLOUT}.max_model_len": 9000}, "window_over_the_model"),
        ("0.9.1", {**SMALL, f"{ROLLOUT}.max_model_len": 9000}, "window_over_the_model"),
        ("0.3.0.post1", ONE_GPU, "fsdp_rollout_over_the_gpus"),
        ("0.7.1", {f"{ROLLOUT}.tensor_model_parallel_size": 3}, "fsdp_rollout_over_the_gpus"),
        ("0.7.1", {f"{ROLLOUT}.data_parallel_size": 3}, "fsdp_rollout_over_the_gpus"),
        ("0.9.1", ONE_GPU, "rollout_over_the_gpus"),
        ("0.9.1", {f"{ROLLOUT}.pipeline_model_parallel_size": 8}, "rollout_over_the_gpus"),
        ("0.4.1", TURNS, "turns_without_a_mask"),
        ("0.5.0", TURNS, "turns_without_a_server"),
        ("0.6.1", TURNS, "turns_without_a_server"),
    ],
)
def test_what_the_rollout_refuses(version: str, settings: dict[str, Any], name: str) -> None:
    assert of_a_release(version, settings) == {name}
    for key in settings:
        assert not of_a_release(version, {**settings, key: ...}), key


@pytest.mark.parametrize(
    ("version", "settings"),
    [
        *((version, {}) for version in ("0.3.0.post1", "0.4.0", "0.4.1", "0.5.0", "0.6.0", "0.6.1", "0.7.0", "0.7.1")),
        *((version, {}) for version in ("0.8.0", "0.9.0", "0.9.1")),
        ("0.7.0", LONG),
        ("0.9.1", LONG),
        ("0.6.1", {**LONG, f"{ROLLOUT}.enable_chunked_prefill": False}),
        ("0.6.1", {**LONG, f"{ROLLOUT}.mode": "async"}),
        ("0.6.1", {**LONG, f"{ROLLOUT}.name": "sglang"}),
        ("0.6.1", {**LONG, f"{ROLLOUT}.max_num_batched_tokens": 8704}),
        ("0.6.1", {**LONG, f"{ROLLOUT}.max_model_len": 4096}),
        ("0.6.1", {**LONG, f"{ROLLOUT}.response_length": 512}),
        ("0.6.1", {**SMALL, **HALF, "data.max_prompt_length": 1023}),
        ("0.6.1", {**SMALL, **HALF, f"{OVERRIDE}.max_position_embeddings": 16384}),
        ("0.6.1", {**SMALL, **HALF, f"{OVERRIDE}.rope_scaling": {"type": "yarn"}}),
        ("0.6.1", {**HALF, "actor_rollout_ref.model.path": "me/phi-2"}),
        ("0.6.1", {**HALF, "actor_rollout_ref.model.path": "unsloth/phi-2"}),
        ("0.7.0", {**SMALL, **HALF}),
        ("0.7.0", {**SMALL, f"{ROLLOUT}.max_model_len": 9000}),
        ("0.7.1", {**SMALL, **HALF}),
        ("0.7.1", {**SMALL, f"{ROLLOUT}.max_model_len": 2048}),
        ("0.9.1", {**SMALL, f"{ROLLOUT}.max_model_len": 9000, "actor_rollout_ref.model.hf_config_path": "me/long"}),
        ("0.5.0", {**TURNS, f"{ROLLOUT}.mode": "async"}),
        ("0.4.1", {**TURNS, f"{ROLLOUT}.mode": "async"}),
        ("0.5.0", {**TURNS, f"{ROLLOUT}.name": "sglang"}),
        ("0.7.0", TURNS),
        ("0.5.0", {**ONE_GPU, f"{ROLLOUT}.tensor_model_parallel_size": 1}),
        ("0.5.0", {**ONE_GPU, "trainer.nnodes": 2}),
        ("0.5.0", {**ONE_GPU, f"{ACTOR}.strategy": "megatron"}),
        ("0.9.1", {**ONE_GPU, f"{ROLLOUT}.nnodes": 1}),
    ],
)
def test_what_the_rollout_takes(version: str, settings: dict[str, Any]) -> None:
    assert not of_a_release(version, settings)


def test_no_row_tells_what_a_release_states() -> None:
    """The rows that are left fail for settings that pass everything a release says, in each release that they name."""
    for version in ("0.4.0", "0.5.0", "0.7.1"):
        settings = {f"{ACTOR}.ppo_mini_batch_size": 18, f"{ACTOR}.ulysses_sequence_parallel_size": 1}
        assert not refusals_of_verl(version, {**settings, "actor_rollout_ref.model.use_remove_padding": True})
        assert complaints((*verl.ASSERTIONS, *verl.LENGTHS), version, {**WORKER, **settings})


# -- OpenRLHF -------------------------------------------------------------------------------------------------------

OPENRLHF: dict[str, Any] = {
    **{f"--{role}_num_nodes": 1 for role in ("actor", "ref", "critic", "reward")},
    **{f"--{role}_num_gpus_per_node": 8 for role in ("actor", "ref", "critic", "reward")},
    "--packing_samples": True,
    "--vllm_num_engines": 4,
    "--vllm_tensor_parallel_size": 2,
    "--rollout_batch_size": 128,
    "--micro_rollout_batch_size": 8,
    "--pretrain": "some/model",
    "--reward_pretrain": "some/reward",
}
RAY = "openrlhf.cli.train_ppo_ray"


def refusals_of_openrlhf(version: str, settings: dict[str, Any], unknown: str = "", module: str = RAY) -> list[str]:
    flags = flags_in_release(module, version)
    assert flags is not None
    given = {}
    for name, value in {**OPENRLHF, **settings}.items():
        for flag in (name, *successors("openrlhf", name)):
            if flag in flags:
                given[flag] = UNKNOWN if name == unknown else value
    found = refused_in("openrlhf", version, settings_of_flags(module, flags, given))
    return [each.condition.sentence for each in found]


@pytest.mark.parametrize("version", releases("openrlhf"))
def test_good_settings_of_openrlhf(version: str) -> None:
    unpacked = {"--packing_samples": False} if version.startswith("0.4") else {}  # 0.4.4 packs with local models only
    assert not refusals_of_openrlhf(version, unpacked)


@pytest.mark.parametrize(
    ("version", "settings", "begins"),
    [
        ("0.6.0", {"--colocate_all_models": True, "--vllm_num_engines": 2}, "actor_num_nodes * actor_num_gpus_per"),
        ("0.7.5", {"--colocate_all_models": True, "--vllm_num_engines": 2}, "actor_num_nodes * actor_num_gpus_per"),
        ("0.8.0", {"--colocate_all_models": True, "--vllm_num_engines": 2}, "actor_num_nodes * actor_num_gpus_per"),
        ("0.5.0", {"--colocate_actor_ref": True, "--ref_num_nodes": 2}, "num_nodes and num_gpus_per_node must be"),
        ("0.5.8", {"--colocate_all_models": True, "--ref_num_nodes": 2}, "num_nodes and num_gpus_per_node must be"),
        ("0.6.1", {"--colocate_actor_ref": True, "--ref_num_nodes": 2}, "num_nodes and num_gpus_per_node must be"),
        ("0.5.0", {"--colocate_critic_reward": True, "--critic_num_nodes": 2}, "num_nodes and num_gpus_per_node"),
        ("0.9.0", {"--colocate_critic_reward": True, "--critic_num_nodes": 2}, "num_nodes and num_gpus_per_node"),
        ("0.5.3", {"--advantage_estimator": "rloo"}, "RLOO requires n_samples_per_prompt > 1"),
        ("0.9.0", {"--advantage_estimator": "group_norm"}, "{advantage_estimator} requires"),
        ("0.11.0", {"--advantage_estimator": "dr_grpo"}, "{algo.advantage.estimator} requires"),
        ("0.9.0", {"--rollout_batch_size": 32}, "The number of sample batches must be"),
        ("0.7.2", {"--rollout_batch_size": 32}, "The number of sample batches must be"),
        ("0.6.4", {"--rollout_batch_size": 33}, "rollout_bach_size must be divisible by"),
        ("0.9.0", {"--vllm_num_engines": 0}, "Only support `--packing_samples` with vLLM"),
        ("0.9.0", {"--vllm_num_engines": None}, "Only support `--packing_samples` with vLLM"),
        (
            "0.8.0",
            {"--async_train": True, "--vllm_enable_sleep": True, "--colocate_all_models": True},
            "Async RLHF is not supported with",
        ),
        ("0.9.7", {"--partial_rollout": True}, "--partial_rollout requires --async_train"),
        ("0.10.0", {"--vllm_generate_batch_size": 256}, "--vllm_generate_batch_size > --rollout_batch_size requires"),
        ("0.9.0", {"--eval_dataset": "x"}, "`--eval_dataset` is only supported with"),
        ("0.9.0", {"--dynamic_filtering": True}, "remote_rm_url or agent_func_path must be specified"),
        ("0.9.0", {"--dynamic_filtering": True}, "n_samples_per_prompt must be greater than 1"),
        ("0.10.0", {"--max_images_per_prompt": 1}, "VLM training does not support critic"),
        ("0.10.0", {"--max_images_per_prompt": 1}, "VLM training does not support --packing_samples"),
        ("0.5.4", {"--actor_num_gpus_per_node": 6}, "actor_world_size must be power of 2"),
    ],
)
def test_bad_settings_of_openrlhf(version: str, settings: dict[str, Any], begins: str) -> None:
    def is_told(unknown: str = "") -> bool:
        said = refusals_of_openrlhf(version, settings, unknown)
        return any(each.partition(": ")[2].startswith(begins) for each in said)

    assert is_told()
    for key in settings:
        assert not is_told(unknown=key), key


@pytest.mark.parametrize(
    ("version", "settings"),
    [
        ("0.5.8", {"--colocate_all_models": True, "--vllm_num_engines": 2}),
        ("0.6.0", {"--colocate_all_models": True, "--vllm_num_engines": 2, "--vllm_gpu_memory_utilization": 0.5}),
        ("0.8.0", {"--colocate_all_models": True, "--vllm_num_engines": 2, "--async_train": True}),
        ("0.9.0", {"--colocate_actor_ref": True, "--ref_num_nodes": 2, "--init_kl_coef": 0}),
        ("0.9.0", {"--async_train": True, "--vllm_enable_sleep": True}),
        ("0.10.4", {"--advantage_estimator": "dr_grpo"}),
        ("0.9.0", {"--eval_dataset": "x", "--agent_func_path": "agent.py"}),
        ("0.9.0", {"--colocate_critic_reward": True, "--critic_num_nodes": 2, "--advantage_estimator": "reinforce"}),
    ],
)
def test_settings_that_openrlhf_takes(version: str, settings: dict[str, Any]) -> None:
    assert not refusals_of_openrlhf(version, settings)


def test_other_programs_of_openrlhf_are_asked() -> None:
    said = refusals_of_openrlhf(
        "0.9.0", {"--multiturn": True, "--packing_samples": False}, module="openrlhf.cli.train_sft"
    )
    assert said == ["AssertionError: apply_chat_template must be enabled when using multiturn format"]
