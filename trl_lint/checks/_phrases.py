"""Phrases that the messages of several rules use, and the places that they name beside."""

from __future__ import annotations

from collections.abc import Iterable

from trl_lint.finding import Location
from trl_lint.run.effective import Setting


def either(choices: Iterable[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    *others, last = choices
    return f"{', '.join(others)} or {last}" if others else last


def with_scope(message: str, scope: str) -> str:
    """A message with the releases it holds for in brackets; those of an error that it ends in are shared."""
    if not scope:
        return message
    if message.endswith(")") and "`" not in message.rpartition(" (")[2]:
        return f"{message[:-1]}; {scope})"
    return f"{message} ({scope})"


def before_scope(message: str, text: str) -> str:
    """A message with more said in front of the brackets at its end."""
    depth = 0
    for at in range(len(message) - 1, 0, -1) if message.endswith(")") else ():
        depth += (message[at] == ")") - (message[at] == "(")
        if not depth:
            return f"{message[: at - 1]}{text}{message[at - 1 :]}" if message[at - 1] == " " else f"{message}{text}"
    return f"{message}{text}"


def places(settings: Iterable[tuple[str, Setting]]) -> tuple[Location, ...]:
    """The places that set values, each with its name and value, for the related places of a finding."""
    found = []
    for name, setting in settings:
        if setting.location is not None:
            found.append(setting.location._replace(message=f"{name} = {setting.value}"))
    return tuple(dict.fromkeys(found))
