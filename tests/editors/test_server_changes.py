"""What changes around a file that is open: on the disk, in the cells of a notebook, while the project is first read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the language server needs pygls 2")

from lsp_client import Client, uri_of

PUBLISH = {"publishDiagnostics": {"versionSupport": True, "tagSupport": {"valueSet": [1, 2]}}}
PINNED = "from trl import GRPOConfig\n\nGRPOConfig(max_completion_len=8)\n"
MOVED = "from trl import SFTConfig\n\nSFTConfig(output_dir='out', max_seq_length=8)\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("trl==0.18.0\n")
    return tmp_path


def _codes(found: list[dict[str, Any]]) -> list[str]:
    return [one["code"] for one in found]


def _said(client: Client, method: str) -> dict[str, Any]:
    while not (found := [message for message in client.said if message["method"] == method]):
        client.next()
    return dict(found[0]["params"])


def test_the_client_tells_what_changes_on_the_disk(project: Path):
    client = Client({"textDocument": PUBLISH, "workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}})
    (watch,) = _said(client, "client/registerCapability")["registrations"]
    patterns = [one["globPattern"] for one in watch["registerOptions"]["watchers"]]
    assert watch["method"] == "workspace/didChangeWatchedFiles" and any("txt" in pattern for pattern in patterns)
    uri = client.open(project / "train.py", PINNED)
    (before,) = client.published(uri, 1)
    assert before["code"] == "TRL301" and "0.18.0" in before["message"]
    pins = project / "requirements.txt"
    pins.write_text("trl==0.19.1\n")
    client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri_of(pins), "type": 2}]})
    (after,) = client.published(uri, 1)
    assert "0.19.1" in after["message"]
    pins.unlink()
    client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri_of(pins), "type": 3}]})
    (gone,) = client.published(uri, 1)
    assert "0.19.1" not in gone["message"]
    assert client.close() == 0


def test_the_first_scan_is_shown_and_ends(project: Path):
    client = Client({"textDocument": PUBLISH, "window": {"workDoneProgress": True}})
    uri = client.open(project / "train.py", PINNED)
    client.published(uri, 1)
    _said(client, "window/workDoneProgress/create")
    version = client.change(uri, PINNED + "# more\n")
    assert _codes(client.published(uri, version)) == ["TRL301"]
    assert client.close() == 0
    kinds = [message["params"]["value"]["kind"] for message in client.said if message["method"] == "$/progress"]
    assert kinds in ([], ["begin", "end"])  # none where the scan was over before the client had answered
    assert sum(message["method"] == "window/workDoneProgress/create" for message in client.said) == 1


def test_cells_come_go_and_change_their_places(project: Path):
    client = Client({"textDocument": PUBLISH, "notebookDocument": {"synchronization": {}}})
    uri = uri_of(project / "train.ipynb")
    cells = [f"vscode-notebook-cell:{uri[7:]}#{name}" for name in "abc"]
    head, use = "from trl import GRPOConfig\n", "GRPOConfig(max_completion_len=8)\n"

    def text(number: int, content: str) -> dict[str, Any]:
        return {"uri": cells[number], "languageId": "python", "version": 1, "text": content}

    def change(version: int, **array: Any) -> None:
        params = {"notebookDocument": {"uri": uri, "version": version}, "change": {"cells": {"structure": array}}}
        client.tell("notebookDocument/didChange", params)

    document = {"uri": uri, "notebookType": "jupyter-notebook", "version": 1}
    opened = [{"kind": 2, "document": cells[0]}]
    client.tell(
        "notebookDocument/didOpen",
        {"notebookDocument": {**document, "cells": opened}, "cellTextDocuments": [text(0, head)]},
    )
    assert client.published(cells[0], 1) == []
    added = {"start": 1, "deleteCount": 0, "cells": [{"kind": 2, "document": cells[1]}]}
    change(2, array=added, didOpen=[text(1, use)])
    assert _codes(client.published(cells[1], 1)) == ["TRL301"]
    before = {"start": 0, "deleteCount": 0, "cells": [{"kind": 1, "document": cells[2]}]}
    change(3, array=before, didOpen=[{**text(2, "# A title\n"), "languageId": "markdown"}])
    assert _codes(client.published(cells[1], 1)) == ["TRL301"]
    change(4, array={"start": 2, "deleteCount": 1, "cells": []}, didClose=[{"uri": cells[1]}])
    assert client.published(cells[1]) == []
    assert client.close() == 0


def test_a_name_that_will_go_is_marked_and_has_its_successor(project: Path):
    """The protocol's mark of what is deprecated, and the fix that writes the new name."""
    client = Client({"textDocument": PUBLISH})
    (project / "trl-lint.toml").write_text("hints = true\n")
    uri = client.open(project / "train.py", MOVED)
    found = [one for one in client.published(uri, 1) if one["code"] in ("TRL302", "TRL303")]
    assert [one["tags"] for one in found] == [[2]] and "max_length" in found[0]["message"]
    actions = client.ask(
        "textDocument/codeAction",
        {"textDocument": {"uri": uri}, "range": found[0]["range"], "context": {"diagnostics": []}},
    )
    edits = [one["edit"] for one in actions if "edit" in one and "max_length" in str(one["edit"])]
    assert edits and client.close() == 0


def test_settings_count_as_they_are_typed(project: Path):
    client = Client({"textDocument": PUBLISH})
    settings = project / "pyproject.toml"
    settings.write_text('[project]\nname = "mine"\n')
    uri = client.open(project / "train.py", PINNED)
    assert _codes(client.published(uri, 1)) == ["TRL301"]
    own = client.open(settings, language="toml")
    client.change(own, '[project]\nname = "mine"\n[tool.trl-lint]\nignore = ["TRL301"]\n')
    assert client.published(uri, 1) == []
    client.change(own, '[project]\nname = "mine"\n[tool.trl-lint]\nignore = ["TRL\n')  # in the midst of a word
    version = client.change(uri, PINNED + "\n")
    assert client.published(uri, version) == []
    client.tell("textDocument/didClose", {"textDocument": {"uri": own}})
    assert _codes(client.published(uri, version)) == ["TRL301"]
    assert not any(message["method"] == "window/showMessage" for message in client.said)
    assert client.close() == 0


def test_an_idle_server_sees_what_nobody_tells(project: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("_PAUSE_SECONDS", "_IDLE_SECONDS"):
        monkeypatch.setattr(f"trl_lint.editors.server.session.{name}", 0.05)
    client = Client({"textDocument": PUBLISH})
    uri = client.open(project / "train.py", PINNED)
    assert "0.18.0" in client.published(uri, 1)[0]["message"]
    for version in ("0.19.1", "0.20.0"):  # nothing is asked meanwhile
        (project / "requirements.txt").write_text(f"trl=={version}\n")
        assert version in client.published(uri, 1)[0]["message"]
    assert client.close() == 0
