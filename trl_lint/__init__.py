"""trl-lint: a static analyzer for reinforcement-learning post-training projects."""

__version__ = "0.1.0"
