"""Releases of a package and the few files of an archive that are wanted, without unpacking anything to disk.

Wheels are zip archives with their directory at the end: HTTP range requests fetch that directory and then just the
members needed (vllm: 0.5 MB of 336 MB). Sdists have no directory and are read whole, in memory; nothing in them is run.
What was read is kept as one small zip per release in the user's cache folder, so an interrupted run goes on where it
stopped. Archive members only ever become bytes in memory: their names cannot reach a path on disk.
"""

from __future__ import annotations

import io
import json
import os
import re
import tarfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping

from packaging.version import Version

from trl_lint.knowledge.refresher.listing import fetch, index_url, version_of
from trl_lint.records import NamedTuple

_TIMEOUT_SECONDS = 120.0
_WHOLE_BYTES = 4_000_000  # smaller archives are fetched in one request
_TAIL_BYTES = 400_000  # a guess at the size of a large wheel's directory; more is fetched when it is not enough
_GAP_BYTES = 100_000  # a gap between two wanted members that costs less than another request
_DIRECTORY = "..names.json"  # the member of a cached zip that lists every file of the archive


# Of one release: symbol -> fact -> value; the head of `release` says which.
Facts = dict[str, dict[str, str]]

# Files of an archive: name -> (crc, bytes).
Members = Mapping[str, tuple[int, bytes]]


class Archive(NamedTuple):
    """One release: the file to read it from. `uploaded` is ISO 8601 or ""."""

    package: str
    version: Version
    name: str
    url: str
    uploaded: str


class Contents(NamedTuple):
    """What was read of an archive: all file names, and the wanted members as (crc, bytes) by name."""

    names: list[str]
    members: dict[str, tuple[int, bytes]]


class RangeFile(io.RawIOBase):
    """A remote file that is read where it is looked at.

    Raises OSError where the server does not answer range requests with the range.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._position = 0
        self._spans: list[tuple[int, bytes]] = []
        self.bytes_moved = 0
        self.size = self._fetch(f"bytes=-{_TAIL_BYTES}")

    def _fetch(self, wanted: str) -> int:
        request = urllib.request.Request(self._url, headers={"Range": wanted, "Accept-Encoding": "identity"})
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
            found = re.match(r"bytes (\d+)-\d+/(\d+)", answer.headers.get("Content-Range", ""))
            if answer.status != 206 or found is None:
                raise OSError(f"{self._url}: the server does not answer range requests")
            data = answer.read()
        self._spans.append((int(found[1]), data))
        self.bytes_moved += len(data)
        return int(found[2])

    def load(self, start: int, end: int) -> None:
        """Fetch the bytes [start, end) unless they are here already."""
        if self._held(start, min(end, self.size)) is None:
            self._fetch(f"bytes={start}-{min(end, self.size) - 1}")

    def _held(self, start: int, end: int) -> bytes | None:
        for at, data in self._spans:
            if at <= start and end <= at + len(data):
                return data[start - at : end - at]
        return None

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def read(self, size: int = -1) -> bytes:
        end = self.size if size < 0 else min(self.size, self._position + size)
        if end <= self._position:
            return b""
        data = self._held(self._position, end)
        if data is None:
            self.load(self._position, max(end, self._position + 65536))
            data = self._held(self._position, end) or b""
        self._position = end
        return data


def archives(package: str, since: Version | None = None) -> list[Archive]:
    """One archive for each final release that is not older than `since`, oldest first.

    A wheel is preferred to an sdist, and a wheel for any platform to others (they hold the same Python files).
    Raises OSError where the index cannot be reached.
    """
    best: dict[Version, tuple[int, Archive]] = {}
    for file in fetch(package, index_url()):
        version = version_of(file.name)
        if version is None or version.is_prerelease or version.is_devrelease or (since is not None and version < since):
            continue
        rank = _rank(file.name)
        if file.url and (version not in best or rank < best[version][0]):
            best[version] = (rank, Archive(package, version, file.name, file.url, file.uploaded))
    return [best[version][1] for version in sorted(best)]


def _rank(name: str) -> int:
    if name.endswith("-any.whl"):
        return 0
    if name.endswith(".whl"):
        return 1 if "x86_64" in name else 2
    return 3


def cache_dir() -> str:
    """The folder for what was read; TRL_LINT_CACHE or the user's cache folder."""
    base = os.environ.get("TRL_LINT_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "trl-lint"
    )
    return os.path.join(base, "archives")


def read(archive: Archive, is_wanted: Callable[[str], bool]) -> Contents:
    """The wanted members of an archive, from the cache or the network.

    Names are relative to the root of the installed tree: `X.data/purelib/` of a wheel and the first folder of an sdist
    are taken away. Raises OSError (network), zipfile.BadZipFile and tarfile.TarError (damaged archive).
    """
    # The version is normalised by `packaging` (digits, letters, dots, + and !), so it is a plain file name.
    path = os.path.join(cache_dir(), archive.package, f"{archive.version}.zip")
    held = _read_cache(path)
    if held is not None and all(name in held.members for name in held.names if is_wanted(name)):
        return Contents(held.names, {name: item for name, item in held.members.items() if is_wanted(name)})
    contents = _read_archive(archive, is_wanted)
    if held is not None:
        contents = Contents(contents.names, {**held.members, **contents.members})
    _write_cache(path, contents)
    return Contents(contents.names, {name: item for name, item in contents.members.items() if is_wanted(name)})


def _read_cache(path: str) -> Contents | None:
    try:
        with zipfile.ZipFile(path) as kept:
            names = json.loads(kept.read(_DIRECTORY))
            found = [info for info in kept.infolist() if info.filename != _DIRECTORY]
            return Contents(names, {info.filename: (info.CRC, kept.read(info)) for info in found})
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return None


def _write_cache(path: str, contents: Contents) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with zipfile.ZipFile(path + ".part", "w", zipfile.ZIP_DEFLATED) as kept:
        kept.writestr(_DIRECTORY, json.dumps(contents.names))
        for name, (_, data) in contents.members.items():
            kept.writestr(name, data)
    os.replace(path + ".part", path)


def _read_archive(archive: Archive, is_wanted: Callable[[str], bool]) -> Contents:
    if archive.name.endswith(".tar.gz"):
        return read_sdist(_download(archive.url), is_wanted)
    if archive.name.endswith(".whl"):
        remote = RangeFile(archive.url)
        if remote.size <= _WHOLE_BYTES:
            return read_zip(zipfile.ZipFile(io.BytesIO(_download(archive.url))), is_wanted)
        with zipfile.ZipFile(remote) as wheel:
            _prefetch(remote, (info for info in wheel.infolist() if is_wanted(tree_name(info.filename))))
            return read_zip(wheel, is_wanted)
    return read_zip(zipfile.ZipFile(io.BytesIO(_download(archive.url))), is_wanted, strip=1)


def _download(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as answer:
        data: bytes = answer.read()
        return data


def _prefetch(remote: RangeFile, infos: Iterable[zipfile.ZipInfo]) -> None:
    """Fetch the wanted members in few requests: neighbours are joined."""
    # A local header is 30 bytes, the name and an extra field that the directory does not give exactly.
    spans = sorted((i.header_offset, i.header_offset + 30 + len(i.filename) + 256 + i.compress_size) for i in infos)
    joined: list[list[int]] = []
    for start, end in spans:
        if joined and start - joined[-1][1] < _GAP_BYTES:
            joined[-1][1] = max(end, joined[-1][1])
        else:
            joined.append([start, end])
    for start, end in joined:
        remote.load(start, end)


def tree_name(member: str) -> str:
    """The name a wheel's member gets when installed: `X.data/purelib/trl/core.py` is `trl/core.py`."""
    found = re.match(r"[^/]+\.data/(?:purelib|platlib)/(.+)", member)
    return found[1] if found else member


def read_zip(archive: zipfile.ZipFile, is_wanted: Callable[[str], bool], strip: int = 0) -> Contents:
    """The wanted members of an open zip; `strip` leading folders are taken off the names."""
    names: list[str] = []
    members: dict[str, tuple[int, bytes]] = {}
    for info in archive.infolist():
        name = "/".join(tree_name(info.filename).split("/")[strip:])
        if not name or info.is_dir():
            continue
        names.append(name)
        if is_wanted(name):
            members[name] = (info.CRC, archive.read(info))
    return Contents(sorted(names), members)


def read_sdist(data: bytes, is_wanted: Callable[[str], bool]) -> Contents:
    """The wanted members of a .tar.gz, in memory; its first folder (`name-version/`) is taken off the names.

    Links are skipped: only regular files have contents of their own.
    """
    names: list[str] = []
    members: dict[str, tuple[int, bytes]] = {}
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        for info in archive:
            name = "/".join(info.name.split("/")[1:]).removeprefix("src/")
            if not name or not info.isreg():
                continue
            names.append(name)
            stream = archive.extractfile(info) if is_wanted(name) else None
            if stream is not None:
                content = stream.read()
                members[name] = (zlib.crc32(content), content)
    return Contents(sorted(names), members)
