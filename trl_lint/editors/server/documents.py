"""The documents that a client has open: their texts and versions, and the cells of its notebooks."""

from __future__ import annotations

import os
from typing import Any

from lsprotocol import types
from pygls.uris import to_fs_path

from trl_lint.editors.server.texts import Cell, Change, NotebookView, View, changed
from trl_lint.editors.server.wire import place
from trl_lint.project.discovery import is_source


class _Text:
    def __init__(self, item: types.TextDocumentItem) -> None:
        self.text = item.text
        self.version = item.version
        self.language = item.language_id


class _Notebook:
    def __init__(self, path: str, item: types.NotebookDocument) -> None:
        self.path = path
        self.metadata: Any = item.metadata
        self.cells = list(item.cells)


class Documents:
    """Open documents by their addresses. What no file stands behind, or no rule reads, is kept and has no path."""

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self._texts: dict[str, _Text] = {}
        self._notebooks: dict[str, _Notebook] = {}
        self._notebook_of: dict[str, str] = {}  # by the address of a cell
        self._uris: dict[str, str] = {}  # by path

    # -- asking ---------------------------------------------------------------------------------------------------

    def path_of(self, uri: str) -> str | None:
        """The file that a document belongs to, if it is open and some rule may read it."""
        owner = self._notebook_of.get(uri)
        if owner is not None:
            return self._notebooks[owner].path
        path = path_of_uri(uri)
        return path if path is not None and self._uris.get(path) == uri else None

    def view(self, path: str) -> View | None:
        """An open file as it is now."""
        uri = self._uris.get(path)
        if uri is None:
            return None
        notebook = self._notebooks.get(uri)
        if notebook is not None:
            return NotebookView(path, self._cells(notebook), notebook.metadata, self.encoding)
        text = self._texts[uri]
        return View(path, uri, text.text, text.version, self.encoding)

    def version(self, uri: str) -> int | None:
        found = self._texts.get(uri)
        return None if found is None else found.version

    def open_paths(self) -> list[str]:
        return list(self._uris)

    def _cells(self, notebook: _Notebook) -> list[Cell]:
        found = []
        for cell in notebook.cells:
            text = self._texts.get(cell.document)
            is_code = cell.kind == types.NotebookCellKind.Code
            language = text.language if text is not None else "python"
            content, version = (text.text, text.version) if text is not None else ("", None)
            found.append(Cell(cell.document, is_code, language, content, version))
        return found

    # -- what a client says; each returns the path of the file that is another now ----------------------------------

    def open(self, item: types.TextDocumentItem) -> str | None:
        self._texts[item.uri] = _Text(item)
        path = path_of_uri(item.uri)
        if path is None or item.uri in self._notebook_of:
            return None
        self._uris[path] = item.uri
        return path

    def change(self, params: types.DidChangeTextDocumentParams) -> str | None:
        text = self._texts.get(params.text_document.uri)
        if text is None:
            return None  # nobody opened it
        text.text = changed(text.text, map(_change, params.content_changes), self.encoding)
        text.version = params.text_document.version
        return self.path_of(params.text_document.uri)

    def close(self, uri: str) -> str | None:
        path = self.path_of(uri)
        if self._texts.pop(uri, None) is None or uri in self._notebook_of or path is None:
            return None
        del self._uris[path]
        return path

    def open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> str | None:
        item = params.notebook_document
        for cell in params.cell_text_documents:
            self._texts[cell.uri] = _Text(cell)
        path = path_of_uri(item.uri)
        if path is None:
            return None
        self._notebooks[item.uri] = _Notebook(path, item)
        self._uris[path] = item.uri
        self._notebook_of.update((cell.document, item.uri) for cell in item.cells)
        return path

    def change_notebook(self, params: types.DidChangeNotebookDocumentParams) -> tuple[str | None, list[str]]:
        """Also the addresses of the cells that are gone."""
        notebook = self._notebooks.get(params.notebook_document.uri)
        if notebook is None:
            return None, []
        gone: list[str] = []
        if params.change.metadata is not None:
            notebook.metadata = params.change.metadata
        cells = params.change.cells
        if cells is not None:
            if cells.structure is not None:
                gone = self._restructure(notebook, params.notebook_document.uri, cells.structure)
            for each in cells.data or ():
                notebook.cells = [each if each.document == cell.document else cell for cell in notebook.cells]
            for content in cells.text_content or ():
                text = self._texts.get(content.document.uri)
                if text is not None:
                    text.text = changed(text.text, map(_change, content.changes), self.encoding)
                    text.version = content.document.version
        return notebook.path, gone

    def _restructure(
        self, notebook: _Notebook, uri: str, structure: types.NotebookDocumentCellChangeStructure
    ) -> list[str]:
        array = structure.array
        for item in structure.did_open or ():
            self._texts[item.uri] = _Text(item)
        notebook.cells[array.start : array.start + array.delete_count] = array.cells or []
        self._notebook_of.update((cell.document, uri) for cell in notebook.cells)
        gone = [closed.uri for closed in structure.did_close or ()]
        for cell in gone:
            self._texts.pop(cell, None)
            self._notebook_of.pop(cell, None)
        return gone

    def close_notebook(self, params: types.DidCloseNotebookDocumentParams) -> tuple[str | None, list[str]]:
        """Also the addresses of its cells."""
        notebook = self._notebooks.pop(params.notebook_document.uri, None)
        cells = [cell.uri for cell in params.cell_text_documents]
        if notebook is not None:
            cells = list(dict.fromkeys([*cells, *(cell.document for cell in notebook.cells)]))
            self._uris.pop(notebook.path, None)
        for uri in cells:
            self._texts.pop(uri, None)
            self._notebook_of.pop(uri, None)
        return None if notebook is None else notebook.path, cells


def path_of_uri(uri: str) -> str | None:
    """The absolute path of a file that some reader understands; None for anything else."""
    try:
        path = to_fs_path(uri)
    except ValueError:
        return None
    if not path or "\0" in path:
        return None
    path = os.path.abspath(path)
    return path if is_source(path) else None


def _change(event: types.TextDocumentContentChangeEvent) -> Change:
    if isinstance(event, types.TextDocumentContentChangePartial):
        return Change(place(event.range.start), place(event.range.end), event.text)
    return Change(None, None, event.text)
