"""Whether the tool names the releases that pip takes: `python -m benchmarks.resolved [--show]`.

`results/resolved.json` holds requirement lists of public repositories, cut to the packages whose releases are listed,
and what pip installs for each (a dry run) on the day of the recorded knowledge. Each list becomes a project, which is
asked for every package of it that pip installs. "open" are those that the list does not pin to one release. What is
wrong and was said as a pin of one release is counted apart: there may be none.

A set with "commands" has several `pip install` in a row, each with what the ones before it left; they become a script.

`--ask PIP` asks pip again, `--day` on another day: an index of our own stands between pip and PyPI, and leaves out what
was uploaded since. Nothing is built or installed. A list that pip finds nothing for stays, without an answer.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

from trl_lint.knowledge.refresher.index import RangeFile
from trl_lint.knowledge.releases import known_packages, parse_version
from trl_lint.project import Project
from trl_lint.project.environment import Environment
from trl_lint.project.inventory import facts_of
from trl_lint.settings import Settings
from trl_lint.sources import Files
from trl_lint.sources.requirements import normalised

FILE = Path(__file__).with_name("results") / "resolved.json"
# The packages whose API the rules judge.
JUDGED = ("accelerate", "deepspeed", "peft", "transformers", "trl", "vllm")
_PLATFORMS = (
    *(f"manylinux_2_{glibc}_x86_64" for glibc in range(39, 4, -1)),
    "manylinux2014_x86_64",
    "manylinux1_x86_64",
)
_SECONDS = 600


class _Index(BaseHTTPRequestHandler):
    """PyPI as it was at the beginning of a day, and the metadata of its wheels."""

    day = ""

    def do_GET(self) -> None:
        name = self.path.strip("/").rpartition("/")[2]
        try:
            body = _metadata(name.removesuffix(".metadata")) if name.endswith(".metadata") else _listed(name, self.day)
        except urllib.error.HTTPError as error:
            self.send_error(error.code)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@cache
def _listed(name: str, day: str) -> bytes:
    headers = {"Accept": "application/vnd.pypi.simple.v1+json"}
    with urllib.request.urlopen(urllib.request.Request(f"https://pypi.org/simple/{name}/", headers=headers)) as answer:
        found = json.load(answer)
    found["files"] = [file for file in found["files"] if (file.get("upload-time") or "") < day]
    for file in found["files"]:
        file["core-metadata"] = file["filename"].endswith(".whl")
        _urls[file["filename"]] = file["url"]
        file["url"] = f"/files/{file['filename']}"
    return json.dumps(found).encode()


_urls: dict[str, str] = {}


@cache
def _metadata(name: str) -> bytes:
    """What a wheel says about itself, read without the rest of it."""
    try:
        with urllib.request.urlopen(f"{_urls[name]}.metadata") as answer:
            found: bytes = answer.read()
            return found
    except urllib.error.HTTPError:
        pass
    with zipfile.ZipFile(RangeFile(_urls[name])) as wheel:
        return wheel.read(next(each for each in wheel.namelist() if each.endswith(".dist-info/METADATA")))


@contextmanager
def index_of(day: str) -> Iterator[str]:
    """The address of an index of what was uploaded before a day."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("_Day", (_Index,), {"day": day}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/simple/"
    server.shutdown()


def ask(pip: str, index: str, one: dict[str, Any]) -> dict[str, str] | None:
    """The releases that pip takes for a list of requirements, None where it finds none."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            pip, "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-", "--only-binary", ":all:",
            "--index-url", index, "--target", folder,
            "--python-version", one["python"], *(f"--platform={name}" for name in _PLATFORMS), *one["requirements"],
        ]  # fmt: skip
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_SECONDS, check=False,
                env={**environment, "PIP_CONFIG_FILE": os.devnull},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
    if done.returncode:
        return None
    known = set(known_packages())
    found = (each["metadata"] for each in json.loads(done.stdout)["install"])
    installed = {normalised(each["name"]): each["version"] for each in found}
    return {name: installed[name] for name in sorted(installed) if name in known}


def _ask(pip: str, index: str, one: dict[str, Any]) -> dict[str, str] | None:
    python = f"python{one['python']}"
    return ask_in_a_row(pip, python, index, one) if "commands" in one else ask(pip, index, one)


def ask_in_a_row(pip: str, python: str, index: str, one: dict[str, Any]) -> dict[str, str] | None:
    """The releases that several commands leave; `python` makes an environment, in which nothing but metadata is put."""
    known = set(known_packages())
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
        inside = [os.path.join(folder, "bin", "python"), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
        site = Path(subprocess.run(inside, capture_output=True, text=True, check=True).stdout.strip())
        for words in one["commands"]:
            command = [
                pip, "--python", inside[0], "install", "--dry-run", "--quiet", "--report", "-",
                "--only-binary", ":all:", "--index-url", index, *words,
            ]  # fmt: skip
            environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_SECONDS, check=False,
                env={**environment, "PIP_CONFIG_FILE": os.devnull},
            )  # fmt: skip
            if done.returncode:
                return None
            for each in json.loads(done.stdout)["install"]:
                _put(site, each["metadata"])
        left = (path.name.removesuffix(".dist-info").rpartition("-") for path in site.glob("*.dist-info"))
        found = {normalised(name): version for name, _, version in left}
        return {name: found[name] for name in sorted(found) if name in known}


def _put(site: Path, metadata: dict[str, Any]) -> None:
    """What pip looks at of a package that is installed."""
    name = normalised(metadata["name"]).replace("-", "_")  # pip takes what stands before the first dash for the name
    for before in site.glob(f"{name}-*.dist-info"):
        if before.name.removesuffix(".dist-info").rpartition("-")[0] == name:
            for file in before.iterdir():
                file.unlink()
            before.rmdir()
    place = site / f"{name}-{metadata['version']}.dist-info"
    place.mkdir()
    extras = [f"Provides-Extra: {extra}" for extra in metadata.get("provides_extra", ())]
    required = [f"Requires-Dist: {each}" for each in metadata.get("requires_dist", ())]
    lines = ["Metadata-Version: 2.1", f"Name: {metadata['name']}", f"Version: {metadata['version']}"]
    (place / "METADATA").write_text("\n".join([*lines, *extras, *required]) + "\n", "utf-8")
    (place / "INSTALLER").write_text("pip\n", "utf-8")
    (place / "RECORD").write_text("", "utf-8")


def said(one: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    """What the tool takes each package that pip installs for, and whether it says that this is pinned."""
    with tempfile.TemporaryDirectory() as root:
        text = "".join(f"{requirement}\n" for requirement in one.get("requirements", ()))
        rows = "".join(f"pip install {shlex.join(words)}\n" for words in one.get("commands", ()))
        Path(root, "setup.sh" if rows else "requirements.txt").write_text(text or rows, "utf-8")
        python = f'[project]\nname = "app"\nversion = "1"\nrequires-python = "=={one["python"]}.*"\n'
        Path(root, "pyproject.toml").write_text(python, "utf-8")
        project = Project(root, Files(), Settings(root))
        environment = project.environment(os.path.join(root, "train.py"))
        found = {}
        for name in one["installed"]:
            package = environment.package(name)
            is_sure = package.source in ("pin", "lock") and len(package.allowed or ()) == 1
            found[name] = (taken(environment, name), is_sure)
        return found


def taken(environment: Environment, name: str) -> str:
    """The release that is judged, or shown, "" where none is."""
    chosen = environment.choices.get(name) if name in JUDGED else None
    return chosen.newest if chosen is not None else str(facts_of(environment, environment.package(name)).resolved or "")


def wrong(recorded: list[dict[str, Any]], counts: Counter[tuple[str, str]]) -> Iterator[str]:
    """What the tool says otherwise than pip, in words; `counts` gets how many were asked and how many are right."""
    for number, one in enumerate(recorded, 1):
        if one["installed"] is None:
            continue
        words = [*one.get("requirements", ()), *(word for command in one.get("commands", ()) for word in command)]
        pinned = {normalised(each.partition("==")[0].partition("[")[0]) for each in words if "==" in each}
        for name, (release, is_sure) in said(one).items():
            wanted = one["installed"][name]
            is_right = parse_version(release) == parse_version(wanted)
            kinds = ["all", *["open"] * (name not in pinned)]
            if name in JUDGED:
                kinds += ["judged", *["judged and open"] * (name not in pinned)]
            for kind in kinds:
                counts[kind, "asked"] += 1
                counts[kind, "right"] += is_right
            counts["sure", "asked"] += is_sure
            counts["sure", "right"] += is_sure and is_right
            if not is_right:
                sure = ", said as sure" if is_sure else ""
                yield f"{number} {' '.join(words)}: {name} {wanted}, not {release or 'unknown'}{sure}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="list what is wrong")
    parser.add_argument("--ask", metavar="PIP", help="a pip that is asked again; its Python does not matter")
    parser.add_argument("--day", help="with --ask: the day, instead of that in the results")
    options = parser.parse_args()
    results = json.loads(FILE.read_text("utf-8"))
    if options.ask:
        results["day"] = options.day or results["day"]
        version = subprocess.run([options.ask, "--version"], capture_output=True, text=True, check=True).stdout
        results["pip"] = version.split()[1]
        with index_of(results["day"]) as index, ThreadPool(2) as pool:
            asked = pool.imap(partial(_ask, options.ask, index), results["sets"])
            for number, (one, installed) in enumerate(zip(results["sets"], asked, strict=True), 1):
                one["installed"] = installed
                print(number, one.get("requirements") or one["commands"], installed, flush=True)
                FILE.write_text(written(results), "utf-8")
    counts: Counter[tuple[str, str]] = Counter()
    lines = list(wrong(results["sets"], counts))
    if options.show:
        sys.stdout.writelines(f"{line}\n" for line in lines)
    answered = sum(one["installed"] is not None for one in results["sets"])
    print(f"pip {results['pip']} on {results['day']}: {answered} of {len(results['sets'])} lists have an answer")
    for kind in ("all", "open", "judged", "judged and open", "sure"):
        every, right = counts[kind, "asked"], counts[kind, "right"]
        print(f"{kind}: {right} of {every} packages as pip takes them ({right / max(every, 1):.1%})")
    return int(
        counts["sure", "right"] < counts["sure", "asked"]
        or counts["judged", "right"] < 0.95 * counts["judged", "asked"]
    )


def written(results: dict[str, Any]) -> str:
    """The results as JSON, one list of requirements a line."""
    sets = ",\n".join(f"  {json.dumps(one)}" for one in results["sets"])
    return f'{{\n "day": "{results["day"]}",\n "pip": "{results["pip"]}",\n "sets": [\n{sets}\n ]\n}}\n'


if __name__ == "__main__":
    sys.exit(main())
