"""What verl asserts at start about numbers that only its workers have, and a value that has no default.

What it says of the configuration itself is recorded (`rules/conditions/verl.txt`). Read in the normalisation of
verl/workers/fsdp_workers.py (0.3.0 to 0.7.1), where the number of processes is that of a device mesh, and in
verl/trainer/config/rollout/rollout.yaml, in the sources of every release at which it begins, changes or ends.
"""

from __future__ import annotations

from trl_lint.checks.configs._asserts import Assertion, UnknownValueError, Values
from trl_lint.checks.configs._hydra import MISSING

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


_OLD_WORKER = Assertion(">=0.3.0.post1,<0.5.0", mini_batch_of_nothing)
_OLD_WORKER_MICRO = Assertion(">=0.4.0,<0.5.0", mini_batch_over_micro_batches_of_a_gpu)

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
)
