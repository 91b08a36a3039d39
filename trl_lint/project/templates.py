"""Files that others are made of: a file with blanks is no broken file, if something fills them in."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Literal

from trl_lint.project import Project
from trl_lint.regexes import regex
from trl_lint.sources import SourceError

# What only a template engine, `envsubst` or CMake reads: Jinja, ERB, `${NAME}`, `@NAME@`.
_ENGINE = regex(r"\{\{.{0,300}?\}\}|\{%.{0,300}?%\}|<%.{0,300}?%>|\$\{\w[^{}\n]*\}|(?<![\w@])@\w+@(?![\w@])")
# What people write where JSON or TOML wants a value: a name in capitals, or in brackets of some kind.
_BLANK = regex(r"[A-Z][A-Z0-9_]{2,}(?![\w.])|<[^<>\"\n]{1,60}>|\$\w+|__\w+?__|%\(\w+\)s|%\w+%|\{\w+\}")
_NO_BLANK = ("NULL", "TRUE", "FALSE", "NONE")
_LONGEST_LINE = 1000
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

    A "template" where a blank stands there that only an engine reads, or one in words where the name of the file or a
    script of the project says that blanks are filled in. "unclear" where nobody is seen who fills it in.
    """
    start = max(text.rfind("\n", 0, offset) + 1, offset - _LONGEST_LINE)
    line = text[start : offset + _LONGEST_LINE].partition("\n")[0]
    if any(m.start() <= offset - start and not line[m.end() : offset - start].strip() for m in _ENGINE.finditer(line)):
        return "template"
    blank = _BLANK.match(text, offset) if path.endswith((".json", ".toml")) else None
    if blank is None or blank[0] in _NO_BLANK:
        return "broken"
    is_named = is_named_as_template(os.path.relpath(path, project.root))
    return "template" if is_named or _is_filled_in(os.path.basename(path), project) else "unclear"


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
