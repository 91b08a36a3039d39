"""python-lsp-server over standard input and output, as an editor speaks to it, with flake8 as its linter."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from documents import ROOT, blocks

pytest.importorskip("pylsp", reason="python-lsp-server is in the extra `test`")

FAULT = """import torch
from accelerate import Accelerator


def mask(ids: torch.Tensor):
    return torch.arange(ids.size(1)) <= ids
"""
PINNED = "from trl import GRPOConfig\n\nconfig = GRPOConfig(output_dir='out', max_completion_len=8)\n"


def settings() -> dict[str, Any]:
    """Those of docs/editors.md, but with the flake8 of these tests, which is fallen back to."""
    page = (ROOT / "docs" / "editors.md").read_text("utf-8")
    (shown,) = (json.loads(block.content) for block in blocks(page) if block.title == "pylsp-settings.json")
    shown["pylsp"]["plugins"]["flake8"]["executable"] = "no-flake8-on-the-path"
    return shown  # type: ignore[no-any-return]


class Server:
    """A server at work in a folder."""

    def __init__(self, root: Path) -> None:
        command = [sys.executable, "-m", "pylsp"]
        self.process = subprocess.Popen(
            command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.timer = threading.Timer(120, self.process.kill)  # a server that says nothing fails the test, in the end
        self.timer.start()
        self.send("initialize", {"processId": None, "rootUri": root.as_uri(), "capabilities": {}}, number=1)
        self.wait_for(lambda message: message.get("id") == 1)
        self.send("initialized", {})
        self.send("workspace/didChangeConfiguration", {"settings": settings()})

    def send(self, method: str, params: dict[str, Any], number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        body = json.dumps(message if number is None else {**message, "id": number}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def wait_for(self, is_it: Any) -> dict[str, Any]:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while line := stream.readline().strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            assert length, "the server is gone"
            message: dict[str, Any] = json.loads(stream.read(length))
            if is_it(message):
                return message

    def diagnostics(self, path: Path, text: str) -> list[tuple[int, int, str]]:
        """Line, column (both from 0) and code of what the server says about a buffer."""
        uri = path.as_uri()
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.send("textDocument/didOpen", {"textDocument": item})
        said = self.wait_for(
            lambda m: m.get("method") == "textDocument/publishDiagnostics" and m["params"]["uri"] == uri
        )
        found = [
            (d["range"]["start"], d) for d in said["params"]["diagnostics"] if str(d.get("code")).startswith("TRL")
        ]
        return [(start["line"], start["character"], d["code"]) for start, d in found]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "sub").mkdir()
    (root / "requirements.txt").write_text("trl==0.18.0\n")
    running = Server(root)
    yield running
    running.timer.cancel()
    running.process.terminate()
    running.process.wait(20)


@pytest.mark.usefixtures("registered")
def test_buffers_of_the_project_and_others(server: Server, tmp_path: Path):
    root = tmp_path / "project"
    (root / "train.py").write_text("x = 1\n")
    assert server.diagnostics(root / "train.py", "import os\n" + FAULT) == [(6, 11, "TRL103")]
    assert server.diagnostics(root / "sub" / "new.py", PINNED) == [(2, 38, "TRL301")]
    assert server.diagnostics(tmp_path / "outside.py", FAULT) == [(5, 11, "TRL103")]
    assert server.diagnostics(root / "empty.py", "") == []
    assert server.diagnostics(root / "no_line_end.py", FAULT.rstrip("\n")) == [(5, 11, "TRL103")]
