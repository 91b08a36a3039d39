"""Files that look like the config of a training by their bytes, and that no reader of ours knows."""

from __future__ import annotations

import os

from trl_lint.coverage import BROKEN, NO_KIND, Seen
from trl_lint.finding import Location
from trl_lint.knowledge.needles import MAX_BYTES
from trl_lint.regexes import regex
from trl_lint.sources import SourceFile

# A config of a training that no family has: how fast it learns, and how much of what.
_RATE = regex(rb"(?m)^[ \t]*[\"']?(?:\w{0,40}learning_rate|lr)[\"']?[ \t]*:[ \t]*[\"']?[0-9.$]")
_AMOUNT = regex(rb"(?m)^[ \t]*[\"']?\w{0,40}(?:batch_size|epochs|max_steps|train_steps|num_steps)\w{0,40}[\"']?[ \t]*:")
_OF_OTHERS = regex(rb"(?m)^(?:apiVersion|services|jobs):")  # Kubernetes, compose, workflows


def seen_file(file: SourceFile, is_broken: bool = False) -> Seen | None:
    """A file that looks like the config of a training, and that is of no kind that is known or cannot be read."""
    if not file.path.endswith((".yaml", ".yml")) or not _is_config_like(file.data):
        return None
    return Seen("config", os.path.basename(file.path), BROKEN if is_broken else NO_KIND, Location(file.path, 0, 0))


def _is_config_like(data: bytes) -> bool:
    if len(data) > MAX_BYTES or _OF_OTHERS.search(data) is not None:
        return False
    return _RATE.search(data) is not None and _AMOUNT.search(data) is not None
