"""What verl and OpenRLHF assert at start: each check with settings that it passes, refuses, and cannot tell about."""

from __future__ import annotations

from typing import Any

import pytest

from trl_lint.checks.configs import _openrlhf_asserts as openrlhf
from trl_lint.checks.configs import _verl_asserts as verl
from trl_lint.checks.configs._asserts import AbsentSettingError, Assertion, UnknownValueError, Values, evaluate
from trl_lint.knowledge.histories import releases

VERL: dict[str, Any] = {
    "trainer.n_gpus_per_node": 8,
    "trainer.nnodes": 1,
    "trainer.use_legacy_worker_impl": "auto",
    "data.train_batch_size": 64,
    "algorithm.use_kl_in_reward": True,
    "actor_rollout_ref.model.lora_rank": 16,
    "actor_rollout_ref.model.use_remove_padding": True,
    "actor_rollout_ref.actor.strategy": "fsdp",
    "actor_rollout_ref.actor.use_dynamic_bsz": False,
    "actor_rollout_ref.actor.use_kl_loss": False,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 32,
    "actor_rollout_ref.actor.ppo_micro_batch_size": None,
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 4,
    "actor_rollout_ref.actor.ulysses_sequence_parallel_size": 2,
    "actor_rollout_ref.actor.loss_agg_mode": "token-mean",
    "actor_rollout_ref.actor.megatron.tensor_model_parallel_size": 2,
    "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size": 2,
    "actor_rollout_ref.actor.megatron.context_parallel_size": 1,
    "actor_rollout_ref.ref.log_prob_micro_batch_size": None,
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": 4,
    "actor_rollout_ref.rollout.name": "vllm",
    "actor_rollout_ref.rollout.mode": "async",
    "actor_rollout_ref.rollout.n": 4,
    "actor_rollout_ref.rollout.temperature": 1.0,
    "actor_rollout_ref.rollout.log_prob_micro_batch_size": None,
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": 4,
    "actor_rollout_ref.rollout.tensor_model_parallel_size": 2,
    "actor_rollout_ref.rollout.data_parallel_size": 1,
    "actor_rollout_ref.rollout.expert_parallel_size": 1,
    "actor_rollout_ref.rollout.pipeline_model_parallel_size": 1,
    "actor_rollout_ref.rollout.val_kwargs.do_sample": False,
    "actor_rollout_ref.actor.use_remove_padding": True,
    "actor_rollout_ref.actor.router_replay.mode": "disabled",
    "actor_rollout_ref.actor.megatron.router_replay.mode": "disabled",
    "actor_rollout_ref.actor.veomni.router_replay.mode": "R3",
    "algorithm.adv_estimator": "gae",
    "critic.enable": None,
    "critic.strategy": "fsdp",
    "critic.use_dynamic_bsz": False,
    "critic.ppo_mini_batch_size": 32,
    "critic.ppo_micro_batch_size": None,
    "critic.ppo_micro_batch_size_per_gpu": 4,
    "critic.ulysses_sequence_parallel_size": 2,
    "critic.model.use_remove_padding": True,
}
ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
OLD_MICRO = {f"{ACTOR}.ppo_micro_batch_size_per_gpu": None, f"{ACTOR}.ppo_micro_batch_size": 16}
BOTH_MICRO = {f"{ACTOR}.ppo_micro_batch_size": 16}
ASYNC = {"--async_train": True}
NO_CRITIC_SIZE = {"critic.ppo_micro_batch_size_per_gpu": None}
VEOMNI = {f"{ACTOR}.strategy": "veomni"}
MEGATRON = {f"{ACTOR}.strategy": "megatron"}
OPENRLHF: dict[str, Any] = {
    **{f"--{role}_num_nodes": 1 for role in ("actor", "ref", "critic", "reward")},
    **{f"--{role}_num_gpus_per_node": 8 for role in ("actor", "ref", "critic", "reward")},
    **dict.fromkeys(("--colocate_all_models", "--colocate_actor_ref", "--colocate_critic_reward"), False),
    **dict.fromkeys(("--async_train", "--partial_rollout", "--vllm_enable_sleep", "--dynamic_filtering"), False),
    **dict.fromkeys(("--remote_rm_url", "--agent_func_path", "--eval_dataset", "--vllm_generate_batch_size")),
    "--packing_samples": True,
    "--vllm_num_engines": 4,
    "--vllm_tensor_parallel_size": 2,
    "--init_kl_coef": 0.01,
    "--advantage_estimator": "gae",
    "--n_samples_per_prompt": 1,
    "--rollout_batch_size": 128,
    "--micro_rollout_batch_size": 8,
    "--ring_attn_size": 1,
    "--ds_tensor_parallel_size": 1,
    "--max_images_per_prompt": 0,
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
def test_good_settings_of_verl(version: str) -> None:
    assert not complaints((*verl.ASSERTIONS, *verl.VALUES), version, VERL)
    assert not complaints(verl.ASSERTIONS, version, {**VERL, **MEGATRON})
    assert not complaints(verl.ASSERTIONS, version, {**VERL, **OLD_MICRO})


@pytest.mark.parametrize(
    ("version", "settings", "name"),
    [
        ("0.2", {"data.train_batch_size": 33}, "batch_over_gpus"),
        ("0.5.0", {"data.train_batch_size": 33}, "batch_over_ranks"),
        ("0.5.0", {**MEGATRON, f"{ACTOR}.ppo_micro_batch_size_per_gpu": 3}, "batch_over_ranks"),
        ("0.9.1", {"data.train_batch_size": 33}, "batch_over_ranks_unless_dynamic"),
        ("0.4.0", {**MEGATRON, "trainer.n_gpus_per_node": 6}, "megatron_over_gpus"),
        ("0.9.1", {**MEGATRON, "trainer.n_gpus_per_node": 6}, "megatron_over_gpus_unless_dynamic"),
        ("0.9.1", {f"{ACTOR}.ppo_mini_batch_size": 128}, "train_batch_below_mini_batch"),
        ("0.9.1", {f"{ACTOR}.ppo_micro_batch_size_per_gpu": None}, "actor_micro_batch"),
        ("0.2", {f"{ACTOR}.ppo_micro_batch_size": 16}, "actor_micro_batch"),
        ("0.9.1", {f"{ROLLOUT}.log_prob_micro_batch_size": 16}, "rollout_micro_batch"),
        ("0.2", {"actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": None}, "reference_micro_batch"),
        ("0.9.1", {"actor_rollout_ref.ref.log_prob_micro_batch_size": 8}, "reference_micro_batch_if_used"),
        (
            "0.9.1",
            {f"{ACTOR}.ppo_micro_batch_size": 16, f"{ACTOR}.ppo_mini_batch_size": 40},
            "mini_batch_over_micro_batches",
        ),
        ("0.9.1", {f"{ACTOR}.ppo_micro_batch_size": 2}, "micro_batch_below_gpus"),
        ("0.4.1", {"actor_rollout_ref.model.use_remove_padding": False}, "sequence_parallel_with_padding_fsdp1"),
        ("0.9.1", {"actor_rollout_ref.model.use_remove_padding": False}, "sequence_parallel_with_padding"),
        ("0.9.1", {f"{ROLLOUT}.val_kwargs.do_sample": True, f"{ROLLOUT}.temperature": 0}, "validation_at_zero"),
        ("0.6.1", {"actor_rollout_ref.model.lora_rank": 1024}, "lora_rank_beyond_vllm"),
        ("0.6.0", {f"{ROLLOUT}.expert_parallel_size": 4}, "expert_parallel_size"),
        ("0.9.1", {f"{ROLLOUT}.expert_parallel_size": 4}, "expert_parallel_size_but_trtllm"),
        ("0.9.1", {f"{ROLLOUT}.pipeline_model_parallel_size": 2}, "rollout_pipeline"),
        ("0.4.0", {f"{ACTOR}.ppo_mini_batch_size": 0}, "mini_batch_of_nothing"),
        ("0.4.0", {f"{ACTOR}.ppo_mini_batch_size": 18}, "mini_batch_over_micro_batches_of_a_gpu"),
        ("0.7.1", {f"{ACTOR}.ppo_mini_batch_size": 18}, "guarded"),
        ("0.2", NO_CRITIC_SIZE, "critic_micro_batch"),
        ("0.9.1", NO_CRITIC_SIZE, "critic_micro_batch"),
        ("0.9.1", {"critic.ppo_micro_batch_size": 16}, "critic_micro_batch"),
        ("0.9.1", {**NO_CRITIC_SIZE, "critic.enable": True}, "critic_micro_batch"),
        ("0.2", {"critic.ppo_micro_batch_size": 16, "critic.ppo_mini_batch_size": 40}, "critic_mini_batch"),
        ("0.9.1", {"critic.ppo_micro_batch_size": 2}, "critic_micro_batch_below_gpus"),
        ("0.3.0.post0", {"critic.ppo_mini_batch_size": 128}, "train_batch_below_critic_mini_batch"),
        ("0.9.1", {"critic.ppo_mini_batch_size": 128}, "train_batch_below_critic_mini_batch"),
        ("0.4.1", {"critic.model.use_remove_padding": False}, "critic_sequence_parallel_fsdp1"),
        ("0.7.1", {"critic.model.use_remove_padding": False, "critic.strategy": "fsdp2"}, "critic_sequence_parallel"),
        ("0.9.1", {**VEOMNI, f"{ACTOR}.use_remove_padding": False}, "routing_replay_with_padding"),
        ("0.7.0", {f"{ACTOR}.router_replay.mode": "R4"}, "routing_replay_mode"),
        ("0.9.1", {**MEGATRON, f"{ACTOR}.megatron.router_replay.mode": "r3"}, "routing_replay_mode_of_megatron"),
        ("0.9.1", {f"{ROLLOUT}.mode": "sync"}, "rollout_mode_sync"),
        ("0.8.0", {f"{ACTOR}.loss_agg_mode": "token-sum"}, "loss_agg_mode"),
        ("0.9.1", {f"{ACTOR}.loss_agg_mode": "token-median"}, "loss_agg_mode_since_0_9"),
    ],
)
def test_bad_settings_of_verl(version: str, settings: dict[str, Any], name: str) -> None:
    every = (*verl.ASSERTIONS, *verl.VALUES)
    assert name in complaints(every, version, {**VERL, **settings})
    for key in settings:
        assert name not in complaints(every, version, {**VERL, **settings, key: ...}), key


@pytest.mark.parametrize(
    ("version", "settings"),
    [
        ("0.1", {"data.train_batch_size": 33}),
        ("0.9.1", {"data.train_batch_size": 33, f"{ACTOR}.use_dynamic_bsz": True}),
        ("0.2", {f"{ACTOR}.ppo_mini_batch_size": 128}),
        ("0.8.0", {f"{ACTOR}.ppo_mini_batch_size": 18}),
        ("0.7.1", {f"{ACTOR}.ppo_mini_batch_size": 18, "trainer.use_legacy_worker_impl": "disable"}),
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
        ("0.9.1", {**VEOMNI, f"{ACTOR}.veomni.router_replay.mode": "disabled", f"{ACTOR}.use_remove_padding": False}),
        ("0.9.1", {f"{ACTOR}.router_replay.mode": "R4"}),
        ("0.9.1", {f"{ACTOR}.megatron.router_replay.mode": "r3"}),
    ],
)
def test_settings_that_a_release_of_verl_does_not_look_at(version: str, settings: dict[str, Any]) -> None:
    assert not complaints((*verl.ASSERTIONS, *verl.VALUES), version, {**VERL, **settings})


@pytest.mark.parametrize("version", releases("openrlhf"))
def test_good_settings_of_openrlhf(version: str) -> None:
    assert not complaints(openrlhf.ASSERTIONS, version, OPENRLHF)


@pytest.mark.parametrize(
    ("version", "settings", "name"),
    [
        ("0.7.5", {"--colocate_all_models": True, "--vllm_num_engines": 2}, "engines_fill_the_gpus"),
        ("0.8.0", {"--colocate_all_models": True, "--vllm_num_engines": 2}, "engines_fill_the_gpus_unless_async"),
        ("0.5.0", {"--colocate_actor_ref": True, "--ref_num_nodes": 2}, "actor_beside_reference"),
        ("0.5.8", {"--colocate_all_models": True, "--ref_num_nodes": 2}, "actor_beside_reference_or_all"),
        ("0.6.1", {"--colocate_actor_ref": True, "--ref_num_nodes": 2}, "actor_beside_reference_with_kl"),
        ("0.5.0", {"--colocate_critic_reward": True, "--critic_num_nodes": 2}, "critic_beside_reward"),
        ("0.9.0", {"--colocate_critic_reward": True, "--critic_num_nodes": 2}, "critic_beside_reward_with_critic"),
        ("0.5.3", {"--advantage_estimator": "rloo"}, "several_samples_for_rloo"),
        ("0.9.0", {"--advantage_estimator": "group_norm"}, "several_samples_for_groups"),
        ("0.11.0", {"--advantage_estimator": "dr_grpo"}, "several_samples_for_dr_grpo"),
        ("0.9.0", {"--rollout_batch_size": 32}, "a_batch_for_each_process"),
        ("0.6.4", {"--rollout_batch_size": 33}, "rollout_over_processes"),
        ("0.9.0", {"--vllm_num_engines": 0}, "packing_with_vllm"),
        (
            "0.8.0",
            {"--async_train": True, "--vllm_enable_sleep": True, "--colocate_all_models": True},
            "sleep_in_async",
        ),
        ("0.9.7", {"--partial_rollout": True}, "partial_rollout_without_async"),
        ("0.10.0", {"--vllm_generate_batch_size": 256}, "more_generated_than_rolled_out"),
        ("0.9.0", {"--eval_dataset": "x"}, "evaluation_without_reward_service"),
        ("0.9.0", {"--dynamic_filtering": True}, "filtering_without_reward_service"),
        ("0.9.0", {"--dynamic_filtering": True, "--remote_rm_url": "x"}, "filtering_of_single_samples"),
        ("0.10.0", {"--max_images_per_prompt": 1}, "images_with_critic"),
        ("0.10.0", {"--max_images_per_prompt": 1}, "images_with_packing"),
    ],
)
def test_bad_settings_of_openrlhf(version: str, settings: dict[str, Any], name: str) -> None:
    assert name in complaints(openrlhf.ASSERTIONS, version, {**OPENRLHF, **settings})
    if name != "filtering_of_single_samples":
        for key in settings:
            assert name not in complaints(openrlhf.ASSERTIONS, version, {**OPENRLHF, **settings, key: ...}), key


@pytest.mark.parametrize(
    ("version", "settings"),
    [
        ("0.6.0", {"--colocate_all_models": True, "--vllm_num_engines": 2}),
        ("0.8.0", {"--colocate_all_models": True, "--vllm_num_engines": 2, "--async_train": True}),
        ("0.9.0", {"--colocate_actor_ref": True, "--ref_num_nodes": 2, "--init_kl_coef": 0}),
        ("0.9.0", {"--async_train": True, "--vllm_enable_sleep": True}),
        ("0.10.4", {"--advantage_estimator": "dr_grpo"}),
        ("0.9.0", {"--eval_dataset": "x", "--agent_func_path": "agent.py"}),
        ("0.9.0", {"--colocate_critic_reward": True, "--critic_num_nodes": 2, "--advantage_estimator": "reinforce"}),
    ],
)
def test_settings_that_openrlhf_takes(version: str, settings: dict[str, Any]) -> None:
    assert not complaints(openrlhf.ASSERTIONS, version, {**OPENRLHF, **settings})


def test_what_a_release_does_not_have_is_not_missed() -> None:
    older = {key: value for key, value in OPENRLHF.items() if key not in ("--ds_tensor_parallel_size",)}
    assert complaints(openrlhf.ASSERTIONS, "0.7.2", {**older, "--rollout_batch_size": 32}) == {
        "a_batch_for_each_process"
    }
