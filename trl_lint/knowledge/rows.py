"""The hand-written tables of `rules/`: TOML files whose heads explain their fields."""

from __future__ import annotations

import os
from typing import Any

from trl_lint.knowledge import rules_dir


def read_table(path: str) -> dict[str, Any]:
    """A table by its path in `rules/`, to be read only. Raises OSError, or TOMLDecodeError of `tomli`."""
    import tomli

    with open(os.path.join(rules_dir(), path), "rb") as stream:
        return tomli.load(stream)
