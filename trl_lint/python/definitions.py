"""What a module seems to define, by its text alone: for the many files of a package, of which none is worth parsing."""

from __future__ import annotations

import re
from collections.abc import Iterator


def defines(text: str, name: str) -> bool:
    """Whether a module seems to define or import a name."""
    if name not in text:
        return False
    found = (
        rf"^[ \t]*(?:class|def|async def)[ \t]+{name}\b|^[ \t]*{name}[ \t]*[:=,]"
        rf"|\bimport\b.{{0,300}}\b{name}\b|[\"']{name}[\"']"
    )
    return re.search(found, text, re.MULTILINE) is not None


def takes(text: str, callable_name: str, parameter: str) -> bool:
    """Whether a module defines a class or function that has the parameter, or a class with such a field or method."""
    if parameter not in text or f" {callable_name}" not in text:
        return False
    body = re.search(rf"^(?:class|def)[ \t]+{callable_name}\b.*\n(?:(?:[ \t)].*)?\n)*", text, re.MULTILINE)
    if body is None:
        return False
    quoted = rf"[\"']{parameter}[\"']"
    if re.search(quoted, _decorators_above(text, body.start())):
        return True
    if re.search(rf"^ {{4}}(?:{parameter}\s*[:=]|def {parameter}\b)|kwargs\.\w+\({quoted}", body[0], re.MULTILINE):
        return True
    heads = _heads(body[0], callable_name)
    return any(re.search(rf"\b{parameter}\b", head) for head in heads)


def _decorators_above(text: str, start: int) -> str:
    """The decorators of a statement at the beginning of a line, with the lines that they go on in."""
    begin = start
    while begin:
        line = text.rfind("\n", 0, begin - 1) + 1
        if text[line] not in "@ \t)":
            break
        begin = line
    return text[text.find("@", begin, start) : start] if "@" in text[begin:start] else ""


def _heads(text: str, name: str) -> Iterator[str]:
    """What stands between the brackets of the `__init__`, or of the functions of a name, and the end of their heads."""
    for match in re.finditer(rf"def (?:__init__|{name})\(", text):
        end = text.find(":\n", match.end())
        if end < 0:
            return
        yield text[match.end() : end].rpartition(")")[0]
