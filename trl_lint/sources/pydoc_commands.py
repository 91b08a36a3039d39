"""Commands that Python files tell their readers to type: in the module docstring and in the comments at the top."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.shell import Command, read_commands

_HEAD = regex(r"(?:[ \t\f\r]*(?:#[^\n]*)?\n)*")
_COMMENTS_AT_END = regex(r"[ \t\f]*#[^\n]*\Z")
_DOCSTRING = regex(r"[rRuU]?(\"\"\"|''')(.*?)(?<!\\)\1", re.DOTALL)
_LINE = regex(r"[^\n]*(?:\n|\Z)")
# The interpreter, and programs that start others.
_STARTERS = ("python", "uv", "nohup", "srun", "mpirun", "env", "poetry", "ray")
_ASSIGNED = regex(r"(?:[A-Z_][A-Z0-9_]*=\S*[ \t]+)*")
_PYTHON = regex(r"python(?:3(?:\.\d+)?)?\Z")
_WORD = regex(r"([\w-]+(?:\.\d+)?)[ \t]+[\w./\"'$\\-]")
_PROMPT = regex(r"[ \t]*(?:#+[ \t]?)?[ \t]*(?:[$>%][ \t]+)?(?:[-*][ \t]+)?`{0,2}")


def documented_commands(source: Source, programs: tuple[str, ...]) -> list[Command]:
    """The commands in the module docstring and in the comments before the code, each read by itself.

    A line is a command if it begins with one of these programs, the interpreter or a program that starts others.
    """
    programs = (*_STARTERS, *programs)
    found = []
    for start, end, commented in _regions(source.text):
        if not any(program in source.text[start:end] for program in programs):
            continue
        for script in _scripts(source.text, start, end, commented, programs):
            found.extend(read_commands(script.text, script, original=source.text))
    return found


def _regions(text: str) -> Iterator[tuple[int, int, bool]]:
    """The comments at the top, the docstring behind them, and the comments behind that."""
    offset = 0
    for _ in range(2):
        head = _HEAD.match(text, offset)
        assert head is not None
        end = head.end()
        if last := _COMMENTS_AT_END.match(text, end):
            end = last.end()
        if end > offset:
            yield offset, end, True
        docstring = _DOCSTRING.match(text, end)
        if docstring is None:
            return
        yield docstring.start(2), docstring.end(2), False
        offset = docstring.end()


def _scripts(text: str, start: int, end: int, commented: bool, programs: tuple[str, ...]) -> Iterator[Pieces]:
    """Each line that begins with a command, with the lines it is continued on."""
    script: Pieces | None = None
    position = start
    while position < end:
        line = _LINE.match(text, position, end)
        assert line is not None
        position = max(line.end(), position + 1)
        prompt = _PROMPT.match(text, line.start(), line.end())
        first = prompt.end() if prompt else line.start()
        content = text[first : line.end()]
        if script is None:
            if not _is_command(content, programs):
                continue
            script = Pieces()
        elif commented:
            mark = re.compile(r"[ \t]*#?").match(text, line.start())
            first = mark.end() if mark else line.start()
        else:
            first = line.start()
        stripped = text[first : line.end()].rstrip()
        quoted = text[first - 1 : first] == "`" and stripped.endswith("`")
        script.copy(text, first, first + len(stripped) - (len(stripped) - len(stripped.rstrip("`")) if quoted else 0))
        if stripped.endswith("\\"):
            # Blanks behind the backslash are kept: whoever copies the command gets them too.
            content_end = line.start() + len(line[0].rstrip("\r\n"))
            script.copy(text, first + len(stripped), content_end)
            script.put("\n", content_end, line.end())
            continue
        yield script
        script = None
    if script is not None:
        yield script


def _is_command(line: str, programs: tuple[str, ...]) -> bool:
    """Whether a line begins with a program, perhaps behind assignments, and a word for it."""
    assigned = _ASSIGNED.match(line)
    word = _WORD.match(line, assigned.end() if assigned else 0)
    return word is not None and (word[1] in programs or _PYTHON.match(word[1]) is not None)
