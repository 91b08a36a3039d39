"""Keys and flags that a command of LLaMA-Factory, ms-swift or axolotl does not have in the releases in use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress

from trl_lint.checks._phrases import with_scope
from trl_lint.checks.configs._problems import entries
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, Verdict, judge_config
from trl_lint.finding import Finding, Severity
from trl_lint.knowledge.command_keys import accepted_transformers, keys_of, keys_with
from trl_lint.knowledge.families import Arguments, arguments_of, arguments_of_kind, families
from trl_lint.knowledge.histories import releases
from trl_lint.memos import per_project, read_per_project
from trl_lint.missing import UNKNOWN
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.launches import Launch
from trl_lint.project.stack import Choices
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.readers.command_words import Given, words_of
from trl_lint.run.runs import run_of, runs_with
from trl_lint.sources import SourceError
from trl_lint.sources.nodes import Entry, Scalar, Sequence, find, value_of
from trl_lint.sources.placeholders import is_marked
from trl_lint.sources.requirements import package_of_url
from trl_lint.sources.shell import Word

# A file with more keys that a command lacks was written for another one, and that is said once.
_MOST_KEYS_TOLD = 3
_SETUP_FILES = frozenset({"pyproject.toml", "setup.py", "setup.cfg"})
_ENTRY_POINT = regex(r"\b([\w-]{1,40})[\"']?[ ]?=[ ]?[\"']?[\w.]{1,200}:\w")


class Asked(NamedTuple):
    """Whose keys are asked for: the arguments of a family, one of its commands, and the plugins beside it."""

    arguments: Arguments
    command: str
    subcommand: str
    plugins: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """`megatron sft` of a program whose keys are recorded under its own name."""
        program, dash, name = self.command.rpartition("-")
        return f"{program} {name}" if dash and name == self.subcommand else self.subcommand

    def takes(self, key: str, version: str, is_flag: bool = False) -> bool | None:
        """Whether a release has a key; None if nobody knows."""
        package = self.arguments.package
        keys = keys_with(package, self.command, self.plugins, version)
        if keys is None:
            return None
        accepted = accepted_transformers(package, version)
        found = keys.takes(key, accepted)
        if found is False and is_flag:
            # argparse: `--no_x` switches off what is on, and the beginning of a name will do.
            negated = keys.takes(key[3:], accepted) if key.startswith("no_") else False
            return True if keys.has_beginning(key) else negated
        return found

    def is_fine(self, key: str, is_flag: bool = False) -> Callable[[str], bool | None]:
        return lambda version: self.takes(key, version, is_flag)

    def history(self, key: str, version: str) -> str:
        return is_there_since(self.arguments.package, self.arguments.shown, self.is_fine(key), version)


def is_there_since(package: str, shown: str, takes: Callable[[str], bool | None], version: str) -> str:
    """Since when, or until when, releases have what this one lacks; "" if none has it."""
    known = releases(package)
    having = [one for one in known if takes(one)]
    at = known.index(version)
    before = [one for one in having if known.index(one) < at]
    if before:
        return f", gone since {shown} {known[known.index(before[-1]) + 1]}"
    return f", there since {shown} {having[0]}" if having else ""


def unknown_keys(document: Document, rule: Rule, project: Project) -> Iterator[Finding]:
    """The keys of a document that the command which reads it does not have."""
    arguments = arguments_of_kind(document.kind)
    if arguments is None:
        return
    command = document.definition.command
    readers = readers_of(document, arguments, project)
    if readers and command not in readers:
        return  # `foreign_documents` says it of the commands that read it
    asked = Asked(arguments, command, command, plugins_of(document, arguments))
    choices = project.environment(document.path).choices
    judged = _judged(document, asked, choices, Level(_level(arguments), of_code=False))
    others = () if readers else [asked._replace(command=name) for name in arguments.every_command if name != command]
    judged = [
        (entry, verdict)
        for entry, verdict in judged
        if entry.key.value not in arguments.also_read
        and not any(other.takes(str(entry.key.value), verdict.version) for other in others)
    ]
    if not judged or is_left_alone(arguments, project) or is_of_others(document, arguments, project):
        return
    for entry, verdict in judged:
        yield rule.finding(
            document.place(entry._replace(value=entry.key)),
            _word(str(entry.key.value), asked, verdict),
            severity=verdict.severity,
            related=verdict.related,
        )


def readers_of(document: Document, arguments: Arguments, project: Project) -> set[str]:
    """The commands, as their keys are recorded, that certainly read a document."""
    return {
        arguments.keys_for(run.launch.subcommand)
        for run in runs_with(document.path, project)
        if run.launch.subcommand is not None and arguments_of(run.framework) is arguments and run.recipe is document
    }


def foreign_documents(launch: Launch, rule: Rule, project: Project) -> Iterator[Finding]:
    """A file that a command is given, and that was written for another one."""
    if launch.program is None or launch.subcommand is None:
        return
    run = run_of(launch, project)
    arguments = arguments_of(run.framework)
    if arguments is None or arguments.surplus == "ignored":
        return
    document, link = run.recipe, run.link("recipe")
    command = arguments.keys_for(launch.subcommand)
    if document is None or link is None or arguments.config_first:
        return
    if arguments_of_kind(document.kind) is arguments and command == document.definition.command:
        return  # that is said where the document is checked
    asked = Asked(arguments, command, launch.subcommand)
    level = Level(_level(arguments), launch.is_mild, of_code=False)
    judged = _judged(document, asked, project.environment(launch.source.path).choices, level)
    if not judged or is_left_alone(arguments, project):
        return
    if len(judged) <= _MOST_KEYS_TOLD:
        for entry, verdict in judged:
            place = document.place(entry._replace(value=entry.key))
            related = (launch.location._replace(message="the command that reads it"), *verdict.related)
            message = _word(str(entry.key.value), asked, verdict)
            yield rule.finding(place, message, severity=verdict.severity, related=related)
        return
    names = [f"`{entry.key.value}`" for entry, _ in judged]
    first, verdict = judged[0]
    yield rule.finding(
        link.location,
        with_scope(
            f"{arguments.shown} stops at start: `{launch.subcommand}` has no {', '.join(names[:2])} and "
            f"{len(names) - 2} more keys of this file, which is one for another command",
            verdict.scope,
        ),
        severity=verdict.severity,
        related=(document.place(first, "the first of them"), *verdict.related),
    )


def unknown_flags(launch: Launch, rule: Rule, project: Project) -> Iterator[Finding]:
    """The flags of a command, or of the config file that stands for some, that none of its argument classes has."""
    if launch.program is None or launch.subcommand is None or launch.command.errors:
        return
    arguments = arguments_of(run_of(launch, project).framework)
    if arguments is None or arguments.surplus == "ignored":
        return
    given = words_of(launch, project) or Given(launch.args, launch)
    flags = [(word, name) for word in given.words if (name := flag_name(word)) and name not in arguments.more]
    if not flags or lets_pass(given, launch, arguments, project):
        return
    asked = Asked(arguments, arguments.keys_for(launch.subcommand), launch.subcommand)
    choices = project.environment(launch.source.path).choices
    level = Level(_level(arguments), launch.is_mild, of_code=False)
    for word, name in flags:
        verdict = judge_config(choices, arguments.package, asked.is_fine(name, is_flag=True), level)
        if verdict is None or is_left_alone(arguments, project):
            continue
        is_key = word in given.of_file
        message = _word(name, asked, verdict, "key `" if is_key else "flag `--")
        command = (launch.location._replace(message="the command that reads it"),) if is_key else ()
        end = word.start + len(f"--{name}")
        place = given.place(word, end) if is_key else launch.place_of(word, f"--{name}")
        yield rule.finding(place, message, severity=verdict.severity, related=(*command, *verdict.related))


def lets_pass(given: Given, launch: Launch, arguments: Arguments, project: Project) -> bool:
    """Whether a command takes every flag, or may: one of its words that is not known, where the project says so."""
    if any(flag_name(word) in arguments.lets_pass for word in given.words):
        return True
    is_hidden = any(launch.flag(f"--{name}") is UNKNOWN for name in arguments.lets_pass)
    return is_hidden and not _said(project).isdisjoint(arguments.lets_pass)


def _judged(document: Document, asked: Asked, choices: Choices, level: Level) -> list[tuple[Entry, Verdict]]:
    package = asked.arguments.package
    # Where a key is ignored, one without a value (`fsdp:` of a template) leaves nothing out.
    is_lost = asked.arguments.surplus == "refused"
    verdicts = [
        (entry, judge_config(choices, package, asked.is_fine(name), level))
        for name, entry in entries(document.root)
        if is_lost or not isinstance(entry.value, Scalar) or entry.value.value is not None
    ]
    return [(entry, verdict) for entry, verdict in verdicts if verdict is not None]


def _level(arguments: Arguments) -> Severity:
    return "error" if arguments.surplus == "refused" else "warning"


def _word(key: str, asked: Asked, verdict: Verdict, what: str = "key `") -> str:
    from trl_lint.checks.drift._wording import did_you_mean

    arguments = asked.arguments
    told = asked.history(key, verdict.version)
    keys = keys_of(arguments.package, asked.command, verdict.version)
    near = "" if told or keys is None else did_you_mean(key, keys.own)
    hint = f"; {near}" if near else ""
    message = f"{arguments.shown} stops at the {what}{key}`: `{asked.shown}` has none of that name{told}{hint}"
    if arguments.surplus == "ignored":
        message = f"{arguments.shown} ignores the {what}{key}`: nothing reads it{told}{hint}"
    return with_scope(message, verdict.scope)


def flag_name(word: Word) -> str:
    """`max_length` of `--max-length=5`, "" for a word that is no flag or not known."""
    text = word.text or ""
    name = text.partition("=")[0][2:].replace("-", "_") if text.startswith("--") else ""
    return name if name.isidentifier() and not is_marked(text) else ""


def plugins_of(document: Document, arguments: Arguments) -> tuple[str, ...]:
    """The plugins that a document lists."""
    listed = find(document.root, arguments.plugins) if arguments.plugins else None
    return tuple(str(value_of(item)) for item in listed.items) if isinstance(listed, Sequence) else ()


def is_of_others(document: Document, arguments: Arguments, project: Project) -> bool:
    """Whether a document may be one for other classes: a key says so, and no command that a text holds reads it."""
    if not any(find(document.root, key) for key in arguments.unless_keys):
        return False
    return not runs_with(document.path, project)


def is_left_alone(arguments: Arguments, project: Project) -> bool:
    """Whether the project has a copy of the framework or commands of the same names, says somewhere what gives its
    commands other keys, or never names what has a command of a common name.
    """
    said = _said(project)
    if has_copy(arguments, project) or not said.isdisjoint(arguments.unless):
        return True
    if arguments.only_with and said.isdisjoint(arguments.only_with):
        return True
    return any(
        program.command in _own_commands(project)
        for family in families()
        if family.arguments is not None and family.arguments.package == arguments.package
        for program in family.program
    )


def has_copy(arguments: Arguments, project: Project) -> bool:
    names = {arguments.imported_as.replace("_", ""), arguments.package.replace("-", "")}
    return _is_inside(arguments.imported_as, project) or not names.isdisjoint(_submodules(project))


@per_project
def _is_inside(imported_as: str, project: Project) -> bool:
    copy = os.path.join(os.sep, imported_as, "__init__.py")
    return any(path.endswith(copy) for path in project.paths)


@read_per_project
def _submodules(project: Project) -> frozenset[str]:
    """The names, without dashes, of the repositories that git checks out inside of this one, at commits of theirs."""
    try:
        text = project.files.read(os.path.join(project.root, ".gitmodules")).decode("utf-8", "replace")
    except (OSError, SourceError):
        return frozenset()
    settings = (line.partition("=") for line in text.splitlines())
    urls = (value.strip() for key, _, value in settings if key.strip() == "url")
    return frozenset(package_of_url(url).replace("-", "") for url in urls)


@read_per_project
def _own_commands(project: Project) -> frozenset[str]:
    """The names that packages of the project may install as commands: `megatron = "own.cli:main"`."""
    found: set[str] = set()
    for path in project.paths:
        if os.path.basename(path) in _SETUP_FILES:
            with suppress(OSError, SourceError):
                text = project.files.read(path).decode("utf-8", "replace")
                found.update(match[1] for match in _ENTRY_POINT.finditer(text))
    return frozenset(found)


@read_per_project
def _said(project: Project) -> frozenset[str]:
    """The words that decide which keys some framework has, as far as they stand somewhere in the project."""
    asked = [family.arguments for family in families() if family.arguments is not None]
    words = {word for arguments in asked for word in (*arguments.unless, *arguments.lets_pass, *arguments.only_with)}
    found = set()
    for path in project.paths:
        with suppress(OSError, SourceError):
            if project.files.holds(path, *(word.encode() for word in sorted(words))):
                found |= {word for word in words if project.files.holds(path, word.encode())}
    return frozenset(found)
