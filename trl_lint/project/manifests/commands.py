"""Packages that commands install: `pip install` in shell scripts, Dockerfiles, Makefiles, READMEs and notebooks.

Such commands say what one way of installing brings. They never count as malformed: what looks wrong in a README is
often a placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from trl_lint.finding import Location
from trl_lint.project.manifests.collected import pin_of
from trl_lint.project.pins import Manifest, Pin
from trl_lint.regexes import regex
from trl_lint.sources import Source, SourceFile
from trl_lint.sources.requirements import RequirementError, is_path_or_url, package_of_url, read_requirement

if TYPE_CHECKING:
    from trl_lint.project.launches import Launch
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


def read(file: SourceFile, kind: str) -> Manifest | None:
    pins = [pin for source, command in _commands(file, kind) for pin in installed_by(command, source)]
    return Manifest(file.path, kind, tuple(pins)) if pins else None


def _commands(file: SourceFile, kind: str) -> Iterator[tuple[Source, Command]]:
    """The commands of a file with the source their offsets count in."""
    if kind == "dockerfile":
        from trl_lint.sources.dockerfile import run_commands

        source = Source(file, "dockerfile")
        yield from ((source, command) for command in run_commands(source))
    elif kind == "makefile":
        from trl_lint.sources.makefile import recipe_commands

        source = Source(file, "makefile")
        yield from ((source, command) for command in recipe_commands(source))
    else:
        from trl_lint.sources.shell import commands

        for source in _shell_sources(file, kind):
            if "install" in source.text or "uv" in source.text:
                yield from ((source, command) for command in commands(source))


def _shell_sources(file: SourceFile, kind: str) -> Iterable[Source]:
    if kind == "notebook":
        from trl_lint.sources.notebook import shell_lines

        return shell_lines(file)
    if kind == "readme":
        from trl_lint.sources.markdown import fences

        return [fence for fence in fences(Source(file, "markdown")) if fence.language == "shell"]
    return [Source(file, "shell")]


def installed_by(command: Command, source: Source) -> list[Pin]:
    """The pins of an install command, none for any other command."""
    start = _first_argument(command.words)
    return [] if start is None else list(_pins(command.words[start:], source))


def _first_argument(words: tuple[Word, ...]) -> int | None:
    """The index of the first argument of `pip install`, `python -m pip install`, `uv pip install` or `uv add`."""
    for index, word in enumerate(words[:12]):
        following = words[index + 1 : index + 4]
        if word.text == "uv" and following and following[0].text == "add":
            return index + 2
        if word.text is not None and _PIP.fullmatch(word.text):
            for offset, argument in enumerate(following, index + 1):
                if argument.text == "install":
                    return offset + 1
                if argument.text is None or not argument.text.startswith("-"):
                    return None
    return None


def _pins(words: tuple[Word, ...], source: Source) -> Iterator[Pin]:
    skip = editable = False
    for word in words:
        text = word.text
        if skip:
            skip = False
        elif text is None:
            continue
        elif text in _EDITABLE:
            editable = True
        elif text.startswith("-"):
            skip = _WITH_VALUE.fullmatch(text) is not None
        else:
            pin = pin_of_word(word, source, editable)
            editable = False
            if pin is not None:
                yield pin


def pin_of_word(word: Word, source: Source, editable: bool = False) -> Pin | None:
    """The pin a word of a command is, None if it names a path or cannot be read.

    Only a word in quotes can be edited: a specifier may bring a `<` or `>`, a redirection outside of quotes.
    """
    text = word.text or ""
    location = source.location(word.start, word.end)
    if editable or is_path_or_url(text):
        package = package_of_url(text)
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
