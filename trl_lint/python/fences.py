"""What a page of Markdown shows of today, each block by itself: Python, and by their languages others."""

from __future__ import annotations

import os
from collections.abc import Iterator

from trl_lint.python.module import PythonModule
from trl_lint.regexes import regex
from trl_lint.sources import Source, SourceError, SourceFile
from trl_lint.sources.markdown import Fence, fences

# What tells of releases shows how things were, and so does a block with such a comment.
_OF_THE_PAST = regex(r"CHANGE|HISTORY|MIGRAT|NEWS|RELEASE|UPGRAD")
_COMPARES = regex(
    r"#[^\n]{0,200}\b(?:[Bb]efore|[Aa]fter|[Dd]eprecated|[Ii]nstead|[Oo]ld|[Oo]lder|[Pp]reviously|[Ww]rong)\b"
)


def blocks_shown(file: SourceFile, *languages: str) -> Iterator[Fence]:
    """The blocks in one of these languages, save for those that show how things were."""
    if _OF_THE_PAST.search(os.path.basename(file.path).upper()):
        return
    for fence in fences(Source(file, "markdown")):
        if fence.language in languages and not _COMPARES.search(fence.text):
            yield fence


def modules_shown(file: SourceFile) -> list[PythonModule]:
    """The blocks that are whole Python with imports of their own; those that only hint at code are left out."""
    found = []
    for fence in blocks_shown(file, "python"):
        if "import" in fence.text:
            try:
                found.append(PythonModule(fence))
            except (SourceError, RecursionError):
                continue  # an excerpt, a session of the interpreter
    return found
