"""The histories of `histories.py` with the language server between.

What is open is told as a client tells it: ranges in UTF-16, each of the stretch that has changed. The diagnostics are
compared with those that a desk gives which has seen nothing before.
"""

from __future__ import annotations

import json
import random

from lsprotocol import converters, types

from benchmarks.histories import History
from benchmarks.server_latency import place_of
from trl_lint.editors.server.desk import Desk
from trl_lint.editors.server.documents import Documents
from trl_lint.editors.server.texts import UTF16
from trl_lint.editors.server.wire import Can, Writer, diagnostics, uri_of
from trl_lint.sources.text import difference

_CONVERTER = converters.get_converter()
_CAN = Can(_CONVERTER.structure(
    {"textDocument": {"publishDiagnostics": {"relatedInformation": True, "codeDescriptionSupport": True}}},
    types.ClientCapabilities,
))  # fmt: skip


class Served(History):
    """A history of which a server is told."""

    def __init__(self, folder: str, chance: random.Random) -> None:
        super().__init__(folder, chance)
        self.documents = Documents(UTF16)
        self.said = {"select": ("ALL",), "hints": True}
        self.desk = Desk(self.said)
        self.texts: dict[str, str] = {}
        self.version = 1

    def compare(self, asked: list[list[str]]) -> None:
        for path in [*self.texts, *self.open]:
            self._tell(path)
        self.desk.look_again()
        fresh = Desk(self.said)
        fresh.put(self.desk.contents)
        for path in self.documents.open_paths():
            if [path] not in asked:
                continue
            self.checks += 1
            kept, new = self._diagnostics(self.desk, path), self._diagnostics(fresh, path)
            if kept != new:
                self.wrong.append(f"{self.done[-4:]}: {path}: {sorted({*kept} ^ {*new})[:3]}")

    def _tell(self, path: str) -> None:
        """Say what has become of a file since it was told of last."""
        uri, before = uri_of(path), self.texts.get(path)
        if path not in self.open:
            del self.texts[path]
            if self.documents.close(uri) is not None:
                self.desk.put({path: None})
            return
        text = self.texts[path] = self._content(path).decode("utf-8", "replace")
        self.version += 1
        if before is None:
            self._take(self.documents.open(types.TextDocumentItem(uri, "", self.version, text)), text)
        elif (changed := difference(before, text)) is not None:
            start, end, content = changed
            first, last = (types.Position(**place_of(before, offset)) for offset in (start, end))
            change = types.TextDocumentContentChangePartial(types.Range(first, last), content)
            document = types.VersionedTextDocumentIdentifier(self.version, uri)
            self._take(self.documents.change(types.DidChangeTextDocumentParams(document, [change])), text)

    def _take(self, path: str | None, text: str) -> None:
        view = self.documents.view(path) if path is not None else None
        if path is None or view is None:
            return
        self.desk.put({path: view.data})
        # No place of the protocol lies between the two halves of a line end.
        if "\r" not in text and view.data.decode() != text:
            self.wrong.append(f"{path}: the text is another one than the client has")

    def _diagnostics(self, desk: Desk, path: str) -> list[str]:
        checked, view = desk.check(path), self.documents.view(path)
        assert view is not None
        writer = Writer(checked.files, self.documents.view, _CAN, UTF16)
        found = diagnostics(checked, writer, view.uris)
        return sorted(
            json.dumps(_CONVERTER.unstructure(one), sort_keys=True) for all_ in found.values() for one in all_
        )
