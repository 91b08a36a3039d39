"""The files of one run, each read once, and the class that the kind of a file asks for."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping

from trl_lint import tracked
from trl_lint.sources.text import SourceFile, refuse_large
from trl_lint.stamps import NO_FILE

_READABLE_BYTES = 100_000_000  # above it not even a notebook full of pictures is read into memory
# What is kept of files that are only searched: rules look for one word after the other in all of them.
_KEPT_BYTES = 16_000_000
_WORD = re.compile(rb"[\w\x80-\xff]+")


def holds(data: bytes, words: str) -> bool:
    """Whether one of the words, in Latin-1 and one a line, stands in some bytes."""
    return any(word.encode("latin-1") in data for word in words.split("\n"))


def fits(data: bytes, pattern: str) -> bool:
    """Whether a regular expression, in Latin-1, is found in some bytes."""
    return re.search(pattern.encode("latin-1"), data) is not None


def words_of(data: bytes) -> set[bytes]:
    """The words of some bytes: letters, digits and underscores, and whatever is not ASCII."""
    return set(_WORD.findall(data))


def rarest_word(name: bytes) -> bytes:
    """The longest word of a name, which whoever gives the name uses, and few others; b"" where it has none."""
    return max(words_of(name), key=lambda word: (len(word), word), default=b"")


class Files:
    """The files of one run, each read once. `overlays` holds unsaved buffers (standard input, an editor)."""

    def __init__(self, overlays: Mapping[str, bytes] | None = None) -> None:
        self.overlays = overlays or {}
        self._files: dict[str, SourceFile] = {}
        self._searched: dict[str, bytes] = {}
        self._room = _KEPT_BYTES

    def get(self, path: str, by: str | None = None) -> SourceFile:
        """Read a file for what it says about others; `by` is as in `tracked.note_use`. Raises OSError."""
        tracked.note_use(path, by)
        return self.own(path)

    def own(self, path: str) -> SourceFile:
        """Read a file for its own sake: to check it, or to show a place in it. Raises OSError."""
        file = self._files.get(path)
        if file is None:
            with tracked.for_itself(path):
                file = self._files[path] = open_file(path, self.overlays.get(path))
        return file

    def holds(self, path: str, *words: bytes) -> bool:
        """Whether any of these words stands in a file, which is dropped again. Raises OSError."""
        return self._says(holds, "\n".join(word.decode("latin-1") for word in words), path)

    def fits(self, path: str, pattern: bytes) -> bool:
        """Whether a regular expression is found in a file, which is dropped again. Raises OSError."""
        return self._says(fits, pattern.decode("latin-1"), path)

    def read(self, path: str) -> bytes:
        """The bytes of a file, which is dropped again. Raises OSError."""
        tracked.note_use(path)
        with tracked.for_itself(path):
            return self._data(path)

    def _says(self, question: Callable[[bytes, str], bool], argument: str, path: str) -> bool:
        answer = question(self._data(path), argument)
        tracked.note_content(question.__name__, argument, path, answer)
        return answer

    def _data(self, path: str) -> bytes:
        """The bytes of a file that is not held because of it. Raises OSError."""
        if path in self._files:
            return self._files[path].data
        if path in self._searched:
            return self._searched[path]
        data = self.own(path).data
        self.forget(path)
        if len(data) <= self._room:
            self._room -= len(data)
            self._searched[path] = data
        return data

    def is_open(self, path: str) -> bool:
        return path in self._files

    def opened(self) -> list[str]:
        """The paths of the files that are held."""
        return list(self._files)

    def put(self, file: SourceFile) -> SourceFile:
        """Hold a file that was read elsewhere, unless its path is held already; the one that is held."""
        return self._files.setdefault(file.path, file)

    def exists(self, path: str) -> bool:
        return path in self._files or path in self.overlays or tracked.is_file(path)

    def changed(self, overlays: Mapping[str, bytes], changed: Iterable[str]) -> Files:
        """The files of a later state, in which only those at the paths `changed` may differ; read ones are shared."""
        later = Files(overlays)
        later._files, later._searched, later._room = dict(self._files), dict(self._searched), self._room
        for path in changed:
            later.forget(path)
            later._room += len(later._searched.pop(path, b""))
        return later

    def forget(self, path: str) -> None:
        """Drop a file that holds nothing of interest, so a large tree does not stay in memory."""
        self._files.pop(path, None)


def open_file(path: str, data: bytes | None = None) -> SourceFile:
    """A SourceFile for a path, of the class its kind needs.

    Raises OSError, also for a pipe or a device, which a file of the project may name, and TooLargeError.
    """
    if data is None:
        status = tracked.status(path)
        if not stat.S_ISREG(status.st_mode):
            kind = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
            raise OSError(kind, os.strerror(kind) if kind == errno.EISDIR else NO_FILE, path)
        refuse_large(status.st_size, _READABLE_BYTES)
        data = tracked.read(path)
    if path.endswith(".ipynb"):
        from trl_lint.sources.notebook import NotebookFile

        return NotebookFile(path, data)
    return SourceFile(path, data)
