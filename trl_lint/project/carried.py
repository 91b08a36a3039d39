"""Commands inside the words of other commands: `tmux new "…"`, `sbatch --wrap "…"`, `parallel "… {}" ::: 1 2`.

What the shell reader itself sees (`bash -c "…"`, `eval "…"`) it has read already. The rest is told by the rows of
`rules/wrappers.toml`, and goes through the same reader: each word keeps the place where it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trl_lint import budget
from trl_lint.project.launchers import basename
from trl_lint.project.peeling import Peeled, peel
from trl_lint.regexes import regex
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.shell import Command, Word, read_commands
from trl_lint.sources.shell_state import State
from trl_lint.sources.shell_syntax import script_word
from trl_lint.sources.shell_values import HOLE

_DEEPEST = 5
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_KEYS = frozenset({"C-m", "Enter", "ENTER", "KPEnter", "C-j"})
_ESCAPE = regex(r"\\([$`\"\\\n])")
_FILLED = regex(r"\{(?:[#%]|/?\.?|//|\d+[./]*|[A-Za-z_]\w*)\}")


def with_carried(commands: Iterable[Command], text: str, depth: int = 0) -> list[Command]:
    """The commands of a text, each followed by those that stand in its words."""
    found: list[Command] = []
    for command in commands:
        found.append(command)
        inner = list(_carried(command, text)) if command.words else []
        if inner and depth >= _DEEPEST:
            budget.limit(_DEEPEST, "commands in words of commands more than {} deep were not read", start=command.start)
            continue
        if inner:
            found += with_carried(inner, text, depth + 1)
    return found


def _carried(command: Command, text: str) -> Iterator[Command]:
    words = command.words
    if not command.exec_form and script_word(words) is not None:
        return  # read where the command itself was
    peeled = peel(words)
    if peeled is None:
        peeled = _of_options(words)
    if peeled is None:
        return
    for index in _scripts(words, peeled):
        script = _script(words[index], text)
        if script is None:
            continue
        script = _without_keyword(script, words[index])
        if any(row.fills for row in peeled.rows):
            script = _filled_script(script)
        for inner in read_commands(script.text, script, _state(command, peeled), original=text):
            inner.outer = (*command.outer, *words[:index], *inner.outer)
            inner.background = inner.background or command.background
            inner.errors = inner.errors or command.errors
            yield inner
    if any(row.fills for row in peeled.rows) and not peeled.is_text and peeled.program < len(words):
        yield _filled_command(command, peeled)


def _of_options(words: Sequence[Word]) -> Peeled | None:
    """What is left where a command has nothing but options: one of them may hold the command."""
    from trl_lint.knowledge.wrappers import wrappers

    rows = wrappers().get(basename(words[0]), ())
    row = next((row for row in rows if row.script), None)
    return None if row is None else Peeled(len(words), (basename(words[0]),), (), row.clean, (row,))


def _scripts(words: Sequence[Word], peeled: Peeled) -> Iterator[int]:
    """The words that are texts for a shell."""
    end = len(words)
    for row in peeled.rows:
        for index in range(1, end) if row.script else ():
            option = words[index].text if words[index].text is not None else words[index].raw
            if option in row.script and index + 1 < end:
                yield index + 1
            elif option is not None and "=" in option and option.partition("=")[0] in row.script:
                yield index
    if peeled.is_text:
        yield peeled.program
    elif peeled.program < end and any(row.keys for row in peeled.rows):
        while end > peeled.program and words[end - 1].text in _KEYS:
            end -= 1
        if end - peeled.program == 1:
            yield peeled.program
    elif peeled.program < end and basename(words[peeled.program]) in _SHELLS:
        inside = script_word(words[peeled.program :])
        if inside is not None:
            yield peeled.program + inside


def _script(word: Word, text: str) -> Pieces | None:
    """A word as the text of a script, with the places of its characters where they can be told."""
    script = Pieces()
    content = word.text if word.text is not None else word.template
    if not content:
        return None
    raw = text[word.start : word.end]
    for start, end in ((word.start + 1, word.end - 1), (word.start, word.end)):
        if text[start:end] == content:
            script.copy(text, start, end)
            return script
    if raw[:1] == raw[-1:] == '"' and word.text is not None and "$" not in raw:
        position = word.start + 1
        for match in _ESCAPE.finditer(text, position, word.end - 1):
            script.copy(text, position, match.start())
            script.put("" if match[1] == "\n" else match[1], match.start(), match.end())
            position = match.end()
        script.copy(text, position, word.end - 1)
        if script.text == content:
            return script
        script = Pieces()
    script.put(content, word.start, word.end)
    return script


def _without_keyword(script: Pieces, word: Word) -> Pieces:
    """The value of `--wrap=…` without the name of the option."""
    text = script.text
    name, equals, _ = text.partition("=")
    if not equals or not name.startswith("--") or any(char.isspace() for char in name):
        return script
    start = len(name) + 1
    end = len(text)
    if text[start : start + 1] in ("'", '"') and text[-1:] == text[start]:
        start, end = start + 1, end - 1  # raw, as it stands
    value = Pieces(script)
    value.copy(text, start, end)
    return value


def _state(command: Command, peeled: Peeled) -> State:
    state = State()
    if not peeled.clean:
        for name, word in command.env.items():
            if command.env.exported(name):
                state.set(name, word, True)
        for name, word in command.assignments:
            state.set(name, word, True)
    for name, word in peeled.assignments:
        state.set(name, word, True)
    state.change_directory(None if peeled.clean or peeled.in_container else command.directory)
    return state


# -- what is filled in for each of several commands -------------------------------------------------------------------


def _filled_script(script: Pieces) -> Pieces:
    result = Pieces(script)
    position = 0
    for match in _FILLED.finditer(script.text):
        result.copy(script.text, position, match.start())
        result.put(HOLE, match.start(), match.end())
        position = match.end()
    result.copy(script.text, position, len(script.text))
    if not position:
        result.put(f" {HOLE}", len(script.text), len(script.text))
    return result


def _filled_command(command: Command, peeled: Peeled) -> Command:
    """The command that `parallel` and its like start, with what they put in unknown."""
    words: list[Word] = []
    is_filled = False
    for word in command.words[peeled.program :]:
        if word.text is not None and word.text.startswith(":::"):
            break
        if word.text is not None and _FILLED.search(word.text):
            is_filled = True
            word = word._replace(text=None, template=_FILLED.sub(HOLE, word.text))
        words.append(word)
    last = words[-1] if words else command.words[peeled.program]
    if not is_filled:
        words.append(Word(None, "$@", last.end, last.end, True))
    made = Command(tuple(words), command.env, command.directory, words[0].start, last.end)
    made.assignments = command.assignments
    made.outer = (*command.outer, *command.words[: peeled.program])
    made.branch, made.errors, made.background = command.branch, command.errors, command.background
    return made
