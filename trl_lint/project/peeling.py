"""What people put in front of a program: `nohup`, `env A=1`, `srun -n 1`, `docker run image`. `rules/wrappers.toml`."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import lru_cache

from trl_lint.knowledge.wrappers import Wrapper, wrappers
from trl_lint.project.launchers import basename
from trl_lint.project.mounts import Mount, on_host, read_mount
from trl_lint.records import NamedTuple
from trl_lint.sources.shell import Word


class Peeled(NamedTuple):
    """What is left of a command when its wrappers are taken off; `words[program]` is the program itself.

    `rows` are the rows of the wrappers, outermost first. `is_text`: the last of them has a text for a shell there.
    """

    program: int
    wrappers: tuple[str, ...]
    assignments: tuple[tuple[str, Word], ...]
    clean: bool  # the environment of the script does not reach the program
    rows: tuple[Wrapper, ...] = ()
    is_text: bool = False
    folders: tuple[str | None, ...] = ()  # that are changed to, None where one is not known
    mounts: tuple[Mount, ...] = ()

    def directory(self, around: str | None) -> str | None:
        """The folder that the program is started in, where the wrappers are in the folder `around`; None: not known."""
        found = None if self.in_container and not self.folders else around
        for folder in self.folders:
            mounted = on_host(folder, self.mounts) if folder is not None else None
            if self.in_container or mounted is not None:
                folder, found = mounted, around
            found = None if folder is None or found is None else _below(found, folder)
        return found

    @property
    def in_container(self) -> bool:
        return any(row.container for row in self.rows)


@lru_cache(maxsize=1024)  # asked for what a command carries, and again for what it starts
def peel(words: tuple[Word, ...]) -> Peeled | None:
    """Take `nohup`, `env A=1`, `srun -n 1`, `uv run` … off the front. None if nothing is left to be understood."""
    front = _Front(words)
    while front.index < len(words):
        wrapper = _wrapper(words, front.index)
        if wrapper is None:
            return front.peeled()
        name = basename(words[front.index])
        front.enter(name, wrapper)
        if not front.pass_options(name, wrapper):
            return None
        if wrapper.text and _is_text(words, front.index, wrapper):
            return front.peeled(is_text=True)
        if wrapper.module and words[front.index : front.index + 1] and words[front.index].text in wrapper.module:
            return front.peeled()
    return None


class _Front:
    """What stands in front of a program, as far as it is read."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = words
        self.index = 0
        self.wrappers: list[str] = []
        self.rows: list[Wrapper] = []
        self.assignments: list[tuple[str, Word]] = []
        self.clean = False
        self.folders: list[str | None] = []
        self.mounts: list[Mount] = []

    def peeled(self, is_text: bool = False) -> Peeled:
        return Peeled(
            self.index,
            tuple(self.wrappers),
            tuple(self.assignments),
            self.clean,
            tuple(self.rows),
            is_text,
            tuple(self.folders),
            tuple(self.mounts),
        )

    def _note_folder(self, wrapper: Wrapper) -> None:
        """What an option says of the folder that the program is started in."""
        word = self.words[self.index]
        name, has_value, value = (word.raw if word.text is None else word.text).partition("=")
        if name not in wrapper.folder and name not in wrapper.mounts:
            return
        if not has_value:
            word = self.words[self.index + 1] if self.index + 1 < len(self.words) else word._replace(text=None)
            value = word.raw if word.text is None else word.text
        if name in wrapper.folder:
            is_known = word.text is not None and "://" not in value and not value.startswith("~")
            self.folders.append(value if is_known else None)
        elif (mount := read_mount(value.replace('"', ""))) is not None:
            self.mounts.append(mount)

    def enter(self, name: str, wrapper: Wrapper) -> None:
        self.wrappers.append(name)
        self.rows.append(wrapper)
        self.clean = self.clean or wrapper.clean
        self.index += 1 + len(wrapper.words)

    def pass_options(self, name: str, wrapper: Wrapper) -> bool:
        """Go to the program behind the options and arguments of a wrapper; whether that can be told."""
        words = self.words
        skipped = wrapper.arguments
        while self.index < len(words):
            if wrapper.arguments and not skipped:
                break  # its own options end before its argument does
            word = words[self.index]
            text = word.text
            if text is not None and text.startswith(wrapper.unless or ("\0",)):
                return False
            if wrapper.folder:
                self._note_folder(wrapper)
            if wrapper.separator:
                self.index += 1
                if text == "--":
                    break
            elif text is None:
                if skipped:
                    skipped -= 1
                elif not word.several and not word.raw.startswith("-"):
                    return False
                self.index += 1  # options that nobody knows
            elif text == "--":
                self.index += 1
                break
            elif text in wrapper.module:
                break
            elif text.startswith("-") and len(text) > 1:
                self.clean = self.clean or text in wrapper.clears
                if text in wrapper.sets and self.index + 1 < len(words):
                    self.assignments += _given_by_name(words[self.index + 1])
                self.index += 1 + (text in wrapper.with_value) + (text in wrapper.pairs)
            elif wrapper.assignments and re.match(r"[A-Za-z_]\w*=", text):
                self.assignments.append(_assignment(word))
                self.index += 1
            elif skipped:
                skipped -= 1
                self.index += 1
            else:
                break
        if wrapper.arguments and self.index < len(words) and words[self.index].text == "--":
            self.index += 1
        return True


def _below(around: str, folder: str) -> str:
    found = posixpath.normpath(posixpath.join(around, folder))
    return "" if found == "." else found


def _is_text(words: Sequence[Word], index: int, wrapper: Wrapper) -> bool:
    """Whether one word is left, with blanks in it."""
    after = words[index + 1 :]
    if wrapper.fills and after and (after[0].text or "").startswith(":::"):
        after = ()
    if index >= len(words) or after:
        return False
    word = words[index]
    return any(char.isspace() for char in (word.raw if word.text is None else word.text))


def _wrapper(words: Sequence[Word], index: int) -> Wrapper | None:
    """The wrapper that stands at `index`, with the words that must follow its name."""
    for row in wrappers().get(basename(words[index]), ()):
        following = [word.text or "" for word in words[index + 1 : index + 1 + len(row.words)]]
        if len(following) == len(row.words) and all(
            text in names.split("|") for text, names in zip(following, row.words, strict=True)
        ):
            return row
    return None


def _given_by_name(word: Word) -> list[tuple[str, Word]]:
    """What `-e NAME=value` sets in a container. `-e NAME` hands on what nobody knows here."""
    name = (word.text if word.text is not None else word.raw).partition("=")[0].strip("\"'")
    if not name.isidentifier():
        return []
    return [_assignment(word) if word.text is not None and "=" in word.text else (name, word._replace(text=None))]


def _assignment(word: Word) -> tuple[str, Word]:
    name, _, value = (word.text or "").partition("=")
    offset = len(name) + 1 if word.raw.startswith(name + "=") else 0
    return name, word._replace(text=value, raw=word.raw[offset:], start=word.start + offset)
