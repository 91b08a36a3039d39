"""The Python that a page of Markdown shows, each block of it by itself."""

from __future__ import annotations

import os

from trl_lint.python.module import PythonModule
from trl_lint.regexes import regex
from trl_lint.sources import Source, SourceError, SourceFile
from trl_lint.sources.markdown import fences

# What tells of releases shows how things were, and so does a block with such a comment.
_OF_THE_PAST = regex(r"CHANGE|HISTORY|MIGRAT|NEWS|RELEASE|UPGRAD")
_COMPARES = regex(
    r"#[^\n]{0,200}\b(?:[Bb]efore|[Aa]fter|[Dd]eprecated|[Ii]nstead|[Oo]ld|[Oo]lder|[Pp]reviously|[Ww]rong)\b"
)


def modules_shown(file: SourceFile) -> list[PythonModule]:
    """The blocks that are whole Python with imports of their own; those that only hint at code are left out."""
    if _OF_THE_PAST.search(os.path.basename(file.path).upper()):
        return []
    found = []
    for fence in fences(Source(file, "markdown")):
        if fence.language == "python" and "import" in fence.text and not _COMPARES.search(fence.text):
            try:
                found.append(PythonModule(fence))
            except (SourceError, RecursionError):
                continue  # an excerpt, a session of the interpreter
    return found
