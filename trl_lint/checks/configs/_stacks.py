"""The laws of frameworks without tables of their own, asked of their commands and the configs that these name."""

from __future__ import annotations

import os
from collections.abc import Iterator

from trl_lint import tracked
from trl_lint.checks.configs._asserts import Problem, program_place
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level
from trl_lint.finding import Location
from trl_lint.knowledge.stacks import Law, Stack, stacks
from trl_lint.missing import UNKNOWN
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.launches import Launch
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.effective import Setting, as_number, of_document
from trl_lint.run.runs import read_quietly

# `sglang:d1p1t16+d16p1t1`: how many GPUs share what, by letters.
_SIZE = regex(r"([a-z])(\d{1,4})")


class Given(NamedTuple):
    """What a command, or its config, says of a key."""

    value: object
    place: Location | None


class Command(NamedTuple):
    """What is known of a command: words by key, its config, and whether all words are known."""

    stack: Stack
    words: dict[str, Given]
    document: Document | None
    is_whole: bool

    def read(self, key: str) -> Given | None:
        """None for a key whose value is not known."""
        if key in self.words:
            return self.words[key] if self.words[key].value is not UNKNOWN else None
        said = of_document(self.document, key) if self.document is not None else None
        if isinstance(said, Setting):
            return Given(said.value, said.location) if said.value is not UNKNOWN else None
        known = self.stack.defaults.get(key)
        return Given(known, None) if known is not None and said is not UNKNOWN and self.is_whole else None


def broken_laws(launch: Launch, rule: Rule, project: Project) -> Iterator[Problem]:
    """The laws that a command breaks."""
    command = _command(launch, project)
    if command is None:
        return
    for law in command.stack.law:
        found = {name: _named(key, command) for name, key in law.names.items()}
        values = {name: given.value for name, given in found.items() if given is not None}
        if len(values) < len(found) or not _is_broken(law, values):
            continue
        message = law.told(values)
        places = sorted(
            (message.find(f"`{law.names[name].partition(' ')[0]}`") % 10_000, given.place)
            for name, given in found.items()
            if given is not None and given.place is not None
        )
        if not places:
            continue
        level = Level(rule, launch.is_mild or not command.is_whole, of_code=False).severity
        related = tuple(place._replace(message="together with this") for _, place in places[1:])
        yield Problem(places[0][1], f"{command.stack.shown} stops: {message}", level, (*related, program_place(launch)))


def _is_broken(law: Law, values: dict[str, object]) -> bool:
    try:
        return law.is_broken(values)
    except (ZeroDivisionError, TypeError):
        return False


def _named(name: str, command: Command) -> Given | None:
    """What is said of a key, or of the size that its text has for a letter, in the part of an engine."""
    key, _, part = name.partition(" ")
    given = command.read(key)
    if not part or given is None or not isinstance(given.value, str):
        return None if part else given
    engine, letter = part.split(":")
    texts = [text.partition(":")[2] for text in given.value.split("+") if text.startswith(engine)]
    sizes = dict(_SIZE.findall(texts[0])) if len(texts) == 1 else {}
    return Given(int(sizes[letter]), given.place) if letter in sizes and sizes.get("p", "1") == "1" else None


def _command(launch: Launch, project: Project) -> Command | None:
    script = (launch.script.text or "") if launch.script is not None else ""
    stack = next((one for one in stacks() if one.is_started_by(launch.module or "", script)), None)
    if stack is None or launch.command.errors or _is_own(launch, project):
        return None
    words: dict[str, Given] = {}
    is_whole, named = True, ""
    texts = list(launch.args)
    for at, word in enumerate(texts):
        after = texts[at + 1].text if at + 1 < len(texts) else None
        key, has_value, value = (word.text or "").partition("=")
        if word.text is None:
            key, has_value, _ = word.template.partition("=")
            is_whole = is_whole and bool(has_value)
            words[key.lstrip("+")] = Given(UNKNOWN, None)
            continue
        if key == stack.config or (stack.config and key == stack.config.lstrip("-")):
            named = value if has_value else after or ""
        elif stack.notation == "assignments" and has_value:
            words[key.lstrip("+")] = Given(_read(value), launch.source.location(word.start, word.end))
        elif stack.notation == "flags" and key.startswith("--"):
            name = key[2:].replace("-", "_")
            end = word.end if has_value or after is None else texts[at + 1].end
            words[name] = Given(_read(value if has_value else after), launch.source.location(word.start, end))
    if not all(mark in words for mark in stack.marks):
        return None
    path = launch.file_named(named) if named else None
    document = read_quietly(path, project, is_recipe=True) if path is not None else None
    if named and document is None:
        is_whole = False
    return Command(stack, words, document, is_whole)


def _is_own(launch: Launch, project: Project) -> bool:
    """Whether the project has the code that is started, which may ask for something else."""
    if launch.script is not None:
        return launch.script_path is not None
    return tracked.is_folder(os.path.join(project.root, (launch.module or "").partition(".")[0]))


def _read(text: str | None) -> object:
    number = as_number(text) if text is not None else None
    return text if number is None else int(number) if float(number).is_integer() else number
