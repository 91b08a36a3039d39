"""The dependency record: what a report rests on, in the state it had."""

from __future__ import annotations

import os
import time

from trl_lint.stamps import digest_of, kind_of_entry, stamp_of


class Record:
    """What was looked at, by absolute path, in the state it had.

    `files` maps a path to its stamp and the digest of its contents, "" where only the size was asked for; `folders` to
    its stamp and what stands under each name; `answers` a question and a path to the answer.

    Most of a project's files are read for one word, or for what they turn out not to hold. `contents` maps such a
    question, and in it a path, to its answer. `needed` maps a Python file to those that it imports and that were read
    for its sake; `used` are the files of which anything else was taken for others.

    `base` is the folder that may stand elsewhere another time, with all that is in it. The record `is_bound` to the
    place where that stands, if what was found rests on it.
    """

    def __init__(self, base: str = "") -> None:
        self.began = time.time_ns()
        self.base = base
        self.is_bound = False
        self._base = os.fsencode(base)
        self.files: dict[str, tuple[str, str]] = {}
        self.folders: dict[str, tuple[str, dict[str, str]]] = {}
        self.answers: dict[tuple[str, str], str] = {}
        self.variables: dict[str, str | None] = {}
        self.contents: dict[tuple[str, str], dict[str, bool]] = {}
        self.needed: dict[str, set[str]] = {}
        self.used: set[str] = set()
        self.is_inconsistent = False  # something changed while we looked, or could not be read: no report to keep

    def note_file(self, path: str, status: os.stat_result, data: bytes | None) -> None:
        path, stamp = full(path), stamp_of(status)
        known = self.files.get(path)
        if known is not None and known[0] != stamp:
            self.is_inconsistent = True
        if known is None or not known[1]:
            self.files[path] = stamp, "" if data is None else digest_of(data)
            if data is not None and self._base in data:
                self.is_bound = True  # a file that names this place may mean what stands here, and nowhere else

    def note_folder(self, path: str, status: os.stat_result, entries: list[os.DirEntry[str]]) -> None:
        found = stamp_of(status), {entry.name: kind_of_entry(entry) for entry in entries}
        if self.folders.setdefault(full(path), found) != found:
            self.is_inconsistent = True

    def note_answer(self, question: str, path: str, answer: str) -> None:
        if self.answers.setdefault((question, full(path)), answer) != answer:
            self.is_inconsistent = True

    def merge(self, other: Record) -> None:
        """Take over what another process looked at meanwhile."""
        for path, (stamp, digest) in other.files.items():
            known = self.files.get(path, (stamp, ""))
            self.is_inconsistent = self.is_inconsistent or known[0] != stamp
            self.files[path] = stamp, known[1] or digest
        for folder, found in other.folders.items():
            self.is_inconsistent = self.is_inconsistent or self.folders.setdefault(folder, found) != found
        for asked, answer in other.answers.items():
            self.is_inconsistent = self.is_inconsistent or self.answers.setdefault(asked, answer) != answer
        self.variables.update(other.variables)
        self.note_parts(other.contents, other.needed, other.used)
        self.is_inconsistent = self.is_inconsistent or other.is_inconsistent
        self.is_bound = self.is_bound or other.is_bound

    def note_parts(
        self, contents: dict[tuple[str, str], dict[str, bool]], needed: dict[str, set[str]], used: set[str]
    ) -> None:
        """Take over what was asked about files and taken from them elsewhere."""
        for question, answers in contents.items():
            self.contents.setdefault(question, {}).update(answers)
        for path, others in needed.items():
            self.needed.setdefault(path, set()).update(others)
        self.used |= used


def full(path: str) -> str:
    """A path that holds in every folder. Not normalised: `..` behind a link leads elsewhere than its text says."""
    return path if os.path.isabs(path) else os.path.join(os.getcwd(), path)
