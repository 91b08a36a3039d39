"""Suppressing findings where they stand: `# noqa` as flake8 reads it, in every language with `#` comments.

One addition: `# noqa: TRL202 until trl>=0.16` holds only as long as the environment has not reached the condition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from trl_lint.comments import Comments, read_comments
from trl_lint.finding import Edit, Finding, Fix, Location, Notice, Severity, levels
from trl_lint.grading import Evidence, graded
from trl_lint.paths import MARKDOWN
from trl_lint.project.environment import Environment
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.settings import Settings
from trl_lint.sources import SourceError, SourceFile

EnvironmentLookup = Callable[[str], Environment]


# The two expressions of flake8 (defaults.py, release 7.5): one reading for both front ends.
NOQA = regex(r"# noqa(?::[\s]?(?P<codes>([A-Z]+[0-9]+(?:[,\s]+)?)+))?", re.IGNORECASE)
NOQA_FILE = regex(r"\s*# flake8[:=]\s*noqa", re.IGNORECASE)

_MENTION = b"noqa"
_CODE = regex(r"[^,\s]+")
_UNTIL = regex(
    r"\s*\buntil\s+(?P<package>[A-Za-z0-9][\w.-]*?)\s*(?P<specifier>[<>=!~]=*\s*[^\s,=][^\s,]*(?:\s*,\s*[<>=!~]=*\s*[^\s,=][^\s,]*)*)"
)
_DASHES = " \t,;:–—-"


class Code(NamedTuple):
    """One code of a directive; the span counts in the text of the source."""

    text: str
    start: int
    end: int


class Until(NamedTuple):
    """The condition that ends a suppression; `end` is where its text ends in the text of the source."""

    package: str
    specifier: str
    start: int
    end: int


class Directive(NamedTuple):
    """One `# noqa`. `start` is its `#`, `end` the end of codes and condition, `comment_end` that of the whole comment.

    `codes` is None for a blanket one. `certain` says that it is a comment of the file's own language, so it may be
    judged and edited.
    """

    comments: Comments
    start: int
    end: int
    comment_end: int
    codes: tuple[Code, ...] | None
    until: Until | None
    certain: bool

    def covering(self, code: str) -> tuple[Code, ...]:
        """The listed codes that stand for `code`; as in flake8 a prefix will do, in this very spelling."""
        return tuple(c for c in self.codes or () if code.startswith(c.text))

    def covers(self, code: str) -> bool:
        return self.codes is None or bool(self.covering(code))


class Noqas:
    """The directives of one file. Raises SourceError if the file cannot be read.

    `has_groups` asks for the lines that share a comment also where no comment is a directive.
    """

    def __init__(self, file: SourceFile, has_groups: bool = True) -> None:
        self.file = file
        self.texts = read_comments(file, "" if has_groups else _MENTION.decode())
        self._found: dict[tuple[int, int], Directive | None] = {}

    def file_switch(self) -> Location | None:
        """The line `# flake8: noqa` that switches the whole file off; flake8 ignores what follows it, codes too."""
        for comments in self.texts:
            text = comments.source.text
            if "flake8" not in text.lower():
                continue
            if comments.language == "python":
                for number, start in enumerate(comments.source.lines.starts, 1):
                    line = comments.source.lines.line_text(number)
                    if match := NOQA_FILE.match(line):
                        return comments.source.location(start, start + match.end())
            else:
                for comment in comments.all():
                    if comment.certain and (match := NOQA_FILE.match(text, comment.start)):
                        return comments.source.location(comment.start, match.end())
        return None

    def text_at(self, file_offset: int) -> Comments | None:
        """The text a place of the file lies in."""
        return next((comments for comments in self.texts if comments.holds(file_offset)), None)

    def at(self, file_offset: int) -> Directive | None:
        """The directive that speaks for a place of the file."""
        comments = self.text_at(file_offset)
        return None if comments is None else self.of_line(comments, comments.line_at(file_offset))

    def of_line(self, comments: Comments, line: int) -> Directive | None:
        key = (self.texts.index(comments), comments.group(line)[0])
        if key not in self._found:
            self._found[key] = _read_directive(comments, line)
        return self._found[key]

    def all(self) -> Iterator[Directive]:
        """Every directive that may be judged, in the order of the texts."""
        for comments in self.texts:
            for comment in comments.all():
                if comment.certain and NOQA.search(comments.source.text, comment.start, comment.end):
                    directive = self.of_line(comments, comments.source.lines.position(comment.start).line)
                    # Only the first directive of joined lines is ever read; a later one is not ours to judge.
                    if directive is not None and comment.start <= directive.start < comment.end:
                        yield directive


def _read_directive(comments: Comments, line: int) -> Directive | None:
    text = comments.source.text
    if comments.language != "python":
        for found in comments.of_line(line):
            if match := NOQA.search(text, found.start, found.end):
                return _directive(comments, match, 0, found.end, found.certain)
        return None
    first, last = comments.group(line)
    starts = comments.source.lines.starts
    lines = [comments.line(number) for number in range(first, last + 1)]
    match = NOQA.search("\n".join(lines))
    if match is None:
        return None
    # Back from the joined lines, which have one character for a line end, to the text as it is.
    row = match.string.count("\n", 0, match.start())
    line_start = starts[first - 1 + row]
    shift = line_start - sum(len(part) + 1 for part in lines[:row])
    start = match.start() + shift
    comment = comments.at(start)
    line_end = line_start + len(lines[row])
    return _directive(comments, match, shift, line_end, comment is not None and comment.certain)


def _directive(comments: Comments, match: re.Match[str], shift: int, comment_end: int, certain: bool) -> Directive:
    codes: tuple[Code, ...] | None = None
    end = match.end() + shift
    if match["codes"] is not None:
        base = match.start("codes") + shift
        found = _CODE.finditer(match["codes"])
        codes = tuple(Code(code[0], base + code.start(), base + code.end()) for code in found)
        end = codes[-1].end
    until = None
    if codes and (condition := _UNTIL.match(comments.source.text, end, comment_end)):
        end = condition.end()
        specifier = re.sub(r"\s", "", condition["specifier"])
        until = Until(condition["package"], specifier, condition.start(), end)
    return Directive(comments, match.start() + shift, end, comment_end, codes, until, certain)


# -- applying ---------------------------------------------------------------------------------------------------------


def mentions(data: bytes) -> bool:
    """Whether a file may hold suppressions at all. Files that do not need no call of `apply`."""
    return _MENTION in data.lower()  # many times faster than a search that ignores case


def apply(
    findings: list[Finding], file: SourceFile, settings: Settings, environment_of: EnvironmentLookup
) -> tuple[list[Finding], Notice | None]:
    """The findings of one file without the suppressed ones, with TRL002 and TRL004 for the suppressions themselves.

    The notice says what a `# flake8: noqa` hides. `environment_of` gives the environment of a path; it is asked only
    for `until` conditions.
    """
    if settings.ignore_noqa or not mentions(file.data) or (not findings and b"TRL" not in file.data):
        return findings, None  # what stands there is about the findings of other tools
    try:
        noqas = Noqas(file, has_groups=False)
    except SourceError:
        return findings, None
    if settings.respect_file_noqa and (switch := noqas.file_switch()) is not None:
        hidden = [finding for finding in findings if finding.code != "TRL003"]
        crashes = [finding for finding in findings if finding.code == "TRL003"]
        return crashes, _skipped_file(hidden, switch) if hidden else None
    expiries = _Expiries(environment_of, file.path)
    kept: list[Finding] = []
    used: set[tuple[int, int]] = set()
    for finding in findings:
        directive = None if finding.code == "TRL003" else noqas.at(finding.location.start)
        if directive is None or not directive.covers(finding.code):
            kept.append(finding)
            continue
        used.update((id(directive.comments), code.start) for code in directive.covering(finding.code))
        if expiries.has_expired(directive):
            kept.append(finding)
    kept.extend(_expired(noqas, settings, expiries))
    if not settings.is_what_if and b"TRL" in file.data and _was_checked(findings, noqas):
        kept.extend(_unused(noqas, used, settings, expiries))
    return sorted(kept, key=lambda finding: finding.sort_key), None


def _skipped_file(hidden: list[Finding], switch: Location) -> Notice:
    return Notice("skipped-file", f"`# flake8: noqa` switches this file off, which hides {levels(hidden)}", switch)


class Expiry(NamedTuple):
    """Why a suppression has run out, and how sure that is."""

    reason: str
    severity: Severity


class _Expiries:
    """Whether the conditions of one file are reached; each is worked out once."""

    def __init__(self, environment_of: EnvironmentLookup, path: str) -> None:
        self._environment_of = environment_of
        self._path = path
        self._known: dict[tuple[str, str], Expiry | None] = {}

    def has_expired(self, directive: Directive) -> bool:
        return self.of(directive) is not None

    def of(self, directive: Directive) -> Expiry | None:
        until = directive.until
        if until is None:
            return None
        key = (until.package, until.specifier)
        if key not in self._known:
            self._known[key] = self._work_out(until)
        return self._known[key]

    def _work_out(self, until: Until) -> Expiry | None:
        from trl_lint.sources.requirements import normalised

        if not _is_specifier(until.specifier):
            return None  # said by `_expired`; a suppression that cannot be read stays in force
        package = self._environment_of(self._path).package(normalised(until.package))
        # Reached only when every release the pins allow is past it: some of them may still need the suppression.
        if package.holds(until.specifier) != "all":
            return None
        release = f" {package.resolved}" if package.resolved is not None else ""
        assumed = package.source == "assumed"
        reason = f"the pins now give {package.name}{release}"
        if assumed:
            reason = f"assuming {package.name}{release}, the newest known release, because nothing pins it"
        return Expiry(reason, graded("warning", Evidence(assumed=assumed)))


def _expired(noqas: Noqas, settings: Settings, expiries: _Expiries) -> Iterator[Finding]:
    path = noqas.file.path
    if not settings.is_enabled("TRL004", path):
        return
    for directive in noqas.all():
        until = directive.until
        if until is None or directive.covering("TRL004"):
            continue
        codes = _own_codes(directive)
        if not codes:
            continue
        location = directive.comments.source.location(*_trimmed(directive, until))
        condition = f"until {until.package}{until.specifier}"
        expiry = expiries.of(directive)
        if expiry is not None:
            names = ", ".join(code.text for code in codes)
            message = f"`{condition}` is reached ({expiry.reason}): {names} is no longer suppressed here"
            fix = _removal(directive, codes, "Remove the expired")
            yield Finding("TRL004", message, location, expiry.severity, fix=fix)
        elif not _is_specifier(until.specifier):
            message = f"`{condition}` is not a version condition, so it never ends; write it like `until trl>=0.16`"
            yield Finding("TRL004", message, location, "warning")


def _trimmed(directive: Directive, until: Until) -> tuple[int, int]:
    text = directive.comments.source.text
    start = until.start
    while text[start].isspace():
        start += 1
    return start, until.end


def _is_specifier(text: str) -> bool:
    from trl_lint.knowledge.releases import parse_specifier

    return parse_specifier(text) is not None


def _was_checked(findings: list[Finding], noqas: Noqas) -> bool:
    """Whether the rules had a chance: in a file that does not parse, or where one crashed, nothing is superfluous."""
    if any(finding.code in ("TRL001", "TRL003") for finding in findings):
        return False
    from trl_lint.python.module import parse

    for comments in noqas.texts:
        if comments.language == "python":
            try:
                parse(comments.source.text)
            except SourceError:
                return False
    return True


def _unused(noqas: Noqas, used: set[tuple[int, int]], settings: Settings, expiries: _Expiries) -> Iterator[Finding]:
    path = noqas.file.path
    if not settings.is_enabled("TRL002", path) or path.endswith(MARKDOWN):
        return  # a document may quote suppressions
    for directive in noqas.all():
        if directive.covering("TRL002") or expiries.has_expired(directive):
            continue
        codes = tuple(
            code
            for code in _own_codes(directive)
            if (id(directive.comments), code.start) not in used and _may_be_judged(code.text, settings, path)
        )
        if codes:
            names = ", ".join(code.text for code in codes)
            location = directive.comments.source.location(codes[0].start, codes[-1].end)
            message = f"unused `noqa`: nothing is found here under {names}"
            yield Finding("TRL002", message, location, "warning", fix=_removal(directive, codes, "Remove the unused"))


def _own_codes(directive: Directive) -> tuple[Code, ...]:
    return tuple(code for code in directive.codes or () if code.text.startswith("TRL"))


def _may_be_judged(text: str, settings: Settings, path: str) -> bool:
    """Whether every rule that a code or prefix stands for ran on the file. TRL0xx is the tool talking about itself."""
    from trl_lint.selection import known_codes

    codes = [code for code in known_codes() if code.startswith(text)]
    return bool(codes) and not text.startswith("TRL0") and all(settings.is_enabled(code, path) for code in codes)


# -- removing ---------------------------------------------------------------------------------------------------------


def _removal(directive: Directive, codes: tuple[Code, ...], verb: str) -> Fix | None:
    """The fix that takes codes out of a directive, and the directive out of the file once it holds none."""
    assert directive.codes is not None
    kept = [code for code in directive.codes if code not in codes]
    try:
        edit = _without_codes(directive, kept) if kept else _without_directive(directive)
    except SourceError:  # a place of a notebook that cannot be edited, such as a magic
        return None
    names = ", ".join(code.text for code in codes)
    return Fix(f"{verb} suppression of {names}", "safe", (edit,))


def _without_codes(directive: Directive, kept: list[Code]) -> Edit:
    """Keep the other codes; an `until` goes with the last code of ours."""
    assert directive.codes is not None
    content = ", ".join(code.text for code in kept)
    end = directive.codes[-1].end
    if directive.until is not None and not any(code.text.startswith("TRL") for code in kept):
        end = directive.until.end
    return directive.comments.source.edit(directive.codes[0].start, end, content)


def _without_directive(directive: Directive) -> Edit:
    """Remove the comment; a reason behind it stays, as a plain comment."""
    source = directive.comments.source
    text = source.text
    start, end = directive.start, directive.comment_end
    reason = text[directive.end : end].lstrip(_DASHES)
    if reason.strip():
        content = reason if reason.startswith("#") else f"# {reason}"
        return source.edit(start, end, content)
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    is_whole_line = start == 0 or text[start - 1] in "\r\n"
    # In a notebook a line is an item of a JSON list: the emptied line stays.
    if is_whole_line and not source.path.endswith(".ipynb"):
        end += _line_end(text, end)
    return source.edit(start, end, "")


def _line_end(text: str, offset: int) -> int:
    return 2 if text.startswith("\r\n", offset) else int(text[offset : offset + 1] in ("\r", "\n"))
