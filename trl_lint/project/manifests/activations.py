"""Which conda or virtual environment a command makes current, or is run in."""

from __future__ import annotations

import posixpath
from itertools import pairwise

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources.shell import Command, Word

_CONDA = frozenset(("conda", "mamba", "micromamba"))
_NAME_OPTIONS = ("-n", "--name", "-p", "--prefix")
_BIN = regex(r"(?P<folder>.+)/(?:bin|Scripts)/(?:activate(?:\.\w+)?|python[\d.]*|pip[\d.]*)")
# The environment that tools make and use where nobody names one.
_USUAL = frozenset(("", ".venv", "base"))
# Programs of the system live in such folders, which are no environment.
_SYSTEM = frozenset(("/usr", "/usr/local", ""))
_WITH_VALUE = frozenset(("-p", "--python", "--prompt", "--index-url", "-i", "--default-index", "-c"))


class Activation(NamedTuple):
    """An environment, "" for the one that is there anyway. `only_here`: the command alone runs in it."""

    name: str
    only_here: bool = False


def activated(command: Command) -> Activation | None:
    """The environment that a command activates, makes, or runs in; None if it leaves things as they are.

    Whoever makes an environment goes on in it: many documents leave the activation to the reader.
    """
    words = command.words
    texts = [word.text for word in words[:12]]
    first = posixpath.basename(texts[0] or "")
    if first in _CONDA:
        return _of_conda(words, texts)
    if first in ("source", ".") and len(words) > 1:
        if texts[1] == "activate":
            return _named(words[2]) if len(words) > 2 else Activation("")
        return _sourced(words[1])
    if first in ("deactivate",):
        return Activation("")
    if first == "workon" and len(words) > 1:
        return _named(words[1])
    if texts[:2] == ["uv", "venv"]:
        return _made(words[2:])
    if first == "virtualenv":
        return _made(words[1:])
    if first.startswith("python") and texts[1:3] == ["-m", "venv"]:
        return _made(words[3:])
    return _program(words, texts)


def _of_conda(words: tuple[Word, ...], texts: list[str | None]) -> Activation | None:
    verb = texts[1] if len(texts) > 1 else None
    if verb == "activate":
        return _named(words[2]) if len(words) > 2 else Activation("")
    if verb == "deactivate":
        return Activation("")
    if verb in ("create", "run", "install"):
        for option, value in pairwise(words):
            if option.text in _NAME_OPTIONS:
                named = _named(value)
                return named if verb == "create" else named._replace(only_here=True)
    return None


def _sourced(word: Word) -> Activation | None:
    """`source venv/bin/activate`; a path of which only the end is known is an environment as well."""
    text = word.text if word.text is not None else word.raw.strip("\"'")
    match = _BIN.fullmatch(text)
    return _plain(match["folder"]) if match is not None and "activate" in text else None


def _made(words: tuple[Word, ...]) -> Activation:
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.text is not None and word.text.startswith("-"):
            skip = word.text in _WITH_VALUE
        else:
            return _named(word)
    return Activation("")


def _program(words: tuple[Word, ...], texts: list[str | None]) -> Activation | None:
    """`venv/bin/pip install …` and `uv pip install --python venv/bin/python …` leave the shell as it is."""
    for option, value in pairwise(texts):
        if option == "--python" and value is not None and "/" in value:
            match = _BIN.fullmatch(value)
            return Activation(_plain(match["folder"] if match else value).name, True)
    match = _BIN.fullmatch(texts[0] or "")
    if match is not None and match["folder"] not in _SYSTEM:
        return Activation(_plain(match["folder"]).name, True)
    return None


def _named(word: Word) -> Activation:
    return _plain(word.text if word.text is not None else word.raw)


def _plain(text: str) -> Activation:
    name = text.strip("\"'").rstrip("/").removeprefix("./")
    return Activation("" if name in _USUAL else name)
