"""Writing the tables of `rules/` that tell what releases have: `rules/FOLDER/PACKAGE.txt`."""

from __future__ import annotations

import os
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator

from packaging.version import Version

from trl_lint.knowledge import rules_dir
from trl_lint.knowledge.refresher import index
from trl_lint.knowledge.refresher.index import Contents

_BAR = 30


def table_path(folder: str, package: str) -> str:
    """Where the table of a package stands."""
    return os.path.join(rules_dir(), folder, f"{package}.txt")


def read_table(folder: str, package: str) -> str:
    """The table of a package as it stands, "" where there is none yet."""
    try:
        with open(table_path(folder, package), encoding="utf-8") as stream:
            return stream.read()
    except FileNotFoundError:
        return ""


def write_table(folder: str, package: str, text: str) -> None:
    """Write the table of a package."""
    path = table_path(folder, package)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)


def write_tables(folder: str, packages: Iterable[str], text_of: Callable[[str], str]) -> int:
    """Write the tables of packages, each as `text_of` makes it, and print what became of them.

    Returns 0, or 1 if the releases of one could not be read (OSError, a damaged archive): its table stays as it was.
    """
    failed = 0
    for package in packages:
        try:
            text = text_of(package)
        except (OSError, zipfile.BadZipFile, tarfile.TarError) as error:
            print(f"{package}: {error}", file=sys.stderr)
            failed = 1
            continue
        state = "as it was" if text == read_table(folder, package) else "changed"
        write_table(folder, package, text)
        print(f"{folder}/{package}.txt: {len(text):,} characters, {state}")
    return failed


def read_releases(
    package: str, since: str, is_wanted: Callable[[str], bool], known: Iterable[str] = ()
) -> Iterator[tuple[str, Contents]]:
    """The releases of a package from `since` on but the known ones, oldest first, with the wanted files of each.

    Progress stands on stderr where that is a terminal. Raises OSError (network), zipfile.BadZipFile and
    tarfile.TarError (damaged archive).
    """
    left_out = set(known)
    archives = [one for one in index.archives(package, Version(since)) if str(one.version) not in left_out]
    for number, archive in enumerate(archives, 1):
        _show(f"{package} [{_bar(number, len(archives))}] {number}/{len(archives)} {archive.version}")
        yield str(archive.version), index.read(archive, is_wanted)
    _show("")


def _bar(number: int, count: int) -> str:
    return ("#" * (_BAR * number // count)).ljust(_BAR, ".")


def _show(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
