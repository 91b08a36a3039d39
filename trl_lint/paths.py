"""Paths: patterns as ruff users write them, and how a path is shown."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from trl_lint import tracked
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.wildcards import ANYTHING, FOLDERS, MANY, Places

_TEST_FILE = regex(r"(?:^|/)(?:tests?|testing)/|(?:^|/)(?:test_[^/]*|conftest|[^/]*_test)\.py$")

# Folders of what nobody works on any more.
_RETIRED = frozenset(
    ("archive", "archived", "attic", "backup", "backups", "bak", "deprecated", "legacy", "obsolete", "old")
)
_RETIRED_NAME = regex(r"[._-](?:backup|bak|deprecated|obsolete|old)[._-]?\d*\.(?:py|ipynb)\Z", re.IGNORECASE)
MARKDOWN = (".md", ".markdown", ".mdx")
DOCUMENTS = (".yaml", ".yml", ".json")
# Texts that tell what was done once.
_RECORDS = frozenset(("changelog.md", "scratch.md", "scratchpad.md"))
# Texts that tell what is still to be made.
_PLAN_FOLDERS = frozenset(("plans", "proposals", "rfcs", "roadmap", "roadmaps"))
_PLAN = regex(r"(?:^|[^a-z])(?:plan|proposal|rfc|roadmap|todo)s?(?:[^a-z]|$)")


# The longest path has 4,096 characters, the longest name 255.
_MOST_LOOPS = 2
_FEW = 16  # patterns that are asked one by one


def is_test_file(path: str) -> bool:
    """Whether a Python file is a test, by its name or the folder it is in.

    The folders count from its repository, or from the current folder: somebody's `~/tests/` holds no tests.
    """
    if _TEST_FILE.search(_slashes(path)) is None:
        return False
    if not os.path.isabs(path):
        return True
    folder, here = os.path.dirname(path), os.getcwd()
    root = repository_around(folder) or (here if is_below(folder, here) else "")
    return not root or _TEST_FILE.search(relative_to(path, root)) is not None


@lru_cache(maxsize=1024)
def is_retired(path: str, root: str) -> bool:
    """Whether a file below `root` is kept for the record, by a folder (`archived`, `Old`, `.archive` …) or its name.

    A page that plans what is not there yet (`docs/plans/`, `ROADMAP.md`) is one, too.
    """
    if not is_below(path, root):
        return False
    below = _slashes(path[len(root) :].lower())
    *folders, name = below.split("/")
    if name in _RECORDS or any(folder.lstrip("._") in _RETIRED for folder in folders):
        return True
    is_plan = not _PLAN_FOLDERS.isdisjoint(folders) or _PLAN.search(name) is not None
    return is_plan and name.endswith(MARKDOWN)


def is_retired_name(path: str) -> bool:
    """Whether a script is called like one that another has taken the place of: `train_old.py`, `train_bak2.py`."""
    return _RETIRED_NAME.search(path) is not None


class Glob(NamedTuple):
    """A pattern and the absolute folder it is relative to."""

    pattern: str
    root: str

    def matches(self, path: str) -> bool:
        """Whether the pattern names an absolute path: by its last part, or by the whole of it below `root`."""
        if _matcher(self.pattern)(os.path.basename(path)):
            return True
        anchored = self.pattern if os.path.isabs(self.pattern) else _join(self.root, self.pattern)
        return bool(_matcher(anchored)(_slashes(path)))


def _join(root: str, pattern: str) -> str:
    # The folder is text, not a pattern: a bracket in its name must not open a character class.
    literal = re.sub(r"([*?\[])", r"[\1]", _slashes(root)).rstrip("/")
    return f"{literal}/{pattern.removeprefix('./')}"


def _slashes(path: str) -> str:
    return path if os.sep == "/" else path.replace(os.sep, "/")


class Globs:
    """Patterns that a path is held against; many of them all at once."""

    __slots__ = ("_globs", "_sets")

    def __init__(self, globs: Sequence[Glob]) -> None:
        self._globs = globs
        self._sets: list[tuple[str, list[int], Places, Places]] | None = None

    def fitting(self, path: str) -> list[int]:
        """The numbers of the patterns that name an absolute path, in their order."""
        if len(self._globs) <= _FEW:
            return [number for number, glob in enumerate(self._globs) if glob.matches(path)]
        if self._sets is None:
            self._sets = list(self._made())
        whole = _slashes(path)
        name = whole.rpartition("/")[2]
        found: set[int] = set()
        for root, numbers, names, paths in self._sets:
            found.update(numbers[at] for at in names.fitting(name))
            if whole.startswith(root):
                found.update(numbers[at] for at in paths.fitting(whole[len(root) :]))
        return sorted(found)

    def _made(self) -> Iterator[tuple[str, list[int], Places, Places]]:
        """For each folder that patterns are relative to: their numbers, and what fits a name and a path below it."""
        by_root: dict[str, list[int]] = {}
        for number, glob in enumerate(self._globs):
            root = "" if os.path.isabs(glob.pattern) else _slashes(glob.root).rstrip("/") + "/"
            by_root.setdefault(root, []).append(number)
        for root, numbers in by_root.items():
            patterns = [self._globs[number].pattern for number in numbers]
            names = Places(list(map(_pieces, patterns)))
            yield root, numbers, names, Places([_pieces(pattern.removeprefix("./")) for pattern in patterns])


@lru_cache(maxsize=16384)
def _matcher(pattern: str) -> Callable[[str], object]:
    return matcher(_pieces(pattern))


def _pieces(pattern: str) -> list[str]:
    """`*` crosses folders, as in ruff; `**/` may also stand for no folder at all; a final slash changes nothing."""
    pattern = pattern.rstrip("/") or pattern
    out = []
    i = 0
    while i < len(pattern):
        char = pattern[i]
        if pattern.startswith("**/", i):
            out.append(FOLDERS)
            i += 3
            continue
        if char == "*":
            out.append(ANYTHING)
        elif char == "?":
            out.append("[^/]")
        elif char == "[" and (end := pattern.find("]", i + 2)) > 0:
            body = pattern[i + 1 : end]
            negated = body.startswith(("!", "^"))
            body = re.sub(r"([\[\\&|~])", r"\\\1", body[negated:])
            try:
                out.append(re.compile(f"[{'^' * negated}{body}]").pattern)
            except re.error:  # such as [z-a]: the text itself is all it can mean
                return list(map(re.escape, pattern))
            i = end
        else:
            out.append(re.escape(char))
        i += 1
    return out


def is_quick(pieces: Sequence[str]) -> bool:
    """Whether a regular expression of these pieces never takes long."""
    return sum(piece in MANY for piece in pieces) <= _MOST_LOOPS


def as_regex(pieces: Sequence[str]) -> str:
    return "".join(pieces) + r"\Z"


def matcher(pieces: Sequence[str]) -> Callable[[str], object]:
    """A function that says whether all of a text fits. Raises re.error where a piece is none."""
    if is_quick(pieces):
        return re.compile(as_regex(pieces), re.DOTALL).match
    return Places([pieces]).match


def relative_to(path: str, folder: str) -> str:
    """A path as seen from a folder, with forward slashes; an absolute one stays where no relative one exists."""
    try:
        return os.path.relpath(path, folder).replace(os.sep, "/")
    except ValueError:  # another drive
        return path.replace(os.sep, "/")


@tracked.remembered(4096)
def repository_around(folder: str) -> str | None:
    """The repository that an absolute folder is in, None where it is in none."""
    path, last = folder, ""
    while path != last:
        if tracked.is_there(os.path.join(path, ".git")):
            return path
        path, last = os.path.dirname(path), path
    return None


def leads_below(path: str, folder: str) -> bool:
    """Whether an absolute path stands in a folder, and no link leads it out of there."""
    return is_below(os.path.normpath(path), folder) and is_below(_real(path), _real(folder))


@tracked.remembered(4096)
def _real(path: str) -> str:
    """As `tracked.real`; the files that many commands name are asked for with each of these."""
    return tracked.real(path)


def without_root(text: str, root: str) -> str:
    """A text with the paths of files below a folder written from there: what it says is the same in every checkout."""
    folder = os.path.join(root, "")
    return text if folder == root or folder not in text else text.replace(folder, "")


def is_below(path: str, folder: str) -> bool:
    """Whether an absolute path is a folder or something in it, as far as their names tell."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
