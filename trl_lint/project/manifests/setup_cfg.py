"""setup.cfg: `[options] install_requires` and `[options.extras_require]`."""

from __future__ import annotations

import os
import re

from trl_lint.project.manifests.collected import Collected
from trl_lint.project.manifests.own_version import find_version, version_in_file
from trl_lint.project.pins import Kind, Manifest
from trl_lint.regexes import regex
from trl_lint.sources import Files, Source, SourceFile
from trl_lint.sources.ini import option_lines
from trl_lint.sources.requirements import normalised

_OF_ANOTHER = regex(r"%\(\w")
_FILE = regex(r"file:\s*(\S+)")


def read(file: SourceFile, files: Files) -> Manifest | None:
    collected = Collected(Source(file, "ini"))
    values: dict[tuple[str, str], str] = {}
    for section, option, start, end in option_lines(file.text):
        if section != "options.extras_require":
            option = option.lower()
        values.setdefault((section, option), file.text[start:end].strip())
        kind: Kind | None = None
        if (section, option) == ("options", "install_requires"):
            kind = "requirement"
        elif section == "options.extras_require":
            kind = "extra"
        if kind is not None and not file.text[start:end].strip().startswith("file:"):
            for part_start, part_end in _parts(file.text, start, end):
                if _OF_ANOTHER.search(file.text, part_start, part_end):
                    continue  # setuptools puts the value of that option here, whose own pins are read there
                collected.add(part_start, part_end, kind, option if kind == "extra" else "")
    name = values.get(("metadata", "name"), "")
    version = _version(values.get(("metadata", "version"), ""), name, os.path.dirname(file.path), files)
    pins, problems = tuple(collected.pins), tuple(collected.problems)
    if not pins and not problems and not name:
        return None
    python = values.get(("options", "python_requires"))
    return Manifest(file.path, "setup.cfg", pins, python, problems, normalised(name) if name else "", version)


def _parts(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The requirements of one line; setuptools takes one a line and knows ` #` comments."""
    comment = re.search(r"(?:^|\s)#", text[start:end])
    return [(start, start + comment.start() if comment else end)]


def _version(written: str, name: str, folder: str, files: Files) -> str:
    if written and not written.startswith(("attr:", "file:")):
        return written
    if match := _FILE.match(written):
        return version_in_file(
            os.path.normpath(os.path.join(folder, match[1])), os.path.join(folder, "setup.cfg"), files
        )
    return find_version(folder, normalised(name), files) if name else ""
