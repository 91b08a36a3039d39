"""What a release says when a condition holds: its sentence, whose holes (`{name}`) a run fills."""

from __future__ import annotations

import re
from collections.abc import Callable

from trl_lint.knowledge.condition_language import CRASH, UNKNOWN, Block, World, value_of
from trl_lint.regexes import regex

_HOLE = regex(r"\{([^{}]*)\}")


def filled(sentence: str, told: Callable[[str], str | None]) -> str:
    """A sentence with what `told` says of each hole, `…` where that is None; `{{` and `}}` are brackets it has."""

    def fill(match: re.Match[str]) -> str:
        text = told(match[1])
        return "…" if text is None else text

    plain = sentence.replace("{{", "\x01").replace("}}", "\x02")
    return _HOLE.sub(fill, plain).replace("\x01", "{").replace("\x02", "}")


def filled_in(sentence: str, world: World) -> str:
    """A sentence with what the expressions in its holes are in a world; `…` for what is not known, or no value."""

    def told(hole: str) -> str | None:
        value = value_of(hole, world) if hole else UNKNOWN
        return None if value is UNKNOWN or value is CRASH or isinstance(value, Block) else f"{value}"

    return filled(sentence, told)
