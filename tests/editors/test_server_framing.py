"""Whatever the headers of a client say: the server lives, and answers what comes behind them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="the language server needs pygls 2")

from lsp_client import Client

from trl_lint.editors.server.framing import Messages

BODY = b'{"jsonrpc": "2.0", "method": "$/x", "params": {}}'
SIZE = b"%d" % len(BODY)

# A message whose length is not to be had from its header.
BAD = {
    "huge": b"Content-Length: 99999999999\r\n\r\n" + BODY,
    "thousands of digits": b"Content-Length: " + b"9" * 10_000 + b"\r\n\r\n" + BODY,
    "negative": b"Content-Length: -5\r\n\r\n" + BODY,
    "with a sign": b"Content-Length: +%s\r\n\r\n" % SIZE + BODY,
    "no number": b"Content-Length: many\r\n\r\n" + BODY,
    "a part of one": b"Content-Length: 1.5\r\n\r\n" + BODY,
    "empty": b"Content-Length:\r\n\r\n" + BODY,
    "missing": b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n" + BODY,
    "no header": BODY,
    "two that differ": b"Content-Length: 5\r\nContent-Length: %s\r\n\r\n" % SIZE + BODY,
    "nothing": b"Content-Length: 0\r\n\r\n",
    "blank lines": b"\r\n\r\n\n\r\n",
    "a long line": b"x" * 1_000_000 + b"\r\n\r\n",
    "a long line without an end": b"x" * 200_000,
    "bytes that are no text": b"\xff\x00\xfe\r\n\r\n",
}
# One whose length is.
GOOD = {
    "usual": b"Content-Length: %s\r\n\r\n",
    "small letters": b"content-length: %s\r\n\r\n",
    "no blank": b"Content-Length:%s\r\n\r\n",
    "blanks": b"Content-Length: \t%s \r\n\r\n",
    "bare line ends": b"Content-Length: %s\n\n",
    "the type before it": b"Content-Type: x\r\nContent-Length: %s\r\n\r\n",
    "the type behind it": b"Content-Length: %s\r\nContent-Type: x\r\n\r\n",
    "twice the same": b"Content-Length: %s\r\nContent-Length: %s\r\n\r\n",
    "blank lines before it": b"\r\n\r\nContent-Length: %s\r\n\r\n",
}


def bodies(data: bytes) -> list[bytes]:
    messages, found = Messages(io.BytesIO(data)), []
    while header := messages.readline():
        assert header.startswith(b"Content-Length: ") and messages.readline() == b"\r\n"
        found.append(messages.read(int(header.split()[1])))
    return found


@pytest.mark.parametrize("kind", GOOD)
def test_a_length_is_read_as_it_may_be_written(kind: str):
    message = GOOD[kind].replace(b"%s", SIZE) + BODY
    assert bodies(message * 3) == [BODY] * 3


@pytest.mark.parametrize("kind", BAD)
def test_what_follows_a_header_without_a_length_is_read(kind: str):
    good = GOOD["usual"].replace(b"%s", SIZE) + BODY
    assert bodies(good + BAD[kind] + good + good) == [BODY] * 3


def test_a_text_that_ends_too_early_is_none():
    assert bodies(b"Content-Length: 100\r\n\r\nabc") == [b""]


def test_a_server_lives_on(tmp_path: Path):
    client = Client()
    for bad in BAD.values():
        client._to.write(bad)
        client._to.flush()
        client.answer(client.begin("no/such/method", {}))
    assert client.close() == 0
