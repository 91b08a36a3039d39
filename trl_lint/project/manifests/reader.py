"""Read a file that pins packages, with the reader of its notation.

The bytes are looked at before a parser is imported, because most Python files, scripts and notebooks of a project pin
nothing.
"""

from __future__ import annotations

import re

from trl_lint.project.pins import LOCKS, Manifest, kind_where_named
from trl_lint.regexes import regex
from trl_lint.sources import Files, SourceFile
from trl_lint.sources.text import MAX_BYTES, refuse_large

MAX_LOCK_BYTES = 10_000_000  # the largest of known projects have 3 MB
# A package of the stack with a version near it.
_NAMES_RELEASE = regex(
    rb"(?i)(?:transformers|trl|torch|accelerate|peft|deepspeed|vllm|verl|axolotl|openrlhf|ms-swift|factory)[^\n]{0,60}?\d\.\d"
)
# In a Python file: a call that installs something, or a line that tells how to.
_INSTALLING = (b"install", b"pip", b"runtime_env", b"_version", b"packages", b"dependencies")
_INSTALLS = regex(
    rb"(?:pip_install|runtime_env|run_uv_job|\.install\(|pip3?[ \t]{1,9}install|[\"']pip3?[\"'],|framework_version=)"
    rb"|(?:transformers|pytorch)_version=|(?:packages_to_install|packages|requirements)="
)
_LISTS = regex(rb"\b(?:pip|uv|deps|python_packages|packages|requirements)\b[\"']?[ \t]{0,20}[:=]")
_SCRIPT_BLOCK = regex(rb"^# /// script[ \t]*\r?$", re.MULTILINE)


def read_manifest(file: SourceFile, files: Files) -> Manifest | None:
    """The pins of a file, None if it holds none. Raises SourceError if it cannot be read as what it claims to be."""
    kind = kind_where_named(file.path)
    if not kind or not _may_hold_pins(kind, file.data):
        return None
    if kind != "notebook":  # most of a notebook is output, which nobody parses
        refuse_large(len(file.data), MAX_LOCK_BYTES if kind in LOCKS else MAX_BYTES)
    if kind in ("requirements", "constraints"):
        from trl_lint.project.manifests import requirements

        return requirements.read(file, files, kind)
    if kind in ("pipfile", "pipfile-lock"):
        from trl_lint.project.manifests import pipfile

        return pipfile.read(file, kind)
    if kind in LOCKS:
        from trl_lint.project.manifests import locks

        return locks.read(file, kind)
    if kind == "setup.py":
        from trl_lint.project.manifests import setup_py

        return setup_py.read(file, files)
    if kind == "pyproject":
        from trl_lint.project.manifests import pyproject

        return pyproject.read(file, files)
    if kind == "setup.cfg":
        from trl_lint.project.manifests import setup_cfg

        return setup_cfg.read(file, files)
    if kind == "pep723":
        from trl_lint.project.manifests import programs

        return programs.read(file)
    if kind in ("freeze", "compiled"):
        from trl_lint.project.manifests import versions

        return versions.read_list(file) if kind == "freeze" else versions.read_compiled(file)
    if kind == "readme":
        return _read_page(file)
    if kind == "conda":
        from trl_lint.project.manifests import conda

        return conda.read(file)
    from trl_lint.project.manifests import commands

    return commands.read(file, kind)


def _read_page(file: SourceFile) -> Manifest | None:
    """What a page installs, and the releases that it names besides."""
    installed = None
    if _may_install(file.data):
        from trl_lint.project.manifests import commands

        installed = commands.read(file, "readme")
    if not _NAMES_RELEASE.search(file.data):
        return installed
    from trl_lint.project.manifests import versions

    told = versions.told_in_page(file)
    return (installed or Manifest(file.path, "readme", ()))._replace(told=told) if told else installed


def _may_install(data: bytes) -> bool:
    installs = b"install" in data and any(name in data for name in (b"pip", b"poetry", b"pdm"))
    return installs or b"uv add" in data or (b"uv " in data and b"sync" in data)


def _may_hold_pins(kind: str, data: bytes) -> bool:
    if b"\0" in data:
        return kind in ("requirements", "constraints")  # its reader says what is wrong with it
    if kind == "pep723":
        if b"# /// script" in data and _SCRIPT_BLOCK.search(data) is not None:
            return True
        # A call that installs, or a comment that says how.
        may_install = any(word in data for word in _INSTALLING) and _INSTALLS.search(data) is not None
        return may_install and _NAMES_RELEASE.search(data) is not None
    if kind == "job" and _LISTS.search(data) and _NAMES_RELEASE.search(data):
        return True
    if kind in ("shell", "makefile", "dockerfile", "notebook", "workflow", "definition", "devcontainer", "job"):
        return _may_install(data)
    if kind == "compiled":
        return b"__UNSLOTH_VERSIONING__" in data
    if kind == "setup.py":
        return b"setup" in data
    if kind == "conda":
        return b"dependencies" in data
    return True
