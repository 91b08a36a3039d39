"""Options that a launcher or server does not have, and values that it does not take: `configs/launchers.toml`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from trl_lint.checks._phrases import either, with_scope
from trl_lint.checks.configs._asserts import Problem
from trl_lint.checks.configs._command_keys import is_there_since
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_config
from trl_lint.finding import Location, Severity
from trl_lint.grading import Evidence
from trl_lint.knowledge.launchers import Launcher, has_another_name, launchers, launchers_by_module, name_elsewhere
from trl_lint.knowledge.wrappers import names_of_wrappers, wrappers
from trl_lint.project import Project
from trl_lint.project.launchers import basename, tail_of
from trl_lint.project.launches import Launch
from trl_lint.project.own_copy import has_own_copy
from trl_lint.project.scripts import Script
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import Source, SourceError
from trl_lint.sources.placeholders import is_marked
from trl_lint.sources.shell import Command, Word

_OPTION = regex(r"--[a-z][\w-]*(?:=|\Z)")
_NUMBERS = {
    "int": regex(r"[+-]?\d{1,20}\Z"),
    "int:int": regex(r"\d{1,9}:\d{1,9}\Z"),
    "float": regex(r"[+-]?[\d.][\d.eE+-]{0,30}\Z"),
}
_IN_WORDS = {"int": "a whole number", "int:int": "two with `:` between them", "float": "a number"}
_READS_ARGUMENTS = (b"argv", b"rgument", b"pars", b"fire", b"click", b"tyro", b"typer", b"hydra", b"absl", b"import *")
_OTHER_ENVIRONMENT = frozenset({"conda", "mamba", "micromamba", "pipx", "pixi", "uvx"})
_NONE = ("", "None")  # taken where a value may be missing, which the choices do not say
# What people write behind an option that takes nothing, and which then is the name of the script.
_STRAY = regex(r"(?i:true|false|yes|no|on|off)\Z|\d{1,9}\Z")


class Given(NamedTuple):
    """An option as it is given: its word, its value (None for none), and whether a command of its own stands before."""

    word: Word
    value: Word | None
    behind: Word | None = None


class Call(NamedTuple):
    """A call of a launcher: where it stands, the options that it is given, and how much what is wrong weighs."""

    launcher: Launcher
    given: tuple[Given, ...]
    source: Source
    is_mild: bool
    is_shown: bool = False  # in documentation, where words are blanks to fill in


def called_by(launch: Launch) -> Iterator[Call]:
    """The launcher of a command with its own options, if it is one whose options are known."""
    launcher = launchers().get(launch.launcher) or launchers_by_module().get(launch.module or "")
    if launcher is None or launch.command.errors:
        return
    if not (_OTHER_ENVIRONMENT | names_of_wrappers("container")).isdisjoint(launch.wrappers):
        return
    if launcher.unless and any((word.text or "").startswith(launcher.unless) for word in launch.args):
        return
    if not launcher.entry:
        options = tuple(_options(launch.args, launcher))
        yield Call(launcher, options, launch.source, launch.is_mild, launch.is_documentation)
        return
    end = launch.script.start if launch.script is not None else launch.args[0].start if launch.args else None
    words = [
        word
        for word in launch.command.words
        if word.start >= launch.launcher_word.end and (end is None or word.start < end)
    ]
    if words[:1] and words[0].text == "-m" and basename(launch.launcher_word) != launch.launcher:
        words = words[2:]  # `python -m torch.distributed.run`
    own = launch.program.words if launch.program is not None else ()
    if tuple(word.text for word in words[: len(own)]) == own:
        words = words[len(own) :]
    yield Call(launcher, tuple(_options(words, launcher)), launch.source, launch.is_mild, launch.is_documentation)


def called_in(script: Script) -> Iterator[Call]:
    """The calls of launchers that a script makes and that start no program which is known: those of Ray."""
    for command in script.commands if "ray" in script.source.text else ():
        at = _start_of_ray(command) if not command.errors else None
        if at is None:
            continue
        texts = [word.text for word in command.words[at : at + 3]]
        launcher = launchers().get(" ".join(map(str, texts[:2]))) or launchers().get(" ".join(map(str, texts)))
        if launcher is not None:
            words = command.words[at + len(launcher.command.split()) :]
            yield Call(launcher, tuple(_options(words, launcher)), script.source, False)


def _start_of_ray(command: Command) -> int | None:
    """Where `ray` stands in a command, by itself or behind what it is wrapped in."""
    words = command.words
    if words and basename(words[0]) != "ray" and basename(words[0]) not in wrappers():
        return None
    return next((at for at, word in enumerate(words) if basename(word) == "ray"), None)


def _options(words: Sequence[Word], launcher: Launcher) -> Iterator[Given]:
    """The options among the words of a launcher; a name nobody knows takes the word behind it, if that is none."""
    at, behind = 0, None
    known = launcher.known
    while at < len(words):
        word = words[at]
        text = word.text
        at += 1
        if text == "--":
            return
        if text is None or not text.startswith("-") or len(text) == 1:
            if text is not None and launcher.entry == "script":
                return
            # A word that is not known (`--nproc_per_node=$N`, `$ARGS`) is no command that stands before an option.
            behind = behind or (word if launcher.entry and text is not None else None)
            continue
        if not _OPTION.match(text):
            if behind is not None and text != "-v" and not text[1:2].isdigit():
                yield Given(word, None, behind)
            continue
        name, equals, _ = text.partition("=")
        kind = known.get(launcher.named(name))
        value = tail_of(word, len(name) + 1) if equals else None
        if not equals and kind != "-" and at < len(words) and not (words[at].text or "").startswith("--"):
            value = words[at]
            at += 1
        yield Given(word, value, behind)


# -- what is wrong ----------------------------------------------------------------------------------------------------


def unknown_options(calls: Iterable[Call], rule: Rule, project: Project) -> Iterator[Problem]:
    """TRL401: options that a launcher does not have."""
    for call in calls:
        for option in call.given:
            problem = _unknown(option, call, rule, project)
            if problem is not None:
                yield problem
                if option.behind is not None:
                    break  # the rest of it is read as options as well


def _unknown(option: Given, call: Call, rule: Rule, project: Project) -> Problem | None:
    from trl_lint.checks.drift._wording import did_you_mean

    launcher, text = call.launcher, option.word.text or ""
    name = launcher.named(text)
    takes = partial(launcher.has, name)
    judged = None if is_marked(text) else _judged(takes, call, rule, project)
    if judged is None:
        return None
    since = is_there_since(launcher.package, launcher.package, takes, judged.version) if judged.version else ""
    written = text.partition("=")[0]
    elsewhere = name_elsewhere(name, launcher)
    if option.behind is not None:
        hint = f": put `--` before `{option.behind.text or option.behind.raw}`, so that the rest is the command"
    elif elsewhere is not None:
        hint = f": that is an option of `{elsewhere[1]}`, and `--{elsewhere[0]}` is the one here"
    else:
        near = did_you_mean(f"--{name}", [f"--{each}" for each in launcher.takes(judged.version) or {}])
        if not (near or since) and (call.is_shown or (launcher.spelling == "loose" and judged.is_assumed)):
            return None  # a blank to fill in; one that is newer than the releases known here
        hint = f": {near}" if near else ""
    message = f"`{launcher.command}` stops at start, since it has no option `{written}`{since}{hint}"
    place = call.source.location(option.word.start, min(option.word.end, option.word.start + len(written)))
    return Problem(place, with_scope(message, judged.scope), judged.severity, judged.related)


def wrong_values(calls: Iterable[Call], rule: Rule, project: Project) -> Iterator[Problem]:
    """TRL402: values that are none of an option's choices, or no number where one is asked for."""
    for call in calls:
        for option in call.given:
            value, name = option.value, call.launcher.named(option.word.text or "")
            if value is None or not value.text or is_marked(value.text) or value.text.startswith("-"):
                continue
            judged = _judged(partial(takes_value, call.launcher, name, value.text), call, rule, project)
            if judged is None:
                continue
            kind = (call.launcher.takes(judged.version) or {}).get(name, "")
            if call.is_shown and not _NUMBERS.keys().isdisjoint(kind.split("|")):
                continue
            what = f"`--{name}` cannot be `{value.text}`: it takes {_words(kind)}"
            message = f"`{call.launcher.command}` stops at start: {what}"
            place = call.source.location(value.start, value.end)
            yield Problem(place, with_scope(message, judged.scope), judged.severity, judged.related)


def stray_words(launch: Launch, rule: Rule) -> Iterator[Problem]:
    """`accelerate launch --multi_gpu True train.py`: what follows an option without a value is taken for the script."""
    script = launch.script
    if script is None or launch.launcher not in launchers() or not _STRAY.match(script.text or ""):
        return
    before = [word.text or "" for word in launch.command.words if word.end <= script.start]
    if launch.command.errors or not before or not before[-1].startswith("--") or not launch.args:
        return
    yield Problem(
        launch.source.location(script.start, script.end),
        f"`{before[-1]}` takes no value: `{launch.launcher}` takes `{script.text}` for the script, and what follows "
        "for its arguments",
        Level(rule, launch.is_mild, of_code=False).severity,
        (),
    )


def given_twice(calls: Iterable[Call], rule: Rule) -> Iterator[Problem]:
    """TRL403: an option with two values, of which the last one counts."""
    for call in (one for one in calls if one.launcher.entry == "script"):  # a server may add up what it is given
        first: dict[str, Word] = {}
        for option in call.given:
            name, value = call.launcher.named(option.word.text or ""), option.value
            if option.behind is not None or value is None or value.text is None or name in call.launcher.several:
                continue
            before = first.setdefault(name, value)
            if before.text != value.text and name in call.launcher.known:
                yield Problem(
                    call.source.location(before.start, before.end),
                    f"`--{name}` stands twice in one command: only the last one counts, which is `{value.text}`",
                    Level("warning", call.is_mild, of_code=False).severity,
                    (call.source.location(value.start, value.end, "the last one"),),
                )


def behind_script(launch: Launch, rule: Rule, project: Project) -> Iterator[Problem]:
    """TRL401: options of the launcher behind a script that reads no arguments at all."""
    launcher, script = launchers().get(launch.launcher), launch.script_path
    if launcher is None or script is None or not script.endswith(".py") or launch.command.errors:
        return
    for word in launch.args:
        name = launcher.named(word.text or "")
        if not (word.text or "").startswith("--") or not has_another_name(name, launcher):
            continue
        with suppress(OSError, SourceError):
            if not project.files.holds(script, *_READS_ARGUMENTS, name.encode()):
                yield Problem(
                    launch.source.location(word.start, word.end),
                    f"`{word.text}` is an option of `{launcher.command}` behind the script, which reads no arguments: "
                    "put it in front of the script",
                    Level("warning", launch.is_mild, of_code=False).severity,
                    (),
                )


class _Judged(NamedTuple):
    """As `Verdict`."""

    severity: Severity
    scope: str
    related: tuple[Location, ...]
    version: str = ""
    is_assumed: bool = False


def _judged(is_fine: Callable[[str], bool | None], call: Call, rule: Rule, project: Project) -> _Judged | None:
    """What the releases in use say; of a package without a history all that were read are in one table."""
    package, environment = call.launcher.package, project.environment(call.source.path)
    level = Level(rule, call.is_mild, of_code=False)
    if has_own_copy(package, call.source.path, project):
        return None
    if (chosen := environment.choices.get(package)) is not None:
        verdict = judge_config(environment.choices, package, is_fine, level)
        return _Judged(*verdict[:3], verdict.version, chosen.assumed) if verdict else None
    held = environment.package(package)
    if held.is_own or held.is_tip or is_fine("") is not False:
        return None
    return _Judged(level.graded(Evidence(always=True)), "", ())


def takes_value(launcher: Launcher, name: str, text: str, version: str) -> bool | None:
    options = launcher.takes(version)
    kind = (options or {}).get(name, "")
    choices = kind.split("|")
    if options is None or kind in ("", "-"):
        return None if options is None else True
    if launcher.spelling == "loose" and text in _NONE:
        return True
    if text.isupper() and text.lower() not in choices and not any(map(str.isdigit, text)):
        return True  # a blank to fill in
    return text in choices or any(each in _NUMBERS and _NUMBERS[each].match(text) for each in choices)


def _words(kind: str) -> str:
    return either(_IN_WORDS.get(each, f"`{each}`") for each in kind.split("|"))
