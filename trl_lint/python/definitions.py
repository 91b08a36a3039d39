"""What a module seems to define, by its text alone: for the many files of a package, of which none is worth parsing."""

from __future__ import annotations

import re


def defines(text: str, name: str) -> bool:
    """Whether a module seems to define or import a name."""
    if name not in text:
        return False
    found = rf"^\s*(?:class|def|async def)\s+{name}\b|^\s*{name}\s*[:=,]|\bimport\b.*\b{name}\b|[\"']{name}[\"']"
    return re.search(found, text, re.MULTILINE) is not None


def takes(text: str, callable_name: str, parameter: str) -> bool:
    """Whether a module defines a class or function that has the parameter, or a class with such a field or method."""
    if parameter not in text or f" {callable_name}" not in text:
        return False
    decorated = r"^(?:@.*\n(?:[ \t)].*\n)*)*"
    body = r"\b.*\n(?:(?:[ \t)].*)?\n)*"
    match = re.search(rf"{decorated}(?P<body>(?:class|def)\s+{callable_name}{body})", text, re.MULTILINE)
    if match is None or parameter not in match[0]:
        return False
    quoted = rf"[\"']{parameter}[\"']"
    if re.search(quoted, match[0][: match.start("body") - match.start()]):
        return True
    if re.search(
        rf"^ {{4}}(?:{parameter}\s*[:=]|def {parameter}\b)|kwargs\.\w+\({quoted}", match["body"], re.MULTILINE
    ):
        return True
    heads = re.findall(rf"def (?:__init__|{callable_name})\((.*?)\)(?:\s*->[^\n]*)?:\n", match["body"], re.DOTALL)
    return any(re.search(rf"\b{parameter}\b", head) for head in heads)
