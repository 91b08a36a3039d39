"""Findings in the words of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from lsprotocol import types
from pygls.uris import from_fs_path

from trl_lint.editors.server.desk import Checked
from trl_lint.editors.server.texts import Place, Span, View
from trl_lint.finding import Edit, Finding, Location
from trl_lint.fixes.apply import by_path, in_line_ends_of
from trl_lint.reports import page_of
from trl_lint.sources import Files, SourceError

SOURCE = "trl-lint"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}
_TAGS = {"TRL002": types.DiagnosticTag.Unnecessary, "TRL303": types.DiagnosticTag.Deprecated}

ViewOf = Callable[[str], "View | None"]


class Can:
    """What a client understands of what a server may send."""

    def __init__(self, said: types.ClientCapabilities) -> None:
        document = said.text_document
        publish = document.publish_diagnostics if document else None
        pull = document.diagnostic if document else None
        workspace, window = said.workspace, said.window
        refresh = workspace.diagnostics if workspace else None
        watch = workspace.did_change_watched_files if workspace else None
        edit = workspace.workspace_edit if workspace else None
        action = document.code_action if document else None
        # Whoever pulls and is pushed to shows everything twice; only a client that can be told to pull again sees in
        # one file what was changed in another.
        self.pull = bool(pull and refresh and refresh.refresh_support)
        self.related = bool(publish and publish.related_information)
        self.links = bool(publish and publish.code_description_support)
        self.tags = bool(publish and publish.tag_support)
        self.versions = bool(publish and publish.version_support)
        self.watch = bool(watch and watch.dynamic_registration)
        self.progress = bool(window and window.work_done_progress)
        self.show = bool(window and window.show_document and window.show_document.support)
        self.versioned_edits = bool(edit and edit.document_changes)
        self.resolve = bool(action and action.resolve_support and "edit" in action.resolve_support.properties)
        self.literals = bool(action and action.code_action_literal_support)
        self.lens_refresh = bool(workspace and workspace.code_lens and workspace.code_lens.refresh_support)
        if pull:
            self.related = self.related or bool(pull.related_information)
            self.links = self.links or bool(pull.code_description_support)
            self.tags = self.tags or bool(pull.tag_support)


def uri_of(path: str) -> str:
    return from_fs_path(path) or ""


def position(place: Place) -> types.Position:
    return types.Position(place.line, place.column)


def range_of(span: Span) -> types.Range:
    return types.Range(position(span.start), position(span.end))


def place(found: types.Position) -> Place:
    return Place(found.line, found.character)


@cache
def url_of(code: str) -> str:
    """The address of a rule's page, "" where it has none."""
    page = page_of(code)
    return page.url if page else ""


class Writer:
    """Writes what was found in one state of the files; `view_of` gives the files that are open."""

    def __init__(self, files: Files, view_of: ViewOf, can: Can, encoding: str) -> None:
        self._files = files
        self._view_of = view_of
        self._can = can
        self._encoding = encoding
        self._views: dict[str, View | None] = {}

    def view(self, path: str) -> View | None:
        """A file as it is seen; None where it cannot be read."""
        if path not in self._views:
            self._views[path] = self._view_of(path) or self._read(path)
        return self._views[path]

    def _read(self, path: str) -> View | None:
        try:
            file = self._files.own(path)
            return View(path, uri_of(path), file.text, None, self._encoding)
        except (OSError, SourceError):
            return None

    def span(self, location: Location) -> Span:
        view = self.view(location.path)
        if view is None:
            return Span(uri_of(location.path), Place(0, 0), Place(0, 0))
        return view.span(location.start, location.end)

    def diagnostic(self, finding: Finding) -> tuple[str, types.Diagnostic]:
        """A finding, and the document that it is shown in."""
        span = self.span(finding.location)
        tag, url = _TAGS.get(finding.code), url_of(finding.code)
        return span.uri, types.Diagnostic(
            range=range_of(span),
            message=finding.message,
            severity=_SEVERITIES[finding.severity],
            code=finding.code,
            code_description=types.CodeDescription(url) if url and self._can.links else None,
            source=SOURCE,
            tags=[tag] if tag is not None and self._can.tags else None,
            related_information=self._related(finding) if self._can.related else None,
        )

    def _related(self, finding: Finding) -> list[types.DiagnosticRelatedInformation] | None:
        found = []
        for other in finding.related:
            span = self.span(other)
            where = types.Location(span.uri, range_of(span))
            found.append(types.DiagnosticRelatedInformation(where, other.message or "see here"))
        return found or None

    def workspace_edit(self, edits: Iterable[Edit]) -> types.WorkspaceEdit | None:
        """Edits of files for a client; None where one of the files cannot be read."""
        found: dict[str, list[types.TextEdit]] = {}
        versions: dict[str, int | None] = {}
        for path, group in by_path(edits).items():
            view = self.view(path)
            if view is None:
                return None
            for edit in in_line_ends_of(self._files.own(path).text, group):
                span = view.span(edit.start, edit.end)
                found.setdefault(span.uri, []).append(types.TextEdit(range_of(span), view.written(edit.content)))
                versions[span.uri] = view.versions.get(span.uri)
        if not self._can.versioned_edits:
            return types.WorkspaceEdit(changes=dict(found))
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, versions[uri]), list(group))
                for uri, group in found.items()
            ]
        )


def diagnostics(checked: Checked, writer: Writer, uris: Sequence[str]) -> dict[str, list[types.Diagnostic]]:
    """The diagnostics of a file by the documents that it is made of, also of those that have none."""
    found: dict[str, list[types.Diagnostic]] = {uri: [] for uri in uris}
    for finding in checked.findings:
        uri, diagnostic = writer.diagnostic(finding)
        if uri in found:
            found[uri].append(diagnostic)
    return found
