"""Signatures as the histories spell them."""

from __future__ import annotations

from trl_lint.records import NamedTuple


class Parameter(NamedTuple):
    """A parameter in one release.

    `default`: a Python literal as text, an expression between backquotes, or None if there is none. `successor`: what a
    deprecation announces, "" if nothing. `is_rename`: the announcement says no more than to use the successor instead.
    """

    default: str | None
    required: bool
    deprecated: bool
    successor: str
    is_rename: bool


class Signature(NamedTuple):
    """What a callable accepts. `open`: also names that are not listed. `positional`: how many positions, None
    unknown.
    """

    parameters: dict[str, Parameter]
    open: bool
    positional: int | None


OPEN = Signature({}, True, None)


def read_parameters(facts: dict[str, str]) -> dict[str, Parameter]:
    """The parameters among a symbol's facts. A deprecation of an inherited parameter is one with neither a default
    nor the duty to give it: `joined` puts the two together."""
    found: dict[str, Parameter] = {}
    for name, value in facts.items():
        if name[0] in "@.!":
            continue
        found[name] = Parameter(None if value == "*" else value, value == "*", False, "", False)
    for name, value in facts.items():
        if name[0] == "!":
            known = found.get(name[1:], Parameter(None, False, True, "", False))
            found[name[1:]] = _deprecated(known, value)
    return found


def _deprecated(parameter: Parameter, announced: str) -> Parameter:
    plain = announced.lstrip("?")
    return parameter._replace(deprecated=True, successor=plain, is_rename=bool(plain) and announced[0] != "?")


def joined(inherited: dict[str, Parameter], own: dict[str, Parameter]) -> dict[str, Parameter]:
    """A base's parameters and a class's own; what the class only announces as deprecated keeps its default."""
    parameters = dict(inherited)
    for name, parameter in own.items():
        if parameter.default is not None or parameter.required:
            parameters[name] = parameter
        elif name in inherited:
            known = inherited[name]
            parameters[name] = parameter._replace(default=known.default, required=known.required)
    return parameters


def read_method(text: str) -> Signature:
    """`(a, b=1, *, c=None, **super) !old=new` as a Signature; `**` of any kind makes it open, `*args` takes any
    number of positions.
    """
    close = _closing(text)
    parameters: dict[str, Parameter] = {}
    positional: int | None = None
    is_open = takes_any = False
    for part in _split(text[1:close]):
        if part.startswith("**"):
            is_open = True
        elif part.startswith("*"):
            positional = len(parameters)
            takes_any = part != "*"
        else:
            name, has_default, default = part.partition("=")
            parameters[name] = Parameter(default if has_default else None, not has_default, False, "", False)
    for mark in text[close + 1 :].split():
        name, _, new = mark.lstrip("!").partition("=")
        if name in parameters:
            parameters[name] = _deprecated(parameters[name], new)
    most = len(parameters) if positional is None else positional
    return Signature(parameters, is_open, None if takes_any else most)


def _closing(text: str) -> int:
    end = text.rfind(") !")
    return end if end >= 0 else len(text) - 1


def _split(text: str) -> list[str]:
    """The parts between commas that are not inside brackets or quotes."""
    parts, depth, quote, start, at = [], 0, "", 0, 0
    while at < len(text):
        letter = text[at]
        if quote:
            if letter == "\\":
                at += 1
            elif letter == quote:
                quote = ""
        elif letter in "'\"`":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
        at += 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]
