"""The `# /// script` block of a Python file (PEP 723), whatever its line ends."""

from __future__ import annotations

import re

from trl_lint.project.manifests.collected import Collected
from trl_lint.project.manifests.pyproject import add_list
from trl_lint.project.manifests.uv_sources import mark_sources
from trl_lint.project.pins import Manifest
from trl_lint.regexes import regex
from trl_lint.sources import LineIndex, Source, SourceError, SourceFile
from trl_lint.sources.nodes import find, value_of
from trl_lint.sources.toml import read_toml

# The parts of the expression of PEP 723, with every line end: as printed there it finds no block in a file with CR LF.
_BEGIN = regex(r"^# /// script[ \t]*(?:\r\n|\r|\n)", re.MULTILINE)
_LINE = regex(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_PREFIX = regex(r"# ?")


class CommentSource(Source):
    """The TOML inside a block of comment lines; offsets lead back to the file."""

    __slots__ = ("_origins", "_starts")

    def __init__(self, file: SourceFile, start: int, end: int) -> None:
        content = file.text[start:end]
        parts: list[str] = []
        self._starts: list[int] = []
        self._origins: list[int] = []
        length = 0
        index = LineIndex(content)
        for number, line_start in enumerate(index.starts):
            line_end = index.starts[number + 1] if number + 1 < len(index.starts) else len(content)
            line = content[line_start:line_end]
            prefix = _PREFIX.match(line)
            skipped = prefix.end() if prefix else 0
            self._starts.append(length)
            self._origins.append(start + line_start + skipped)
            parts.append(line[skipped:])
            length += len(line) - skipped
        super().__init__(file, "toml", "".join(parts))

    def file_offset(self, offset: int) -> int:
        from bisect import bisect_right

        line = max(0, bisect_right(self._starts, offset) - 1)
        return self._origins[line] + offset - self._starts[line]


def script_block(file: SourceFile) -> CommentSource | None:
    """The block of a script, None where there is none; two of them are an error by PEP 723, so one is enough."""
    text, read = file.text, 0
    for begin in _BEGIN.finditer(text):
        if begin.start() < read:
            continue  # inside of a block that nothing ends
        read = begin.end()
        while (line := _LINE.match(text, read)) is not None and (line[1] == "#" or line[1].startswith("# ")):
            if read > begin.end() and line[1].rstrip(" \t") == "# ///":
                return CommentSource(file, begin.end(), read)
            read = line.end()
    return None


def read(file: SourceFile) -> Manifest | None:
    source = script_block(file)
    if source is None:
        return None
    try:
        root = read_toml(source)
    except SourceError as error:
        raise SourceError(f"script block: {error.message}", source.file_offset(error.offset)) from None
    collected = Collected(source)
    add_list(find(root, "dependencies"), collected, "requirement")
    add_list(find(root, "tool.uv.constraint-dependencies"), collected, "constraint")
    add_list(find(root, "tool.uv.override-dependencies"), collected, "override")
    pins = mark_sources(collected.pins, root)
    if not pins and not collected.problems:
        return None
    python = value_of(find(root, "requires-python"))
    requires = python if isinstance(python, str) else None
    return Manifest(file.path, "pep723", tuple(pins), requires, tuple(collected.problems))
