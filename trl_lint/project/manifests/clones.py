"""Repositories that a document clones, and what is installed out of them: `git clone … && cd … && pip install .`."""

from __future__ import annotations

import posixpath

from trl_lint.project.pins import Clone, Link
from trl_lint.project.repositories import at_revision
from trl_lint.regexes import regex
from trl_lint.sources.shell import Command, Word

_WITH_VALUE = frozenset(("--depth", "-c", "--config", "-o", "--origin", "-j", "--jobs", "--reference", "--filter"))
_LONGEST_PATH = 2000  # characters; the folder is unknown then
_DEEPEST = 40  # folders inside each other, of those that people type
_REPOSITORY = regex(r"(?:[a-z+]+://|git@)\S+/(?P<name>[^/]+?)(?:\.git)?/?")


class Clones:
    """The clones of one document, by their folder. A new shell begins where the document is read, with `begin`."""

    def __init__(self) -> None:
        self._clones: dict[str, Clone] = {}
        self._directory: str | None = ""
        self._left_in: Clone | None = None

    def begin(self) -> None:
        """A new block: whoever types it stands, as like as not, where the block before it ended."""
        self._left_in = self._around(self._directory) or self._left_in
        self._directory = ""

    def follow(self, command: Command) -> str | None:
        """Note what a command clones, checks out, and which working directory it leaves; returns the one it is run in.

        A shell that stops half-way through `git clone … && cd …` leaves nobody knows where; here it did not stop.
        """
        texts = [word.text for word in command.words]
        here = self._directory = command.directory if command.directory is not None else self._directory
        if texts[:2] == ["git", "clone"]:
            self._clone(command.words[2:], here)
        elif texts[:2] in (["git", "checkout"], ["git", "switch"]) and len(texts) > 2:
            self._check_out(texts[2:], here)
        elif texts[0] in ("cd", "pushd"):
            target = texts[1] if len(texts) == 2 else None
            is_known = target is not None and (here is not None or target.startswith("/"))
            path = posixpath.normpath(posixpath.join(here or "", target or "")) if is_known else None
            self._directory = path if path is not None and len(path) < _LONGEST_PATH else None
        elif texts[0] == "popd":
            self._directory = None
        return here

    def around(self, link: Link) -> Clone | None:
        """The clone that a link leads into, None for one into the project itself as far as the document tells."""
        if link.directory is None:
            return None
        path = posixpath.normpath(posixpath.join(link.directory, link.name))
        found = self._around(path)
        if found is not None or posixpath.isabs(path):
            return found
        return self._left_in

    def _around(self, directory: str | None) -> Clone | None:
        if not self._clones or (directory or "").count("/") > _DEEPEST:
            return None
        while directory and directory not in (".", "/", ".."):
            if directory in self._clones:
                return self._clones[directory]
            directory = posixpath.dirname(directory)
        return None

    def _clone(self, words: tuple[Word, ...], directory: str | None) -> None:
        arguments: list[str] = []
        revision = ""
        option = ""
        for word in words:
            text = word.text
            if text is None:
                return
            if option:
                revision = text if option in ("-b", "--branch") else revision
                option = ""
            elif text.startswith("--branch="):
                revision = text.removeprefix("--branch=")
            elif text.startswith("-"):
                option = text if text in _WITH_VALUE or text in ("-b", "--branch") else ""
            else:
                arguments.append(text)
        repository = _REPOSITORY.fullmatch(arguments[0]) if arguments else None
        if repository is None or directory is None:
            return
        folder = arguments[1] if len(arguments) > 1 else repository["name"]
        place = posixpath.normpath(posixpath.join(directory, folder))
        self._clones[place] = Clone(at_revision(arguments[0], revision), place)
        if place == ".":
            self._left_in = self._clones[place]

    def _check_out(self, texts: list[str | None], directory: str | None) -> None:
        """A revision that nobody can name (`git checkout "$COMMIT"`) is not the tip either."""
        clone = self._around(directory)
        names = [text for text in texts if text is None or not text.startswith("-")]
        if clone is not None and names:
            self._clones[clone.folder] = clone._replace(url=at_revision(clone.url, names[0] or "unknown"))
