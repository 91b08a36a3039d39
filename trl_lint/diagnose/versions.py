"""Releases that a log names itself: what really ran, whatever the project pins."""

from __future__ import annotations

import re

from trl_lint.diagnose.reader import Log
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

_NAMES = r"trl|transformers|accelerate|deepspeed|peft|vllm|openrlhf|verl|torch|ray|numpy"
_VERSION = r"v?(?P<version>\d+\.\d+(?:\.\d+)?(?:\.?(?:post|rc|dev)\d+)?)(?:\+[\w.]+)?"
_PATTERNS = (
    regex(rf"\bvLLM (?:API server|engine)?\s*(?:version|\(v?)\s*{_VERSION}", re.IGNORECASE),
    regex(rf"(?:Initializing (?:a|an)(?: V1)?|LLM) .{{0,12}}engine \(v?{_VERSION}\)"),
)
_DEEPSPEED = regex(rf"DeepSpeed info: version={_VERSION}")
_LIST = regex(
    rf"(?<![\w/.-])(?P<name>{_NAMES})(?:==| version:? |[ ]*:[ ]+|-|\s{{2,}}){_VERSION}(?![\w.])", re.IGNORECASE
)
_LABELS = regex(
    rf"(?:^|[-*`\s])(?P<name>{_NAMES}|PyTorch)(?: version)?(?: \(GPU\?\))?\s*[:=]+\s*{_VERSION}", re.IGNORECASE
)


class Seen(NamedTuple):
    version: str
    number: int
    text: str


def versions_in(log: Log) -> dict[str, Seen]:
    """The release of each package the log names, as it was last said."""
    found: dict[str, Seen] = {}
    for note in log.notes:
        text = note.text
        for pattern in _PATTERNS:
            if match := pattern.search(text):
                found["vllm"] = Seen(match["version"], note.number, text)
        if match := _DEEPSPEED.search(text):
            found["deepspeed"] = Seen(match["version"], note.number, text)
        if "requires" in text or "supports" in text or "need" in text or ">=" in text or "<" in text:
            continue
        if "Successfully installed" in text or "ersion" in text:
            for pattern in (_LIST, _LABELS):
                for match in pattern.finditer(text):
                    name = match["name"].lower().replace("pytorch", "torch")
                    found[name] = Seen(match["version"], note.number, text)
    return found
