"""Opening the log of a path, packed or not."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Literal

from trl_lint.diagnose.blocks import Readable

_Format = Literal["", "gzip", "bzip2", "xz", "zstd", "zip"]
_BEGINNINGS: dict[bytes, _Format] = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"(\xb5/\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
_ENDINGS: dict[str, _Format] = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}


def is_packed(path: str) -> bool:
    """Whether the name of a file says that it is packed."""
    return os.path.splitext(path)[1].lower() in _ENDINGS


@contextmanager
def opened(path: str) -> Iterator[tuple[Readable, int]]:
    """The log at a path, unpacked, and its size in bytes, 0 where that is not known; "-" is the standard input.

    Raises OSError, also while it is read: for a packed file that is broken or cut off, or that only others unpack.
    """
    if path == "-":
        standard = getattr(sys.stdin, "buffer", None)
        if standard is None:
            raise OSError("there is no standard input")
        yield standard, 0
        return
    with open(path, "rb") as stream:
        beginning = stream.peek(8)  # a pipe is not read twice
        packing = _ENDINGS.get(os.path.splitext(path)[1].lower(), "")
        for mark, name in _BEGINNINGS.items():
            if beginning.startswith(mark):
                packing = name
        if packing:
            yield _Unpacked(stream, packing), 0
        else:
            yield stream, os.fstat(stream.fileno()).st_size


class _Unpacked:
    """What a packed file holds. What its module says of a broken one is said in one way."""

    def __init__(self, stream: BinaryIO, packing: _Format) -> None:
        self._packing = packing
        self._inner: Readable
        try:
            if packing == "gzip":
                from gzip import GzipFile

                self._inner = GzipFile(fileobj=stream)
            elif packing == "bzip2":
                from bz2 import BZ2File

                self._inner = BZ2File(stream)
            elif packing == "xz":
                from lzma import LZMAFile

                self._inner = LZMAFile(stream)  # noqa: SIM115  the caller closes the stream
            else:
                raise ImportError
        except ImportError:  # a Python may be built without them
            raise OSError(f"it is packed with {packing}; unpack it first") from None

    def read(self, size: int, /) -> bytes:
        try:
            return self._inner.read(size)
        except Exception as error:  # each module has its own: OSError, EOFError, zlib.error, LZMAError, ValueError
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise OSError(f"it is no whole {self._packing} file; unpack it first") from error
