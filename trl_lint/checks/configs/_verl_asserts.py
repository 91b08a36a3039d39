"""What verl asserts at start about numbers that only its workers have, and a value that has no default.

What it says of the configuration itself is recorded (`rules/conditions/verl.txt`). Read in the normalisation of
verl/workers/fsdp_workers.py (0.3.0 to 0.7.1), where the number of processes is that of a device mesh, in its
`_build_rollout` and that of engine_workers.py (0.8.0, 0.9.1), in verl/workers/rollout/vllm_rollout/vllm_rollout_spmd.py
(0.3.0 to 0.6.1), `__init__` of vllm_async_server.py and async_sglang_server.py (0.7.1 to 0.9.1; 0.7.0 does not ask for
the positions), verl/workers/reward_manager/dapo.py (0.4.0 to 0.7.0), verl/workers/sharding_manager/fsdp_vllm.py
(0.4.0 to 0.5.0), verl/utils/fsdp_utils.py (0.6.0 to 0.7.1), and in verl/trainer/config/rollout/rollout.yaml, in the
sources of every release at which it begins, changes or ends.
"""

from __future__ import annotations

from math import gcd

from trl_lint.checks.configs._asserts import Assertion, UnknownValueError, Values
from trl_lint.knowledge.models import model_of
from trl_lint.run.readers.hydra import MISSING

_ACTOR = "actor_rollout_ref.actor"
_ROLLOUT = "actor_rollout_ref.rollout"
_FSDP = ("fsdp", "fsdp2")


def _gpus(v: Values) -> int:
    return v.number("trainer.n_gpus_per_node") * v.number("trainer.nnodes")


def _sequence_parallel_size(v: Values) -> int:
    return v.number(f"{_ACTOR}.ulysses_sequence_parallel_size")


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


def rollout_over_the_gpus(v: Values) -> str | None:
    """The ranks of one rollout engine, of which there is a whole number."""
    gpus, size, keys = _gpus(v), 1, []
    for name in ("tensor_model_parallel_size", "data_parallel_size", "pipeline_model_parallel_size"):
        if v.has(f"{_ROLLOUT}.{name}"):
            number = v.number(f"{_ROLLOUT}.{name}")
            size *= number
            keys += [f"`{name}` {number}"] if number != 1 else []
    if v.has(f"{_ROLLOUT}.nnodes") and v(f"{_ROLLOUT}.nnodes") != 0:
        raise UnknownValueError  # machines of its own
    if gpus % size == 0:
        return None
    there = "there is 1 GPU" if gpus == 1 else f"the {gpus} GPUs are no multiple of that"
    return f"one engine of the rollout takes {size} GPUs ({', '.join(keys)} of `{_ROLLOUT}`), and {there}"


def fsdp_rollout_over_the_gpus(v: Values) -> str | None:
    return rollout_over_the_gpus(v) if v.text(f"{_ACTOR}.strategy") in _FSDP else None


def _is_plain_vllm(v: Values) -> bool:
    """Whether vLLM generates inside the workers, without a server; there was no other way before 0.4.0."""
    if v.text(f"{_ROLLOUT}.name") != "vllm":
        return False
    return not v.has(f"{_ROLLOUT}.mode") or v.text(f"{_ROLLOUT}.mode") == "sync"


def longer_than_a_batch_of_tokens(v: Values) -> str | None:
    if not _is_plain_vllm(v) or not v.flag(f"{_ROLLOUT}.enable_chunked_prefill"):
        return None
    most = v.number(f"{_ROLLOUT}.max_num_batched_tokens")
    if v(f"{_ROLLOUT}.max_model_len"):
        length, what = v.number(f"{_ROLLOUT}.max_model_len"), "`max_model_len`"
    else:
        length = v.number(f"{_ROLLOUT}.prompt_length") + v.number(f"{_ROLLOUT}.response_length")
        for key in ("data.max_prompt_length", "data.max_response_length"):
            v.has(key)  # which it takes these from: they are what a command gives
        what = "a prompt with its answer (`data.max_prompt_length` + `data.max_response_length`)"
    if most >= length:
        return None
    return (
        f"`{_ROLLOUT}.max_num_batched_tokens` ({most}) is less than the {length} tokens of {what}, with "
        "`enable_chunked_prefill` on: raise it to that"
    )


_MODEL = "actor_rollout_ref.model"
# What changes the positions of a config, or where they are read (`update_model_config`; `model_config` from 0.5.0 on).
_OTHER_POSITIONS = ("max_position_embeddings", "rope_scaling", "rope_parameters")
_OTHER_CONFIGS = (
    f"{_MODEL}.hf_config_path",
    *(f"{_MODEL}.override_config.{key}" for key in _OTHER_POSITIONS),
    *(f"{_MODEL}.override_config.model_config.{key}" for key in _OTHER_POSITIONS),
)


def _positions(v: Values) -> int:
    """The positions of a well-known model by its id on the hub, as its config has them; 0 where they are not known."""
    path = v(f"{_MODEL}.path")
    model = model_of(path) if isinstance(path, str) else None
    if model is None or model.id != path or any(v.has(key) and v(key) is not None for key in _OTHER_CONFIGS):
        return 0
    return model.positions


def longer_than_the_model(v: Values) -> str | None:
    for key in ("data.max_response_length", "data.max_prompt_length"):
        v.has(key)  # which the lengths are taken from: they are what a command gives
    length = v.number(f"{_ROLLOUT}.prompt_length") + v.number(f"{_ROLLOUT}.response_length")
    positions = _positions(v)
    if not _is_plain_vllm(v) or not 0 < positions < length:
        return None
    return (
        f"a prompt with its answer (`data.max_prompt_length` + `data.max_response_length`) has {length} tokens, more "
        f"than the {positions} positions of the model"
    )


def window_over_the_model(v: Values) -> str | None:
    if v(f"{_ROLLOUT}.max_model_len") is None or v.text(f"{_ROLLOUT}.name") not in ("vllm", "sglang"):
        return None
    positions, length = _positions(v), v.number(f"{_ROLLOUT}.max_model_len")
    if not 0 < positions < length:
        return None
    return f"`{_ROLLOUT}.max_model_len` ({length}) is more than the {positions} positions of the model"


def heads_over_sequence_ranks(v: Values) -> str | None:
    """`apply_monkey_patch` of verl/models/transformers/monkey_patch.py."""
    path = v(f"{_MODEL}.path")
    size = _sequence_parallel_size(v)
    model = model_of(path) if isinstance(path, str) else None
    if model is None or size < 2 or v.text(f"{_ACTOR}.strategy") not in _FSDP or not model.heads:
        return None
    if model.heads % size:
        what = f"{model.heads} attention heads"
    elif model.kv_heads and model.kv_heads % size and size % model.kv_heads:
        what = f"{model.kv_heads} key-value heads"
    else:
        return None
    fitting = gcd(model.heads, size)
    return (
        f"{model.id} has {what}, not divisible among the {size} ranks of `{_ACTOR}.ulysses_sequence_parallel_size`: "
        f"take a number that divides them, such as {fitting}"
    )


def turns_without_a_mask(v: Values) -> str | None:
    """`update_policy` of dp_actor.py selects a `loss_mask`, which SGLang alone makes (0.4.0, 0.4.1)."""
    if (
        not v.flag(f"{_ROLLOUT}.multi_turn.enable")
        or not _is_plain_vllm(v)
        or v.text(f"{_ACTOR}.strategy") not in _FSDP
    ):
        return None
    return (
        f"with `{_ROLLOUT}.multi_turn.enable` the update asks for a `loss_mask`, which the rollout with vLLM does not "
        "make (KeyError at the first step): multi-turn needs SGLang in this release"
    )


_ANSWERS = "reward_model.reward_kwargs"


def _is_dapo(v: Values) -> bool:
    """Whether the reward manager of DAPO is made with a buffer for answers that are too long."""
    if v.text("reward_model.reward_manager") != "dapo" or not v.has(f"{_ANSWERS}.overlong_buffer_cfg"):
        return False
    # A null instead of the block switches it off.
    return v.has(f"{_ANSWERS}.overlong_buffer_cfg.len") or v.has(f"{_ANSWERS}.overlong_buffer_cfg.enable")


def buffer_without_length(v: Values) -> str | None:
    """`DAPORewardManager.__init__` asks for it even where the buffer is not enabled."""
    if not _is_dapo(v) or (v.has(f"{_ANSWERS}.max_resp_len") and v(f"{_ANSWERS}.max_resp_len") is not None):
        return None
    return (
        f"the reward manager dapo with an `overlong_buffer_cfg` needs `{_ANSWERS}.max_resp_len` too, the length of the "
        "longest answer: set it to `data.max_response_length`"
    )


def buffer_over_length(v: Values) -> str | None:
    if not _is_dapo(v) or not v.has(f"{_ANSWERS}.max_resp_len"):
        return None
    length, buffer = v.number(f"{_ANSWERS}.max_resp_len"), v.number(f"{_ANSWERS}.overlong_buffer_cfg.len")
    if length >= buffer:
        return None
    return f"`{_ANSWERS}.overlong_buffer_cfg.len` ({buffer}) is more than an answer can have (`max_resp_len`, {length})"


_LORA = "actor_rollout_ref.model.lora_rank"
# `LoRAConfig` of vLLM: up to 64 in the oldest releases, up to 512 later, and 1 in the newest.
_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)


def _is_lora_in_vllm(v: Values) -> bool:
    return v.text(f"{_ROLLOUT}.name") == "vllm" and v.text(f"{_ACTOR}.strategy") in _FSDP and v.number(_LORA) > 0


def layers_without_base_model(v: Values) -> str | None:
    """`collect_lora_params`: "make sure base-model is preloaded in vllm"."""
    if not v.flag(f"{_ROLLOUT}.layered_summon") or not _is_lora_in_vllm(v):
        return None
    if "dummy" not in (form := v.text(f"{_ROLLOUT}.load_format")):
        return None
    return (
        f"`{_ROLLOUT}.layered_summon` hands over the adapter alone, and with `load_format` {form} vLLM has no base "
        f"model to put it on: set `{_ROLLOUT}.load_format=safetensors`"
    )


def rank_that_vllm_refuses(v: Values) -> str | None:
    """From 0.6.1 on `get_vllm_max_lora_rank` rounds it up."""
    if not _is_lora_in_vllm(v) or (rank := v.number(_LORA)) in _RANKS:
        return None
    above = next((each for each in _RANKS if each > max(rank, 8)), 512)
    return (
        f"`{_LORA}` {rank} is none of the ranks that vLLM takes (8, 16, 32, 64, 128, 256, 320, 512), and verl does not "
        f"round it up before 0.6.1: use {above}"
    )


# -- what goes on without what was asked for ------------------------------------------------------------------------


def turns_without_a_server(v: Values) -> str | None:
    if not v.flag(f"{_ROLLOUT}.multi_turn.enable") or not _is_plain_vllm(v):
        return None
    return (
        f"`{_ROLLOUT}.multi_turn.enable` comes to nothing with vLLM while `{_ROLLOUT}.mode` is sync, the default "
        f"before verl 0.7.0: every prompt gets one answer, and no tool is called; set `{_ROLLOUT}.mode=async`"
    )


_OLD_WORKER = Assertion(">=0.3.0.post1,<0.5.0", mini_batch_of_nothing)
_OLD_WORKER_MICRO = Assertion(">=0.4.0,<0.5.0", mini_batch_over_micro_batches_of_a_gpu)

_LAYERS = Assertion(">=0.4.0,<0.5.0", layers_without_base_model)

# -- single values (TRL402) -----------------------------------------------------------------------------------------


def rollout_without_name(v: Values) -> str | None:
    if v(f"{_ROLLOUT}.name") is not MISSING:
        return None
    if v.is_open:
        raise UnknownValueError
    return f"`{_ROLLOUT}.name` is not given, and since verl 0.6.0 it has no default; before it was `vllm`"


VALUES = (Assertion(">=0.6.0", rollout_without_name),)

ASSERTIONS = (
    _OLD_WORKER,
    _in_old_worker(_OLD_WORKER),
    _OLD_WORKER_MICRO,
    _in_old_worker(_OLD_WORKER_MICRO),
    Assertion(">=0.3.0.post1,<0.8.0", fsdp_rollout_over_the_gpus),
    Assertion(">=0.8.0", rollout_over_the_gpus),
    Assertion(">=0.3.0.post1,<0.7.0", longer_than_a_batch_of_tokens),
    Assertion(">=0.4.0,<0.5.0", turns_without_a_mask),
    Assertion(">=0.4.0,<0.7.1", buffer_without_length),
    Assertion(">=0.5.0,<0.7.1", buffer_over_length),
    _LAYERS,
    _in_old_worker(_LAYERS),
    Assertion(">=0.4.0,<0.6.1", rank_that_vllm_refuses),
    Assertion(">=0.5.0,<0.7.0", turns_without_a_server, stops=False),
)

# Those about the positions of the model.
LENGTHS = (
    Assertion(">=0.3.0.post0,<0.7.0", longer_than_the_model),
    Assertion(">=0.7.1", window_over_the_model),
)

# Those about its heads.
HEADS = (Assertion(">=0.3.0.post1", heads_over_sequence_ranks),)
