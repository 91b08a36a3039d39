"""Flags that are the beginning of a longer one, for which argparse takes them: `--num_gen 8`."""

from __future__ import annotations

from functools import lru_cache

from trl_lint.knowledge.api import resolve, signature
from trl_lint.project.launch import Launch
from trl_lint.project.parsers import ScriptParser

_OF_PARSERS = frozenset({"config", "env", "help"})


def beginnings(launch: Launch, parser: ScriptParser, versions: dict[str, str]) -> frozenset[str]:
    """The flags of a command, without dashes, that are no flags of its parser with these releases."""
    texts = (word.text.partition("=")[0] for word in launch.args if word.text is not None)
    given = {text[2:].replace("-", "_") for text in texts if text.startswith("--")} - _OF_PARSERS
    given -= parser.fields.own.keys() | parser.flags
    for dotted in parser.fields.bases if given else ():
        given -= _names(dotted, tuple(versions.items()))
    return frozenset(given)


def begins(name: str, given: frozenset[str]) -> bool:
    """Whether a flag may be meant by one of those that are no flags."""
    return bool(given) and any(name[:end] in given for end in range(1, len(name)))


@lru_cache(maxsize=256)
def _names(dotted: str, versions: tuple[tuple[str, str], ...]) -> frozenset[str]:
    found = resolve(dotted, dict(versions))
    return frozenset(signature(found, dict(versions)).parameters) if isinstance(found, str) else frozenset()
