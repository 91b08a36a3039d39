"""The files of a package, as the index lists them that pip is configured for.

JSON (PEP 691, with upload times as in PEP 700), else the HTML pages of PEP 503, which tell yanked files but no dates.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.parse
import urllib.request
from html.parser import HTMLParser
from typing import Any

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from trl_lint.records import NamedTuple

_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_TIMEOUT_SECONDS = 60.0
_DEFAULT_INDEX = "https://pypi.org/simple"


class IndexFile(NamedTuple):
    """One file of the index; `uploaded` is ISO 8601 or "", `url` absolute or ""."""

    name: str
    yanked: bool
    uploaded: str
    url: str = ""


def index_url() -> str:
    """The index pip is configured for: PIP_INDEX_URL, then pip's configuration, then PyPI."""
    url = os.environ.get("PIP_INDEX_URL", "")
    if not url:
        command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
        url = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return (url or _DEFAULT_INDEX).rstrip("/")


def fetch(package: str, url: str) -> list[IndexFile]:
    """The files of a package. Raises OSError where the index cannot be reached, or its answer is no list of files."""
    request = urllib.request.Request(f"{url}/{package}/", headers={"Accept": _ACCEPT})
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
        body = answer.read()
        kind = answer.headers.get_content_type()
    try:
        found = read_json_index(json.loads(body)) if kind.endswith("json") else read_html_index(body.decode("utf-8"))
    except (ValueError, KeyError, TypeError) as error:
        raise OSError(f"{url}/{package}/ does not answer with a list of files: {error}") from error
    return [file._replace(url=urllib.parse.urljoin(f"{url}/{package}/", file.url)) for file in found]


def read_json_index(answer: dict[str, Any]) -> list[IndexFile]:
    """The files in a JSON answer (PEP 691)."""
    return [
        IndexFile(
            name=file["filename"],
            yanked=bool(file.get("yanked")),
            uploaded=str(file.get("upload-time") or "")[:10],
            url=str(file.get("url") or ""),
        )
        for file in answer["files"]
    ]


def read_html_index(body: str) -> list[IndexFile]:
    """The files in an HTML answer (PEP 503, yanked files as in PEP 592)."""
    reader = _Anchors()
    reader.feed(body)
    return reader.files


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.files: list[IndexFile] = []
        self._anchor: dict[str, str | None] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self._anchor = dict(attrs)

    def handle_data(self, data: str) -> None:
        if self._anchor is not None and data.strip():
            # Not in PEP 503, but written by indexes that know it.
            uploaded = (self._anchor.get("data-upload-time") or "")[:10]
            url = (self._anchor.get("href") or "").split("#")[0]
            self.files.append(IndexFile(data.strip(), "data-yanked" in self._anchor, uploaded, url))
            self._anchor = None


def version_of(file: str) -> Version | None:
    """The version in the name of a wheel or sdist, None for other files and for names that follow no rule."""
    try:
        if file.endswith(".whl"):
            return parse_wheel_filename(file)[1]
        if file.endswith((".tar.gz", ".zip")):
            return parse_sdist_filename(file)[1]
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        pass
    return None
