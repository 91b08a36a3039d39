"""Small projects for tests of what is installed: laid out on the disk, and asked for the releases of one file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trl_lint.project import Project
from trl_lint.project.environment import Environment
from trl_lint.settings import Settings
from trl_lint.sources import Files


def lay_out(root: Path, files: Mapping[str, str]) -> Project:
    for name, text in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return Project(str(root), Files(), Settings(str(root)))


def environment(root: Path, files: Mapping[str, str], path: str = "train.py") -> Environment:
    return lay_out(root, files).environment(str(root / path))


def resolved(root: Path, files: Mapping[str, str], package: str = "transformers", path: str = "train.py") -> str:
    """The release that a file runs with, "assumed" or "unknown" where nothing says so."""
    found = environment(root, files, path).package(package)
    return str(found.resolved) if found.source in ("pin", "lock") else found.source


def readme(*lines: str) -> str:
    return "# Project\n\n```bash\n" + "\n".join(lines) + "\n```\n"


def setup(name: str, *requirements: str, **extras: list[str]) -> str:
    wanted = ", ".join(f'"{requirement}"' for requirement in requirements)
    return f'from setuptools import setup\nsetup(name="{name}", install_requires=[{wanted}], extras_require={extras})\n'
