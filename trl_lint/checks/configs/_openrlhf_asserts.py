"""What OpenRLHF's Ray trainer asserts about its arguments at start, by the names the flags had before 0.10.2.

Read in openrlhf/cli/train_ppo_ray.py (`_validate_args`, `train`, and what follows `parse_args`) of the tags from 0.3.6
to 0.11.0 and the wheel of 0.11.2; a text search over all of them gave the releases at which each begins and ends.
"""

from __future__ import annotations

from collections.abc import Sequence

from trl_lint.checks.configs._asserts import Assertion, UnknownValueError, Values


def _gpus(v: Values, role: str) -> int:
    return v.number(f"--{role}_num_nodes") * v.number(f"--{role}_num_gpus_per_node")


def _engines(v: Values) -> int:
    engines = v("--vllm_num_engines")
    return 0 if engines is None else v.number("--vllm_num_engines")


def _is_given(v: Values, name: str) -> bool:
    return bool(v(name))


def _places(v: Values, role: str) -> tuple[int, int]:
    return v.number(f"--{role}_num_nodes"), v.number(f"--{role}_num_gpus_per_node")


def engines_fill_the_gpus(v: Values) -> str | None:
    """All models share the GPUs: the engines take exactly those of the actor."""
    if not v.flag("--colocate_all_models") or not _engines(v):
        return None
    gpus, engines = _gpus(v, "actor"), _engines(v) * v.number("--vllm_tensor_parallel_size")
    if gpus == engines:
        return None
    return f"with all models on the same GPUs, the vLLM engines take {engines} of them and the actor {gpus}"


def engines_fill_the_gpus_unless_async(v: Values) -> str | None:
    return None if v.flag("--async_train") else engines_fill_the_gpus(v)


def _actor_beside_reference(v: Values) -> str | None:
    if _places(v, "actor") == _places(v, "ref"):
        return None
    return "actor and reference model share their GPUs, but their numbers of nodes and GPUs differ"


def actor_beside_reference(v: Values) -> str | None:
    return _actor_beside_reference(v) if v.flag("--colocate_actor_ref") else None


def actor_beside_reference_or_all(v: Values) -> str | None:
    if not v.flag("--colocate_actor_ref") and not v.flag("--colocate_all_models"):
        return None
    return _actor_beside_reference(v)


def actor_beside_reference_with_kl(v: Values) -> str | None:
    kl = v("--init_kl_coef")
    if not isinstance(kl, (int, float)):
        raise UnknownValueError
    return actor_beside_reference_or_all(v) if kl > 0 else None


def critic_beside_reward(v: Values) -> str | None:
    if not v.flag("--colocate_critic_reward") or _places(v, "critic") == _places(v, "reward"):
        return None
    return "critic and reward model share their GPUs, but their numbers of nodes and GPUs differ"


def critic_beside_reward_with_critic(v: Values) -> str | None:
    return critic_beside_reward(v) if v.text("--advantage_estimator") == "gae" else None


def _several_samples(v: Values, estimators: Sequence[str]) -> str | None:
    estimator = v.text("--advantage_estimator")
    if estimator not in estimators or v.number("--n_samples_per_prompt") > 1:
        return None
    return f"the estimator `{estimator}` compares the answers to one prompt, and there is one answer"


def several_samples_for_rloo(v: Values) -> str | None:
    return _several_samples(v, ("rloo",))


def several_samples_for_groups(v: Values) -> str | None:
    return _several_samples(v, ("rloo", "reinforce_baseline", "group_norm"))


def several_samples_for_dr_grpo(v: Values) -> str | None:
    return _several_samples(v, ("rloo", "reinforce_baseline", "group_norm", "dr_grpo"))


def a_batch_for_each_process(v: Values) -> str | None:
    answers = v.number("--n_samples_per_prompt") * v.number("--rollout_batch_size")
    batches = answers // v.number("--micro_rollout_batch_size")
    processes = _gpus(v, "actor") // v.number("--ring_attn_size")
    if v.has("--ds_tensor_parallel_size"):
        processes //= v.number("--ds_tensor_parallel_size")
    if batches >= processes:
        return None
    return f"a rollout has {batches} micro batches for {processes} processes of the actor"


def rollout_over_processes(v: Values) -> str | None:
    batch, gpus = v.number("--rollout_batch_size"), _gpus(v, "actor")
    if batch % gpus == 0:
        return None
    return f"the rollout batch of {batch} is no multiple of the {gpus} processes of the actor"


def packing_with_vllm(v: Values) -> str | None:
    if not v.flag("--packing_samples") or _engines(v):
        return None
    return "samples are packed only with vLLM, and no engine is started"


def sleep_in_async(v: Values) -> str | None:
    if not v.flag("--async_train") or not v.flag("--vllm_enable_sleep") or not v.flag("--colocate_all_models"):
        return None  # without colocation the sleep mode is switched off before it is looked at
    return "asynchronous training does not go with vLLM's sleep mode"


def partial_rollout_without_async(v: Values) -> str | None:
    if not v.flag("--partial_rollout") or v.flag("--async_train"):
        return None
    return "partial rollouts need asynchronous training"


def more_generated_than_rolled_out(v: Values) -> str | None:
    if v("--vllm_generate_batch_size") is None or v.flag("--async_train"):
        return None
    generated, rollout = v.number("--vllm_generate_batch_size"), v.number("--rollout_batch_size")
    if generated <= rollout:
        return None
    return f"vLLM generates {generated} prompts for a rollout of {rollout}, which needs asynchronous training"


def _has_reward_service(v: Values) -> bool:
    has_agent = v.has("--agent_func_path") and _is_given(v, "--agent_func_path")
    return has_agent or _is_given(v, "--remote_rm_url")


def evaluation_without_reward_service(v: Values) -> str | None:
    if not _is_given(v, "--eval_dataset") or _has_reward_service(v):
        return None
    return "evaluation asks a remote reward model or an agent function for its rewards, and neither is given"


def filtering_without_reward_service(v: Values) -> str | None:
    if not v.flag("--dynamic_filtering") or _has_reward_service(v):
        return None
    return "dynamic filtering asks a remote reward model or an agent function for its rewards, and neither is given"


def filtering_of_single_samples(v: Values) -> str | None:
    if not v.flag("--dynamic_filtering") or v.number("--n_samples_per_prompt") > 1:
        return None
    return "dynamic filtering compares the answers to one prompt, and there is one answer"


def images_with_critic(v: Values) -> str | None:
    if v.number("--max_images_per_prompt") <= 0 or v.text("--advantage_estimator") != "gae":
        return None
    return "training with images has no critic, which the estimator `gae` needs"


def images_with_packing(v: Values) -> str | None:
    if v.number("--max_images_per_prompt") <= 0 or not v.flag("--packing_samples"):
        return None
    return "training with images does not go with packed samples"


ASSERTIONS = (
    Assertion(">=0.6.0.post1,<0.8.0", engines_fill_the_gpus),
    Assertion(">=0.8.0", engines_fill_the_gpus_unless_async),
    Assertion(">=0.3.6,<0.5.8", actor_beside_reference),
    Assertion(">=0.5.8,<0.6.1", actor_beside_reference_or_all),
    Assertion(">=0.6.1", actor_beside_reference_with_kl),
    Assertion(">=0.3.6,<0.5.1", critic_beside_reward),
    Assertion(">=0.5.1", critic_beside_reward_with_critic),
    Assertion(">=0.5.3,<0.6.0", several_samples_for_rloo),
    Assertion(">=0.6.0,<0.11.0", several_samples_for_groups),
    Assertion(">=0.11.0", several_samples_for_dr_grpo),
    Assertion(">=0.7.2", a_batch_for_each_process),
    Assertion(">=0.5.5.post1,<0.7.0.post1", rollout_over_processes),
    Assertion(">=0.4.4", packing_with_vllm),
    Assertion(">=0.8.0", sleep_in_async),
    Assertion(">=0.9.7", partial_rollout_without_async),
    Assertion(">=0.10.0", more_generated_than_rolled_out),
    Assertion(">=0.7.0", evaluation_without_reward_service),
    Assertion(">=0.8.1", filtering_without_reward_service),
    Assertion(">=0.8.1", filtering_of_single_samples),
    Assertion(">=0.10.0", images_with_critic),
    Assertion(">=0.10.0", images_with_packing),
)
