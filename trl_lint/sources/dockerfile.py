"""Dockerfiles: the commands of RUN, CMD and ENTRYPOINT, with the variables of ENV.

Docker joins lines in a way of its own: comments and blank lines may stand inside a continued instruction, blanks may
follow the backslash, and a here-document may follow it all (Dockerfile reference, "escape", "here-documents").
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.shell import Command, read_commands, read_once
from trl_lint.sources.shell_state import State
from trl_lint.sources.shell_values import Word

_LINE = regex(r"[^\n]*(?:\n|\Z)")
_INSTRUCTION = regex(r"[ \t]*([A-Za-z]+)(?=[ \t\r\n\\]|\Z)")
_ESCAPE_DIRECTIVE = regex(
    r"\A(?:[ \t]*#[ \t]*\w+[ \t]*=[^\n]*\n)*?[ \t]*#[ \t]*escape[ \t]*=[ \t]*([\\`])", re.IGNORECASE
)
_FLAGS = regex(r"(?:\s|\\\n)*(?:--[a-z][\w-]*(?:=(?:[^\s\\]|\\(?!\n))*)?(?:\s|\\\n)+)*")
_HEREDOC = regex(r"(?<!<)<<(-?)(['\"]?)([A-Za-z_]\w*)\2(?!<)")
_JSON_STRING = r'"(?:[^"\\\n]|\\.)*"'
_EXEC_FORM = regex(rf"\s*\[\s*(?:{_JSON_STRING}\s*(?:,\s*{_JSON_STRING}\s*)*)?\]\s*")
_STRING = regex(r'"(?:[^"\\\n]|\\(?:.|(?=\n)|\Z))*(?:"|(?=\n)|\Z)')
_MOST_STAGES = 30  # whose variables others may go on with; of those of later ones nothing is known, and nothing lost
_VARIABLE = regex(r"\$(?:\{(?P<inside>[A-Za-z_]\w{0,100})\}|(?P<name>[A-Za-z_]\w{0,100}))")
_OLD_ENV = regex(r"\s*([A-Za-z_]\w*)[ \t]+([^=\s].*)", re.DOTALL)
_PYTHON_IMAGE = regex(r"python:(3\.\d{1,2})(?!\d)")
_SHELLS = ("bash", "sh", "zsh", "dash")


class Instruction(NamedTuple):
    """One instruction: its name in capitals, the text behind it as the shell sees it, here-documents, its offset."""

    name: str
    body: Pieces
    heredocs: tuple[tuple[int, int], ...]
    start: int


@read_once
def run_commands(source: Source) -> list[Command]:
    """The commands of RUN, CMD and ENTRYPOINT, in order; their `directory` is one of the image, not of the host."""
    found: list[Command] = []
    state = State()
    begun: dict[str, State] = {}
    for instruction in instructions(source.text):
        name = instruction.name
        if name == "FROM":
            base, called = _stage(instruction)
            state = _state_after(begun.get(base))
            if called and len(begun) < _MOST_STAGES:
                begun[called] = state
        elif name == "ENV":
            _read_environment(instruction.body, state, source.text)
        elif name == "ARG":
            # Whoever builds the image may give another value.
            state.forget(re.findall(r"(?:\A|\s)([A-Za-z_]\w*)", instruction.body.text))
        elif name == "WORKDIR":
            here, target = state.directory, instruction.body.text.strip().strip("\"'")
            known = here is not None and "$" not in target
            state.change_directory(posixpath.normpath(posixpath.join(here or "", target)) if known else None)
        elif name in ("RUN", "CMD", "ENTRYPOINT"):
            mark = state.mark()
            found.extend(_commands(instruction, state, source.text))
            state.undo(mark)
    return found


def environment_variables(source: Source) -> list[tuple[str, Word]]:
    """What the ENV instructions set, in order: name and value (text None where it depends on something)."""
    found: list[tuple[str, Word]] = []
    for instruction in instructions(source.text):
        if instruction.name == "ENV":
            state = State()
            _read_environment(instruction.body, state, source.text)
            found.extend(state.view().items())
    return found


def stages(source: Source) -> list[tuple[int, str]]:
    """The offset of each instruction with the stage it builds: "" for the first, and for those that continue it."""
    found: list[tuple[int, str]] = []
    names: dict[str, str] = {}
    stage = ""
    count = 0
    for instruction in instructions(source.text):
        if instruction.name == "FROM":
            words = [word for word in instruction.body.text.split() if not word.startswith("--")]
            base = words[0].lower() if words else ""
            stage = names.get(base, f"stage {count}" if count else "")
            count += 1
            if len(words) > 2 and words[1].lower() == "as":
                names[words[2].lower()] = stage
        found.append((instruction.start, stage))
    return found


def copies_of(source: Source) -> dict[str, str]:
    """Paths of the image, and what COPY or ADD puts there out of the folder that the image is built from."""
    found: dict[str, str] = {}
    here: str | None = "/"
    known: dict[str, str] = {}
    begun: dict[str, dict[str, str]] = {}
    for instruction in instructions(source.text):
        words = [_filled_in(word, known) for word in instruction.body.text.replace("\\\n", " ").split()]
        if instruction.name == "FROM":
            here = "/"
            base, called = _stage(instruction)
            known = dict(begun.get(base, {}))
            if called and len(begun) < _MOST_STAGES:
                begun[called] = known
        elif instruction.name == "ENV":
            state = State()
            _read_environment(instruction.body, state, source.text)
            set_here = {name: _filled_in(word.text or "$", known) for name, word in state.view().items()}
            known.update(set_here)
        elif instruction.name == "ARG":
            for name in re.findall(r"(?:\A|\s)([A-Za-z_]\w*)", instruction.body.text):
                known.pop(name, None)  # whoever builds the image may give another value
        elif instruction.name == "WORKDIR":
            target = " ".join(words).strip("\"'")
            here = posixpath.join(here, target) if here is not None and "$" not in target else None
        elif instruction.name in ("COPY", "ADD") and not any(word.startswith("--from") for word in words):
            names = [word.strip("\"',[]") for word in words if not word.startswith("--")]
            names = [name for name in names if name]
            if len(names) > 1 and here is not None and not any("$" in name or "://" in name for name in names):
                is_folder = names[-1].endswith(("/", ".")) or len(names) > 2
                place = posixpath.normpath(posixpath.join(here, names[-1]))
                for name in names[:-1]:
                    path = posixpath.normpath(name).lstrip("/") or "."
                    into = is_folder and _is_file(path)  # a file goes into a folder, what is in a folder becomes it
                    found[posixpath.join(place, posixpath.basename(path)) if into else place] = path
    return found


def _stage(instruction: Instruction) -> tuple[str, str]:
    """The image or stage that FROM begins with, and the name of what it begins ("" without one)."""
    words = [word.lower() for word in instruction.body.text.split() if not word.startswith("--")]
    return (words[0] if words else ""), (words[2] if len(words) > 2 and words[1] == "as" else "")


def python_of(source: Source) -> str:
    """The minor version of Python in the image that is built last (`FROM python:3.10-slim`), "" where nothing tells."""
    begun: dict[str, str] = {}
    found = ""
    for instruction in instructions(source.text):
        if instruction.name == "FROM":
            base, called = _stage(instruction)
            named = _PYTHON_IMAGE.match(base.rpartition("/")[2])
            found = named[1] if named is not None else begun.get(base, "")
            if called and len(begun) < _MOST_STAGES:
                begun[called] = found
    return found


def _state_after(stage: State | None) -> State:
    """What a stage that continues another one begins with: its variables and its folder."""
    state = State()
    if stage is not None:
        for name, word in stage.view().items():
            state.set(name, word, True)
        state.change_directory(stage.directory)
    return state


def _filled_in(word: str, known: dict[str, str]) -> str:
    """A word with the variables that ENV has set; `$` stays where one is not known."""
    return _VARIABLE.sub(lambda match: known.get(match["inside"] or match["name"], match[0]), word)


def _is_file(path: str) -> bool:
    """Whether a path looks like that of a file: its name has a suffix."""
    return "." in posixpath.basename(path).strip(".")


def on_the_host(name: str, directory: str | None, copies: dict[str, str]) -> str | None:
    """The name, in the folder the image is built from, of what a name in the image was copied from; None if unknown."""
    if directory is None and not posixpath.isabs(name):
        return None
    path = "/" + posixpath.normpath(posixpath.join("/", directory or "", name)).lstrip("/")  # two slashes stay two
    if path in copies:
        return copies[path]
    folder = posixpath.dirname(path)
    while folder not in copies and folder != "/":
        folder = posixpath.dirname(folder)
    source = copies.get(folder)
    if source is None or _is_file(source):
        return None
    return posixpath.normpath(posixpath.join(source, posixpath.relpath(path, folder)))


def instructions(text: str) -> Iterator[Instruction]:
    """The instructions of a Dockerfile."""
    directive = _ESCAPE_DIRECTIVE.match(text)
    escape = directive[1] if directive else "\\"
    offset = 0
    while offset < len(text):
        line = _LINE.match(text, offset)
        assert line is not None
        match = _INSTRUCTION.match(text, offset, line.end())
        if match is None:
            offset = line.end()
            continue
        body = Pieces()
        offset = _join(text, match.end(), line.end(), escape, body)
        heredocs = []
        if match[1].upper() in ("RUN", "COPY", "ADD"):
            for heredoc in _HEREDOC.finditer(body.text):
                start, end, offset = _heredoc(text, offset, heredoc[3], bool(heredoc[1]))
                heredocs.append((start, end))
                body_end = offset
                if match[1].upper() == "RUN":
                    body.copy(text, start, body_end)
        yield Instruction(match[1].upper(), body, tuple(heredocs), match.start(1))


def _join(text: str, start: int, end: int, escape: str, body: Pieces) -> int:
    """Append an instruction's lines to `body`; returns the offset behind the last one."""
    while True:
        content = text[start:end].rstrip()
        if not content.endswith(escape):
            body.copy(text, start, end)
            return end
        body.copy(text, start, start + len(content) - 1)
        body.put("\\\n", start + len(content) - 1, end)
        while True:
            if end >= len(text):
                return end
            line = _LINE.match(text, end)
            assert line is not None
            start, end = line.span()
            stripped = line[0].strip()
            if stripped and not stripped.startswith("#"):
                break


def _heredoc(text: str, offset: int, delimiter: str, tabs: bool) -> tuple[int, int, int]:
    """Start and end of a here-document's body, and the offset behind its last line."""
    start = offset
    while offset < len(text):
        line = _LINE.match(text, offset)
        assert line is not None
        content = line[0].rstrip("\r\n")
        if (content.lstrip("\t") if tabs else content) == delimiter:
            return start, offset, line.end()
        offset = line.end()
    return start, offset, offset


def _read_environment(body: Pieces, state: State, text: str) -> None:
    old = _OLD_ENV.fullmatch(body.text)
    if old is not None:
        start, end = body.start(old.start(2)), body.end(old.start(2) + len(old[2].rstrip()))
        known = "$" not in old[2] and "\\" not in old[2]
        state.set(old[1], Word(old[2].strip().strip("\"'") if known else None, text[start:end], start, end), True)
        return
    script = Pieces(body)
    script.put("export ", 0, 0)
    script.copy(body.text, 0, len(body.text))
    read_commands(script.text, script, state, original=text)


def _commands(instruction: Instruction, state: State, text: str) -> list[Command]:
    body = instruction.body
    flags = _FLAGS.match(body.text)
    first = flags.end() if flags and instruction.name == "RUN" else 0
    rest = body.text[first:]
    if _EXEC_FORM.fullmatch(rest.replace("\\\n", "  ")):
        return _exec_form(body, first, state, text)
    heredoc = _HEREDOC.match(rest.lstrip())
    if heredoc is not None and instruction.heredocs and rest.lstrip()[heredoc.end() :].split("\n", 1)[0].strip() == "":
        return _heredoc_script(*instruction.heredocs[0], state, text)
    script = Pieces(body)
    script.copy(body.text, first, len(body.text))
    return read_commands(script.text, script, state, original=text)


def _heredoc_script(start: int, end: int, state: State, text: str) -> list[Command]:
    """`RUN <<EOF`: the body itself is the script, for the interpreter of its first line."""
    first = text[start:end].split("\n", 1)[0]
    if first.startswith("#!") and not any(first.rstrip().endswith(shell) for shell in _SHELLS):
        return []
    script = Pieces()
    script.copy(text, start, end)
    return read_commands(script.text, script, state, original=text)


def _exec_form(body: Pieces, first: int, state: State, text: str) -> list[Command]:
    import json

    words = []
    try:
        for match in _STRING.finditer(body.text, first):
            start, end = body.start(match.start()), body.end(match.end())
            words.append(Word(str(json.loads(match[0])), text[start:end], start, end))
    except ValueError:
        return []
    if not words:
        return []
    command = Command(tuple(words), state.view(), state.directory, words[0].start, words[-1].end)
    command.exec_form = True
    return [command, *shell_of(command, state, text)]


def shell_of(command: Command, state: State, text: str) -> list[Command]:
    """The commands of `["bash", "-c", "…"]`."""
    words = command.words
    if (
        len(words) < 3
        or posixpath.basename(words[0].text or "") not in _SHELLS
        or not (words[-2].text or "").endswith("c")
    ):
        return []
    script = Pieces()
    value = words[-1]
    if value.raw[1:-1] == value.text:
        script.copy(text, value.start + 1, value.end - 1)
    else:
        script.put(value.text or "", value.start, value.end)
    found = read_commands(script.text, script, state, original=text)
    for inner in found:
        inner.outer = (*words[:-1], *inner.outer)
    return found
