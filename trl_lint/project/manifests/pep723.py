"""The `# /// script` block of a Python file (PEP 723), whatever its line ends."""

from __future__ import annotations

import re

from trl_lint.project.manifests.collected import Collected
from trl_lint.project.manifests.pyproject import add_list
from trl_lint.project.manifests.uv_sources import mark_sources
from trl_lint.project.pins import Manifest
from trl_lint.regexes import regex
from trl_lint.sources import SourceError, SourceFile
from trl_lint.sources.excerpt import Excerpt
from trl_lint.sources.nodes import find, value_of
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.toml import read_toml

# The parts of the expression of PEP 723, with every line end: as printed there it finds no block in a file with CR LF.
_BEGIN = regex(r"^# /// script[ \t]*(?:\r\n|\r|\n)", re.MULTILINE)
_LINE = regex(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")


def script_block(file: SourceFile) -> Excerpt | None:
    """The block of a script, None where there is none; two of them are an error by PEP 723, so one is enough."""
    text, read = file.text, 0
    for begin in _BEGIN.finditer(text):
        if begin.start() < read:
            continue  # inside of a block that nothing ends
        read = begin.end()
        pieces = Pieces()
        while (line := _LINE.match(text, read)) is not None and (line[1] == "#" or line[1].startswith("# ")):
            if read > begin.end() and line[1].rstrip(" \t") == "# ///":
                return Excerpt(file, "toml", pieces)
            pieces.copy(text, min(read + 2, line.end(1)), line.end())
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
