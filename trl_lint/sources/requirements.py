"""Requirement specifiers (PEP 508) and pip's requirements files, with the span of every part.

Version semantics stay with `packaging`; this module only finds out what is written where, and what pip would refuse.
The grammar of lines follows pip's documentation of the requirements file format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources.text import LineIndex

_NAME = regex(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_EXTRAS = regex(r"\s*\[([^\]\[]*)\]")
_CLAUSE = regex(r"(===|==|~=|!=|<=|>=|<|>)\s*([A-Za-z0-9_.*+!-]+)")
_URL = regex(r"\s*@\s*(\S+)")
_OPERATOR_START = regex(r"[=<>~!]")
_VERSION = regex(
    r"v?(?:\d+!)?\d+(?:\.\d+)*(?:[-_.]?(?:alpha|beta|preview|pre|a|b|c|rc)[-_.]?\d*)?"
    r"(?:-\d+|[-_.]?(?:post|rev|r)[-_.]?\d*)?(?:[-_.]?dev[-_.]?\d*)?(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?",
    re.IGNORECASE,
)
_EGG = regex(r"[#&]egg=([A-Za-z0-9][A-Za-z0-9._-]*)")
_ARCHIVE = regex(r".*\.(?:whl|zip|tgz|bz2|gz|xz)")
_FOLDER = regex(r"(?:file:)?(?P<path>[^\[\]]+)(?:\[(?P<extras>[^\]]*)\])?")
_WHEEL = regex(r"([A-Za-z0-9][A-Za-z0-9._]*?)-\d[^/]*\.whl$")
_COMMENT = regex(r"(?:^|(?<=\s))#.*$")
_INCLUDE = regex(r"(?:-r|--requirement|-c|--constraint)(?:\s*=\s*|\s+|(?<=-[rc]))(?=\S)")
_EDITABLE = regex(r"(?:-e|--editable)(?:\s*=\s*|\s+)(?=\S)")
_PER_REQUIREMENT_OPTION = regex(r"(?<=\s)--?(?:hash|config-settings?|global-option|install-option|C)\b.*$", re.DOTALL)
_INDEX_OPTIONS = ("-i", "--index-url", "--default-index")
# Only what other options name is looked at, or what is built before a release, too.
_ELSEWHERE_ALONE = ("--no-index", "--pre", "--prerelease=allow")
_MORE_INDEXES = ("--extra-index-url", "--index", "-f", "--find-links")
_SIGNS_OF_A_PLACE = ("/", ":", ".whl", ".tar.gz", ".zip", ".tar.bz2")
_PLACEHOLDER = regex(r"\$\{|\{\{|\$\(|<[A-Za-z_]+>")


class RequirementError(Exception):
    """A requirement pip would refuse; `start` and `end` are the span of what is wrong."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end


class Requirement(NamedTuple):
    """One requirement; spans are offsets into the text it was read from.

    `package` is the normalised name (PEP 503). `specifier` is without blanks, "" when any version will do;
    its span is empty (right after name and extras) in that case. `url` is set instead of a specifier.
    """

    package: str
    extras: frozenset[str]
    specifier: str
    url: str
    marker: str
    start: int
    end: int
    specifier_start: int
    specifier_end: int


class Include(NamedTuple):
    """`-r FILE` or `-c FILE`; the span is that of the file name."""

    path: str
    is_constraint: bool
    start: int
    end: int


class Folder(NamedTuple):
    """`-e ./project[extra]` or `./project`: a project on the disk; the span is that of the place."""

    path: str
    extras: frozenset[str]
    start: int
    end: int


class RequirementsText(NamedTuple):
    """What a requirements file holds.

    `problems` are lines pip would refuse: (start, end, message). `folders` are projects on the disk that it installs,
    `indexes` the one that it names instead of PyPI, if any.
    """

    requirements: list[Requirement]
    includes: list[Include]
    problems: list[tuple[int, int, str]]
    folders: list[Folder]
    indexes: list[str]


def normalised(name: str) -> str:
    """The name of a package as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def is_exact(specifier: str) -> bool:
    """Whether a specifier names one version."""
    return specifier.startswith("==") and not any(sign in specifier for sign in (",", "*", "==="))


def read_requirement(text: str, start: int = 0, end: int | None = None) -> Requirement:
    """Read one requirement from `text[start:end]`. Raises RequirementError where pip would refuse it."""
    end = len(text) if end is None else end
    start = _skip(text, start, end)
    while end > start and text[end - 1].isspace():
        end -= 1
    name = _NAME.match(text, start, end)
    if name is None:
        raise RequirementError(f"not a requirement: {text[start:end]!r}", start, end)
    at = name.end()
    extras: frozenset[str] = frozenset()
    if match := _EXTRAS.match(text, at, end):
        extras = frozenset(normalised(extra.strip()) for extra in match[1].split(",") if extra.strip())
        at = match.end()
    package = normalised(name[0])
    if match := _URL.match(text, at, end):
        marker_at = _marker_of_url(text, match.end(), end)
        marker = text[marker_at + 1 : end].strip() if marker_at < end else ""
        return Requirement(package, extras, "", match[1], marker, start, match.end(), at, at)
    specifier, spec_start, spec_end, rest = _read_specifier(text, at, end)
    rest = _skip(text, rest, end)
    marker = ""
    if rest < end:
        if text[rest] != ";":
            raise RequirementError(_refusal(text, start, rest, end), start, end)
        marker = text[rest + 1 : end].strip()
    return Requirement(package, extras, specifier, "", marker, start, spec_end, spec_start, spec_end)


def _marker_of_url(text: str, at: int, end: int) -> int:
    at = _skip(text, at, end)
    return at if at < end and text[at] == ";" else end


def _skip(text: str, at: int, end: int) -> int:
    while at < end and text[at].isspace():
        at += 1
    return at


def _read_specifier(text: str, at: int, end: int) -> tuple[str, int, int, int]:
    """The comma-separated clauses at `at`: (specifier, start, end, where reading goes on)."""
    start = _skip(text, at, end)
    parenthesis = start < end and text[start] == "("
    position = start + 1 if parenthesis else start
    first, last = position, at
    clauses: list[str] = []
    while match := _CLAUSE.match(text, _skip(text, position, end), end):
        if not _is_version(match[1], match[2]):
            raise RequirementError(f"{match[2]!r} is not a version", match.start(2), match.end(2))
        if not clauses:
            first = match.start()
        clauses.append(match[1] + match[2])
        last = match.end()
        position = _skip(text, last, end)
        if position >= end or text[position] != ",":
            break
        position += 1
    if not clauses:
        return "", at, at, at
    if parenthesis:
        position = _skip(text, last, end)
        return ",".join(clauses), first, last, position + 1 if text[position : position + 1] == ")" else last
    return ",".join(clauses), first, last, last


def _is_version(operator: str, version: str) -> bool:
    if operator == "===":
        return True
    if version.endswith(".*") and operator in ("==", "!="):
        version = version[:-2]
    is_final = all(number.isdecimal() for number in version.split("."))
    return is_final or _VERSION.fullmatch(version) is not None


def _refusal(text: str, start: int, at: int, end: int) -> str:
    """Say what is wrong at `at`; a single `=` gets its own sentence because it is by far the most common slip."""
    shown = text[start:end].strip()
    if text[at] == "=" and text[at : at + 2] != "==":
        version = text[at + 1 : end].strip()
        return f"pip refuses {shown!r}: a version is pinned with '==', not '=' (={version})"
    if _OPERATOR_START.match(text[at]):
        return f"pip refuses {shown!r}: the version specifier cannot be read"
    return f"pip refuses {shown!r}: unexpected {text[at:end].strip()!r}"


def package_of_url(url: str) -> str:
    """The package a direct reference most likely installs: its `egg`, its wheel's name, or the repository's name."""
    if egg := _EGG.search(url):
        return normalised(egg[1])
    plain = re.split(r"[#?]", url, maxsplit=1)[0].rstrip("/")
    if wheel := _WHEEL.match(plain.rsplit("/", 1)[-1]):
        return normalised(wheel[1])
    before, at, behind = plain.rpartition("@")
    place = before if at and "/" not in behind else plain
    name = place.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition("@")[2]
    if "git" not in url.split("://", 1)[0] + plain:
        name = ""
    return normalised(name) if _NAME.fullmatch(name) else ""


def folder_of(text: str) -> tuple[str, frozenset[str]] | None:
    """The folder that an argument of `-e`, or a path to install from, names, with the extras; None for other places."""
    if "://" in text or text.startswith(("git@", "git+")):
        return None
    match = _FOLDER.fullmatch(text)
    if match is None or _ARCHIVE.fullmatch(match["path"]):
        return None
    extras = (extra.strip() for extra in (match["extras"] or "").split(","))
    return match["path"], frozenset(normalised(extra) for extra in extras if extra)


def is_path_or_url(text: str) -> bool:
    """Whether pip would take a line as a place to install from instead of a requirement."""
    if "://" in text.split(" ", 1)[0] or text.startswith((".", "/", "~", "file:", "git@")):
        return True
    return any(sign in text for sign in _SIGNS_OF_A_PLACE) and (
        re.match(r"[^\s=<>!~;@\[]+\.(?:whl|tar\.gz|zip|tar\.bz2)(?:$|[\s;#\[])", text) is not None
        or re.match(r"[A-Za-z]:[\\/]", text) is not None
        or re.match(r"[\w.-]+/[^\s=<>]*$", text) is not None
    )


def read_requirements(text: str) -> RequirementsText:
    """Read a requirements or constraints file: one requirement a logical line; a backslash continues a line."""
    found = RequirementsText([], [], [], [], [])
    for start, end in _logical_lines(text):
        _read_line(text, start, end, found)
    return found


def _logical_lines(text: str) -> list[tuple[int, int]]:
    """Spans of the lines that hold something. A continued line's span covers its physical lines."""
    index = LineIndex(text)
    lines: list[tuple[int, int]] = []
    start: int | None = None
    for number in range(1, len(index) + 1):
        line_start, line_end = index.line_range(number)
        begin = line_start if start is None else start
        if text[line_start:line_end].endswith("\\") and not text[line_start:line_end].lstrip().startswith("#"):
            start = begin
            continue
        start = None
        if text[begin:line_end].strip():
            lines.append((begin, line_end))
    if start is not None:
        lines.append((start, len(text)))
    return lines


def _read_line(text: str, start: int, end: int, found: RequirementsText) -> None:
    # Continuations and comments become blanks of the same length, so every offset stays true.
    line = text[start:end]
    if "\\" in line:
        line = re.sub(r"\\(\r\n|\r|\n)", lambda match: " " * len(match[0]), line)
        line = line[:-1] + " " if line.endswith("\\") else line
    if "#" in line:
        line = _COMMENT.sub(lambda match: " " * len(match[0]), line)
    stripped = line.strip()
    if not stripped:
        return
    start += len(line) - len(line.lstrip())
    if _PLACEHOLDER.search(stripped):
        return  # a template or an environment variable: what pip will see is unknown
    if stripped.startswith("-"):
        _read_option(stripped, start, found)
        return
    if is_path_or_url(stripped):
        _add_url(stripped, 0, start, found)
        return
    if len(stripped.split(maxsplit=1)) > 1:
        stripped = _PER_REQUIREMENT_OPTION.sub("", stripped)
    try:
        requirement = read_requirement(stripped)
    except RequirementError as error:
        found.problems.append((start + error.start, start + error.end, error.message))
        return
    found.requirements.append(shifted(requirement, start))


def _read_option(stripped: str, start: int, found: RequirementsText) -> None:
    """Read a line that is an option of pip: most of them say nothing about packages."""
    if include := _INCLUDE.match(stripped):
        name = stripped[include.end() :].strip("\"'")
        at = start + include.end()
        is_constraint = stripped.startswith(("-c", "--constraint"))
        found.includes.append(Include(name, is_constraint, at, at + len(stripped) - include.end()))
    elif editable := _EDITABLE.match(stripped):
        _add_url(stripped, editable.end(), start, found)
    elif index := index_of(stripped.split()):
        found.indexes.append(index)


def index_of(words: Iterable[str]) -> str:
    """The index that options name instead of PyPI, or beside it for nightly builds; "" if none.

    Where none is asked, or releases that are not final do as well, the name of the option stands for it.
    """
    option, index = "", ""
    for word in words:
        name, equals, value = word.partition("=")
        given = value if equals else word if option else ""
        index = word.strip("-") if word in _ELSEWHERE_ALONE else index
        if (option or name) in _INDEX_OPTIONS or ((option or name) in _MORE_INDEXES and "nightly" in given):
            index = given or index
        option = "" if option or equals else name if name in (*_INDEX_OPTIONS, *_MORE_INDEXES) else ""
    return index


def _add_url(line: str, at: int, start: int, found: RequirementsText) -> None:
    url = line[at:].split(" ;", 1)[0].strip().strip("\"'")
    end = start + at + len(url)
    if (folder := folder_of(url)) is not None:
        found.folders.append(Folder(*folder, start + at, end))
        return
    package = package_of_url(url)
    if package:
        found.requirements.append(
            Requirement(package, frozenset(), "", url, "", start + at, end, start + at, start + at)
        )


def shifted(requirement: Requirement, by: int) -> Requirement:
    """The same requirement, read from a slice that begins at offset `by` of the text."""
    return requirement._replace(
        start=requirement.start + by,
        end=requirement.end + by,
        specifier_start=requirement.specifier_start + by,
        specifier_end=requirement.specifier_end + by,
    )
