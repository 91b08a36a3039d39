"""Telling syntax that is newer than the running interpreter's from syntax that is wrong."""

from __future__ import annotations

import re
import sys

from trl_lint.regexes import regex

UNCHECKED = (
    f"not checked: it needs a newer Python than {sys.version_info[0]}.{sys.version_info[1]}, in which trl-lint runs"
)
# A line that begins a top-level statement, not one that continues it.
_TOP_LEVEL = regex(r"^(?!else\b|elif\b|except\b|finally\b)[^\s)\]}#]", re.MULTILINE)
_STRUCTURE = regex(r"[()\[\]{}\n]")
# LibCST takes quadratic time for a chain of operators, and overflows its native stack at some thousand brackets.
_LONGEST_STATEMENT = 4_000
_MOST_CHARACTERS = 100_000  # a longer statement is a fault of the file, TRL001
_MOST_NESTED = 100  # brackets, likewise


def is_newer_syntax(text: str, offset: int) -> bool:
    """Whether LibCST, which knows more grammar than this interpreter, accepts the top-level statement at an offset.

    `offset` is where the interpreter's parser gave up.
    """
    block = top_level_block(text, offset)
    return is_harmless(block) and _libcst_parses(block)


def top_level_block(text: str, offset: int) -> str:
    """The top-level statement around an offset, from its first column to the next statement."""
    start = max((m.start() for m in _TOP_LEVEL.finditer(text, 0, min(offset + 1, len(text)))), default=0)
    line_end = text.find("\n", offset)
    following = _TOP_LEVEL.search(text, line_end + 1) if line_end >= 0 else None
    return text[start : following.start() if following else len(text)]


def is_harmless(text: str) -> bool:
    """Whether LibCST will parse a text in reasonable time and depth. Brackets in strings count too."""
    if len(text) > _MOST_CHARACTERS:
        return False
    depth = start = 0
    for match in _STRUCTURE.finditer(text):
        character = match[0]
        if character == "\n":
            if not depth:
                if match.start() - start > _LONGEST_STATEMENT:
                    return False
                start = match.end()
        elif character in "([{":
            depth += 1
            if depth > _MOST_NESTED:
                return False
        else:
            depth = max(0, depth - 1)
    return len(text) - start <= _LONGEST_STATEMENT


def _libcst_parses(text: str) -> bool:
    import libcst as cst

    try:
        cst.parse_module(text)
    except Exception:  # it raises several types on hopeless input; all of them mean no
        return False
    return True
