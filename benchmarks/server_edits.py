"""Whether the language server says what a fresh run says, over histories of random edits.

    python -m benchmarks.server_edits [--histories 2000] [--seed 1]

A history opens some files of a fixture and edits them at random, as a client sends it: ranges in UTF-16, some of them
of several lines, some files closed and opened again. After each edit the diagnostics of a random open file are compared
with those that a desk gives which has seen nothing before; at the end those of all. Exits with 1 where two differ.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

from lsprotocol import converters, types

from benchmarks.server_latency import _place, random_edit
from trl_lint.editors.server.desk import Desk
from trl_lint.editors.server.documents import Documents
from trl_lint.editors.server.texts import UTF16
from trl_lint.editors.server.wire import Can, Writer, diagnostics

ROOT = Path(__file__).resolve().parent.parent
_CONVERTER = converters.get_converter()
_CAN = Can(_CONVERTER.structure(
    {"textDocument": {"publishDiagnostics": {"relatedInformation": True, "codeDescriptionSupport": True}}},
    types.ClientCapabilities,
))  # fmt: skip
_MOST_OPEN = 3


class History:
    """A project with some files open, as a server has it."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.chance = chance
        self.paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size < 20_000]
        self.documents = Documents(UTF16)
        self.desk = Desk()
        self.texts: dict[str, str] = {}
        self.version = 1

    def step(self) -> None:
        """Open, close or edit a file."""
        closed = [path for path in self.paths if path.as_uri() not in self.texts]
        if not self.texts or (closed and len(self.texts) < _MOST_OPEN and self.chance.random() < 0.2):
            self._open(self.chance.choice(closed))
        elif len(self.texts) > 1 and self.chance.random() < 0.05:
            self._close(self.chance.choice(sorted(self.texts)))
        else:
            self._edit(self.chance.choice(sorted(self.texts)))

    def _open(self, path: Path) -> None:
        text = path.read_bytes().decode("utf-8", "replace")
        self.texts[path.as_uri()] = text
        self._take(self.documents.open(types.TextDocumentItem(path.as_uri(), "", self.version, text)))

    def _close(self, uri: str) -> None:
        del self.texts[uri]
        path = self.documents.close(uri)
        if path is not None:
            self.desk.put({path: None})

    def _edit(self, uri: str) -> None:
        text = self.texts[uri]
        start, end, content = random_edit(text, self.chance)
        first, last = (types.Position(**_place(text, offset)) for offset in (start, end))
        self.version += 1
        change = types.TextDocumentContentChangePartial(types.Range(first, last), content)
        document = types.VersionedTextDocumentIdentifier(self.version, uri)
        self._take(self.documents.change(types.DidChangeTextDocumentParams(document, [change])))
        self.texts[uri] = text[:start] + content + text[end:]
        view = self.documents.view(path) if (path := self.documents.path_of(uri)) is not None else None
        # No place of the protocol lies between the two halves of a line end.
        if view is not None and "\r" not in text and view.data.decode() != self.texts[uri]:
            raise SystemExit(f"{uri}: the text is another one than the client has")

    def _take(self, path: str | None) -> None:
        view = self.documents.view(path) if path is not None else None
        if path is not None and view is not None:
            self.desk.put({path: view.data})

    def differences(self, every: bool) -> list[str]:
        """Where what is known and what a fresh desk says differ."""
        fresh = Desk()
        fresh.put(self.desk.contents)
        opened = sorted(self.documents.open_paths())
        if not every and opened:
            opened = [self.chance.choice(opened)]
        pairs = ((path, self._said(self.desk, path), self._said(fresh, path)) for path in opened)
        return [f"{path}:\n  kept  {kept}\n  fresh {new}" for path, kept, new in pairs if kept != new]

    def _said(self, desk: Desk, path: str) -> str:
        checked, view = desk.check(path), self.documents.view(path)
        assert view is not None
        writer = Writer(checked.files, self.documents.view, _CAN, UTF16)
        found = diagnostics(checked, writer, view.uris)
        said = [json.dumps(_CONVERTER.unstructure(one), sort_keys=True) for items in found.values() for one in items]
        return "\n".join(sorted(said))


def run(histories: int, seed: int, edits: int = 12) -> list[str]:
    """The differences that some histories come to."""
    chance = random.Random(seed)
    folders = sorted(path for path in (ROOT / "fixtures").glob("TRL*/*") if path.is_dir())
    found: list[str] = []
    before = os.getcwd()
    for number in range(histories):
        origin = chance.choice(folders)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place).resolve() / "project"
            shutil.copytree(origin, folder)
            os.chdir(folder)
            try:
                history = History(folder, random.Random(f"{seed} {number}"))
                for step in range(edits):
                    history.step()
                    said = history.differences(every=step == edits - 1)
                    if said:
                        found += [f"{origin.relative_to(ROOT)}, history {number}, step {step}: {one}" for one in said]
                        break
            finally:
                os.chdir(before)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the language server with fresh runs.")
    parser.add_argument("--histories", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    found = run(args.histories, args.seed)
    print("\n".join(found) or f"{args.histories} histories: the same as a fresh run")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
