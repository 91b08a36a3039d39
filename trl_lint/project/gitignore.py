"""What git leaves out: `.gitignore` on every level and `.git/info/exclude`, with git's own rules of precedence.

Semantics are those of gitignore(5) and of git's wildmatch.c, checked against `git check-ignore` by the tests. As in
ruff, a file that git tracks although a pattern names it counts as ignored, and outside a repository `.gitignore` files
count as well. The user's global excludes file does not: the same tree must give the same findings on every machine.
"""

from __future__ import annotations

import os
import re

from trl_lint import tracked
from trl_lint.paths import as_regex, is_quick
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.wildcards import ANYTHING, FOLDERS, NAME, Places

_NAME = ".gitignore"
_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": " \t", "cntrl": "\x00-\x1f\x7f", "digit": "0-9", "graph": "!-~",
    "lower": "a-z", "print": " -~", "punct": "!-/:-@\\[-`{-~", "space": "\\s", "upper": "A-Z", "xdigit": "0-9a-fA-F",
}  # fmt: skip
_SPECIAL = regex(r"[*?\[\\]")


class Pattern(NamedTuple):
    """One line: the pieces of a pattern for the path below the folder of its file, or (not `anchored`) for the name."""

    pieces: tuple[str, ...]
    negated: bool
    folders_only: bool
    anchored: bool


class Patterns:
    """The patterns of one file and the folder they are relative to."""

    __slots__ = ("_any", "_has_slow", "_patterns", "_prefix", "_together")

    def __init__(self, folder: str, patterns: list[Pattern]) -> None:
        self._prefix = len(os.path.join(folder, ""))
        self._patterns = patterns
        self._together: list[tuple[list[int], Places]] | None = None
        # Most paths match nothing: one look at each of two alternations says so.
        quick = [(as_regex(p.pieces), p.anchored) for p in patterns if is_quick(p.pieces)]
        self._has_slow = len(quick) < len(patterns)
        self._any = tuple(
            re.compile("|".join(text for text, is_anchored in quick if is_anchored == anchored) or r"(?!)", re.DOTALL)
            for anchored in (False, True)
        )

    def verdict(self, path: str, name: str, is_folder: bool) -> bool | None:
        """Whether the last pattern that matches leaves a path out; None where none matches."""
        below = path[self._prefix :].replace(os.sep, "/")
        names, paths = self._any
        if not self._has_slow and not names.match(name) and not paths.match(below):
            return None
        if self._together is None:
            self._together = [_together(self._patterns, is_anchored) for is_anchored in (False, True)]
        (of_names, by_name), (of_paths, by_path) = self._together
        found = [*map(of_names.__getitem__, by_name.fitting(name)), *map(of_paths.__getitem__, by_path.fitting(below))]
        for pattern in map(self._patterns.__getitem__, sorted(found, reverse=True)):
            if is_folder or not pattern.folders_only:
                return not pattern.negated
        return None


def _together(patterns: list[Pattern], is_anchored: bool) -> tuple[list[int], Places]:
    """The patterns for paths, or those for names: their numbers, and what says which of them fit."""
    numbers = [number for number, pattern in enumerate(patterns) if pattern.anchored == is_anchored]
    return numbers, Places([patterns[number].pieces for number in numbers])


Chain = tuple[Patterns, ...]
"""The patterns that hold in a folder; those of inner folders come last and decide."""


def is_ignored(chain: Chain, path: str, is_folder: bool) -> bool:
    """Whether git leaves out a file or folder that stands in a folder which it does not leave out."""
    name = os.path.basename(path)
    for patterns in reversed(chain):
        verdict = patterns.verdict(path, name, is_folder)
        if verdict is not None:
            return verdict
    return False


def chain_above(folder: str) -> Chain:
    """The patterns that the folders around a folder, up to the root of its repository, bring into it."""
    above: list[str] = []
    current = folder
    while not tracked.is_there(os.path.join(current, ".git")):
        parent = os.path.dirname(current)
        if parent == current:
            return ()  # no repository
        above.append(parent)
        current = parent
    chain: Chain = ()
    for outer in reversed(above):
        chain = entered(chain, outer, {name for name in (".git", _NAME) if tracked.is_there(os.path.join(outer, name))})
    return chain


def entered(chain: Chain, folder: str, names: set[str]) -> Chain:
    """The patterns that hold inside a folder with these entries. A repository inside another is one of its own."""
    if ".git" in names:
        chain = _added((), folder, os.path.join(_git_folder(os.path.join(folder, ".git")), "info", "exclude"))
    return _added(chain, folder, os.path.join(folder, _NAME)) if _NAME in names else chain


def _added(chain: Chain, folder: str, path: str) -> Chain:
    try:
        # git does not read a .gitignore through a link.
        if tracked.is_link(path):
            return chain
        patterns = read_patterns(tracked.read(path))
    except (OSError, ValueError):
        return chain
    return (*chain, Patterns(folder, patterns)) if patterns else chain


def _git_folder(path: str) -> str:
    """The folder with `info/`: `.git` itself, or for a worktree or submodule the one that its `.git` file names."""
    if not tracked.is_file(path):
        return path
    try:
        folder = _first_text(path).removeprefix("gitdir:").strip()
        found = os.path.join(os.path.dirname(path), folder)
        return os.path.join(found, _first_text(os.path.join(found, "commondir")).strip())
    except FileNotFoundError:
        return found
    except (OSError, ValueError):
        return path


def _first_text(path: str) -> str:
    return tracked.read(path)[:4096].decode("utf-8", "surrogateescape")


def read_patterns(data: bytes) -> list[Pattern]:
    """The patterns of a file, in order; a line that can match nothing is left out."""
    lines = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape").split("\n")
    return [pattern for line in lines if (pattern := read_pattern(line.removesuffix("\r"))) is not None]


def read_pattern(line: str) -> Pattern | None:
    """One line of a .gitignore; None for a comment, an empty line and a pattern that git never matches."""
    if line.startswith("#"):
        return None
    line = _without_trailing_spaces(line)
    negated = line.startswith("!")
    line = line[negated:]
    folders_only = line.endswith("/")
    line = line[: len(line) - folders_only]
    if not line:
        return None
    anchored = "/" in line
    pieces = _pieces(line.removeprefix("/"), anchored)
    return None if pieces is None else Pattern(pieces, negated, folders_only, anchored)


def _without_trailing_spaces(line: str) -> str:
    """Without the spaces at the end, of which a backslash keeps one."""
    end, position = 0, 0
    while position < len(line):
        step = 2 if line[position] == "\\" else 1
        if line[position] != " ":
            end = position + step
        position += step
    return line[:end]


def _pieces(pattern: str, anchored: bool) -> tuple[str, ...] | None:
    """The pieces of a pattern; None where git gives up on it (an open bracket, a backslash at the end)."""
    out, i = [], 0
    while i < len(pattern):
        char = pattern[i]
        i += 1
        if char == "*":
            start = i - 1
            while pattern.startswith("*", i):
                i += 1
            # `**` between slashes stands for any number of folders, elsewhere for what `*` does. git compares what
            # stands before the first wildcard by itself, so that a `**` behind it is at the start of the rest.
            is_first = start == 0 or pattern[start - 1] == "/" or not _SPECIAL.search(pattern, 0, start)
            crosses = anchored and i - start > 1 and is_first
            if crosses and pattern.startswith("/", i):
                out.append(FOLDERS)
                i += 1
            else:
                out.append(ANYTHING if crosses and (i == len(pattern) or pattern.startswith("\\/", i)) else NAME)
        elif char == "?":
            out.append("[^/]")
        elif char == "[":
            found = _bracket(pattern, i)
            if found is None:
                return None
            text, i = found
            out.append(text)
        elif char == "\\":
            if i == len(pattern):
                return None
            out.append(re.escape(pattern[i]))
            i += 1
        else:
            out.append(re.escape(char))
    return tuple(out)


def _bracket(pattern: str, i: int) -> tuple[str, int] | None:
    """A character class from behind its bracket, with the place behind it; None where it is never closed."""
    negated = pattern.startswith(("!", "^"), i)
    i += negated
    items: list[str] = []
    last = ""  # the start of a range, if a `-` follows
    first = True
    while True:
        if i >= len(pattern):
            return None
        char = pattern[i]
        if char == "]" and not first:
            break
        first = False
        if pattern.startswith("[:", i):
            end = pattern.find("]", i + 2)
            if end < 0:
                return None
            name = pattern[i + 2 : end - 1] if pattern[end - 1] == ":" and end - 1 >= i + 2 else None
            if name is not None:
                if name not in _CLASSES:
                    return None
                items.append(_CLASSES[name])
                last, i = "", end + 1
                continue
        if char == "-" and last and i + 1 < len(pattern) and pattern[i + 1] != "]":
            i += 1
            upper = pattern[i]
            if upper == "\\":
                i += 1
                if i >= len(pattern):
                    return None
                upper = pattern[i]
            if last <= upper:  # else no character is between them; the first one alone was taken already
                items.append(f"{re.escape(last)}-{re.escape(upper)}")
            last, i = "", i + 1
            continue
        if char == "\\":
            i += 1
            if i >= len(pattern):
                return None
            char = pattern[i]
        items.append(re.escape(char))
        last, i = char, i + 1
    body = "".join(items)
    return f"(?!/)[{'^' * negated}{body}]", i + 1
