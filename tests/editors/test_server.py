"""The language server: what it shows of open files, and that no client brings it down."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import SCRIPT

pytest.importorskip("pygls", reason="the language server needs pygls 2")

from lsp_client import Client, span, uri_of

from trl_lint.editors.server.texts import UTF8, UTF16, UTF32, Place, offset_at, place_at
from trl_lint.sources.text import LineIndex

ALL = {
    "textDocument": {
        "publishDiagnostics": {
            "relatedInformation": True,
            "versionSupport": True,
            "codeDescriptionSupport": True,
            "tagSupport": {"valueSet": [1, 2]},
        }
    }
}
PULL = {"textDocument": {"diagnostic": {}}, "workspace": {"diagnostics": {"refreshSupport": True}}}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path


@pytest.fixture
def client(project: Path) -> Iterator[Client]:
    found = Client(ALL)
    yield found
    found.hang_up()


def _codes(diagnostics: list[dict[str, Any]]) -> list[str]:
    return [one["code"] for one in diagnostics]


def test_a_finding_is_pushed_with_its_page(client: Client, project: Path):
    uri = client.open(project / "train.py")
    (found,) = client.published(uri, 1)
    assert (found["code"], found["source"], found["range"]["start"]["line"]) == ("TRL103", "trl-lint", 5)
    assert found["codeDescription"]["href"].endswith(
        "/TRL103-" + found["codeDescription"]["href"].rpartition("TRL103-")[2]
    )
    assert client.close() == 0


def test_unsaved_changes_count(client: Client, project: Path):
    uri = client.open(project / "train.py")
    client.published(uri, 1)
    version = client.change(uri, "import trl\n")
    assert client.published(uri, version) == []
    version = client.change(uri, SCRIPT)
    assert _codes(client.published(uri, version)) == ["TRL103"]


def test_a_large_file_is_answered_in_two_steps(client: Client, project: Path):
    """What follows values through functions comes later; what it found last stays where its line has gone."""
    path = project / "train.py"
    text = "# a long remark about nothing\n" * 600 + SCRIPT
    path.write_text(text)
    uri = client.open(path)
    (before,) = client.published(uri, 1)
    version = client.change(uri, f"import trl\n\nprint(trl.NoSuchName)\n{text}")
    first, second = client.published(uri, version), client.published(uri, version)
    assert [found["code"] for found in first] == [found["code"] for found in second]
    assert first[-1]["range"]["start"]["line"] == before["range"]["start"]["line"] + 3
    assert client.close() == 0


def test_a_change_of_one_file_shows_in_another_that_is_open(client: Client, project: Path):
    (project / "requirements.txt").write_text("trl==0.20.0\n")
    script = project / "grpo.py"
    script.write_text("from trl import GRPOConfig\nGRPOConfig(max_prompt_length=1, nosuchargument=2)\n")
    uri = client.open(script)
    before = client.published(uri, 1)
    assert before
    pins = client.open(project / "requirements.txt", language="pip-requirements")
    client.published(pins, 1)
    client.change(pins, "trl==0.12.0\n")
    assert client.published(uri, 1) != before


def test_a_closed_file_is_shown_no_more(client: Client, project: Path):
    uri = client.open(project / "train.py")
    client.published(uri, 1)
    client.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.published(uri) == []


def test_settings_are_read_again_when_they_are_saved(client: Client, project: Path):
    uri = client.open(project / "train.py")
    client.published(uri, 1)
    (project / "pyproject.toml").write_text('[tool.trl-lint]\nignore = ["TRL103"]\n')
    client.tell("textDocument/didSave", {"textDocument": {"uri": uri}})
    assert client.published(uri, 1) == []


def test_a_client_that_refuses_to_tell_of_changed_files_is_not_relied_on(
    project: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("trl_lint.editors.server.session._PAUSE_SECONDS", 0)
    client = Client({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}, agrees=False)
    uri = client.open(project / "train.py")
    client.published(uri)
    (asked,) = [m["params"]["registrations"][0] for m in client.said if m["method"] == "client/registerCapability"]
    patterns = [one["globPattern"] for one in asked["registerOptions"]["watchers"]]
    assert not any("*" in group for pattern in patterns for group in re.findall(r"{.*?}", pattern))  # eglot 1.9
    (project / "trl-lint.toml").write_text('ignore = ["TRL103"]\n')
    client.change(uri, SCRIPT)
    while client.published(uri):
        pass
    assert client.close() == 0


def test_settings_that_cannot_be_used_are_told_once(client: Client, project: Path):
    (project / "pyproject.toml").write_text("[tool.trl-lint]\nnosuchkey = 1\n")
    uri = client.open(project / "train.py")
    assert client.published(uri, 1) == []
    (told,) = [m["params"] for m in client.said if m["method"] == "window/showMessage"]
    assert "nosuchkey" in told["message"]


def test_a_client_that_pulls_is_not_pushed_to(project: Path):
    client = Client(PULL)
    assert client.server["capabilities"]["diagnosticProvider"]["interFileDependencies"]
    uri = client.open(project / "train.py")
    found = client.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    assert _codes(found["items"]) == ["TRL103"]
    client.change(uri, "import trl\n")
    found = client.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    assert found["items"] == []
    assert client.close() == 0
    assert not [m for m in client.said if m["method"] == "textDocument/publishDiagnostics"]


def test_a_client_that_cannot_be_told_to_pull_again_is_pushed_to(project: Path):
    client = Client({"textDocument": {"diagnostic": {}}})
    assert "diagnosticProvider" not in client.server["capabilities"]
    assert client.published(client.open(project / "train.py"))
    client.hang_up()


def _notebook(project: Path, *cells: str) -> tuple[dict[str, Any], list[str]]:
    uri = uri_of(project / "train.ipynb")
    uris = [f"vscode-notebook-cell:{uri[7:]}#c{number}" for number in range(len(cells))]
    texts = [
        {"uri": cell, "languageId": "python", "version": 1, "text": text}
        for cell, text in zip(uris, cells, strict=True)
    ]
    document = {
        "uri": uri,
        "notebookType": "jupyter-notebook",
        "version": 1,
        "cells": [{"kind": 2, "document": cell} for cell in uris],
    }
    return {"notebookDocument": document, "cellTextDocuments": texts}, uris


def test_a_notebook_shows_its_findings_in_its_cells(project: Path):
    client = Client({**ALL, "notebookDocument": {"synchronization": {}}})
    assert client.server["capabilities"]["notebookDocumentSync"]
    head, _, tail = SCRIPT.partition("\n")
    opened, (first, second) = _notebook(project, head + "\n", tail)
    client.tell("notebookDocument/didOpen", opened)
    assert client.published(first, 1) == []
    (found,) = client.published(second, 1)
    assert (found["code"], found["range"]["start"]["line"]) == ("TRL103", 4)
    change = {"document": {"uri": second, "version": 2}, "changes": [{"text": "pass\n"}]}
    document = {"uri": opened["notebookDocument"]["uri"], "version": 2}
    cells = {"cells": {"textContent": [change]}}
    client.tell("notebookDocument/didChange", {"notebookDocument": document, "change": cells})
    assert client.published(second, 2) == []
    assert client.close() == 0


@pytest.mark.parametrize("encoding", [UTF8, UTF16, UTF32])
def test_columns_count_as_agreed(project: Path, encoding: str):
    client = Client({**ALL, "general": {"positionEncodings": [encoding]}})
    assert client.server["capabilities"]["positionEncoding"] == encoding
    before = "x = '\U0001f600é'; "
    line = SCRIPT.splitlines()[5]
    uri = client.open(project / "train.py", SCRIPT.replace(line, line.replace("accelerator", "accelerator")))
    plain = client.published(uri, 1)[0]["range"]["start"]["character"]
    columns = {UTF8: 10, UTF16: 7, UTF32: 6}
    indent = len(line) - len(line.lstrip())
    version = client.change(uri, before, (5, indent, 5, indent))
    (found,) = client.published(uri, version)
    assert found["range"]["start"]["character"] == plain + len("x = ''; ") + columns[encoding] - 4 + 0 * indent
    client.hang_up()


@pytest.mark.parametrize("encoding", [UTF8, UTF16, UTF32])
def test_every_place_of_a_text_leads_back_to_it(encoding: str):
    lines = LineIndex("a\x0cb\r\né\U0001f600x\r\ud800y\n\n\u2028z")
    for offset in range(len(lines.text) + 1):
        if lines.text[offset - 1 : offset + 1] != "\r\n":
            assert offset_at(lines, place_at(lines, offset, encoding), encoding) == offset
    assert offset_at(lines, Place(99, 99), encoding) == len(lines.text)


# -- hostile clients --------------------------------------------------------------------------------------------------


def test_nothing_that_a_client_sends_ends_the_server(client: Client, project: Path):
    uri = client.open(project / "train.py")
    client.published(uri, 1)
    here = {"textDocument": {"uri": uri}}
    client.raw(b"no json")
    client.raw(b"[" * 100_000)
    client.raw(b"{}")
    client.raw(b'"text"')
    client.raw(b'{"jsonrpc": "1.0", "id": 1, "method": "shutdown"}')
    client.tell("no/such/method", {})
    client.tell(
        "textDocument/didChange", {"textDocument": {"uri": "file:///not/open.py", "version": 1}, "contentChanges": []}
    )
    client.tell("textDocument/didChange", {"textDocument": "?"})
    client.tell("textDocument/didClose", {"textDocument": {"uri": "file:///not/open.py"}})
    client.tell("notebookDocument/didClose", {"notebookDocument": {"uri": "x:y"}, "cellTextDocuments": []})
    client.tell("textDocument/didSave", {"textDocument": {"uri": "untitled:one"}})
    client.tell("$/cancelRequest", {"id": 4711})
    for odd in (
        "",
        "::",
        "file:",
        "file:///\0.py",
        "http://[",
        "file://host/x.py",
        "untitled:Untitled-1",
        "file:///x/" + "a" * 5000 + ".py",
    ):
        item = {"uri": odd, "languageId": "python", "version": -3, "text": SCRIPT}
        client.tell("textDocument/didOpen", {"textDocument": item})
    client.change(uri, "?", (900, 7, 3, 10_000))
    earlier = {"uri": uri, "version": -7}
    client.tell("textDocument/didChange", {"textDocument": earlier, "contentChanges": [{"text": "?"}]})
    again = {"processId": None, "rootUri": None, "capabilities": {}}
    assert client.answer(client.begin("initialize", again))["error"]["code"] == -32600
    client.tell("initialized", {})
    assert client.answer(client.begin("no/such/request", {}))["error"]["code"] == -32601
    assert client.answer(client.begin("textDocument/codeAction", {**here, "range": 3}))["error"]["code"] == -32602
    version = client.change(uri, SCRIPT)
    assert _codes(client.published(uri, version)) == ["TRL103"]
    assert client.close() == 0


def test_a_request_may_be_taken_back(client: Client, project: Path):
    uri = client.open(project / "train.py")
    numbers = [
        client.begin(
            "textDocument/codeAction",
            {"textDocument": {"uri": uri}, "range": span(0, 0, 9, 0), "context": {"diagnostics": []}},
        )
        for _ in range(20)
    ]
    for number in numbers:
        client.tell("$/cancelRequest", {"id": number})
    assert {client.answer(number).get("error", {}).get("code") for number in numbers} <= {None, -32800}
    assert client.close() == 0


def test_a_file_outside_of_the_workspace_is_checked_too(project: Path, tmp_path_factory: pytest.TempPathFactory):
    client = Client(rootUri=project.as_uri(), workspaceFolders=[{"uri": project.as_uri(), "name": "project"}])
    uri = client.open(tmp_path_factory.mktemp("elsewhere") / "train.py", SCRIPT)
    assert _codes(client.published(uri)) == ["TRL103"]
    assert client.close() == 0


def test_a_huge_file_is_answered_for(client: Client, project: Path):
    uri = client.open(project / "train.py", "x = 1\n" * 400_000)
    found = client.published(uri, 1)
    assert _codes(found) in ([], ["TRL001"])


def test_a_client_that_goes_without_a_word_ends_the_server(project: Path):
    client = Client()
    client.open(project / "train.py")
    client.hang_up()
    assert client.status == 1


def test_a_server_that_is_to_go_says_so_in_its_status(project: Path):
    client = Client()
    client.tell("exit", None)
    client._thread.join(60)
    assert client.status == 1


def test_texts_are_json(client: Client):
    assert json.dumps(client.server)
