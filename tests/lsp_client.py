"""A small client of the language server, over pipes in one process.

Every message of the server is read into the types of `lsprotocol`, which are made of the published meta-model: one that
is not as the protocol says fails there. With a meta-model (`lsp_model`) it is compared with that as well.
"""

from __future__ import annotations

import json
import os
import queue
import threading
from pathlib import Path
from typing import Any

import lsp_model
from lsprotocol import converters, types

from trl_lint.editors.server.app import make_server, serve

SECONDS = 60
CONVERTER = converters.get_converter()


def uri_of(path: Path | str) -> str:
    return Path(path).as_uri()


class Client:
    """Starts a server with the capabilities of a client, as JSON has them; `agrees` to what the server asks, or not."""

    def __init__(self, capabilities: dict[str, Any] | None = None, agrees: bool = True, **initialize: Any) -> None:
        self._answer = {"result": None} if agrees else {"error": {"code": -32603, "message": "Internal error"}}
        theirs, ours = os.pipe()
        mine, theirs_out = os.pipe()
        self._to = os.fdopen(ours, "wb")
        self._from = os.fdopen(mine, "rb")
        self.status: int | None = None
        streams = {"stdin": os.fdopen(theirs, "rb"), "stdout": os.fdopen(theirs_out, "wb")}
        self._thread = threading.Thread(target=self._serve, args=(streams,), daemon=True)
        self._thread.start()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._inbox: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._number = 0
        self._requests: dict[int | str, str] = {}
        self._versions: dict[str, int] = {}
        self.said: list[dict[str, Any]] = []
        """What the server sent without being asked."""
        asked = {"processId": None, "rootUri": None, "capabilities": capabilities or {}, **initialize}
        self.server = self.ask("initialize", asked)
        self.tell("initialized", {})

    def _serve(self, streams: dict[str, Any]) -> None:
        self.status = serve(make_server(), **streams)

    # -- messages -------------------------------------------------------------------------------------------------

    def raw(self, body: bytes) -> None:
        self._to.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._to.flush()

    def send(self, message: dict[str, Any]) -> None:
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def tell(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def begin(self, method: str, params: Any) -> int:
        """Ask, and do not wait; the number of the request."""
        self._number += 1
        self._requests[self._number] = method
        self.send({"id": self._number, "method": method, "params": params})
        return self._number

    def ask(self, method: str, params: Any) -> Any:
        """The result of a request. Fails on an error."""
        found = self.answer(self.begin(method, params))
        assert "error" not in found, found
        return found.get("result")

    def answer(self, number: int) -> dict[str, Any]:
        """The answer to a request, whatever else comes before it."""
        while True:
            message = self.next()
            if message.get("id") == number and "method" not in message:
                return message

    def next(self) -> dict[str, Any]:
        message = self._inbox.get(timeout=SECONDS)
        assert message is not None, "the server has ended"
        _conforms(message, self._requests)
        if "method" in message:
            self.said.append(message)
            if "id" in message:
                self.send({"id": message["id"], **self._answer})
        return message

    def _read(self) -> None:
        while header := self._from.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                header = self._from.readline()
            self._inbox.put(json.loads(self._from.read(length)))
        self._inbox.put(None)

    # -- documents ------------------------------------------------------------------------------------------------

    def open(self, path: Path, text: str | None = None, language: str = "python") -> str:
        uri = uri_of(path)
        content = path.read_text() if text is None else text
        self._versions[uri] = 1
        item = {"uri": uri, "languageId": language, "version": 1, "text": content}
        self.tell("textDocument/didOpen", {"textDocument": item})
        return uri

    def change(self, uri: str, text: str, where: tuple[int, int, int, int] | None = None) -> int:
        """Replace a range, or everything; the new version. Versions jump, as those of editors do."""
        version = self._versions[uri] = self._versions[uri] + 4
        change: dict[str, Any] = {"text": text}
        if where is not None:
            change["range"] = span(*where)
        document = {"uri": uri, "version": version}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
        return version

    def published(self, uri: str, version: int | None = None) -> list[dict[str, Any]]:
        """The next diagnostics that are pushed for a document (of a version)."""
        while True:
            message = self.next()
            if message.get("method") == "textDocument/publishDiagnostics":
                params = message["params"]
                if params["uri"] == uri and version in (None, params.get("version")):
                    return list(params["diagnostics"])

    def close(self) -> int | None:
        """Leave as the protocol asks; the exit status of the server."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        self._thread.join(SECONDS)
        return self.status

    def hang_up(self) -> None:
        """Go without a word."""
        self._to.close()
        self._thread.join(SECONDS)


def span(line: int, column: int, end_line: int, end_column: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": column}, "end": {"line": end_line, "character": end_column}}


def _conforms(message: dict[str, Any], requests: dict[int | str, str]) -> None:
    """Read a message into its type, and see that nothing of it was left over."""
    assert message["jsonrpc"] == "2.0"
    method = message.get("method")
    model = os.environ.get("LSP_META_MODEL")
    asked = str(method or requests.get(message.get("id", ""), ""))
    if model and asked and asked in types.METHOD_TO_TYPES:
        assert lsp_model.read(model).wrong(message, asked) == []
    if method is not None:
        kind = types.METHOD_TO_TYPES[method][0]
    elif "error" in message:
        kind = types.ResponseErrorMessage
    else:
        kind = types.METHOD_TO_TYPES[requests[message["id"]]][1]
    if requests.get(message.get("id", "")) == "textDocument/codeAction" and "result" in message:
        # The converter takes an action that has a command for a command.
        for action in message["result"]:
            assert _is_kept(action, CONVERTER.unstructure(CONVERTER.structure(action, types.CodeAction)))
        message = {**message, "result": None}
    again = CONVERTER.unstructure(CONVERTER.structure(message, kind))
    for name, value in message.items():
        assert _is_kept(value, again.get(name)), (name, value, again.get(name))


def _is_kept(value: Any, again: Any) -> bool:
    if isinstance(value, dict) and isinstance(again, dict):
        return all(_is_kept(inner, again.get(name)) for name, inner in value.items())
    if isinstance(value, list) and isinstance(again, list):
        return len(value) == len(again) and all(map(_is_kept, value, again))
    return bool(value == again)


def changed(text: str, edits: list[dict[str, Any]]) -> str:
    """A text after the edits of the protocol, with columns in UTF-16."""
    from trl_lint.editors.server.texts import UTF16, Place, offset_at
    from trl_lint.sources.text import LineIndex

    lines = LineIndex(text)

    def at(place: dict[str, int]) -> int:
        return offset_at(lines, Place(place["line"], place["character"]), UTF16)

    found = sorted(((at(e["range"]["start"]), at(e["range"]["end"]), e["newText"]) for e in edits), reverse=True)
    for start, end, content in found:
        text = text[:start] + content + text[end:]
    return text
