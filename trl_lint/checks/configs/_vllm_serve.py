"""Flags and values of `vllm serve` that the releases in use refuse.

vLLM's parser takes underscores for dashes, beginnings of names, `--no-x` for `--x`, `--enable-x` and `--disable-x` for
each other in newer releases, and a dotted rest (`--compilation-config.level`); it stops at all else (its
FlexibleArgumentParser, and `parse_args` of the command, in 0.5.5, 0.8.5, 0.10.2 and 0.33.0).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache, partial

from trl_lint.checks._phrases import either, with_scope
from trl_lint.checks.configs._asserts import Problem
from trl_lint.checks.configs._command_keys import is_there_since
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge_config
from trl_lint.knowledge.api import facts
from trl_lint.missing import Missing
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.project.own_copy import has_own_copy
from trl_lint.project.stack import Choices
from trl_lint.regexes import regex
from trl_lint.run.readers.argparse_flags import Flag, read_flag
from trl_lint.sources.placeholders import is_marked
from trl_lint.sources.shell import Word

_MODULE = "vllm.entrypoints.openai.api_server"
_FLAG = regex(r"--[a-z][a-z0-9-]*\Z")
# Behind these it is one command in this environment.
_TRANSPARENT = frozenset({"bash", "env", "exec", "nice", "nohup", "setsid", "time", "timeout"})
_INVERSE = {"--enable-": "--disable-", "--disable-": "--enable-"}
_NONE = ("", "None")  # taken where a value may be missing, which the choices do not say


def unknown_flags(launch: Launch, rule: Rule, project: Project) -> Iterator[Problem]:
    """TRL401: flags that the server does not have."""
    from trl_lint.checks.drift._wording import did_you_mean

    choices = _choices(launch, project)
    if choices is None:
        return
    for word in launch.args:
        if word.text == "--":
            return
        name = _name(word)
        takes = partial(_takes, name)
        verdict = judge_config(choices, "vllm", takes, _level(rule, launch)) if name else None
        if verdict is None:
            continue
        since = is_there_since("vllm", "vLLM", takes, verdict.version)
        near = "" if since else did_you_mean(name, _flags(verdict.version) or ())
        if not since and not near and choices["vllm"].assumed:
            continue  # one that is newer than the releases known here
        hint = f"; {near}" if near else ""
        message = f"vLLM stops at the flag `{name}`: its server has none of that name{since}{hint}"
        location = launch.place_of(word, (word.text or "").partition("=")[0])
        yield Problem(location, with_scope(message, verdict.scope), verdict.severity, verdict.related)


def wrong_values(launch: Launch, rule: Rule, project: Project) -> Iterator[Problem]:
    """TRL402: values that are none of a flag's choices."""
    choices = _choices(launch, project)
    if choices is None:
        return
    for at, word in enumerate(launch.args):
        if word.text == "--":
            return
        name, equals, text = _name(word), *(word.text or "").partition("=")[1:]
        value = word if equals else launch.args[at + 1] if at + 1 < len(launch.args) else None
        if not name or value is None or value.text is None or "." in (word.text or "").partition("=")[0]:
            continue
        text = text if equals else value.text
        if text.startswith("-") or text.isupper() or is_marked(text):
            continue  # a flag, or a blank to fill in: no choice is written in capitals
        takes = partial(_takes_value, name, text)
        verdict = judge_config(choices, "vllm", takes, _level(rule, launch))
        if verdict is not None:
            allowed = either(f"`{choice}`" for choice in (_flags(verdict.version) or {})[name].choices)
            message = with_scope(f"`{name}` of vLLM cannot be `{text}`: choose {allowed}", verdict.scope)
            location = launch.source.location(value.start, value.end)
            yield Problem(location, message, verdict.severity, verdict.related)


def _level(rule: Rule, launch: Launch) -> Level:
    return Level(rule, launch.is_mild, of_code=False)


def _choices(launch: Launch, project: Project) -> Choices | None:
    """The releases that a command which starts the server may have; None for other commands, and where another vLLM
    than the project's may be meant.
    """
    if launch.launcher != "vllm" and launch.module != _MODULE:
        return None
    if launch.command.errors or not _TRANSPARENT.issuperset(launch.wrappers):
        return None
    # `--omni` hands the command over to vllm-omni, which has flags of its own.
    if any((word.text or "").startswith("--omni") for word in launch.args):
        return None
    choices = project.environment(launch.source.path).choices
    return None if "vllm" not in choices or has_own_copy("vllm", launch.source.path, project) else choices


def _name(word: Word) -> str:
    """`--max-model-len` of `--max_model_len=5`, `--compilation-config` of `--compilation_config.level`; else ""."""
    text = word.text or ""
    name = text.partition("=")[0].partition(".")[0].replace("_", "-")
    return name if _FLAG.match(name) and not is_marked(text) else ""


@lru_cache(maxsize=128)
def _flags(version: str) -> dict[str, Flag] | None:
    """The flags of a release in the order of their names; None if they are not recorded."""
    found = facts("vllm", "flags vllm.serve", version)
    if isinstance(found, Missing):
        return None
    return {name: read_flag(name, text) for name, text in sorted(found.items()) if name.startswith("--")}


@lru_cache(maxsize=128)
def _names(version: str) -> list[str]:
    return list(_flags(version) or ())


@lru_cache(maxsize=4096)
def _takes(name: str, version: str) -> bool | None:
    if _flags(version) is None:
        return None
    spellings = [name, *(new + name[len(old) :] for old, new in _INVERSE.items() if name.startswith(old))]
    if name.startswith("--no-"):
        spellings.append(f"--{name[5:]}")
    return "--help".startswith(name) or any(_begins(spelling, _names(version)) for spelling in spellings)


def _begins(text: str, names: list[str]) -> bool:
    at = bisect_left(names, text)
    return at < len(names) and names[at].startswith(text)


@lru_cache(maxsize=4096)
def _takes_value(name: str, text: str, version: str) -> bool | None:
    flags = _flags(version)
    if flags is None:
        return None
    choices = flags[name].choices if name in flags else ()
    return not choices or text in choices or text in _NONE
