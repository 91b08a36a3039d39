"""Bring `rules/releases` and `rules/api` up to date: `python -m trl_lint.knowledge.refresh releases|api [PACKAGE…]`.

`releases` lists what the index has, `api` reads the archives and writes the API histories, `api --verify` checks them
(`trl_lint.knowledge.refresher`).

A command for those who work on the tool; nothing else imports it, and nothing else in the tool uses the network.
It asks the index pip is configured for: JSON (PEP 691, with upload times as in PEP 700), else the HTML pages of
PEP 503, which tell yanked files but no dates; a date already in the list is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import urllib.parse
import urllib.request
from html.parser import HTMLParser
from typing import Any, NamedTuple

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from trl_lint.knowledge import rules_dir
from trl_lint.knowledge.releases import Release, releases

PACKAGES = (
    "accelerate",
    "bitsandbytes",
    "datasets",
    "deepspeed",
    "flash-attn",
    "huggingface-hub",
    "liger-kernel",
    "numpy",
    "openrlhf",
    "peft",
    "pydantic",
    "ray",
    "torch",
    "transformers",
    "trl",
    "verl",
    "vllm",
)
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
    """The files of a package. Raises OSError (URLError) where the index cannot be reached."""
    request = urllib.request.Request(f"{url}/{package}/", headers={"Accept": _ACCEPT})
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
        body = answer.read().decode("utf-8")
        kind = answer.headers.get_content_type()
    found = read_json_index(json.loads(body)) if kind.endswith("json") else read_html_index(body)
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


def summarise(files: list[IndexFile], known: dict[str, str]) -> list[Release]:
    """One release per version, oldest first: yanked if all its files are, dated by its first file (else as `known`)."""
    by_version: dict[Version, list[IndexFile]] = {}
    for file in files:
        version = version_of(file.name)
        if version is not None:
            by_version.setdefault(version, []).append(file)
    found = []
    for version in sorted(by_version):
        of_version = by_version[version]
        dates = sorted(file.uploaded for file in of_version if file.uploaded)
        date = dates[0] if dates else known.get(str(version), "")
        found.append(Release(str(version), date, all(file.yanked for file in of_version)))
    return found


def render(found: list[Release]) -> str:
    """The text of a list: one release a line."""
    return "".join(" ".join([r.version, *[r.date] * bool(r.date), *["yanked"] * r.yanked]) + "\n" for r in found)


def refresh_releases(packages: list[str]) -> int:
    url = index_url()
    failed = 0
    for package in packages:
        try:
            files = fetch(package, url)
        except (OSError, ValueError, KeyError) as error:
            print(f"{package}: {error}", file=sys.stderr)
            failed += 1
            continue
        known = {release.version: release.date for release in releases(package)}
        found = summarise(files, known)
        path = os.path.join(rules_dir(), "releases", f"{package}.txt")
        with open(path, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(render(found))
        newest = found[-1].version if found else "none"
        print(f"{package}: {len(found)} releases, newest {newest}")
    return 1 if failed else 0


def refresh_api(names: list[str]) -> int:
    from trl_lint.knowledge.refresher.build import refresh_api as write_histories

    return write_histories(names)


def verify_api(names: list[str], releases: dict[str, str]) -> int:
    from trl_lint.knowledge.refresher.verify import verify

    return verify(names, releases)


def parser() -> argparse.ArgumentParser:
    from trl_lint.knowledge.refresher.packages import PACKAGES as RECORDED

    parser = argparse.ArgumentParser(
        prog="python -m trl_lint.knowledge.refresh",
        description="Bring the lists of releases (`releases`) or the API histories (`api`) up to date.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("releases", help="what the index has")
    listing.add_argument("packages", nargs="*", metavar="PACKAGE", default=list(PACKAGES))
    api = commands.add_parser("api", help="what the releases offer, read from their archives")
    api.add_argument("packages", nargs="*", metavar="PACKAGE", help=", ".join(RECORDED))
    api.add_argument("--verify", action="store_true", help="write nothing; compare the histories with the archives")
    api.add_argument(
        "--release",
        action="append",
        default=[],
        metavar="PACKAGE==VERSION",
        help="with --verify: import this release of trl, transformers or torch",
    )
    return parser


def read_pins(values: list[str]) -> dict[str, str]:
    """`trl==0.24.0` as {"trl": "0.24.0"}. Raises ValueError."""
    from trl_lint.knowledge.histories import positions

    found = {}
    for value in values:
        name, equal, version = value.partition("==")
        if name not in ("trl", "transformers", "torch") or not equal or not version:
            raise ValueError(f"--release: `{value}` is not of the form trl==VERSION, transformers==… or torch==…")
        if name != "torch" and version not in positions(name):
            raise ValueError(f"--release: {name} {version} is not in the history")
        found[name] = version
    return found


def main(arguments: list[str]) -> int:
    from trl_lint.knowledge.refresher.packages import PACKAGES as RECORDED

    asked = parser()
    args = asked.parse_args(arguments)
    if args.command == "releases":
        return refresh_releases(args.packages)
    names = args.packages or list(RECORDED)
    if unknown := [name for name in names if name not in RECORDED]:
        asked.error(f"no such package: {', '.join(unknown)} (known: {', '.join(RECORDED)})")
    if not args.verify:
        if args.release:
            asked.error("--release needs --verify")
        return refresh_api(names)
    try:
        pins = read_pins(args.release)
    except ValueError as error:
        asked.error(str(error))
    return verify_api(names, pins)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
