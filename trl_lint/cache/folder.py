"""The cache folder: made so that git and backups pass it by, kept small, and emptied without touching anything else."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress

from trl_lint.cache.replay import FOLDER_VARIABLE
from trl_lint.cache.shelf import NAME, SUFFIX, VERSION
from trl_lint.regexes import regex
from trl_lint.settings import Settings

# https://bford.info/cachedir/
_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder was made by trl-lint; `trl-lint clean` empties it.\n"
)  # fmt: skip
_MARKS = {".gitignore": "*\n", "CACHEDIR.TAG": _TAG}
_VERSIONS = regex(r"trl-lint-[\w.+-]+\Z")
_TEMPORARY = regex(rf"[0-9a-f]{{8}}(?:-[0-9a-f]{{8}})?{re.escape(SUFFIX)}\.\d+\.tmp\Z")
_ENTRY = regex(rf"[0-9a-f]{{8}}(?:-[0-9a-f]{{8}})?{re.escape(SUFFIX)}\Z")
_HALF_MARKED = regex(r"(?:\.gitignore|CACHEDIR\.TAG)\.\d+\.tmp\Z")
_MOST_ENTRIES = 100
_MOST_BYTES = 100_000_000
_OLDEST = 30 * 24 * 3600
_OLDEST_TEMPORARY = 3600


def cache_folder(settings: Settings, option: str | None) -> str:
    """The cache folder of a run: `--cache-dir`, the environment, the setting, else beside the settings file or here."""
    named = option or os.environ.get(FOLDER_VARIABLE)
    if named:
        return os.path.abspath(named)
    return os.path.join(settings.root, settings.cache_dir or NAME)


def is_there(folder: str) -> bool:
    """Whether anything stands in the place of a cache folder."""
    return os.path.lexists(folder)


def prepare(folder: str) -> bool:
    """Make the cache folder where there is none; whether it can be used.

    A folder of the usual name that is a link is not: it may lead out of the tree.
    """
    try:
        if os.path.basename(folder) == NAME and os.path.islink(folder):
            return False
        inner = os.path.join(folder, VERSION)
        os.makedirs(folder, exist_ok=True)
        # Somebody else's folder, named by mistake, is not hidden from git.
        if all(_is_own(name) for name in os.listdir(folder)):
            _mark(folder)
        os.makedirs(inner, exist_ok=True)
        return not os.path.islink(inner) and os.access(inner, os.W_OK)
    except (OSError, ValueError):
        return False


def _is_own(name: str) -> bool:
    return name in _MARKS or bool(_VERSIONS.match(name) or _HALF_MARKED.match(name))


def _mark(folder: str) -> None:
    for name, text in _MARKS.items():
        path = os.path.join(folder, name)
        if not os.path.lexists(path) or os.path.getsize(path) == 0:  # a killed run may have got no further
            new = f"{path}.{os.getpid()}.tmp"
            try:
                with open(new, "w", encoding="utf-8", newline="\n") as stream:
                    stream.write(text)
                os.replace(new, path)
            except OSError:  # a full disk: nothing of ours stays on it
                with suppress(OSError):
                    os.unlink(new)
                raise


def prune(folder: str) -> None:
    """Drop entries that are old or too many, those of other versions, and what killed runs left behind."""
    with suppress(OSError):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if _VERSIONS.match(name) and not os.path.islink(path):
                _prune(path)
            elif _HALF_MARKED.match(name) and time.time() - os.lstat(path).st_mtime > _OLDEST_TEMPORARY:
                os.unlink(path)


def _prune(folder: str) -> None:
    now = time.time()
    kept: list[tuple[float, int, str]] = []
    with suppress(OSError), os.scandir(folder) as listing:
        for entry in listing:
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if _TEMPORARY.match(entry.name) and now - status.st_mtime > _OLDEST_TEMPORARY:
                    os.unlink(entry.path)
                elif _ENTRY.match(entry.name):
                    kept.append((status.st_mtime, status.st_size, entry.path))
    size = 0
    for number, (modified, length, path) in enumerate(sorted(kept, reverse=True)):
        size += length
        if number >= _MOST_ENTRIES or size > _MOST_BYTES or now - modified > _OLDEST:
            with suppress(OSError):
                os.unlink(path)
    if os.path.basename(folder) != VERSION:
        with suppress(OSError):
            os.rmdir(folder)  # the last entry of another version is gone


def clean(folder: str) -> int:
    """Remove a cache folder, and of it only what the tool put there; how many entries that were."""
    count = 0
    if os.path.islink(folder):
        return 0
    with suppress(OSError):
        for version in os.listdir(folder):
            inner = os.path.join(folder, version)
            if not _VERSIONS.match(version) or os.path.islink(inner):
                continue
            with suppress(OSError):
                for name in os.listdir(inner):
                    if _ENTRY.match(name) or _TEMPORARY.match(name):
                        with suppress(OSError):
                            os.unlink(os.path.join(inner, name))
                            count += 1
                os.rmdir(inner)
        left = os.listdir(folder)
        if all(name in _MARKS or _HALF_MARKED.match(name) for name in left):
            for name in left:
                if name not in _MARKS:
                    os.unlink(os.path.join(folder, name))
            for name, text in _MARKS.items():
                path = os.path.join(folder, name)
                with suppress(OSError), open(path, encoding="utf-8", errors="replace") as stream:
                    if stream.read(len(text) + 1) == text:
                        os.unlink(path)
            os.rmdir(folder)
    return count
