"""What verl asserts about its configuration at start.

Read in `_validate_config` of verl/trainer/ppo/ray_trainer.py (0.2 to 0.5.0), `validate_config` of verl/utils/config.py
and the classes of verl/workers/config/ (0.6.0 to 0.9.1), and the normalisation in verl/workers/fsdp_workers.py (0.3.0
to 0.7.1), each in the sources of every release at which it begins, changes or ends.
"""

from __future__ import annotations

from trl_lint.checks._phrases import either
from trl_lint.checks.configs._asserts import Assertion, UnknownValueError, Values
from trl_lint.checks.configs._hydra import MISSING

_ACTOR = "actor_rollout_ref.actor"
_REF = "actor_rollout_ref.ref"
_ROLLOUT = "actor_rollout_ref.rollout"
_MODEL = "actor_rollout_ref.model"
_CRITIC = "critic"
_FSDP = ("fsdp", "fsdp2")


def _gpus(v: Values) -> int:
    return v.number("trainer.n_gpus_per_node") * v.number("trainer.nnodes")


def _is_dynamic(v: Values, section: str = _ACTOR) -> bool:
    return v.flag(f"{section}.use_dynamic_bsz")


def _is_megatron(v: Values) -> bool:
    return v.text(f"{_ACTOR}.strategy") == "megatron"


def _parallel_size(v: Values) -> int:
    names = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
    product = 1
    for name in names:
        product *= v.number(f"{_ACTOR}.megatron.{name}")
    return product


def _sequence_parallel_size(v: Values, section: str = _ACTOR) -> int:
    return v.number(f"{section}.ulysses_sequence_parallel_size")


def _uses_reference(v: Values) -> bool:
    return v.flag("algorithm.use_kl_in_reward") or v.flag(f"{_ACTOR}.use_kl_loss")


def _uses_critic(v: Values) -> bool:
    """The estimator decides; from 0.6.0 on `critic.enable` does, where it is set."""
    if v.has("critic.enable") and v("critic.enable") is not None:
        return v.flag("critic.enable")
    return v.text("algorithm.adv_estimator") == "gae"


def batch_over_gpus(v: Values) -> str | None:
    """All answers of a step are shared out to the GPUs."""
    total = v.number("data.train_batch_size") * v.number(f"{_ROLLOUT}.n")
    gpus = _gpus(v)
    if total % gpus == 0:
        return None
    return (
        f"a step has {total} answers (`data.train_batch_size` * `{_ROLLOUT}.n`), which {gpus} GPUs "
        "(`trainer.n_gpus_per_node` * `trainer.nnodes`) cannot share equally"
    )


def batch_over_ranks(v: Values) -> str | None:
    """With Megatron the answers are shared out to the data-parallel ranks, in micro batches."""
    if not _is_megatron(v):
        return batch_over_gpus(v)
    total = v.number("data.train_batch_size") * v.number(f"{_ROLLOUT}.n")
    gpus, size = _gpus(v), _parallel_size(v)
    if gpus % size:
        return None  # said by another check
    least = gpus // size * v.number(f"{_ACTOR}.ppo_micro_batch_size_per_gpu")
    if total % least == 0:
        return None
    return (
        f"a step has {total} answers (`data.train_batch_size` * `{_ROLLOUT}.n`), no multiple of {least}, the "
        f"{gpus // size} data-parallel ranks times `{_ACTOR}.ppo_micro_batch_size_per_gpu`"
    )


def batch_over_ranks_unless_dynamic(v: Values) -> str | None:
    return None if _is_dynamic(v) else batch_over_ranks(v)


def megatron_over_gpus(v: Values) -> str | None:
    """The model-parallel sizes divide the number of GPUs."""
    if not _is_megatron(v):
        return None
    gpus, size = _gpus(v), _parallel_size(v)
    if gpus % size == 0:
        return None
    return f"the actor's tensor, pipeline and context parallel sizes make {size}, which does not divide {gpus} GPUs"


def megatron_over_gpus_unless_dynamic(v: Values) -> str | None:
    return None if _is_dynamic(v) else megatron_over_gpus(v)


def train_batch_below_mini_batch(v: Values, section: str = _ACTOR) -> str | None:
    train, mini = v.number("data.train_batch_size"), v.number(f"{section}.ppo_mini_batch_size")
    if train >= mini or _is_dynamic(v, section):
        return None
    return f"`data.train_batch_size` ({train}) is smaller than `{section}.ppo_mini_batch_size` ({mini})"


def _one_of(v: Values, section: str, name: str) -> str | None:
    """A micro batch size is given for all GPUs or for each, but not twice."""
    given = [v(f"{section}.{key}") is not None for key in (name, f"{name}_per_gpu")]
    if given == [True, True]:
        return f"`{section}.{name}` and `{section}.{name}_per_gpu` are both set; the first is the old name"
    if given == [False, False]:
        if v.is_open:
            raise UnknownValueError
        return f"`{section}.{name}_per_gpu` is not set, and without `use_dynamic_bsz` it has to be"
    return None


def actor_micro_batch(v: Values) -> str | None:
    return None if _is_dynamic(v) else _one_of(v, _ACTOR, "ppo_micro_batch_size")


def rollout_micro_batch(v: Values) -> str | None:
    return None if _is_dynamic(v) else _one_of(v, _ROLLOUT, "log_prob_micro_batch_size")


def reference_micro_batch(v: Values) -> str | None:
    return None if _is_dynamic(v) else _one_of(v, _REF, "log_prob_micro_batch_size")


def reference_micro_batch_if_used(v: Values) -> str | None:
    return reference_micro_batch(v) if _uses_reference(v) else None


def mini_batch_over_micro_batches(v: Values, section: str = _ACTOR) -> str | None:
    """The old `ppo_micro_batch_size`, which counts over all GPUs."""
    micro = v(f"{section}.ppo_micro_batch_size")
    if micro is None or _is_dynamic(v, section):
        return None
    mini, micro = v.number(f"{section}.ppo_mini_batch_size"), v.number(f"{section}.ppo_micro_batch_size")
    if mini % micro:
        return f"`{section}.ppo_mini_batch_size` ({mini}) is no multiple of `{section}.ppo_micro_batch_size` ({micro})"
    return None


def micro_batch_below_gpus(v: Values, section: str = _ACTOR) -> str | None:
    micro = v(f"{section}.ppo_micro_batch_size")
    if micro is None or _is_dynamic(v, section):
        return None
    micro, gpus, size = v.number(f"{section}.ppo_micro_batch_size"), _gpus(v), _sequence_parallel_size(v, section)
    if micro * size >= gpus:
        return None
    return f"`{section}.ppo_micro_batch_size` ({micro}) leaves some of {gpus} GPUs without a sample"


def sequence_parallel_with_padding(v: Values) -> str | None:
    if v.text(f"{_ACTOR}.strategy") not in _FSDP or _sequence_parallel_size(v) <= 1:
        return None
    if v.flag(f"{_MODEL}.use_remove_padding"):
        return None
    return f"`{_ACTOR}.ulysses_sequence_parallel_size` needs `{_MODEL}.use_remove_padding=True`"


def critic_micro_batch(v: Values) -> str | None:
    if not _uses_critic(v) or _is_dynamic(v, _CRITIC):
        return None
    return _one_of(v, _CRITIC, "ppo_micro_batch_size")


def critic_mini_batch(v: Values) -> str | None:
    return mini_batch_over_micro_batches(v, _CRITIC) if _uses_critic(v) else None


def critic_micro_batch_below_gpus(v: Values) -> str | None:
    if not _uses_critic(v) or v.text("critic.strategy") not in _FSDP:
        return None
    return micro_batch_below_gpus(v, _CRITIC)


def train_batch_below_critic_mini_batch(v: Values) -> str | None:
    """Where the critic takes the mini batch of the actor, the actor's check has said it."""
    if not _uses_critic(v) or v.number(f"{_CRITIC}.ppo_mini_batch_size") == v.number(f"{_ACTOR}.ppo_mini_batch_size"):
        return None
    return train_batch_below_mini_batch(v, _CRITIC)


def critic_sequence_parallel(v: Values, strategies: tuple[str, ...] = _FSDP) -> str | None:
    if not _uses_critic(v) or v.text("critic.strategy") not in strategies or _sequence_parallel_size(v, _CRITIC) <= 1:
        return None
    if v.flag("critic.model.use_remove_padding"):
        return None
    return "`critic.ulysses_sequence_parallel_size` needs `critic.model.use_remove_padding=True`"


def critic_sequence_parallel_fsdp1(v: Values) -> str | None:
    return critic_sequence_parallel(v, ("fsdp",))


def routing_replay_with_padding(v: Values) -> str | None:
    if v.text(f"{_ACTOR}.strategy") != "veomni" or v.text(f"{_ACTOR}.veomni.router_replay.mode") == "disabled":
        return None
    if v.flag(f"{_ACTOR}.use_remove_padding"):
        return None
    return f"`{_ACTOR}.veomni.router_replay.mode` needs `{_ACTOR}.use_remove_padding=True`"


def sequence_parallel_with_padding_fsdp1(v: Values) -> str | None:
    return sequence_parallel_with_padding(v) if v.text(f"{_ACTOR}.strategy") == "fsdp" else None


def validation_at_zero(v: Values) -> str | None:
    if not v.flag(f"{_ROLLOUT}.val_kwargs.do_sample"):
        return None
    temperature = v(f"{_ROLLOUT}.temperature")
    if not isinstance(temperature, (int, float)):
        raise UnknownValueError
    if temperature > 0:
        return None
    return f"`{_ROLLOUT}.val_kwargs.do_sample` needs a `{_ROLLOUT}.temperature` above 0"


def lora_rank_beyond_vllm(v: Values) -> str | None:
    if v.text(f"{_ROLLOUT}.name") != "vllm" or v.number(f"{_MODEL}.lora_rank") <= 512:
        return None
    return f"`{_MODEL}.lora_rank` is over 512, the most that vLLM takes"


def expert_parallel_size(v: Values) -> str | None:
    """The rollout's experts are spread over all its ranks."""
    experts = v.number(f"{_ROLLOUT}.expert_parallel_size")
    if experts <= 1:
        return None
    ranks = v.number(f"{_ROLLOUT}.tensor_model_parallel_size") * v.number(f"{_ROLLOUT}.data_parallel_size")
    if experts == ranks:
        return None
    return f"`{_ROLLOUT}.expert_parallel_size` ({experts}) is not its tensor times data parallel size ({ranks})"


def expert_parallel_size_but_trtllm(v: Values) -> str | None:
    return None if v.text(f"{_ROLLOUT}.name") == "trtllm" else expert_parallel_size(v)


def rollout_pipeline(v: Values) -> str | None:
    if v.number(f"{_ROLLOUT}.pipeline_model_parallel_size") <= 1:
        return None
    if v.text(f"{_ROLLOUT}.name") not in ("vllm", "sglang"):
        return None
    return f"`{_ROLLOUT}.pipeline_model_parallel_size` above 1 is not implemented for this rollout"


def _mini_batch_per_gpu(v: Values) -> int | None:
    """The mini batch of one FSDP rank, in answers; None for other engines."""
    if v.text(f"{_ACTOR}.strategy") not in _FSDP:
        return None
    ranks = _gpus(v) // _sequence_parallel_size(v)
    return v.number(f"{_ACTOR}.ppo_mini_batch_size") * v.number(f"{_ROLLOUT}.n") // ranks


def mini_batch_of_nothing(v: Values) -> str | None:
    mini = _mini_batch_per_gpu(v)
    if mini != 0:
        return None
    return f"`{_ACTOR}.ppo_mini_batch_size` * `{_ROLLOUT}.n` leaves no answer for each of {_gpus(v)} GPUs"


def mini_batch_over_micro_batches_of_a_gpu(v: Values) -> str | None:
    micro = v(f"{_ACTOR}.ppo_micro_batch_size_per_gpu")
    mini = _mini_batch_per_gpu(v)
    if micro is None or not mini or v(f"{_ACTOR}.ppo_micro_batch_size") is not None:
        return None
    micro = v.number(f"{_ACTOR}.ppo_micro_batch_size_per_gpu")
    if mini % micro == 0:
        return None
    return (
        f"each GPU gets {mini} answers of a mini batch (`{_ACTOR}.ppo_mini_batch_size` * `{_ROLLOUT}.n`), no multiple "
        f"of `{_ACTOR}.ppo_micro_batch_size_per_gpu` ({micro})"
    )


def _in_old_worker(check: Assertion) -> Assertion:
    """From 0.5.0 a second implementation of the workers exists, which makes no such check."""

    def guarded(v: Values) -> str | None:
        return check.check(v) if v("trainer.use_legacy_worker_impl") in ("auto", "enable") else None

    return Assertion(">=0.5.0,<0.8.0", guarded)


_OLD_WORKER = Assertion(">=0.3.0.post1,<0.5.0", mini_batch_of_nothing)
_OLD_WORKER_MICRO = Assertion(">=0.4.0,<0.5.0", mini_batch_over_micro_batches_of_a_gpu)

# -- single values (TRL402) -----------------------------------------------------------------------------------------


def rollout_without_name(v: Values) -> str | None:
    if v(f"{_ROLLOUT}.name") is not MISSING:
        return None
    if v.is_open:
        raise UnknownValueError
    return f"`{_ROLLOUT}.name` is not given, and since verl 0.6.0 it has no default; before it was `vllm`"


def rollout_mode_sync(v: Values) -> str | None:
    if v.text(f"{_ROLLOUT}.mode") != "sync":
        return None
    return f"`{_ROLLOUT}.mode=sync` was removed in verl 0.7.0; `async` is the default and the only mode"


def _loss_agg_mode(v: Values, modes: tuple[str, ...]) -> str | None:
    mode = v.text(f"{_ACTOR}.loss_agg_mode")
    if mode in modes:
        return None
    return f"`{_ACTOR}.loss_agg_mode` cannot be `{mode}`; choose {either(f'`{each}`' for each in modes)}"


def _routing_replay_mode(v: Values, section: str) -> str | None:
    mode = v.text(f"{section}.router_replay.mode")
    if mode in ("disabled", "R2", "R3"):
        return None
    return f"`{section}.router_replay.mode` cannot be `{mode}`; choose `disabled`, `R2` or `R3`"


def routing_replay_mode(v: Values) -> str | None:
    return _routing_replay_mode(v, _ACTOR)


def routing_replay_mode_of_megatron(v: Values) -> str | None:
    return _routing_replay_mode(v, f"{_ACTOR}.megatron") if _is_megatron(v) else None


_LOSS_AGG_MODES = ("token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm")


def loss_agg_mode(v: Values) -> str | None:
    return _loss_agg_mode(v, _LOSS_AGG_MODES)


def loss_agg_mode_since_0_9(v: Values) -> str | None:
    return _loss_agg_mode(v, ("token-mean", "token-sum", *_LOSS_AGG_MODES[1:]))


VALUES = (
    Assertion(">=0.6.0", rollout_without_name),
    Assertion(">=0.7.0", rollout_mode_sync),
    Assertion(">=0.4.0,<0.9.0", loss_agg_mode),
    Assertion(">=0.9.0", loss_agg_mode_since_0_9),
    Assertion(">=0.7.0,<0.9.1", routing_replay_mode),
    Assertion(">=0.7.1", routing_replay_mode_of_megatron),
)

ASSERTIONS = (
    Assertion(">=0.2,<0.4.0", batch_over_gpus),
    Assertion(">=0.4.0,<0.6.0", batch_over_ranks),
    Assertion(">=0.6.0", batch_over_ranks_unless_dynamic),
    Assertion(">=0.4.0,<0.6.0", megatron_over_gpus),
    Assertion(">=0.6.0", megatron_over_gpus_unless_dynamic),
    Assertion(">=0.3.0.post0", train_batch_below_mini_batch),
    Assertion(">=0.2", actor_micro_batch),
    Assertion(">=0.2", rollout_micro_batch),
    Assertion(">=0.2,<0.4.0", reference_micro_batch),
    Assertion(">=0.4.0", reference_micro_batch_if_used),
    Assertion(">=0.2", mini_batch_over_micro_batches),
    Assertion(">=0.2", micro_batch_below_gpus),
    Assertion(">=0.2,<0.5.0", sequence_parallel_with_padding_fsdp1),
    Assertion(">=0.5.0", sequence_parallel_with_padding),
    Assertion(">=0.2", critic_micro_batch),
    Assertion(">=0.2", critic_mini_batch),
    Assertion(">=0.2", critic_micro_batch_below_gpus),
    Assertion(">=0.3.0.post0", train_batch_below_critic_mini_batch),
    Assertion(">=0.2,<0.5.0", critic_sequence_parallel_fsdp1),
    Assertion(">=0.5.0,<0.8.0", critic_sequence_parallel),
    Assertion(">=0.8.0", routing_replay_with_padding),
    Assertion(">=0.3.0.post0", validation_at_zero),
    Assertion(">=0.6.1,<0.7.1", lora_rank_beyond_vllm),
    Assertion(">=0.6.0,<0.7.1", expert_parallel_size),
    Assertion(">=0.7.1", expert_parallel_size_but_trtllm),
    Assertion(">=0.6.0", rollout_pipeline),
    _OLD_WORKER,
    _in_old_worker(_OLD_WORKER),
    _OLD_WORKER_MICRO,
    _in_old_worker(_OLD_WORKER_MICRO),
)
