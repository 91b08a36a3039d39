"""Estimators of verl that compare the answers to one prompt, where a prompt gets one answer.

`compute_grpo_outcome_advantage` and its relatives in verl/trainer/ppo/core_algos.py, read in 0.2 to 0.9.1: in a group
of one the mean is 0 and the deviation 1, so that the reward itself becomes the advantage. Forks count the answers
elsewhere: Search-R1 has `rollout.n_agent`, PRIME `data.n_samples`.
"""

from __future__ import annotations

from trl_lint.checks.configs._asserts import Assertion, Values
from trl_lint.checks.configs._verl_validation import Groups

_ESTIMATOR = "algorithm.adv_estimator"
_SIZE = "actor_rollout_ref.rollout.n"
_OTHER_SIZES = ("actor_rollout_ref.rollout.n_agent", "data.n_samples")
# A teacher takes the place of the rewards; a prompt is rolled out several times in another way.
_WITHOUT_GROUPS = ("distillation.enabled", "actor_rollout_ref.rollout.multi_turn.num_repeat_rollouts")


def _is_on(value: object) -> bool:
    return value is not None and value is not False


def _compares(v: Values, estimator: str) -> str | None:
    if v.text(_ESTIMATOR) != estimator or any(v.has(key) for key in _OTHER_SIZES):
        return None
    if v.number(_SIZE) != 1 or any(v.has(key) and _is_on(v(key)) for key in _WITHOUT_GROUPS):
        return None
    return (
        f"`{_ESTIMATOR}={estimator}` compares the answers to a prompt, and `{_SIZE}` is 1: there is nothing "
        "to compare, and verl takes the reward as it is for the advantage"
    )


def grpo_of_one(v: Values) -> str | None:
    return _compares(v, "grpo")


def rloo_of_one(v: Values) -> str | None:
    return _compares(v, "rloo")


def opo_of_one(v: Values) -> str | None:
    return _compares(v, "opo")


GROUPS = Groups(
    (
        Assertion(">=0.2", grpo_of_one),
        Assertion(">=0.3.0.post0", rloo_of_one),
        Assertion(">=0.4.0", opo_of_one),
    ),
    (_ESTIMATOR, _SIZE),
)
