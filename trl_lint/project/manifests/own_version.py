"""The version of the package a project builds, where its source tells it without being run."""

from __future__ import annotations

import os
import re

from trl_lint.project.links import is_own_file
from trl_lint.regexes import regex
from trl_lint.sources import Files, SourceError

_VERSION_FILES = ("VERSION", "version.txt", "VERSION.txt", "version")
_DUNDER = regex(r"^(?:__version__|VERSION|version)\s*(?::\s*\w+\s*)?=\s*[\"']([^\"']+)[\"']", re.MULTILINE)
_PLAIN = regex(r"v?\d+\.\d[A-Za-z0-9.+-]*")


def version_in_file(path: str, of: str, files: Files) -> str:
    """The version a VERSION file or a `__version__ =` line holds, "" if neither is there.

    `of` is the file that names it: what stands outside of its repository is not read.
    """
    if not files.exists(path) or not is_own_file(path, of):
        return ""
    try:
        text = files.get(path).text
    except (OSError, SourceError):
        return ""
    if match := _DUNDER.search(text):
        return match[1]
    return match[0] if (match := _PLAIN.fullmatch(text.strip())) else ""


def find_version(folder: str, package: str, files: Files) -> str:
    """The version of the package `package` built in `folder`, by the usual places, "" if none of them tells it."""
    module = package.replace("-", "_")
    candidates = [os.path.join(folder, name) for name in _VERSION_FILES]
    for base in (os.path.join(folder, module), os.path.join(folder, "src", module)):
        candidates += [
            os.path.join(base, name) for name in ("__init__.py", "version.py", "_version.py", "__version__.py")
        ]
        candidates.append(os.path.join(base, "version", "version"))
    for path in candidates:
        if version := version_in_file(path, os.path.join(folder, package), files):
            return version
    return ""
