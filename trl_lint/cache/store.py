"""Keeping a report: what it rests on is written down so that nothing is asked twice, and nothing is forgotten."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from trl_lint.cache.entry import CONTENTS, NAMES, STAMP, Entry, write_entry
from trl_lint.cache.folder import prune
from trl_lint.cache.parts import Parts, encoded
from trl_lint.cache.replay import entry_path, key_of
from trl_lint.looks import Record
from trl_lint.stamps import FILE, LINK, NOTHING, lasting, listing_digest, stamp_of

if TYPE_CHECKING:
    from typing import TextIO


# An update of one of these changes the folder it is installed in.
_USED = ("libcst", "packaging", "tomli", "tree_sitter", "tree_sitter_bash", "yaml")


class Memory:
    """One run on its way into the cache: what it was asked, what it looks at, what it prints."""

    def __init__(self, arguments: list[str]) -> None:
        self.key = key_of(arguments)
        self.record = Record()
        self.output: list[tuple[str, str]] = []

    def heard(self, name: str, stream: TextIO) -> TextIO:
        """The stream, of which everything that is written is kept as well; `name` is "o" or "e"."""
        return _Heard(name, stream, self.output)  # type: ignore[return-value]

    def keep(self, folder: str, status: int, parts: Parts | None = None, earlier: Entry | None = None) -> bool:
        """Put the run into a cache folder, if it can be kept; whether it was.

        `earlier` is the entry of the run that it started from: only that one has looked at most of what it rests on.
        """
        if self.record.is_torn:
            return False
        variables = {name: "" if value is None else f"={value}" for name, value in self.record.variables.items()}
        answers = {(question, path): answer for question, path, answer in _needed_answers(self.record)}
        output = [(name, "".join(text for _, text in texts)) for name, texts in groupby(self.output, itemgetter(0))]
        looks = {(kind, path): (stamp, digest) for kind, path, stamp, digest in [*_looks(self.record), *tool_looks()]}
        if earlier is not None:
            variables = {**dict(earlier.variables), **variables}
            answers = {**{(question, path): answer for question, path, answer in earlier.answers}, **answers}
            looks = {**{(kind, path): (stamp, digest) for kind, path, stamp, digest in earlier.looks}, **looks}
        entry = Entry(
            self.key, status, output, list(variables.items()),
            [(*asked, answer) for asked, answer in answers.items()], [(*look, *state) for look, state in looks.items()],
            encoded(parts) if parts is not None else "",
        )  # fmt: skip
        # The listings and the answers may have told of two states.
        kept = not self.record.is_torn and write_entry(entry_path(folder, self.key), entry)
        prune(folder)
        return kept


class _Heard:
    def __init__(self, name: str, stream: TextIO, output: list[tuple[str, str]]) -> None:
        self._name, self._stream, self._output = name, stream, output

    def write(self, text: str) -> int:
        self._output.append((self._name, text))
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()


def _looks(record: Record) -> Iterator[tuple[str, str, str, str]]:
    for path, (stamp, digest) in record.files.items():
        yield CONTENTS, path, lasting(stamp, record.began), digest
    for path, (stamp, listed) in record.folders.items():
        yield NAMES, path, lasting(stamp, record.began), listing_digest(listed)


def _needed_answers(record: Record) -> Iterator[tuple[str, str, str]]:
    """The answers that do not follow from the listings of folders, which are looked at again anyway."""
    for (question, path), answer in record.answers.items():
        listed = _listed(record, path) if question != "real" else None
        if listed is None or (listed == LINK and question == "kind"):
            yield question, path, answer
        elif listed != answer:
            record.is_torn = True


def _listed(record: Record, path: str) -> str | None:
    """What the listings say that stands at a path; None if they do not tell."""
    if os.path.normpath(path) != path:
        return None
    whole = path
    while True:
        parent, name = os.path.split(path)
        if parent == path:
            return None
        if parent in record.folders:
            break
        path = parent
    found = record.folders[parent][1].get(name, NOTHING)
    if path == whole:
        return found
    return NOTHING if found in (NOTHING, FILE) else None  # below a file there is nothing


def tool_looks() -> Iterator[tuple[str, str, str, str]]:
    """The tool itself: its code, its knowledge, and the folders that the packages it uses are installed in."""
    from trl_lint.knowledge import rules_dir

    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    places = dict.fromkeys(path for root in (package, rules_dir()) for path in _tree(root))
    for name in _USED:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file:
            places[os.path.dirname(os.path.dirname(file))] = None
    for path in places:
        with suppress(OSError):
            yield STAMP, path, stamp_of(os.stat(path)), ""


def _tree(folder: str) -> Iterator[str]:
    below = []
    with suppress(OSError), os.scandir(folder) as listing:
        for entry in listing:
            if entry.is_dir(follow_symlinks=False):
                below.append(entry.path)
            else:
                yield entry.path
    for path in below:
        if os.path.basename(path) not in ("__pycache__", "refresher"):
            yield from _tree(path)
