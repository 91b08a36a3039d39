"""Files that others are made of: a file with blanks is no broken file, if something fills them in."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from contextlib import suppress
from typing import Literal

from trl_lint.project import Project
from trl_lint.regexes import regex
from trl_lint.sources import SourceError

# What only a template engine, `envsubst` or CMake reads: Jinja, ERB, `${NAME}`, `@NAME@`.
_ENGINE = regex(r"\{\{.{0,300}?\}\}|\{%.{0,300}?%\}|<%.{0,300}?%>|\$\{\w[^{}\n]*\}|(?<![\w@])@\w+@(?![\w@])")
# What people write where JSON or TOML wants a value: a name in capitals, or in brackets of some kind.
_BLANK = regex(r"[A-Z][A-Z0-9_]{2,}(?![\w.])|<[^<>\"\n]{1,60}>|\$\w+|__\w+?__|%\(\w+\)s|%\w+%|\{\w+\}")
# Where one begins that YAML takes for something else: `{{`, `{%`, `{#`, `<%`.
_OPEN = regex(r"\{[{%#]|<%")
_IN_VALUE = tuple(f"while scanning a {kind} scalar" for kind in ("block", "plain", "quoted"))
_COMMENT = regex(r"(?:^|\s)#")
_NO_BLANK = ("NULL", "TRUE", "FALSE", "NONE")
_LONGEST_LINE = 1000  # characters around a fault in which a blank to fill in is looked for
_NAME = regex(
    r"(?:\A|[._\-]|\b)(?:template|tmpl|tpl|skeleton|j2|jinja2?|mustache|cookiecutter)s?(?=[._\-]|\Z)|\.in(?=\.|\Z)|\{\{",
    re.IGNORECASE,
)
_OF_CHATS = regex(r"(?:chat|prompt|conversation|tool)[_\-]?template", re.IGNORECASE)
# How a script changes a text.
_FILLING = (
    rb"\bsed\b|envsubst|\bperl +-p|\bawk\b|\.replace\(|\bre\.sub\(|Template\(|\.format\(|\.render\(|substitute\("
    rb"|configure_file"
)
_NO_CODE = (".json", ".yaml", ".yml", ".toml", ".txt", ".cfg", ".ini", ".lock", ".ipynb")

Reading = Literal["template", "unclear", "broken"]


def reading_of(path: str, offset: int, project: Project) -> Reading:
    """As `read_template`, of a file that may not even be text."""
    try:
        text = project.files.own(path).text
    except (OSError, SourceError):
        return "broken"
    return read_template(path, text, offset, project)


def read_template(path: str, text: str, offset: int, project: Project) -> Reading:
    """What a file is that could not be read at `offset` of its text.

    A "template" where a blank stands there that only an engine reads, or before it where YAML has no text, or one in
    words where the name of the file or a script of the project says that blanks are filled in. "unclear" where nobody
    is seen who fills it in.
    """
    start = max(text.rfind("\n", 0, offset) + 1, offset - _LONGEST_LINE)
    line = text[start : offset + _LONGEST_LINE].partition("\n")[0]
    if any(m.start() <= offset - start and not line[m.end() : offset - start].strip() for m in _ENGINE.finditer(line)):
        return "template"
    if path.endswith((".yaml", ".yml")) and _stands_open(text, offset):
        return "template"
    blank = _BLANK.match(text, offset) if path.endswith((".json", ".toml")) else None
    if blank is None or blank[0] in _NO_BLANK:
        return "broken"
    is_named = is_named_as_template(os.path.relpath(path, project.root))
    return "template" if is_named or _is_filled_in(os.path.basename(path), project) else "unclear"


def _stands_open(text: str, offset: int) -> bool:
    """Whether an engine's blank stands before `offset` in a YAML text, and in no value or comment of it.

    A chat template is a value that the parser has read: what is wrong behind it is wrong without it, too.
    """
    blanks = [match.start() for match in _OPEN.finditer(text, 0, offset)]
    if not blanks:
        return False
    values = _values_before(text)
    for blank in blanks:
        at = bisect_right(values, (blank, len(text), True)) - 1
        _, end, is_plain = values[at] if at >= 0 else (0, 0, False)
        # YAML takes `<% if x %>` for the beginning of a text.
        is_in_value = blank < end and not (is_plain and text.startswith("<%", blank))
        if not is_in_value and not _COMMENT.search(text[text.rfind("\n", 0, blank) + 1 : blank]):
            return True
    return False


def _values_before(text: str) -> list[tuple[int, int, bool]]:
    """Where the scalars of a YAML text begin and end, as far as the parser gets, and whether without quotes."""
    import yaml

    found: list[tuple[int, int, bool]] = []
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(event, yaml.ScalarEvent) and event.start_mark and event.end_mark:
                found.append((event.start_mark.index, event.end_mark.index, not event.style))
    except yaml.MarkedYAMLError as error:
        if error.context in _IN_VALUE and error.context_mark is not None:
            found.append((error.context_mark.index, len(text), False))  # one that does not end
    except (yaml.YAMLError, UnicodeError):
        pass  # the reader has said what is wrong
    return found


def is_named_as_template(path: str) -> bool:
    """Whether the name of a file, or of a folder around it, says that other files are made of it."""
    return any(_NAME.search(_OF_CHATS.sub("", part)) is not None for part in path.split(os.sep))


def _is_filled_in(name: str, project: Project) -> bool:
    """Whether a script of the project that names the file changes texts."""
    for path in project.paths:
        if path.endswith(_NO_CODE):
            continue
        with suppress(OSError, SourceError):
            if project.files.holds(path, name.encode("utf-8", "replace")) and project.files.fits(path, _FILLING):
                return True
    return False
