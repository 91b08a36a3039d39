"""One client: what it has open, what is said to it, and the thread that works for it.

Two threads meet here. That of the protocol takes messages and sends; it never waits for the engine. The worker has the
desk, the views and the findings for itself. What goes from one to the other is handed over whole: a view to the worker,
finished diagnostics back.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from trl_lint.baseline import BaselineError
from trl_lint.budget import cancelled_by
from trl_lint.editors.server.desk import Checked, Desk
from trl_lint.editors.server.documents import Documents
from trl_lint.editors.server.texts import View
from trl_lint.editors.server.wire import Can, Writer, diagnostics
from trl_lint.editors.server.worker import Worker
from trl_lint.knowledge import KnowledgeError
from trl_lint.settings_file import SettingsError
from trl_lint.sources import Files

T = TypeVar("T")
Shown = dict[str, list[types.Diagnostic]]
_log = logging.getLogger(__name__)

# How long at least between two looks at the disk for a client that does not tell of changed files, and how many times
# longer than a look took.
_PAUSE_SECONDS = 1.0
_PAUSE = 4
# The same while nobody does anything: at most one part in fifty of a processor goes into looking.
_IDLE_SECONDS = 2.0
_IDLE = 50


class Session:
    """A client that has introduced itself. `send` is the server of pygls."""

    def __init__(self, send: LanguageServer, said: types.ClientCapabilities, encoding: str) -> None:
        self.send = send
        self.can = Can(said)
        self.documents = Documents(encoding)
        self.encoding = encoding
        self.worker = Worker(self._check, self._rest)
        self._loop = asyncio.get_running_loop()
        # Of the worker alone:
        self.desk = Desk()
        self._views: dict[str, View] = {}
        self._checked: dict[str, tuple[View, Checked]] = {}
        self._shown: dict[str, tuple[View, Shown]] = {}
        self._told: set[str] = set()
        self._unfinished: dict[str, None] = {}  # files of which the first step was shown
        self._next_look = time.monotonic() + _PAUSE_SECONDS
        self._look_seconds = 0.0  # how long the last one took
        self._is_stale = False  # whether a client that pulls was given what no longer holds
        # Of the protocol alone:
        self._newest: dict[str, View] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    # -- from the protocol ----------------------------------------------------------------------------------------

    def take(self, path: str | None) -> None:
        """A file was opened or changed: it is checked first, then what may rest on it."""
        view = self.documents.view(path) if path is not None else None
        if path is None or view is None:
            return
        self._newest[path] = view
        self.worker.ask(lambda: self._take(path, view))
        self.worker.want(self.documents.open_paths(), first=path)

    def drop(self, path: str | None, uris: Iterable[str]) -> None:
        """A file or a part of it was closed."""
        if path is not None:
            self._newest.pop(path, None)
            self.worker.ask(lambda: self._drop(path))
            self.worker.want(self.documents.open_paths())
        if not self.can.pull:
            for uri in uris:
                self.send.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def look(self) -> None:
        """Something changed on disk."""
        self.worker.ask(self._look)

    def is_watched(self, agreed: bool) -> None:
        """Whether the client agreed to tell of files that change; for one that refused, the server looks by itself."""
        self.can.watch = agreed

    async def ask(self, call: Callable[[], T]) -> T:
        """What the worker answers; not called if the client takes its question back in time."""
        return await asyncio.wrap_future(self.worker.ask(call))

    def start(self) -> None:
        self.worker.start()

    def end(self) -> None:
        self.worker.stop()

    # -- in the worker --------------------------------------------------------------------------------------------

    def view(self, path: str) -> View | None:
        """An open file, as the desk has it."""
        return self._views.get(path)

    def writer(self, files: Files) -> Writer:
        return Writer(files, self._views.get, self.can, self.encoding)

    def current(self, path: str) -> tuple[View, Checked] | None:
        """An open file with its findings; None where it is closed, or where its settings cannot be used."""
        self._check_whole(path)
        found = self._checked.get(path)
        return found if found is not None and found[0] is self._views.get(path) else None

    def shown(self, path: str) -> Shown:
        """What a client that asks for it is given."""
        self._check_whole(path)
        return self._shown[path][1] if path in self._shown else {}

    def _take(self, path: str, view: View) -> None:
        if self._newest.get(path) is view:  # else a newer one waits already
            self._views[path] = view
            self.desk.put({path: view.data})

    def _drop(self, path: str) -> None:
        if path in self._newest:
            return  # it is open again
        for table in (self._views, self._checked, self._shown):
            table.pop(path, None)
        self.desk.put({path: None})

    def _look(self) -> None:
        began = time.monotonic()
        self.desk.look_again()
        now = time.monotonic()
        self._look_seconds = now - began
        self._next_look = now + max(_PAUSE_SECONDS, _PAUSE * self._look_seconds)
        self.worker.want(list(self._views))

    def _rest(self) -> float | None:
        """Nothing is left to do: time to see whether anything changed on disk of which nobody tells.

        The seconds until it is time again; None where the client tells, or where nothing is open.
        """
        while self._unfinished:
            with cancelled_by(self.worker.is_pressed):
                self._check_whole(next(reversed(self._unfinished)))
            self._unfinished.popitem()
        if not self.can.watch and time.monotonic() >= self._next_look:
            self._look()
        elif self._is_stale:
            self._is_stale = False
            self._later(lambda: self.send.workspace_diagnostic_refresh(None))
        if self.can.watch or not self._views:
            return None
        return max(_IDLE_SECONDS, _IDLE * self._look_seconds)

    def _check(self, path: str) -> None:
        """Check a file, a large one that is typed in two steps; one that is not typed only while nobody waits."""
        view, before = self._views.get(path), self._shown.get(path)
        is_edited = view is not None and before is not None and before[0] is not view
        if view is None or self.can.pull or not is_edited:
            with cancelled_by(self.worker.is_pressed if before is not None else None):
                self._check_whole(path)
        elif not self._check_first(path, view):
            self._check_whole(path)

    def _check_whole(self, path: str) -> None:
        view = self._views.get(path)
        if view is None:
            return
        before = self._shown.get(path)
        try:
            if before is not None and before[0] is view and not self.desk.is_due(path):
                return
            done = self._begin(path)
            try:
                checked = self.desk.check(path)
            finally:
                done()
        except (SettingsError, BaselineError, KnowledgeError) as error:
            self._checked.pop(path, None)
            found: Shown = {uri: [] for uri in view.uris}
            self._tell(str(error))
        else:
            self._checked[path] = view, checked
            found = diagnostics(checked, self.writer(checked.files), view.uris)
        self._shown[path] = view, found
        if before is not None and before[0] is view and before[1] == found:
            return
        if self.can.pull:
            self._is_stale = self._is_stale or (before is not None and before[0] is view)
        else:
            self._later(lambda: self._publish(path, view, found))

    def _check_first(self, path: str, view: View) -> bool:
        """Show what can be said of a large file at once, and leave the rest for a pause; whether there is any."""
        try:
            first = self.desk.check_first(path)
        except (SettingsError, BaselineError, KnowledgeError):
            return False  # which the whole check tells
        if first is None:
            return False
        found = diagnostics(first, self.writer(first.files), view.uris)
        self._later(lambda: self._publish(path, view, found))
        self._unfinished[path] = None
        return True

    def _tell(self, message: str) -> None:
        """Say once what is wrong with the settings."""
        if message not in self._told:
            self._told.add(message)
            said = types.ShowMessageParams(types.MessageType.Error, f"trl-lint: {message}")
            self._later(lambda: self.send.window_show_message(said))

    def _later(self, call: Callable[[], object]) -> None:
        """Call something in the thread of the protocol."""
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # the loop has ended meanwhile
            _log.debug("nobody is there any more")

    def _begin(self, path: str) -> Callable[[], None]:
        """Show the client that a project is read for the first time; what it gives back ends that."""
        if not self.can.progress or not self.desk.is_new(path):
            return lambda: None
        ended: Future[None] = Future()
        self._later(lambda: self._keep(self._show_progress(ended)))
        return lambda: ended.set_result(None)

    # -- sending, in the thread of the protocol -------------------------------------------------------------------

    def _publish(self, path: str, view: View, found: Shown) -> None:
        if self._newest.get(path) is not view:
            return  # of a text that is another by now
        for uri, items in found.items():
            version = view.versions.get(uri) if self.can.versions else None
            self.send.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, items, version))

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _show_progress(self, ended: Future[None]) -> None:
        token = str(uuid.uuid4())
        try:
            await asyncio.wait_for(self.send.work_done_progress.create_async(token), 5)
        except Exception:  # the client may refuse
            return
        if ended.done():
            return
        progress = self.send.work_done_progress
        progress.begin(token, types.WorkDoneProgressBegin("trl-lint", message="reading the project", cancellable=False))
        await asyncio.wrap_future(ended)
        progress.end(token, types.WorkDoneProgressEnd())
