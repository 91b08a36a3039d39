"""Which tool this is: by the files it is made of here, and by what its installer wrote down about them anywhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress

from trl_lint.cache.entry import STAMP
from trl_lint.stamps import digest_of, stamp_of

# By the module that is imported, the distribution that has it. An update changes the folder it is installed in.
_USED = {
    "libcst": "libcst", "packaging": "packaging", "tomli": "tomli", "tree_sitter": "tree_sitter",
    "tree_sitter_bash": "tree_sitter_bash", "yaml": "pyyaml",
}  # fmt: skip
_INFO = (".dist-info", ".egg-info")


def tool_looks() -> Iterator[tuple[str, str, str, str]]:
    """The tool itself: its code, its knowledge, and the folders that the packages it uses are installed in."""
    places = {path: status for root in _roots() for path, status in _tree(root)}
    for path, found in places.items():
        yield STAMP, path, stamp_of(found), ""
    for folder in dict.fromkeys(folder for folder, _ in _distributions(sys.path)):
        with suppress(OSError):
            yield STAMP, folder, stamp_of(os.stat(folder)), ""


def tool_identity(paths: list[str]) -> str:
    """What this tool is, wherever it is installed: its files and the releases of what it imports from `paths`.

    "" where nobody has written down what its files are, as for a checkout, or where they are not what was written down.
    """
    package = _package()
    if os.path.dirname(_rules()) != package:
        return ""  # a checkout
    written = _written_down(os.path.dirname(package))
    rows = []
    for path, status in _tree(package):
        name = os.path.relpath(path, os.path.dirname(package)).replace(os.sep, "/")
        row = written.get(name)
        if row is None or row[1] != str(status.st_size):
            return ""
        rows.append(f"{name},{row[0]}")
    releases = []
    for _, release in _distributions(paths):
        if not release:
            return ""
        releases.append(release)
    return digest_of("\n".join(sorted(rows) + sorted(releases)).encode("utf-8", "surrogatepass"))


def _package() -> str:
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _rules() -> str:
    from trl_lint.knowledge import rules_dir

    return rules_dir()


def _roots() -> Iterator[str]:
    yield _package()
    if os.path.dirname(_rules()) != _package():
        yield _rules()


def _tree(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    below = []
    with suppress(OSError), os.scandir(folder) as listing:
        for entry in listing:
            if entry.is_dir(follow_symlinks=False):
                below.append(entry)
            else:
                with suppress(OSError):
                    yield entry.path, os.stat(entry.path)
    for entry in below:
        if entry.name not in ("__pycache__", "refresher"):
            yield from _tree(entry.path)


def _written_down(folder: str) -> dict[str, tuple[str, str]]:
    """Digest and size of each file of the tool, as its installer has written them down (PEP 376, `RECORD`)."""
    for name in _names_in(folder):
        if name.startswith("trl_lint-") and name.endswith(".dist-info"):
            with suppress(OSError, ValueError), open(os.path.join(folder, name, "RECORD"), encoding="utf-8") as stream:
                lines = (line.rstrip("\n").rsplit(",", 2) for line in stream if line.startswith("trl_lint/"))
                return {path: (digest, size) for path, digest, size in lines if digest}
    return {}


def _distributions(paths: list[str]) -> Iterator[tuple[str, str]]:
    """For each package that the tool uses, and that is there, the folder it is in and its release, "" if none is told.

    As Python finds it: the first folder of `paths` that has the module.
    """
    listed = [(path, set(_names_in(path))) for path in dict.fromkeys(filter(None, paths))]
    for module, distribution in _USED.items():
        for folder, names in listed:
            if module in names or f"{module}.py" in names:
                yield folder, _release(distribution, names)
                break


def _release(distribution: str, names: set[str]) -> str:
    found = [name for name in names if name.endswith(_INFO) and _is_of(name, distribution)]
    return found[0].lower() if len(found) == 1 else ""


def _is_of(name: str, distribution: str) -> bool:
    return name.partition("-")[0].lower().replace("-", "_").replace(".", "_") == distribution


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
