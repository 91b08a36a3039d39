"""Text with places: decoding a file without losing a byte, and turning offsets into lines and columns."""

from __future__ import annotations

import codecs
from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex

if TYPE_CHECKING:
    import ast

    from trl_lint.sources.shell import Command

_NEWLINE = regex(r"\r\n|\r|\n")
# The encodings of host names work in a time that grows with the square of a text. A file is refused (TRL001).
_OF_LABELS = ("idna", "punycode")
_LARGEST_OF_LABELS = 10_000  # bytes, beyond which TRL001 says so

_CODING_COOKIE = regex(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK_OR_COMMENT = regex(rb"^[ \t\f]*(?:#.*)?$")


# What PowerShell writes with `pip freeze > requirements.txt` is UTF-16, and pip reads it. YAML may be UTF-32 as well,
# whose mark begins with that of UTF-16.
_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
# What a program decodes before it reads it, and refuses if it cannot. To a shell, make, Docker and people who read a
# page a byte beyond ASCII is as good as any other.
_DECODED = (".py", ".pyi", ".ipynb", ".json", ".yaml", ".yml", ".toml", ".cfg", ".ini", ".txt", ".lock", "Pipfile")


class SourceError(Exception):
    """A file cannot be read as what it claims to be; `offset` is where, in characters of the text (0 if unknown)."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class TooLargeError(SourceError):
    """A file was made by a program, to judge by its size: parsing it would take minutes and find nothing."""


class TookTooLongError(SourceError):
    """A file was not read to its end, because that took too long; a notice says so."""


MAX_BYTES = 2_000_000  # a larger file is refused, and TRL001 says so


def refuse_large(size: int, limit: int = MAX_BYTES) -> None:
    """Raises TooLargeError for a text of more than `limit` bytes or characters."""
    if size > limit:
        raise TooLargeError(
            f"not checked: at {size / 1_000_000:.1f} MB this is generated data; such a file is read up to "
            f"{limit // 1_000_000} MB"
        )


class Position(NamedTuple):
    """1-based line and column (columns in characters); `cell` is the 1-based cell number in a notebook."""

    line: int
    column: int
    cell: int | None = None


class LineIndex:
    """Offsets to lines and back. Line ends are those of Python's tokenizer: LF, CR LF and a lone CR."""

    __slots__ = ("starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(m.end() for m in _NEWLINE.finditer(text))]

    def position(self, offset: int) -> Position:
        line = bisect_right(self.starts, offset)
        return Position(line, offset - self.starts[line - 1] + 1)

    def offset(self, line: int, column: int) -> int:
        """The offset of a 1-based line and column; past the end of the text it is the end."""
        if line > len(self.starts):
            return len(self.text)
        return min(self.starts[line - 1] + column - 1, len(self.text))

    def line_range(self, line: int) -> tuple[int, int]:
        """Start and end offset of a 1-based line, without its line end."""
        start = self.starts[line - 1]
        end = self.starts[line] if line < len(self.starts) else len(self.text)
        return start, start + len(self.text[start:end].rstrip("\r\n"))

    def line_text(self, line: int) -> str:
        start, end = self.line_range(line)
        return self.text[start:end]

    def __len__(self) -> int:
        return len(self.starts)


def difference(before: str, after: str) -> tuple[int, int, str] | None:
    """The stretch in which two texts differ: start and end in the first, and what the second has there instead."""
    if before == after:
        return None
    shorter = min(len(before), len(after))
    head = _alike(shorter, lambda start, end: before[start:end] == after[start:end])
    old, new = len(before), len(after)
    tail = _alike(shorter - head, lambda start, end: before[old - end : old - start] == after[new - end : new - start])
    return head, old - tail, after[head : new - tail]


def _alike(most: int, is_same: Callable[[int, int], bool]) -> int:
    """How many of the first places are the same; `is_same` says it of a stretch."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        if is_same(least, middle):
            least = middle
        else:
            most = middle - 1
    return least


def python_encoding(data: bytes) -> str:
    """The encoding a Python file declares (PEP 263), "utf-8" where it declares none."""
    for line in data.split(b"\n", 2)[:2]:
        if match := _CODING_COOKIE.match(line):
            return match[1].decode("ascii", "replace")
        if not _BLANK_OR_COMMENT.match(line.rstrip(b"\r")):
            break
    return "utf-8"


class SourceFile:
    """One file on disk: its bytes, its text, and how to go from the text back to the very same bytes.

    `path` is absolute. `text` has no byte order mark and keeps its line ends; reading it raises SourceError. `tree` is
    that of the text, where somebody has parsed it already; `commands` are those of its shell texts, once they are read.
    `other_encoding` is where a text for people or a shell is in no encoding that is known: its bytes beyond ASCII stand
    for themselves (Latin-1). "" for all others, and until the text is read.
    """

    __slots__ = (
        "_lines", "_mentions_noqa", "_text", "bom", "commands", "data", "encoding", "other_encoding", "path", "tree",
    )  # fmt: skip

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self.bom = next((bom for bom in _BOMS if data.startswith(bom)), b"")
        self.encoding = "utf-8"
        self.other_encoding = ""
        self.tree: ast.Module | None = None
        self.commands: dict[tuple[str, str, bool], list[Command]] = {}
        self._text: str | None = None
        self._mentions_noqa: bool | None = None
        self._lines: LineIndex | None = None

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = self._decode()
        return self._text

    def _decode(self) -> str:
        data = self.data[len(self.bom) :]
        if self.path.endswith((".py", ".pyi")):
            if self.bom != codecs.BOM_UTF8:  # Python knows no other
                data, self.bom = self.data, b""
                self.encoding = python_encoding(data)
        elif self.bom:
            self.encoding = _BOMS[self.bom]
        try:
            if len(data) > _LARGEST_OF_LABELS and codecs.lookup(self.encoding).name in _OF_LABELS:
                raise SourceError(f"encoded as {self.encoding}, which is not read beyond {_LARGEST_OF_LABELS:,} bytes")
            return data.decode(self.encoding)
        except LookupError:
            raise SourceError(f"unknown encoding {self.encoding!r}") from None
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            place = f"byte 0x{data[error.start]:02x} on line {line}"
            if self.encoding == "utf-8" and not self.bom and not self.path.endswith(_DECODED):
                self.encoding, self.other_encoding = "latin-1", place
                return data.decode("latin-1")
            raise SourceError(f"not valid {self.encoding}: {place}") from None
        except UnicodeError:  # some of Python's odder encodings say no more than that
            raise SourceError(f"not valid {self.encoding}") from None

    @property
    def searched(self) -> bytes:
        """The bytes in which words are looked for: those of the text, where each character of the file has several."""
        return self.data if len(self.bom) in (0, 3) else self.text.encode("utf-8", "replace")

    def encode(self, text: str) -> bytes:
        """The bytes of the file if its text were `text`. Raises UnicodeEncodeError if its encoding cannot hold it."""
        return self.bom + text.encode(self.encoding)

    @property
    def mentions_noqa(self) -> bool:
        """Whether the file may hold suppressions."""
        if self._mentions_noqa is None:  # lowering it is many times faster than a search that ignores case
            self._mentions_noqa = b"noqa" in self.data.lower()
        return self._mentions_noqa

    @property
    def lines(self) -> LineIndex:
        if self._lines is None:
            self._lines = LineIndex(self.text)
        return self._lines

    def position(self, offset: int) -> Position:
        """Where an offset is, as people count. Undecodable files have one place: their start."""
        try:
            return self.lines.position(offset)
        except SourceError:
            return Position(1, 1)
