"""How long an editor waits: from an edit of a file to its diagnostics.

    python -m benchmarks.server_latency TREE FILE [FILE...] [--edits 300]

Starts `trl-lint server` as an editor does, opens one file after the other and edits it at random, also so that it
cannot be parsed: each edit is sent when the diagnostics of the one before are there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.edits import random_edit


class Server:
    """A server process and what it has sent."""

    def __init__(self, tree: Path) -> None:
        command = [sys.executable, "-m", "trl_lint", "server"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tree)
        capabilities = {"textDocument": {"publishDiagnostics": {"versionSupport": True}}}
        root = tree.as_uri()
        asked = {"processId": os.getpid(), "rootUri": root, "capabilities": capabilities}
        self.send({"id": 0, "method": "initialize", "params": asked})
        while self.read().get("id") != 0:
            pass
        self.send({"method": "initialized", "params": {}})

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        stream = self.process.stdout
        assert stream is not None
        length = 0
        while (header := stream.readline()).strip():
            name, _, value = header.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        if not length:
            raise SystemExit("the server has ended")
        message: dict[str, Any] = json.loads(stream.read(length))
        return message

    def published(self, uri: str, version: int) -> float:
        """When the diagnostics of a version of a document come."""
        while True:
            message = self.read()
            params = message.get("params", {})
            is_it = message.get("method") == "textDocument/publishDiagnostics"
            if is_it and (params["uri"], params.get("version")) == (uri, version):
                return time.perf_counter()

    def open(self, path: Path, text: str) -> float:
        """Open a file; the seconds until its diagnostics come."""
        began = time.perf_counter()
        item = {"uri": path.as_uri(), "languageId": "", "version": 1, "text": text}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": item}})
        return self.published(path.as_uri(), 1) - began

    def change(self, path: Path, version: int, edit: tuple[int, int, str], text: str) -> float:
        """Replace a stretch of a text; the seconds until its diagnostics come."""
        start, end, content = edit
        where = {"start": place_of(text, start), "end": place_of(text, end)}
        params = {
            "textDocument": {"uri": path.as_uri(), "version": version},
            "contentChanges": [{"range": where, "text": content}],
        }
        began = time.perf_counter()
        self.send({"method": "textDocument/didChange", "params": params})
        return self.published(path.as_uri(), version) - began

    def memory(self) -> float:
        """The most memory that the process has had, in megabytes; 0 where the system does not say."""
        try:
            text = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return 0.0
        return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("VmHWM")), 0.0)

    def close(self) -> None:
        self.send({"id": 1, "method": "shutdown"})
        self.send({"method": "exit"})
        self.process.wait(30)


def place_of(text: str, offset: int) -> dict[str, int]:
    """A place as the protocol names it, in UTF-16."""
    line_start = text.rfind("\n", 0, offset) + 1
    column = len(text[line_start:offset].encode("utf-16-le")) // 2
    return {"line": text.count("\n", 0, offset), "character": column}


def measure(tree: Path, paths: list[Path], edits: int, seed: int) -> dict[str, Any]:
    """Latencies in milliseconds. Every tenth edit brings the file back to what is on disk."""
    chance = random.Random(seed)
    server = Server(tree)
    found: dict[str, Any] = {"tree": tree.name, "files": {}}
    for path in paths:
        text = original = path.read_text("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        opened = server.open(path, text)
        taken = []
        for number in range(edits):
            edit = (0, len(text), original) if number % 10 == 9 else random_edit(text, chance)
            taken.append(server.change(path, number + 2, edit, text))
            text = text[: edit[0]] + edit[2] + text[edit[1] :]
        found["files"][str(path.relative_to(tree))] = {
            "bytes": path.stat().st_size,
            "first_ms": round(opened * 1000),
            **_summary(taken),
        }
    found["memory_mb"] = round(server.memory())
    server.close()
    return found


def _summary(taken: list[float]) -> dict[str, float]:
    ordered, last = sorted(taken), len(taken) - 1
    at = {"median_ms": 0.5, "p95_ms": 0.95, "max_ms": 1.0}
    return {name: round(ordered[min(last, int(len(taken) * part))] * 1000, 1) for name, part in at.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how long an editor waits for the language server.")
    parser.add_argument("tree", type=Path)
    parser.add_argument("files", nargs="+", help="relative to the tree")
    parser.add_argument("--edits", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    tree = args.tree.resolve()
    print(json.dumps(measure(tree, [tree / name for name in args.files], args.edits, args.seed), indent=2))


if __name__ == "__main__":
    main()
