"""Makefiles: the commands of recipes, with `$(NAME)` of literal variables filled in.

Only what make itself would certainly see counts: a variable that is set twice, conditionally or with `?=` is unknown,
and so is that part of a value which names it.
"""

from __future__ import annotations

import re

from trl_lint import budget
from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.shell import Command, read_commands, read_once
from trl_lint.sources.shell_state import State
from trl_lint.sources.shell_values import HOLE, LONGEST_VALUE, Word

_LOGICAL_LINE = regex(r"(?:[^\n]*\\\r?\n)*[^\n]*(?:\n|\Z)")
_ASSIGNMENT = regex(
    r"[ ]*(?P<words>(?:(?:export|override|private)[ \t]+)*)(?P<name>[\w.-]+)[ \t]*"
    r"(?P<operator>::?:?=|\?=|\+=|!=|=)[ \t]*"
)
_EXPORT = regex(r"[ ]*export(?:[ \t](?P<names>[\w \t.-]*))?\r?$")
_RULE = regex(r"[^\t#\n:=][^#\n=]*::?(?!=)")
_TARGET_VARIABLE = regex(
    r"[^\t#\n:=][^#\n=]*::?[ \t]*(?:(?:export|override|private)[ \t]+)*([\w.-]+)[ \t]*[:?+!]{0,3}="
)
_CONDITIONAL = regex(r"[ \t]*(?:ifeq|ifneq|ifdef|ifndef)\b")
_PREFIX = regex(r"\t[ \t@+-]*")
_REFERENCE = regex(r"\$(?:\$|\((?P<round>[\w.-]+)\)|\{(?P<curly>[\w.-]+)\}|.)", re.DOTALL)
_CONTINUED = regex(r"\\\r?\n[ \t]*")
_MAXIMUM_DEPTH = 20


class _Variables:
    """The variables of a Makefile: their raw values, None where nobody can tell."""

    def __init__(self) -> None:
        self.values: dict[str, tuple[str, int, int] | None] = {}
        self.exported: set[str] = set()
        self.export_all = False
        self._expanded: dict[str, str | None] = {}

    def assign(self, name: str, value: str, start: int, end: int, certain: bool) -> None:
        self._expanded.clear()
        self.values[name] = (value, start, end) if certain and name not in self.values else None

    def append(self, name: str, value: str, start: int, end: int, certain: bool) -> None:
        """`NAME += value`: behind a blank, and the whole value where there was none."""
        before = self.values.get(name) if name in self.values else ("", start, end)
        self._expanded.clear()
        is_known = certain and before is not None and len(before[0]) + len(value) <= LONGEST_VALUE
        self.values[name] = (f"{before[0]} {value}".strip(), before[1], end) if is_known and before else None

    def expand(self, name: str, depth: int = 0) -> str | None:
        """The value of a variable, with `HOLE` for each part that nobody knows; None where that is all of it."""
        if name not in self._expanded:
            self._expanded[name] = None  # where it names itself
            self._expanded[name] = self._expand(name, depth)
        return self._expanded[name]

    def _expand(self, name: str, depth: int) -> str | None:
        found = self.values.get(name)
        if found is None:
            return None
        if depth > _MAXIMUM_DEPTH:
            budget.limit(
                _MAXIMUM_DEPTH, "variables that name each other more than {} deep were not read", start=found[1]
            )
            return None
        out: list[str] = []
        position = 0
        for match in _REFERENCE.finditer(found[0]):
            inner = match["round"] or match["curly"]
            value = "$" if match[0] == "$$" else self.expand(inner, depth + 1) if inner else None
            if value is None and not inner:
                return None  # a function of make
            out += [found[0][position : match.start()], HOLE if value is None else value]
            position = match.end()
        out.append(found[0][position:])
        value = "".join(out)
        # Variables that name one another twice double with every step.
        return value if len(value) <= LONGEST_VALUE and value != HOLE else None


@read_once
def recipe_commands(source: Source) -> list[Command]:
    """The commands of all recipes, in order; every recipe line has a shell of its own."""
    text = source.text
    variables = _Variables()
    recipes = _read(text, variables)
    one_shell = ".ONESHELL" in text
    found = []
    for start, end in recipes:
        script = _script(text, start, end, variables)
        state = _state(variables, text)
        if one_shell:
            state.change_directory(None)  # an earlier line may have changed it
        found.extend(read_commands(script.text, script, state, original=text))
    return found


def _read(text: str, variables: _Variables) -> list[tuple[int, int]]:
    """Fill in the variables; returns the recipe lines, each with its continuations."""
    recipes: list[tuple[int, int]] = []
    depth = 0
    in_rule = in_define = False
    position = 0
    while position < len(text):
        line = _LOGICAL_LINE.match(text, position)
        assert line is not None
        position = max(line.end(), position + 1)
        content = line[0]
        word = content.strip().split(None, 1)[0] if content.strip() else ""
        if in_define or word == "define":
            in_define = word != "endef"
            continue
        if content.startswith("\t") and in_rule:
            recipes.append((line.start(), line.end()))
        elif _CONDITIONAL.match(content):
            depth += 1
        elif word == "endif":
            depth = max(0, depth - 1)
        elif word != "else" and word and not word.startswith("#"):
            in_rule = _read_line(content, line.start(), depth, variables) or (
                in_rule and not _ASSIGNMENT.match(content)
            )
    return recipes


def _read_line(content: str, start: int, depth: int, variables: _Variables) -> bool:
    """Read an assignment, an export or a rule; returns whether a rule begins here."""
    match = _ASSIGNMENT.match(content)
    if match is not None:
        value = content[match.end() :].split(" #", 1)[0].rstrip()
        end = start + match.end() + len(value)
        value = _CONTINUED.sub(" ", value)
        if match["operator"] == "+=":
            variables.append(match["name"], value, start + match.end(), end, not depth)
        else:
            certain = match["operator"] in ("=", ":=", "::=") and not depth
            variables.assign(match["name"], value, start + match.end(), end, certain)
        if "export" in match["words"]:
            variables.exported.add(match["name"])
        return False
    if export := _EXPORT.match(content.rstrip("\n")):
        variables.exported.update((export["names"] or "").split())
        variables.export_all = variables.export_all or not (export["names"] or "").split()
        return False
    if target := _TARGET_VARIABLE.match(content):
        variables.values[target[1]] = None
        return False
    return _RULE.match(content) is not None


def _script(text: str, start: int, end: int, variables: _Variables) -> Pieces:
    """A recipe line as the shell gets it."""
    prefix = _PREFIX.match(text, start, end)
    position = prefix.end() if prefix else start
    script = Pieces()
    while position < end:
        match = _REFERENCE.search(text, position, end)
        if match is None:
            break
        script.copy(text, position, match.start())
        position = match.end()
        name = match["round"] or match["curly"]
        if match[0] == "$$":
            script.put("$", match.start(), position)
        elif match[0] in ("$(", "${"):
            position = _closing(text, match.end(), end)
            script.put(HOLE, match.start(), position)
        else:
            value = variables.expand(name) if name else None
            script.put(HOLE if value is None else value, match.start(), position)
    script.copy(text, position, end)
    return script


def _closing(text: str, position: int, end: int) -> int:
    """Behind the bracket that closes a function call such as `$(shell …)`."""
    depth = 1
    while position < end and depth:
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(text[position], 0)
        position += 1
    return position


def _state(variables: _Variables, text: str) -> State:
    """The environment of a recipe: the variables that make exports."""
    state = State()
    for name in variables.values:
        if variables.export_all or name in variables.exported:
            found = variables.values[name]
            _, start, end = found or ("", 0, 0)
            value = variables.expand(name)
            is_known = value is not None and HOLE not in value
            template = "" if is_known or value is None else value
            state.set(name, Word(value if is_known else None, text[start:end], start, end, False, template), True)
    return state
