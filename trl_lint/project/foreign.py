"""What stands in a project and is not its own code: generated files, and the trees of other distributions.

Nobody edits them where they stand: the next import writes a generated file anew, and a copy of transformers is
transformers. So they are not checked unless somebody names them, or a folder in which they are. What they say about the
project still counts: they shadow imports, define keys and parsers, and pin releases.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import cache

from trl_lint import tracked
from trl_lint.memos import per_project
from trl_lint.project import Project
from trl_lint.project.roots import named_folder
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import SourceError, SourceFile
from trl_lint.sources.requirements import normalised

_GENERATED_FOLDERS = frozenset({"unsloth_compiled_cache"})
# Code alone: a lock file or compiled requirements are generated too, and say what is installed.
_CODE = (".py", ".pyi")
_HEAD = 4096  # bytes in which a generator says so
_SAYS_SO = regex(
    r"@generated\b"
    r"|\bauto-?\s?generated (?:code|file|module)\b"
    r"|\bthis (?:file|module|code|script) (?:is|was|has been) (?:auto-?\s?|automatically )generated\b",
    re.IGNORECASE,
)
_GENERATED = regex(r"\b(?:auto-?)?generated\b", re.IGNORECASE)
_DO_NOT = regex(r"\bdo not (?:manually )?(?:edit|modify|change)\b|\bdon't edit\b", re.IGNORECASE)
_VERSION = regex(r"^__version__[ \t]*(?::[ \t]*str[ \t]*)?=[ \t]*[\"'](\d[\w.+-]{0,40})[\"']", re.MULTILINE)
_ABOUT = (".md", ".mdx", ".toml", ".cfg", ".txt")
_OF_PACKAGES = frozenset({"src", "test", "tests", "doc", "docs"})
_MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py")


class Foreign(NamedTuple):
    """Whose a file is: the `package` of a copied distribution with its `version`, "" for generated code; its folder."""

    folder: str
    package: str = ""
    version: str = ""

    @property
    def words(self) -> str:
        """What it is, and when it is checked, behind a number of files."""
        if not self.package:
            return "of generated code: not checked unless named"
        version = f" {self.version}" if self.version else ""
        return f"of a copy of {self.package}{version}: not checked unless this folder is named"


def foreign_code(path: str, project: Project) -> Foreign | None:
    """Whose a file is that is not the project's own; None where it is, or where its folder was named.

    Raises OSError and SourceError.
    """
    folder = os.path.dirname(path)
    copied = _copied(folder, named_folder(folder), project)
    if copied is not None:
        return copied if _is_part(path, copied) else None
    if path.endswith(_CODE) and is_generated(project.files.own(path)):
        return Foreign(folder) if folder != named_folder(folder) or folder == project.root else None
    return None


def is_generated(file: SourceFile) -> bool:
    """Whether a Python file says in its head that a program wrote it, or stands where one writes."""
    if os.path.basename(os.path.dirname(file.path)) in _GENERATED_FOLDERS:
        return True
    start = file.data[:_HEAD]
    if b"enerated" not in start and b"ENERATED" not in start:
        return False
    text = _before_code(start.decode("utf-8", "replace"))
    return bool(_SAYS_SO.search(text) or (_DO_NOT.search(text) and _GENERATED.search(text)))


def _before_code(text: str) -> str:
    """The comments and texts in three quotes with which a module begins."""
    found: list[str] = []
    quotes = ""
    for line in text.splitlines():
        stripped = line.strip()
        if not quotes and stripped and not stripped.startswith("#"):
            quotes = next((mark for mark in ('"""', "'''") if stripped.lstrip("rRuU").startswith(mark)), "")
            if not quotes:
                break
            stripped = stripped.lstrip("rRuU").removeprefix(quotes)
        if quotes and quotes in stripped:
            stripped, quotes = stripped.partition(quotes)[0], ""
        found.append(stripped)
    return "\n".join(found)


def _is_part(path: str, copied: Foreign) -> bool:
    """Whether a file below a copied distribution is of it, and none that people write in its tree.

    A framework is used by cloning it, and writing scripts, configs and launch scripts beside its examples. Its package,
    its tests and what it says of itself are its own.
    """
    from trl_lint.knowledge.families import cloned_packages

    if copied.package not in cloned_packages() or path.endswith(_ABOUT):
        return True
    top = os.path.relpath(path, copied.folder).split(os.sep)[0]
    folders = (os.path.join(copied.folder, top), copied.folder)
    is_own = top in _OF_PACKAGES or any(tracked.is_file(os.path.join(each, "__init__.py")) for each in folders)
    return path.endswith((*_CODE, ".ipynb")) and (is_own or top == "setup.py")


@per_project
def _copied(folder: str, named: str, project: Project) -> Foreign | None:
    """The distribution in whose tree a folder is, below the root of the project and the folder that was named."""
    if folder in (project.root, named) or not folder.startswith(project.root.rstrip(os.sep) + os.sep):
        return None
    return _distribution(folder, project) or _copied(os.path.dirname(folder), named, project)


def _distribution(folder: str, project: Project) -> Foreign | None:
    """The known distribution whose sources begin in a folder, by its setup or by where its package lies."""
    try:
        names = tracked.names(folder)
    except OSError:
        return None
    setups = [os.path.join(folder, name) for name in _MANIFESTS if name in names]
    if any(_may_name_one(path, project) for path in setups):
        for manifest in project.folders.manifests(folder):
            if manifest.path in setups and manifest.project in _known():
                return Foreign(folder, manifest.project, manifest.version)
    package = normalised(os.path.basename(folder))
    if "__init__.py" in names and package in _known():
        return _bare_copy(folder, package, project)
    if "src" in names and package in _known():
        inner = os.path.join(folder, "src", package.replace("-", "_"), "__init__.py")
        if tracked.is_file(inner):
            return Foreign(folder, package, project.folders.own_version(folder, package) or "")
    return None


def _bare_copy(folder: str, package: str, project: Project) -> Foreign | None:
    """A package without its setup, of which it says the version; the fork of a framework is the project's own."""
    from trl_lint.knowledge.families import cloned_packages
    from trl_lint.knowledge.releases import parse_version

    above = os.path.dirname(folder)
    is_fork = above == project.root and package in cloned_packages()
    if is_fork or os.path.basename(above) == "src" or project.folders.own_version(above, package) is not None:
        return None
    with suppress(OSError, SourceError):
        said = _VERSION.search(project.files.get(os.path.join(folder, "__init__.py")).text)
        if said is not None and parse_version(said[1]) is not None:
            return Foreign(folder, package, said[1])
    return None


def _may_name_one(path: str, project: Project) -> bool:
    with suppress(OSError, SourceError):
        return project.files.fits(path, _names_one())
    return False


@cache
def _known() -> frozenset[str]:
    from trl_lint.knowledge.releases import known_packages

    return frozenset(known_packages())


@cache
def _names_one() -> bytes:
    """A pattern of a setup that may be that of a known package."""
    names = "|".join(name.replace("-", "[-_.]") for name in sorted(_known()))
    return rf"""(?i)\bname\b["']?\s?[=:]\s?["']?(?:{names})\b""".encode()
