"""Trees of public repositories as they were at a commit, and what trl-lint says about them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from packaging.version import InvalidVersion, Version

_HERE = Path(__file__).resolve().parent.parent


def clone_of(mirror: Path, repository: str) -> Path:
    """Where a folder of clones has a repository: `owner+name`, or `owner+name/repo`."""
    folder = mirror / repository.replace("/", "+")
    return folder / "repo" if (folder / "repo").is_dir() else folder


def tags_of(clone: Path, since: str) -> list[str]:
    """The tags of final releases from `since` on, oldest first."""
    lines = _git(clone, "tag").decode().split()
    found = []
    for tag in lines:
        try:
            version = Version(tag)
        except InvalidVersion:
            continue
        if not version.is_prerelease and version >= Version(since):
            found.append((version, tag))
    return [tag for _, tag in sorted(found)]


def commit_of(clone: Path, revision: str) -> str:
    """The full id of the commit a tag, branch or short id names. Raises CalledProcessError if there is none."""
    return _git(clone, "rev-parse", f"{revision}^{{commit}}").decode().strip()


@contextmanager
def tree_of(clone: Path, revision: str, folders: Sequence[str] = ()) -> Iterator[Path]:
    """The files of a commit in a temporary folder; only some top-level `folders` (and all top-level files), or all.

    Raises CalledProcessError where the clone has no such commit.
    """
    with TemporaryDirectory(prefix="trl-lint-tree-") as folder:
        for path, data in _files_of(clone, revision, folders):
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        yield Path(folder)


def _files_of(clone: Path, revision: str, folders: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Paths and contents of a commit. What a clone lacks is left out: a snapshot may come without its largest files."""
    entries = _git(clone, "ls-tree", "-r", "-z", revision).decode("utf-8", "surrogateescape").split("\0")
    with subprocess.Popen(
        ["git", "-C", str(clone), "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as objects:
        assert objects.stdin is not None and objects.stdout is not None
        for entry in filter(None, entries):
            meta, _, path = entry.partition("\t")
            mode, kind, name = meta.split()
            top, _, below = path.partition("/")
            if kind != "blob" or mode == "120000" or (folders and below and top not in folders):
                continue
            objects.stdin.write(f"{name}\n".encode())
            objects.stdin.flush()
            head = objects.stdout.readline().split()
            if head[-1] != b"missing":
                yield path, objects.stdout.read(int(head[2]))
                objects.stdout.read(1)  # the end of its line


def _git(clone: Path, *command: str) -> bytes:
    return subprocess.run(["git", "-C", str(clone), *command], check=True, stdout=subprocess.PIPE).stdout


def unsilence(tree: Path) -> None:
    """Take the suppressions out of Python files and notebooks, so that what a linter may not say is counted too."""
    for kind in ("*.py", "*.ipynb"):
        for path in tree.rglob(kind):
            data = path.read_bytes()
            if b"noqa" in data:
                path.write_bytes(data.replace(b"noqa", b"was-"))


def findings_of(
    tree: Path, paths: Sequence[str], rules: str, targets: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """What trl-lint reports below `paths` of a tree, judged with `targets` or else with the tree's own pins.

    `rules` are codes with commas, "" for those that are on by default. Raises RuntimeError where the tool could not do
    its work.
    """
    own = tree / "trl-lint.toml"
    if targets is not None:
        pins = ", ".join(f'{name} = "{version}"' for name, version in targets.items())
        own.write_text(f"target = {{ {pins} }}\n", "utf-8")
    command = [sys.executable, "-m", "trl_lint", "--no-cache", "--output-format", "json"]
    command += ["--select", rules] if rules else []
    command += ["--isolated"] if targets is None else ["--config", str(own)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_HERE), os.environ.get("PYTHONPATH", "")])}
    ran = subprocess.run([*command, *paths], cwd=tree, env=environment, capture_output=True, check=False)
    if ran.returncode not in (0, 1):
        raise RuntimeError(ran.stderr.decode(errors="replace"))
    found: list[dict[str, Any]] = json.loads(ran.stdout)["findings"]
    return found
