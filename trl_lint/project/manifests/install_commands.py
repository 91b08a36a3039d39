"""One install command: the packages it names, and the projects and requirements files on the disk it installs from."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from trl_lint.finding import Location
from trl_lint.project.launches import Launch
from trl_lint.project.manifests.collected import pin_of
from trl_lint.project.pins import Link, Pin, Step
from trl_lint.project.repositories import at_index, at_revision, package_at
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.requirements import (
    RequirementError,
    folder_of,
    index_of,
    is_path_or_url,
    normalised,
    read_requirement,
)
from trl_lint.sources.shell import Command, Word

_PIP = regex(r"(?:.*/)?pip(?:3(?:\.\d+)?)?")
# Options of pip, uv pip and uv add whose value is a word of its own.
_WITH_VALUE = regex(
    r"""-[rcifteptCP]|--(?:
    requirements?|constraints?|overrides?|exclude-newer|group|extra|optional|package|project|directory
    |index|index-url|default-index|extra-index-url|index-strategy|find-links|keyring-provider|trusted-host|proxy
    |target|prefix|root|root-user-action|src|cache-dir|log|report|progress-bar|link-mode|exists-action
    |python|python-version|python-platform|platform|implementation|abi|torch-backend
    |no-binary|only-binary|no-binary-package|no-build-package|no-build-isolation-package
    |upgrade-strategy|upgrade-package|reinstall-package|refresh-package|resolution|prerelease
    |config-settings?|global-option|build-option|timeout|retries|cert|client-cert|branch|tag|rev
    )""",
    re.VERBOSE,
)
_EDITABLE = ("-e", "--editable")
_FILE_OPTION = regex(r"(?:-r|-c|--requirements?|--constraints?|--overrides?)(?==|\Z)|-[rc](?=[^=-])")
_FILE_KINDS: dict[str, Literal["requirements", "constraints", "overrides"]] = {"c": "constraints", "o": "overrides"}
_EXTRAS = ("--extra", "-E", "--extras", "--group", "-G")
_REVISIONS = ("--rev", "--tag", "--branch")
_ALONE = ("--no-deps", "--no-dependencies")
_ANEW = ("--force-reinstall", "--ignore-installed", "--reinstall", "-I", "--upgrade-strategy=eager")
_UPGRADE = regex(r"-[a-zA-Z]{0,4}U[a-zA-Z]{0,4}")
_INDEX_VARIABLES = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_NO_INDEX", "PIP_PRE")
# What installs the project in the working directory, with the words behind it.
# The managers of projects, with their options for the folder of one.
_MANAGERS = {
    "uv": ("--directory", "--project"),
    "poetry": ("--directory", "--project", "-C", "-P"),
    "pdm": ("--project", "-p"),
}
_PROJECT_COMMANDS = (("uv", "sync"), ("poetry", "install"), ("pdm", "install"))


class Installation(NamedTuple):
    """What a command installs: the index of its first argument, and whether that is the project it is started in."""

    first: int
    is_here: bool = False


def installation_of(words: tuple[Word, ...]) -> Installation | None:
    """`pip install`, `python -m pip install`, `uv pip install`, `uv add`, `uv sync` …; None for any other command."""
    for index, word in enumerate(words[:12]):
        following = words[index + 1 : index + 4]
        verb = _verb(words, index) if word.text in _MANAGERS else index + 1
        pair = (word.text, words[verb].text if verb < len(words) else None)
        if pair in _PROJECT_COMMANDS:
            return Installation(verb + 1, True)
        if pair == ("uv", "add"):
            return Installation(verb + 1)
        if word.text is not None and _PIP.fullmatch(word.text):
            for offset, argument in enumerate(following, index + 1):
                if argument.text == "install":
                    return Installation(offset + 1)
                if argument.text is None or not argument.text.startswith("-"):
                    return None
    return None


def _verb(words: tuple[Word, ...], index: int) -> int:
    """Where the first word behind a program stands that is no option, nor the value of one."""
    at = index + 1
    while at < len(words) and (text := words[at].text) is not None and text.startswith("-"):
        at += 2 if _WITH_VALUE.fullmatch(text) else 1
    return at


def _directory_of(words: tuple[Word, ...], directory: str | None) -> str | None:
    """Where a command works: `uv --directory sub sync`, `uv sync --project=sub`, `poetry -C sub install`."""
    options = next((_MANAGERS[word.text] for word in words if word.text in _MANAGERS), ())
    for word, following in zip(words, (*words[1:], None), strict=True):
        option, equals, value = (word.text or "").partition("=")
        if option in options:
            given = value if equals else following.text if following is not None else None
            return None if given is None or directory is None else posixpath.normpath(posixpath.join(directory, given))
    return directory


def read_installation(
    command: Command, directory: str | None, source: Source, step: Step
) -> tuple[list[Pin], list[Link]]:
    """The packages and the places that an install command names, with the step it is; nothing for other commands.

    `directory`: where it is started, as `Command.directory`.
    """
    found = installation_of(command.words)
    if found is None:
        return [], []
    words = command.words[found.first :]
    directory = _directory_of(command.words, directory)
    if any(word.text in _ALONE for word in words):
        step = step._replace(alone=True)
    step = step._replace(renews=_renewing(command.words))
    pins: list[Pin] = []
    links: list[Link] = []
    if found.is_here:
        here = source.location(command.start, command.end)
        extras = frozenset(normalised(name) for text in _values(words, _EXTRAS) for name in text.split())
        links.append(Link(".", directory, "project", here, extras, step))
        return pins, links
    for option, word in _arguments(words):
        _read_argument(option, word, directory, source, step, pins, links)
    revision = next((text for text in _values(words, _REVISIONS)), "")  # of `uv add`
    if revision:
        pins = [pin._replace(url=at_revision(pin.url, revision)) if pin.url else pin for pin in pins]
    index = index_of(word.text or "" for word in words) or _index_of_shell(command)
    return [at_index(pin, index) for pin in pins] if index else pins, links


def _index_of_shell(command: Command) -> str:
    """The index that variables name instead of PyPI, "" if none."""
    given = dict(command.assignments)
    words = (given.get(name) or command.env.get(name) for name in _INDEX_VARIABLES)
    return next((word.text for word in words if word is not None and word.text), "")


def _renewing(words: tuple[Word, ...]) -> Literal["", "named", "all"]:
    """What an install command takes anew, though it is there: uv takes all that it needs, pip what it names."""
    texts = [word.text or "" for word in words]
    if any(text in _ANEW for text in texts) or "eager" in _values(words, ("--upgrade-strategy",)):
        return "all"
    if not any(text == "--upgrade" or _UPGRADE.fullmatch(text) for text in texts):
        return ""
    return "all" if "uv" in texts else "named"


def _values(words: tuple[Word, ...], options: tuple[str, ...]) -> Iterator[str]:
    """The values of some options."""
    for option, word in pairwise(words):
        if option.text in options and word.text is not None:
            yield word.text


def _arguments(words: tuple[Word, ...]) -> Iterator[tuple[str, Word]]:
    """The words that say what is installed, each with the option in front of it ("" if none)."""
    option = ""
    for word in words:
        text = word.text
        if option and option not in _EDITABLE:
            if _FILE_OPTION.match(option):
                yield option, word
            option = ""
        elif text is None:
            option = ""
        elif text in _EDITABLE:
            option = text
        elif text.startswith("-"):
            named = _FILE_OPTION.match(text)
            if named is not None and named.end() < len(text):
                value = text[named.end() :].removeprefix("=")
                yield named[0], word._replace(text=value)
            elif text.startswith("--editable="):
                yield "-e", word._replace(text=text.removeprefix("--editable="))
            elif _WITH_VALUE.fullmatch(text):
                option = text
        else:
            yield option, word
            option = ""


def _read_argument(
    option: str, word: Word, directory: str | None, source: Source, step: Step, pins: list[Pin], links: list[Link]
) -> None:
    text = word.text
    if text is None:
        return
    location = source.location(word.start, word.end)
    if option and option not in _EDITABLE:
        if "://" not in text:
            kind = _FILE_KINDS.get(option.lstrip("-")[0], "requirements")
            links.append(Link(text, directory, kind, location, frozenset(), step))
        return
    editable = option in _EDITABLE
    folder = folder_of(text) if editable or is_path_or_url(text) else None
    if folder is not None:
        links.append(Link(folder[0], directory, "project", location, folder[1], step))
        return
    pin = pin_of_word(word, source, editable)
    if pin is not None:
        pins.append(pin._replace(step=step))


def pin_of_word(word: Word, source: Source, editable: bool = False) -> Pin | None:
    """The pin a word of a command is, None if it names a path or cannot be read.

    Only a word in quotes can be edited: a specifier may bring a `<` or `>`, a redirection outside of quotes.
    """
    text = word.text or ""
    location = source.location(word.start, word.end)
    if editable or is_path_or_url(text):
        package = package_at(text)
        return Pin(package, "", location, "url", text=text, url=text) if package else None
    quoted = len(word.raw) > 2 and word.raw[0] in "\"'" and word.raw[1:-1] == text
    plain = word.raw == text
    if (quoted or plain) and source.text[word.start : word.end] == word.raw:
        start = word.start + quoted
        try:
            requirement = read_requirement(source.text, start, start + len(text))
        except RequirementError:
            return None
        return pin_of(source, requirement, "command", editable=quoted)
    return _without_span(text, location)


def _without_span(text: str, location: Location) -> Pin | None:
    try:
        requirement = read_requirement(text)
    except RequirementError:
        return None
    return Pin(
        requirement.package,
        requirement.specifier,
        location,
        "url" if requirement.url else "command",
        requirement.extras,
        requirement.marker,
        text,
        url=requirement.url,
    )


def with_pins(launch: Launch) -> list[Pin]:
    """The pins of `uv run --with PACKAGE … script.py`: what a launcher adds for this one run."""
    words = launch.command.words
    if not any(word.text == "uv" for word in words[:6]):
        return []
    end = launch.script.start if launch.script is not None else launch.command.end
    pins: list[Pin] = []
    for index, word in enumerate(words):
        if word.start >= end or word.text is None:
            continue
        value: Word | None = None
        if word.text == "--with" and index + 1 < len(words):
            value = words[index + 1]
        elif word.text.startswith("--with="):
            # The option and its value are one word, which has no place of its own to edit.
            for part in word.text[7:].split(","):
                pin = _without_span(part, launch.source.location(word.start, word.end))
                pins += [pin] if pin is not None else []
        if value is not None and value.text is not None:
            if "," in value.text and not re.search(r"[<>=!~]", value.text):
                location = launch.source.location(value.start, value.end)
                found = (_without_span(part, location) for part in value.text.split(","))
                pins += [pin for pin in found if pin is not None]
            else:
                pin = pin_of_word(value, launch.source)
                pins += [pin] if pin is not None else []
    return pins
