"""Histories of whole packages, with progress on stderr when that is a terminal."""

from __future__ import annotations

import os
import sys
import tarfile
import zipfile
from collections.abc import Iterator

from packaging.version import Version

from trl_lint.knowledge import rules_dir
from trl_lint.knowledge.refresher import index
from trl_lint.knowledge.refresher.history import merge
from trl_lint.knowledge.refresher.index import Facts
from trl_lint.knowledge.refresher.packages import PACKAGES, Package
from trl_lint.knowledge.refresher.release import Memo, release_facts
from trl_lint.knowledge.refresher.write import render

_BAR = 30


def refresh_api(names: list[str]) -> int:
    """Write the histories of packages. Returns 0, or 1 if one of them could not be read (its file stays as it was)."""
    failed = 0
    for name in names:
        try:
            text = build(PACKAGES[name])
        except (OSError, zipfile.BadZipFile, tarfile.TarError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed += 1
            continue
        path = history_path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        print(f"{name}: {len(text):,} bytes")
    return 1 if failed else 0


def history_path(name: str) -> str:
    return os.path.join(rules_dir(), "api", f"{name}.txt")


def build(package: Package) -> str:
    """The text of a package's history.

    Raises OSError (network), zipfile.BadZipFile and tarfile.TarError (damaged archive).
    """
    releases = list(_read_releases(package))
    return render(package.name, [version for version, _ in releases], merge(releases))


def _read_releases(package: Package) -> Iterator[tuple[str, Facts]]:
    archives = index.archives(package.name, Version(package.since))
    memo: Memo = {}
    for number, archive in enumerate(archives, 1):
        show(package.name, number, len(archives), str(archive.version))
        yield str(archive.version), release_facts(package, index.read(archive, package.is_wanted), memo)
    show(package.name, 0, 0, "")


def show(name: str, number: int, count: int, version: str) -> None:
    if not sys.stderr.isatty():
        return
    done = _BAR * number // count if count else 0
    line = f"{name} [{'#' * done}{'.' * (_BAR - done)}] {number}/{count} {version}" if count else ""
    print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
