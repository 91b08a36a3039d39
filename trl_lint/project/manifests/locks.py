"""Lock files: uv.lock, script locks of uv, poetry.lock and pylock.toml (PEP 751).

They are generated, large and regular, so one regular expression over the text replaces a parse (16 ms instead of 58
for a lock of one megabyte).
"""

from __future__ import annotations

import re
from itertools import pairwise

from trl_lint.project.pins import Manifest, Pin
from trl_lint.regexes import regex
from trl_lint.sources import Source, SourceFile
from trl_lint.sources.requirements import normalised

_ENTRY = regex(r"^\[\[packages?\]\]", re.MULTILINE)
_NAME = regex(r"^name = \"([^\"]+)\"", re.MULTILINE)
_VERSION = regex(r"^version = \"([^\"]+)\"", re.MULTILINE)
_PYTHON = regex(r"^requires-python = \"([^\"]+)\"", re.MULTILINE)
# What is not fetched from an index has no release: a repository, a path, the project itself.
_ELSEWHERE = regex(
    r"^source = \{ (?:git|editable|virtual|directory|path|url) |^type = \"(?:git|directory|file|url)\""
    r"|^(?:vcs|directory|archive) = |^\[packages?\.(?:vcs|directory|archive)\]",
    re.MULTILINE,
)
_GIT = regex(r"(?:\bgit|^url|\burl) = \"(?:git\+)?(https://[^\"?#]+)", re.MULTILINE)
_ASKED = regex(
    r"[?&](?:tag|rev)=([^\"&#\n]+)|^reference = \"([^\"\n]+)\"|requested-revision = \"([^\"\n]+)\"", re.MULTILINE
)
# The project that the lock is of: what it requires stands in the lock.
_ITSELF = regex(r"^source = \{ (?:editable|virtual) = \"\.\" \}", re.MULTILINE)
# The head of an entry: everything of interest stands before its file list and its dependency tables.
_HEAD_CHARACTERS = 600


def read(file: SourceFile, kind: str) -> Manifest | None:
    source = Source(file, "toml")
    text = file.text
    pins: list[Pin] = []
    entries = [match.start() for match in _ENTRY.finditer(text)]
    for start, end in pairwise([*entries, len(text)]):
        pin = _read_entry(source, text, start, end, kind)
        if pin is not None:
            pins.append(pin)
    if not pins:
        return None
    python = _PYTHON.search(text, 0, entries[0])
    return Manifest(file.path, kind, tuple(pins), python=python[1] if python else None)


def _read_entry(source: Source, text: str, start: int, end: int, kind: str) -> Pin | None:
    head_end = min(end, start + _HEAD_CHARACTERS)
    name = _NAME.search(text, start, head_end)
    version = _VERSION.search(text, start, head_end)
    if name is None or version is None or _ITSELF.search(text, start, head_end) is not None:
        return None
    # Poetry writes the source of a package at the end of its entry; uv and pylock at its beginning.
    head_end = end if kind == "poetry-lock" else head_end
    place = source.location(name.start(), version.end())
    package, shown, exact = normalised(name[1]), f"{name[1]} {version[1]}", f"=={version[1]}"
    elsewhere = _ELSEWHERE.search(text, start, head_end)
    if elsewhere is None:
        return Pin(package, exact, place, "lock", text=shown)
    git = _GIT.search(text, elsewhere.start(), head_end)
    if git is not None:
        asked = _ASKED.search(text, git.start(), head_end)
        found = _of_commit(
            Pin(package, exact, place, "lock", text=shown), git[1], asked[asked.lastindex or 0] if asked else ""
        )
        if found is not None:
            return found
    # Whatever it requires stands in the lock.
    return Pin(package, "", place, "url", text=shown, url=git[1] if git is not None else "file://elsewhere")


def _of_commit(pin: Pin, address: str, asked: str) -> Pin | None:
    """What a lock tells of a commit of the package's own repository: the release of the tag, or a development version.

    Some repositories carry the number of their last release, or of the next one, between two releases.
    """
    from trl_lint.project.repositories import at_revision, own_revision, stated_releases

    fetched = pin._replace(kind="url", specifier="", url=at_revision(address, asked))
    if own_revision(fetched) is None:
        return None
    if stated := stated_releases(fetched):
        return pin._replace(specifier=stated)
    return pin if "dev" in pin.specifier else None
