"""GitHub workflows: the commands of `run:` steps, with their `env:` and `working-directory:`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.nodes import Mapping, Node, Scalar, Sequence, find, value_of
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.shell import Command, read_commands
from trl_lint.sources.shell_state import State
from trl_lint.sources.shell_values import HOLE, Word

_EXPRESSION = regex(r"\$\{\{.*?(?:\}\}|\Z)", re.DOTALL)
_LINE = regex(r"[^\n]*(?:\n|\Z)")
_SHELLS = regex(r"(?:.*/)?(?:ba|z|da)?sh\b")


def is_workflow(path: str) -> bool:
    """Whether a file is a workflow by its place: `.github/workflows/*.yml`."""
    return path.endswith((".yml", ".yaml")) and "/.github/workflows/" in path.replace("\\", "/")


def step_commands(source: Source) -> list[Command]:
    """The commands of all `run:` steps, in order. Raises SourceError if the file is not YAML."""
    return [command for _, commands in jobs(source) for command in commands]


def jobs(source: Source) -> list[tuple[str, list[Command]]]:
    """The commands of the `run:` steps by job, in order. Raises SourceError if the file is not YAML."""
    from trl_lint.sources.yaml import read_yaml

    found: dict[str, list[Command]] = {}
    for root in read_yaml(source):
        for job, run, settings in _steps(root):
            state = _state(settings, source.text)
            if state is not None:
                script = without(_EXPRESSION, script_of(source.text, run))
                found.setdefault(job, []).extend(read_commands(script.text, script, state, original=source.text))
    return list(found.items())


def _steps(root: Node) -> Iterator[tuple[str, Scalar, list[Mapping]]]:
    """Every `run:` value with its job's name and what surrounds it, outermost first: workflow, job, step."""
    named = find(root, "jobs")
    if not isinstance(root, Mapping) or not isinstance(named, Mapping):
        return
    for entry in named.entries:
        steps = find(entry.value, "steps")
        if not isinstance(entry.value, Mapping) or not isinstance(steps, Sequence):
            continue
        for step in steps.items:
            run = find(step, "run")
            if isinstance(step, Mapping) and isinstance(run, Scalar) and isinstance(run.value, str) and not run.alias:
                yield str(entry.key.value), run, [root, entry.value, step]


def _state(settings: list[Mapping], text: str) -> State | None:
    """What a step starts with; None if no POSIX shell runs it."""
    state = State()
    for level in settings:
        shell = value_of(level.get("shell")) or value_of(find(level, "defaults.run.shell"))
        if isinstance(shell, str) and not _SHELLS.match(shell):
            return None
        directory = value_of(level.get("working-directory")) or value_of(find(level, "defaults.run.working-directory"))
        if isinstance(directory, str):
            state.change_directory(None if "${{" in directory else directory.strip("/").removeprefix("./"))
        variables = level.get("env")
        for entry in variables.entries if isinstance(variables, Mapping) else ():
            _set(state, entry.key, entry.value, text)
    return state


def _set(state: State, key: Scalar, value: Node, text: str) -> None:
    if not isinstance(value, Scalar) or not isinstance(key.value, str):
        return
    # `0,1` is a string, but YAML turns 00 or 1_0 into numbers: what the runner passes on is not known then.
    given = value.value if isinstance(value.value, str) else value.raw if value.raw.isdecimal() else None
    known = given is not None and "${{" not in given
    state.set(key.value, Word(given if known else None, text[value.start : value.end], value.start, value.end), True)


def script_of(text: str, scalar: Scalar) -> Pieces:
    """The value of a scalar with the places of its characters; where they cannot be told, all of it is one place."""
    value = str(scalar.value)
    pieces = Pieces()
    if scalar.raw[:1] in ("|", ">"):
        _copy_block(text, scalar, value, pieces)
    elif scalar.quoted:
        pieces.copy(text, scalar.start + 1, scalar.end - 1)
    else:
        pieces.copy(text, scalar.start, scalar.end)
    if pieces.text.rstrip() == value.rstrip():
        return pieces
    whole = Pieces()
    whole.put(value, scalar.start, scalar.end)
    return whole


def _copy_block(text: str, scalar: Scalar, value: str, pieces: Pieces) -> None:
    header = _LINE.match(text, scalar.start)
    assert header is not None
    lines = []
    position = header.end()
    while position < scalar.end:
        line = _LINE.match(text, position)
        assert line is not None
        lines.append((line.start(), line.end()))
        position = max(line.end(), position + 1)
    first = next(((s, e) for s, e in lines if text[s:e].strip()), None)
    if first is None:
        return
    first_value = value.lstrip("\n").split("\n", 1)[0]
    indent = len(text[slice(*first)].rstrip("\r\n")) - len(first_value) if scalar.raw[0] == "|" else None
    if indent is None:
        indent = len(text[slice(*first)]) - len(text[slice(*first)].lstrip(" "))
    for index, (start, end) in enumerate(lines):
        content_end = start + len(text[start:end].rstrip("\r\n"))
        pieces.copy(text, min(start + indent, content_end), content_end)
        if end > content_end:
            folded = (
                scalar.raw[0] == ">" and content_end > start and any(text[s:e].strip() for s, e in lines[index + 1 :])
            )
            next_is_blank = folded and not text[slice(*lines[index + 1])].strip()
            pieces.put("" if next_is_blank else " " if folded else "\n", content_end, end)


def without(found: re.Pattern[str], script: Pieces) -> Pieces:
    """A script in which everything that is filled in before the shell starts is a value nobody knows."""
    text = script.text
    result = Pieces(script)
    position = 0
    for match in found.finditer(text):
        result.copy(text, position, match.start())
        result.put(HOLE, match.start(), match.end())
        position = match.end()
    result.copy(text, position, len(text))
    return result
