"""Justfiles: the commands of recipes, with `{{name}}` of literal variables filled in.

https://just.systems/man/en/: each line of a recipe has a shell of its own, unless the recipe begins with `#!` or has
the attribute `[script]`; what stands in braces is an expression, of which only the name of a variable is followed here.
"""

from __future__ import annotations

from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.shell import Command, read_commands, read_once
from trl_lint.sources.shell_state import State
from trl_lint.sources.shell_values import HOLE, Word

_ASSIGNMENT = regex(
    r"(?P<export>export[ \t]+)?(?P<name>[A-Za-z_][\w-]*)[ \t]*:=[ \t]*(?P<value>\"[^\"\\\n]*\"|'[^'\n]*')?"
)
_SETTING = regex(r"set[ \t]+(?P<name>[\w-]+)(?:[ \t]*:=[ \t]*(?P<value>.*))?")
_FOLDER = regex(r"\[working-directory:[ \t]*[\"']([^\"'\n]+)[\"']")
_PREFIX = regex(r"[ \t]*[@-]{0,2}[ \t]*")
_EXPRESSION = regex(r"\{\{\{\{|\{\{(?P<inner>[^{}]*)(?:\}\}|\Z)")
_SHELL = regex(r"(?:.*/)?(?:env[ \t]+(?:-S[ \t]+)?)?(?:ba|z|da|k)?sh\b")


class _Justfile:
    """What the lines outside of recipes say: `values` of variables, None where nobody can tell."""

    def __init__(self) -> None:
        self.values: dict[str, Word | None] = {}
        self.exported: set[str] = set()
        self.export_all = False
        self.has_shell = True
        self.directory: str | None = ""

    def state(self, directory: str | None) -> State:
        state = State()
        for name, word in self.values.items():
            if self.export_all or name in self.exported:
                state.set(name, word or Word(None, "", 0, 0), True)
        state.change_directory(directory)
        return state


@read_once
def recipe_commands(source: Source) -> list[Command]:
    """The commands of all recipes, in order."""
    text = source.text
    known = _Justfile()
    recipes: list[tuple[list[tuple[int, int]], str | None, bool]] = []
    lines: list[tuple[int, int]] = []
    folder: str | None = None
    is_script = False
    start = 0
    for line in text.splitlines(keepends=True):
        end = start + len(line)
        if line[:1] in (" ", "\t"):
            lines.append((start, end))
        elif line.startswith("["):
            folder = match[1] if (match := _FOLDER.search(line)) else folder
            is_script = is_script or "script" in line
        elif line.strip() and not line.startswith("#"):
            lines = []
            if not _read_line(line, start, known):
                recipes.append((lines, folder, is_script))
            folder, is_script = None, False
        start = end
    found: list[Command] = []
    for body, where, whole in recipes if known.has_shell else ():
        directory = known.directory if where is None else where
        for script in _scripts(body, text, known, whole):
            found += read_commands(script.text, script, known.state(directory), original=text)
    return found


def _read_line(line: str, start: int, known: _Justfile) -> bool:
    """Read a setting or an assignment; whether it is one."""
    if setting := _SETTING.match(line):
        value = (setting["value"] or "").strip()
        if setting["name"] == "export":
            known.export_all = value in ("", "true")
        elif setting["name"] == "shell":
            known.has_shell = _SHELL.match(value.lstrip("[ \"'")) is not None
        elif setting["name"] == "working-directory":
            known.directory = value.strip("\"'") or None
        return True
    match = _ASSIGNMENT.match(line)
    if match is None:
        return False
    word = None
    rest = line[match.end() :].strip()
    if match["value"] and (not rest or rest.startswith("#")) and match["name"] not in known.values:
        first, last = match.span("value")
        word = Word(match["value"][1:-1], match["value"], start + first, start + last)
    known.values[match["name"]] = word
    if match["export"]:
        known.exported.add(match["name"])
    return True


def _scripts(lines: list[tuple[int, int]], text: str, known: _Justfile, whole: bool) -> list[Pieces]:
    """What the shells of a recipe get: its lines with their continuations, or all of it."""
    filled = [(start, end) for start, end in lines if text[start:end].strip()]
    if not filled:
        return []
    first = text[slice(*filled[0])].strip()
    if first.startswith("#!"):
        if not _SHELL.match(first[2:].strip()):
            return []
        whole = True
    found: list[Pieces] = []
    script: Pieces | None = None
    for start, end in filled:
        content = text[start:end].rstrip("\r\n")
        if script is None:
            script = Pieces()
            prefix = _PREFIX.match(text, start, end) if not whole else None
            start = prefix.end() if prefix else start
        _fill(script, text, start, end, known)
        if not whole and not content.endswith("\\"):
            found.append(script)
            script = None
    return [*found, script] if script is not None else found


def _fill(script: Pieces, text: str, start: int, end: int, known: _Justfile) -> None:
    for match in _EXPRESSION.finditer(text, start, end):
        script.copy(text, start, match.start())
        word = known.values.get((match["inner"] or "").strip())
        value = "{{" if match[0] == "{{{{" else HOLE if word is None or word.text is None else word.text
        script.put(value, match.start(), match.end())
        start = match.end()
    script.copy(text, start, end)
