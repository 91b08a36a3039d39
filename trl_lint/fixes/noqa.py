"""A `# noqa` for a finding, written where it works and changes nothing else."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from trl_lint.comments import Comments, language_of
from trl_lint.finding import Edit, Finding
from trl_lint.fixes.apply import edited
from trl_lint.fixes.verify import objection
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import SourceError, SourceFile
from trl_lint.sources.files import open_file
from trl_lint.suppress import Noqas

_LOOKS_LIKE_A_CODE = regex(r"[A-Za-z]+[0-9]")
_RUN = regex(r"\s*(?:RUN|CMD|ENTRYPOINT)\s+(?!\[)", re.IGNORECASE)


class RefusedError(Exception):
    """Why a line cannot take a comment."""


class Line(NamedTuple):
    """Lines that share a comment, and the findings on them."""

    comments: Comments
    first: int
    last: int
    findings: list[Finding]


def noqa_edits(
    file: SourceFile, findings: Sequence[Finding], reason: str
) -> tuple[list[Edit], list[tuple[Finding, str]]]:
    """The edits that suppress findings in a file, and the findings that cannot be suppressed there, with the reason.

    `reason` is written behind the codes. Raises RefusedError where no finding of the file can be, and SourceError.
    """
    if language_of(file.path) == "json":
        raise RefusedError("JSON has no comments: use `per-file-ignores` or a baseline")
    noqas = Noqas(file)
    refused: list[tuple[Finding, str]] = []
    edits: list[Edit] = []
    for line in _lines(noqas, findings, refused):
        try:
            edits.append(_edit(noqas, line, reason, file))
        except (RefusedError, SourceError) as error:
            refused += [(finding, str(error)) for finding in line.findings]
    return edits, refused


def _lines(noqas: Noqas, findings: Sequence[Finding], refused: list[tuple[Finding, str]]) -> list[Line]:
    """The findings by the lines that share a comment."""
    found: dict[tuple[int, int], Line] = {}
    for finding in findings:
        comments = noqas.text_at(finding.location.start)
        if finding.code in ("TRL002", "TRL003", "TRL004"):
            refused.append((finding, f"{finding.code} is not to be suppressed"))
        elif comments is None:
            refused.append((finding, "this place cannot hold a comment"))
        else:
            first, last = comments.group(comments.line_at(finding.location.start))
            key = (noqas.texts.index(comments), first)
            found.setdefault(key, Line(comments, first, last, [])).findings.append(finding)
    return list(found.values())


def _edit(noqas: Noqas, line: Line, reason: str, file: SourceFile) -> Edit:
    """The edit that adds a comment for a line; proved not to change what the file means, and to work."""
    codes = sorted({finding.code for finding in line.findings})
    directive = noqas.of_line(line.comments, line.first)
    source = line.comments.source
    if directive is not None:
        if not directive.codes:
            raise RefusedError("the line has a `# noqa` already")
        if not directive.certain:
            raise RefusedError("the `# noqa` of this line stands inside a string")
        missing = [code for code in codes if not directive.covers(code)]
        if not missing:  # covered and shown all the same: its `until` has expired
            raise RefusedError("the line has a `# noqa` already, whose condition is reached")
        end = directive.codes[-1].end
        edit = source.edit(end, end, "".join(f", {code}" for code in missing))
    else:
        _refuse_impossible(line)
        start, end = source.lines.line_range(line.last)
        end -= len(source.text[start:end]) - len(source.text[start:end].rstrip())
        dash = "- " if _LOOKS_LIKE_A_CODE.match(reason) else ""
        tail = f" {dash}{reason}" if reason else ""
        edit = source.edit(end, source.lines.line_range(line.last)[1], f"  # noqa: {', '.join(codes)}{tail}")
    text = edited(file.text, [edit])
    if objection(file, text, [edit]) is not None or not _works(file, text, line, edit):
        raise RefusedError("a comment here would change what the file means")
    return edit


def _refuse_impossible(line: Line) -> None:
    comments = line.comments
    start = comments.source.lines.starts[line.last - 1]
    if comments.is_embedded(start) and comments.language == "shell":
        raise RefusedError("a here-document cannot hold a comment")
    if comments.language == "dockerfile" and not _RUN.match(comments.line(line.first)):
        raise RefusedError("only RUN and the shell forms of CMD and ENTRYPOINT can hold a comment")
    if comments.language == "makefile" and not comments.line(line.first).startswith("\t"):
        raise RefusedError("in a Makefile only the lines of a recipe can hold a comment")
    if comments.line(line.last).rstrip().endswith("\\"):
        raise RefusedError("the line goes on after its backslash")


def _works(file: SourceFile, text: str, line: Line, edit: Edit) -> bool:
    """Whether the new comment is read as one, and the code around it is the same."""
    after = open_file(file.path, file.encode(text))
    try:
        noqas = Noqas(after)
    except SourceError:
        return False
    for finding in line.findings:
        place = finding.location.start
        if place >= edit.end > edit.start:
            place += len(edit.content) - (edit.end - edit.start)
        directive = noqas.at(place)
        if directive is None or not directive.covers(finding.code):
            return False
    return _same_code(line.comments, noqas)


def _same_code(before: Comments, noqas: Noqas) -> bool:
    if before.language != "python":
        return True
    import ast

    from trl_lint.python.module import parse

    after = next(comments for comments in noqas.texts if comments.language == "python")
    try:
        return ast.dump(parse(before.source.text)) == ast.dump(parse(after.source.text))
    except SourceError:
        return os.path.splitext(before.source.path)[1] != ".ipynb"  # TRL001 itself can be accepted
