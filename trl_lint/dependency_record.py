"""The dependency record: what a report rests on, in the state it had."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping
from itertools import count

from trl_lint.stamps import CACHES, QUESTIONS, digest_of, kind_of_entry, lasting, opened, stamp_of

Asked = tuple[str, str, bool]  # a question, its argument, the answer


class Record:
    """What was looked at, by absolute path, in the state it had.

    `files` maps a path to its stamp and the digest of its contents, "" where only the size was asked for; `folders` to
    its stamp and what stands under each name; `answers` a question and a path to the answer.

    Most of a project's files are read for one word, or for what they turn out not to hold. `contents` maps such a
    question, and in it a path, to its answer. `needed` maps a Python file to those that it imports and that were read
    for its sake; `used` are the files of which anything else was taken for others.

    `base` is the folder that may stand elsewhere another time, with all that is in it. The record `is_bound` to the
    place where that stands, if what was found rests on it. No two records of a process have the same `number`.
    """

    _numbers = count(1)

    def __init__(self, base: str = "") -> None:
        self.number = next(self._numbers)
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

    def forget_files(self, paths: Iterable[str]) -> None:
        """Files may hold something else: what was noted of their contents is noted anew when they are read again."""
        for path in paths:
            self.files.pop(path, None)

    def forget_uses(self) -> None:
        """Nothing rests on any file any more, until it is used again."""
        self.contents, self.needed, self.used = {}, {}, set()

    def forget_uses_of(self, paths: Collection[str]) -> None:
        """These files are others now, and who rests on any file is to be found out again."""
        self.needed = {}
        self.used = self.used.difference(paths)
        for answers in self.contents.values():
            for path in paths:
                answers.pop(path, None)

    def renew(self) -> tuple[set[str], bool]:
        """Look at everything again, and note how it is now.

        The files that hold something else, and whether any path has come, gone or changed its kind, or a variable.
        """
        changed = {path for path in list(self.files) if self._is_renewed(path)}
        moved = self.is_inconsistent or not changed <= self.files.keys()
        for path, (stamp, listed) in list(self.folders.items()):
            try:
                now = stamp_of(os.stat(path))
                if now == lasting(stamp, self.began):
                    continue
                with os.scandir(path) as listing:
                    found = {entry.name: kind_of_entry(entry) for entry in listing if entry.name not in CACHES}
            except OSError:
                del self.folders[path]
                moved = True
                continue
            self.folders[path] = now, found
            moved = moved or found != listed
        for (question, path), before in list(self.answers.items()):
            answer = QUESTIONS[question](path)
            self.answers[question, path] = answer
            moved = moved or answer != before
        for name, value in list(self.variables.items()):
            self.variables[name] = os.environ.get(name)
            moved = moved or self.variables[name] != value
        self.is_inconsistent = False
        return changed, moved

    def _is_renewed(self, path: str) -> bool:
        """Whether a file holds something else than what was noted; what it holds now is noted."""
        stamp, digest = self.files[path]
        try:
            status = os.stat(path)
            if stamp_of(status) == lasting(stamp, self.began):
                return False
            now = ""
            if digest:
                with opened(path) as stream:
                    status, now = os.fstat(stream.fileno()), digest_of(stream.read())
        except OSError:
            del self.files[path]
            return True
        self.files[path] = stamp_of(status), now
        return now != digest or (not digest and stamp.partition(" ")[0] != str(status.st_size))

    def note_parts(
        self, contents: dict[tuple[str, str], dict[str, bool]], needed: dict[str, set[str]], used: set[str]
    ) -> None:
        """Take over what was asked about files and taken from them elsewhere."""
        for question, answers in contents.items():
            self.contents.setdefault(question, {}).update(answers)
        for path, others in needed.items():
            self.needed.setdefault(path, set()).update(others)
        self.used |= used


def questions_about(path: str, contents: Mapping[tuple[str, str], Mapping[str, bool]]) -> list[Asked]:
    """What was asked about a file, with the answers; `contents` as in a record."""
    return [(*question, answers[path]) for question, answers in contents.items() if path in answers]


def resting_on(changed: Collection[str], needed: Mapping[str, Collection[str]]) -> set[str]:
    """The changed files themselves, and those that took something from them, directly or through others."""
    takers: dict[str, list[str]] = {}
    for path, others in needed.items():
        for each in others:
            takers.setdefault(each, []).append(path)
    found, waiting = set(changed), list(changed)
    while waiting:
        for path in takers.get(waiting.pop(), ()):
            if path not in found:
                found.add(path)
                waiting.append(path)
    return found


def full(path: str) -> str:
    """A path that holds in every folder. Not normalised: `..` behind a link leads elsewhere than its text says."""
    return path if os.path.isabs(path) else os.path.join(os.getcwd(), path)
