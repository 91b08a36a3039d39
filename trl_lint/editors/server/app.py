"""The server of pygls, with what a client may ask of ours."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcInvalidRequest
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import JsonRPCNotification
from pygls.uris import to_fs_path

from trl_lint import __version__
from trl_lint.editors.server import answers
from trl_lint.editors.server.actions import EXPLAIN, KINDS, offered, resolved
from trl_lint.editors.server.framing import Messages
from trl_lint.editors.server.session import Session
from trl_lint.editors.server.wire import url_of

_log = logging.getLogger(__name__)

# One look is enough for whatever changed, so a client may tell of more than is read. No `*` within braces: eglot 1.9
# refuses the whole registration for one.
_WATCHED = (
    "**/*.{py,pyi,ipynb,yaml,yml,json,toml,md,txt,in,cfg,lock,sh,bash,slurm,sbatch,dockerfile}",
    "**/{Makefile,makefile,GNUmakefile,Containerfile}",
    "**/Dockerfile*",
)


class Protocol(LanguageServerProtocol):
    """The protocol of pygls, which leaves the open documents to us.

    pygls 2.1 divides texts with `str.splitlines`: there a form feed ends a line, and by the protocol it does not.
    """

    _server: Server

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        if session := self._server.session:
            session.take(session.documents.open(params.text_document))

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        if session := self._server.session:
            session.take(session.documents.change(params))

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        if session := self._server.session:
            session.drop(session.documents.close(params.text_document.uri), [params.text_document.uri])

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: types.DidOpenNotebookDocumentParams) -> None:
        if session := self._server.session:
            session.take(session.documents.open_notebook(params))

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(self, params: types.DidChangeNotebookDocumentParams) -> None:
        if session := self._server.session:
            path, gone = session.documents.change_notebook(params)
            session.drop(None, gone)
            session.take(path)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(self, params: types.DidCloseNotebookDocumentParams) -> None:
        if session := self._server.session:
            session.drop(*session.documents.close_notebook(params))

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A message as an object. One that cannot be read is answered, if it asks for that, and goes no further."""
        try:
            return super().structure_message(data)
        except JsonRpcException:
            asked = data.get("id")
            if "method" in data and isinstance(asked, (str, int)):
                self._send_response(asked, error=JsonRpcInvalidParams().to_response_error())
            return JsonRPCNotification("$/unreadable", "2.0", None)


class Server(LanguageServer):
    """A server for one client; `session` is there once it has introduced itself."""

    session: Session | None = None
    is_shut_down = False

    def report_server_error(self, error: Exception, source: Any) -> None:
        """What a client sent and nobody understands, and faults of ours, are for the log: no window opens for them."""
        _log.error("%s", error)


def make_server() -> Server:
    """A server that waits for its client."""
    every_notebook = types.NotebookDocumentFilterWithNotebook(notebook="*")
    server = Server(
        "trl-lint",
        __version__,
        types.TextDocumentSyncKind.Incremental,
        types.NotebookDocumentSyncOptions(notebook_selector=[every_notebook], save=True),
        protocol_cls=Protocol,
    )

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        if server.session is not None:
            raise JsonRpcInvalidRequest()  # a client introduces itself once
        _go_to(params)
        encoding = server.workspace.position_encoding or types.PositionEncodingKind.Utf16
        session = server.session = Session(server, params.capabilities, str(getattr(encoding, "value", encoding)))
        if session.can.pull:
            options = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False)
            server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)(diagnostic)

    async def diagnostic(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        session, uri = _session(server), params.text_document.uri
        path = session.documents.path_of(uri)
        found = {} if path is None else await session.ask(lambda: session.shown(path))
        return types.RelatedFullDocumentDiagnosticReport(found.get(uri, []))

    @server.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        session = _session(server)
        session.start()
        if session.can.watch:
            watchers = [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            one = types.Registration("watch", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            session.can.watch = False  # until the client agrees
            registered = server.client_register_capability(types.RegistrationParams([one]))
            registered.add_done_callback(
                lambda done: session.is_watched(not done.cancelled() and done.exception() is None)
            )

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched(_: types.DidChangeWatchedFilesParams) -> None:
        _session(server).look()

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(_: types.DidSaveTextDocumentParams) -> None:
        _session(server).look()

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def saved_notebook(_: types.DidSaveNotebookDocumentParams) -> None:
        _session(server).look()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configured(_: types.DidChangeConfigurationParams) -> None:
        _session(server).look()

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(list(KINDS), resolve_provider=True))
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        session = _session(server)
        path = session.documents.path_of(params.text_document.uri)
        return [] if path is None else await session.ask(lambda: offered(session, path, params))

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        session = _session(server)
        return await session.ask(lambda: resolved(session, action))

    @server.command(EXPLAIN)
    def explain(code: str) -> None:
        session, url = _session(server), url_of(code)
        if url and session.can.show:
            server.window_show_document(types.ShowDocumentParams(url, external=True))
        elif url:
            server.window_show_message(types.ShowMessageParams(types.MessageType.Info, f"{code}: {url}"))

    add_answers(server)

    @server.feature(types.SHUTDOWN)
    def shut_down(_: None) -> None:
        server.is_shut_down = True
        if server.session is not None:
            server.session.end()

    return server


def add_answers(server: Server) -> None:
    """What a client may ask about places."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        session = _session(server)
        path = session.documents.path_of(params.text_document.uri)
        return None if path is None else await session.ask(lambda: answers.hover(session, path, params))

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["-", " ", ".", "="]))
    async def completion(params: types.CompletionParams) -> types.CompletionList | None:
        session = _session(server)
        path = session.documents.path_of(params.text_document.uri)
        return None if path is None else await session.ask(lambda: answers.completion(session, path, params))

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def lenses(params: types.CodeLensParams) -> list[types.CodeLens] | None:
        session = _session(server)
        path = session.documents.path_of(params.text_document.uri)
        return None if path is None else await session.ask(lambda: answers.lenses(session, path))

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_LINK)
    async def links(params: types.DocumentLinkParams) -> list[types.DocumentLink] | None:
        session = _session(server)
        path = session.documents.path_of(params.text_document.uri)
        return None if path is None else await session.ask(lambda: answers.links(session, path))

    @server.command(answers.SHOW_RUN)
    async def show_run(path: str, start: int) -> None:
        session = _session(server)
        text = await session.ask(lambda: answers.shown_run(session, path, start))
        if text:
            server.window_show_message(types.ShowMessageParams(types.MessageType.Info, text))


def _session(server: Server) -> Session:
    if server.session is None:
        raise RuntimeError("the client has not introduced itself")
    return server.session


def _go_to(params: types.InitializeParams) -> None:
    """Work in the client's first folder: where a project ends may depend on where the command line is used."""
    folders = [folder.uri for folder in params.workspace_folders or ()]
    uris = folders or [uri for uri in (params.root_uri,) if uri]
    path = to_fs_path(uris[0]) if uris else params.root_path
    if path and os.path.isdir(path):
        try:
            os.chdir(path)
        except OSError:
            _log.warning("cannot work in %s", path)


def serve(server: Server, **streams: Any) -> int:
    """Serve a client on the standard streams; the exit status the protocol asks for."""
    server.start_io(**{**streams, "stdin": Messages(streams.get("stdin") or sys.stdin.buffer)})
    if server.session is not None:
        server.session.end()
    return 0 if server.is_shut_down else 1
