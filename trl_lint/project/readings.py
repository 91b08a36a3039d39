"""What the files of a project were read as, each of them once: pins, commands, a config, Python, a parser."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar, cast

from trl_lint import budget, tracked
from trl_lint.budget import READER_SECONDS, OverBudgetError
from trl_lint.project.links import is_own_file
from trl_lint.python.module import PythonModule
from trl_lint.sources import Files, Source, SourceError, SourceFile
from trl_lint.sources.text import TookTooLongError

T = TypeVar("T")

_READING = {
    "manifest": "reading its pins",
    "launches": "reading its commands",
    "document": "reading it as a config",
    "recipe": "reading it as a config",
    "module": "reading it as Python",
    "parser": "reading its arguments",
}
# A tree of syntax is ten times its text. Those beyond this number are parsed again where they are needed again.
_MOST_MODULES = 100
# What is read from the text of a file and nothing else.
_OF_ONE_FILE = ("document", "recipe", "module")


class Readings:
    """The readings of a project's files, and what went wrong with them, by kind and path."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._known: dict[tuple[str, str], tuple[object, SourceError | None]] = {}
        self._modules: deque[str] = deque()  # whose modules are among the readings, the oldest first

    def read(self, kind: str, path: str, read: Callable[[SourceFile], T], by: str | None = None) -> T:
        """What a file was read as; `by` is as in `tracked.note_use`. Raises OSError, or SourceError, each time."""
        known = self._known.get((kind, path))
        if known is None:
            with tracked.for_itself(path):
                try:
                    work = partial(self._from, path, read)
                    known = (budget.within(_READING[kind], path, READER_SECONDS, work), None)
                except OverBudgetError as error:
                    (budget.fail if kind == "manifest" else budget.note)(path, str(error))
                    known = (None, TookTooLongError("takes too long to be read"))
                except SourceError as error:
                    error.__traceback__ = error.__context__ = None  # they hold the frames, which hold what is read here
                    known = (None, error)
                except RecursionError:
                    known = (None, SourceError("nested too deeply to be read"))
            self._remember(kind, path, known)
        result, failure = known
        if kind == "module" or failure is not None or result:
            tracked.note_use(path, by)
        else:
            tracked.note_content("is empty", kind, path, True)
        if failure is not None:
            raise type(failure)(failure.message, failure.offset)
        return cast("T", result)

    def _from(self, path: str, read: Callable[[SourceFile], T]) -> T:
        if tracked.is_link(path) and not is_own_file(path, path):
            raise SourceError("a link out of the repository, so it was not read")
        return read(self._files.get(path))

    def _remember(self, kind: str, path: str, reading: tuple[object, SourceError | None]) -> None:
        self._known[kind, path] = reading
        if kind == "module":
            self._modules.append(path)
            if len(self._modules) > _MOST_MODULES:
                oldest, _ = self._known.pop(("module", self._modules.popleft()), (None, None))
                if oldest is not None:
                    cast("PythonModule", oldest).release()

    def believe(self, kind: str, path: str, result: object) -> None:
        """Take what another process read of a file for its reading, unless it was read here."""
        self._known.setdefault((kind, path), (result, None))

    def kept_module(self, source: Source) -> PythonModule | None:
        """The module of a file that was parsed already, if its text is still the same."""
        module, _ = self._known.get(("module", source.path), (None, None))
        kept = cast(PythonModule | None, module)
        return kept if kept is not None and kept.text == source.text else None

    def keep_module(self, module: PythonModule) -> None:
        """Remember a module that was parsed elsewhere, so that it is not parsed again."""
        if ("module", module.path) not in self._known:
            self._remember("module", module.path, (module, None))

    def change(self, files: Files, changed: Iterable[str]) -> None:
        """Go on with a later state of the files, in which only those at the paths `changed` differ."""
        self._files = files
        gone = set(changed)
        for kind, path in [key for key in self._known if key[1] in gone]:
            self._drop(kind, path)
        self.forget_worked_out()

    def known(self, kind: str, path: str) -> object:
        """What a file was read as, if it was; None if not."""
        return self._known.get((kind, path), (None, None))[0]

    def pinning_elsewhere(self) -> dict[str, object]:
        """The manifests, by path, whose pins may stand in other files."""
        from trl_lint.project.pins import reads_others

        manifests = ((path, read) for (kind, path), (read, _) in self._known.items() if kind == "manifest")
        return {path: read for path, read in manifests if reads_others(path)}

    def carried(self, files: Files, is_moved: bool) -> Readings:
        """The readings that hold in a later state of the project, in which these files are the same.

        `is_moved`: files have come or gone, or are installed otherwise. Commands name files, and are read anew then.
        """
        from trl_lint.project.pins import reads_others

        later = Readings(files)
        for (kind, path), known in self._known.items():
            is_command = kind == "launches" or (kind == "manifest" and not reads_others(path))
            if kind in _OF_ONE_FILE or (is_command and not (known[0] and is_moved)):
                later._remember(kind, path, known)
        later.forget_worked_out()
        return later

    def _drop(self, kind: str, path: str) -> None:
        dropped, _ = self._known.pop((kind, path))
        if kind == "module":
            self._modules.remove(path)
            if dropped is not None:
                cast("PythonModule", dropped).release()

    def forget_worked_out(self) -> None:
        """Drop what rules have worked out about the modules."""
        for (kind, _), (module, _) in list(self._known.items()):
            if kind == "module" and module is not None:
                cast(PythonModule, module).memo.clear()

    def let_go(self, module: PythonModule) -> None:
        """The rules are done with a module: unless it is kept, nothing of it need stay in memory."""
        if self._known.get(("module", module.path), (None, None))[0] is not module:
            module.release()
