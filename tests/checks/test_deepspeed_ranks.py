"""The batch sizes that DeepSpeed takes with a number of processes, as its own code computes them."""

from __future__ import annotations

import pytest

from trl_lint.checks.configs._deepspeed_ranks import wrong_batch

TRAIN, MICRO, STEPS = "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"


@pytest.mark.parametrize(
    ("sizes", "ranks"),
    [
        ({TRAIN: 8, MICRO: 2, STEPS: 1}, 4),
        ({TRAIN: 8, MICRO: 2}, 1),
        ({TRAIN: 8, STEPS: 2}, 4),
        ({TRAIN: 8}, 8),
        ({MICRO: 3}, 8),
        ({MICRO: 3, STEPS: 2}, 8),
        ({}, 8),
    ],
)
def test_batches_that_are_shared(sizes: dict[str, int], ranks: int) -> None:
    assert wrong_batch(sizes, ranks) is None


@pytest.mark.parametrize(
    ("sizes", "ranks", "said"),
    [
        ({TRAIN: 8, MICRO: 2, STEPS: 1}, 1, "8 is not 2 (train_micro_batch_size_per_gpu) * 1 "),
        ({TRAIN: 8, MICRO: 3}, 1, "8 is no multiple of 3 (train_micro_batch_size_per_gpu) * 1 process ("),
        ({TRAIN: 8, MICRO: 2}, 8, "8 is no multiple of 2 "),
        ({TRAIN: 8, STEPS: 3}, 2, "8 is no multiple of 3 (gradient_accumulation_steps) * 2 processes"),
        ({TRAIN: 8}, 3, "8 is no multiple of 3 processes"),
        ({TRAIN: 2}, 3, "2 is no multiple of 3 processes"),
    ],
)
def test_batches_that_are_not(sizes: dict[str, int], ranks: int, said: str) -> None:
    assert said in (wrong_batch(sizes, ranks) or "")
