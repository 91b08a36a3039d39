"""Keeping a report: what it rests on is written down so that nothing is asked twice, and nothing is forgotten."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import TextIO

from trl_lint.cache.entry import CONTENTS, NAMES, SIZE, STAMP, Entry, short, write_entry
from trl_lint.cache.folder import prune
from trl_lint.cache.parts import Parts, encoded
from trl_lint.cache.replay import key_of, place_of
from trl_lint.cache.shelf import entry_path
from trl_lint.cache.tool import tool_identity, tool_looks
from trl_lint.paths import repository_around
from trl_lint.stamps import CACHES, FILE, LINK, NOTHING, QUESTIONS, lasting, listing_digest
from trl_lint.tracked import Record

# The letters of paths that look the same in every format of a report.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/")


class Memory:
    """One run on its way into the cache: what it was asked, what it looks at, what it prints."""

    def __init__(self, arguments: list[str]) -> None:
        self.arguments = arguments
        self.key = key_of(arguments)
        self.place = place_of(_base())
        self.record = Record(self.place[1])
        self.record.note_answer("meaning", self.place[1], QUESTIONS["meaning"](self.place[1]))
        self.output: list[tuple[str, str]] = []

    def heard(self, name: str, stream: TextIO) -> TextIO:
        """The stream, of which everything that is written is kept as well; `name` is "o", "e" or "f"."""
        self.output.append((name, ""))  # an empty file is one, too
        return _Heard(name, stream, self.output)  # type: ignore[return-value]

    def keep(self, folder: str, status: int, parts: Parts | None = None, earlier: Entry | None = None) -> bool:
        """Put the run into a cache folder, if it can be kept; whether it was.

        `earlier` is the entry of the run that it started from: only that one has looked at most of what it rests on.
        """
        if self.record.is_inconsistent:
            return False
        variables = {name: "" if value is None else f"={value}" for name, value in self.record.variables.items()}
        answers = {(question, path): answer for question, path, answer in _needed_answers(self.record)}
        output = [(name, "".join(text for _, text in texts)) for name, texts in groupby(self.output, itemgetter(0))]
        looks = {(kind, path): (stamp, digest) for kind, path, stamp, digest in [*_looks(self.record), *tool_looks()]}
        if earlier is not None:
            variables = {**dict(earlier.variables), **variables}
            answers = {**{(question, path): answer for question, path, answer in earlier.answers}, **answers}
            looks = {**{(kind, path): (stamp, digest) for kind, path, stamp, digest in earlier.looks}, **looks}
            self.record.is_bound = self.record.is_bound or bool(earlier.is_bound)
        entry = Entry(
            self.key, self.place, tool_identity(self.place[2:]), "", status, output, list(variables.items()),
            [(*asked, answer) for asked, answer in answers.items()], [(*look, *state) for look, state in looks.items()],
            encoded(parts, self.place[1]) if parts is not None else "",
        )  # fmt: skip
        entry.is_bound = "bound" if self.record.is_bound or _rests_on_its_place(entry) else ""
        # The listings and the answers may have told of two states.
        kept = not self.record.is_inconsistent and write_entry(entry_path(folder, self.key, self.place), entry)
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

    def close(self) -> None:
        self._stream.close()


def _base() -> str:
    """The folder that holds all a run is about: the repository around the working folder, else that folder itself."""
    here = os.getcwd()
    return repository_around(here) or here


def _rests_on_its_place(entry: Entry) -> bool:
    """Whether a report names its place, or rests on what stands outside its base and need not stand elsewhere."""
    base = entry.place[1]
    outside = (path for kind, path, _, _ in entry.looks if kind != STAMP)
    return (
        not _PLAIN.issuperset(base)
        or os.path.dirname(base) == base
        or any(base in text for text in (*entry.key, entry.parts, *(text for _, text in entry.output)))
        or any(short(path, base) == path for path in outside)
        or any(answer != NOTHING and short(path, base) == path for _, path, answer in entry.answers)
        or any(short(answer, base) == answer for question, _, answer in entry.answers if question == "real")
    )


def _looks(record: Record) -> Iterator[tuple[str, str, str, str]]:
    for path, (stamp, digest) in record.files.items():
        yield CONTENTS, path, lasting(stamp, record.began), digest or SIZE + stamp.partition(" ")[0]
    for path, (stamp, listed) in record.folders.items():
        yield NAMES, path, lasting(stamp, record.began), listing_digest(listed)


def _needed_answers(record: Record) -> Iterator[tuple[str, str, str]]:
    """The answers that do not follow from the listings of folders, which are looked at again anyway."""
    for (question, path), answer in record.answers.items():
        listed = _listed(record, path) if question in ("kind", "link") else None
        if listed is None or (listed == LINK and question == "kind"):
            yield question, path, answer
        elif listed != answer:
            record.is_inconsistent = True


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
    if name in CACHES:
        return None
    found = record.folders[parent][1].get(name, NOTHING)
    if path == whole:
        return found
    return NOTHING if found in (NOTHING, FILE) else None  # below a file there is nothing
