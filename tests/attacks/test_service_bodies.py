"""What a service sends is bounded after it is unpacked."""

from __future__ import annotations

import asyncio
import gzip
import struct
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from attacks.bombs import deflate_repeated
from attacks.memory import peak_bytes
from backends.remote.loopback_app import served
from sourcelight.core.errors import ProtocolError, SourcelightError, StreamBroken
from sourcelight.core.wire import SseDecoder
from sourcelight.core.wire.sse import MAX_EVENT_LINES

BOMB_BYTES = 512 << 20


def packed(size: int, head: bytes = b"") -> bytes:
    """A head and blanks, by gzip."""
    parts, check, length = [head, *[b" " * (1 << 20)] * (size >> 20)], 0, 0
    for part in parts:
        check, length = zlib.crc32(part, check), length + len(part)
    head_of_gzip, end = b"\x1f\x8b\x08\0\0\0\0\0\2\xff", struct.pack("<II", check, length)
    return head_of_gzip + deflate_repeated(parts, level=9) + end


def answering(body: bytes, kind: str, coding: str) -> Any:
    """An application that answers everything alike."""

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": f"{message['type']}.complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        headers = [(b"content-type", kind.encode())] + [(b"content-encoding", coding.encode())] * bool(coding)
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for start in range(0, len(body), 60_000):
            await send({"type": "http.response.body", "body": body[start : start + 60_000], "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    return app


ASK = """
import warnings; warnings.simplefilter("ignore")
said = []
for url, method, arguments in asks:
    with sourcelight.connect(url, "token", retries=0) as client:
        try:
            getattr(client, method)(*arguments)
        except sourcelight.SourcelightError as error:
            said.append(type(error).__name__ + " " + str(error))
answer = " | ".join(said)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no measure of a child's memory")
def test_answers_that_unfold_to_gigabytes_are_refused(tmp_path: Path) -> None:
    stream = packed(BOMB_BYTES, b"event: matches\ndata: ")
    body = packed(BOMB_BYTES, b"[")
    with (
        served(answering(stream, "text/event-stream", "gzip")) as events,
        served(answering(body, "application/json", "gzip")) as answers,
        served(answering(stream, "text/event-stream", "gzip")) as tools,
        served(answering(gzip.compress(body), "application/json", "gzip, gzip")) as twice,
    ):
        asks = [
            (events, "search", ["x"]),
            (answers, "deepsearch_list", []),
            (answers, "read_file", ["r", "p"]),
            (tools, "read_file", ["r", "p"]),
            (twice, "search", ["x"]),
            (twice, "read_file", ["r", "p"]),
        ]
        peak, answer = peak_bytes(ASK, tmp_path, asks=asks)
    reply = answer.split(" | ")
    assert len(reply) == len(asks)
    assert [text.split()[0] for text in reply] == ["ProtocolError"] * len(asks), reply
    assert peak < 300 << 20, f"{peak:,}"


def repeat_items(items: bytes, size: int, head: bytes, end: bytes) -> bytes:
    return head + items * (size // len(items)) + end


@pytest.mark.skipif(sys.platform == "win32", reason="there is no measure of a child's memory")
def test_millions_of_small_values_are_refused(tmp_path: Path) -> None:
    """20 million empty objects are 60 MB on the wire and 2 GB in memory."""
    size = 60 << 20
    stream = repeat_items(b"{},", size, b'event: progress\ndata: {"skipped":[', b"{}]}\n\nevent: done\ndata: {}\n\n")
    body = repeat_items(b"[],", size, b'{"conversations":[', b"[]]}")
    with (
        served(answering(stream, "text/event-stream", "")) as events,
        served(answering(body, "application/json", "")) as answers,
    ):
        peak, answer = peak_bytes(ASK, tmp_path, asks=[(events, "search", ["x"]), (answers, "deepsearch_list", [])])
    assert answer.count("more than 4,000,000 values at once") == 2, answer
    assert peak < 400 << 20, f"{peak:,}"


@pytest.mark.parametrize("coding", ["", "gzip"])
def test_an_answer_is_read_as_it_was_sent(coding: str) -> None:
    text = b'event: progress\ndata: {"matchCount": 0, "done": true}\n\nevent: done\ndata: {}\n\n'
    body = gzip.compress(text) if coding else text
    with served(answering(body, "text/event-stream", coding)) as url, sl.connect(url, "token", retries=0) as client:
        assert len(client.search("x")) == 0


def test_damaged_gzip_is_said() -> None:
    app = answering(b"no gzip at all", "text/event-stream", "gzip")
    with (
        served(app) as url,
        sl.connect(url, "token", retries=0) as client,
        pytest.raises(StreamBroken, match="damaged gzip"),
    ):
        client.search("x")


class Endless:
    """An application that sends the same portion of an event stream until its client hangs up, a minute at most."""

    def __init__(self, portion: bytes) -> None:
        self._portion = portion
        self.sent_bytes = 0

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await answering(b"", "", "")(scope, receive, send)
            return
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await receive()
        disconnect = asyncio.ensure_future(receive())
        deadline = time.monotonic() + 60.0
        while time.monotonic() < deadline and not disconnect.done():
            await asyncio.sleep(0)
            await send({"type": "http.response.body", "body": self._portion, "more_body": True})
            self.sent_bytes += len(self._portion)


@pytest.mark.parametrize("lines", [b":\n", b":\n\n", b"\n", b":\r", b"id: 1\r\n", b": keep-alive data\n\n"], ids=repr)
@pytest.mark.parametrize(("method", "arguments"), [("search", ["x"]), ("read_file", ["r", "p"])])
def test_comments_without_end_are_refused_early(lines: bytes, method: str, arguments: list[str]) -> None:
    app = Endless(lines * 10_000)
    with served(app) as url, sl.connect(url, "token", retries=0) as client:
        before = time.process_time()
        with pytest.raises(SourcelightError):
            getattr(client, method)(*arguments)
        spent = time.process_time() - before
    # The sockets between hold some megabytes that nobody reads.
    assert app.sent_bytes < 32 << 20, f"{app.sent_bytes:,}"
    assert spent < 20.0, spent


def test_comments_without_end_are_named() -> None:
    app = Endless(b":\n\n" * 10_000)
    with (
        served(app) as url,
        sl.connect(url, "token", retries=0) as client,
        pytest.raises(ProtocolError, match="250,000 lines without an event"),
    ):
        client.search("x")


def blocks(lines: int) -> Iterator[bytes]:
    for _ in range(lines // 1000):
        yield b":\n\n" * 500


def test_the_decoder_reads_a_bounded_number_of_lines_for_an_event() -> None:
    decoder = SseDecoder()
    event = b"event: done\ndata: {}\n\n"
    for _ in range(3):  # each event begins anew
        assert not [event for block in blocks(MAX_EVENT_LINES - 1000) for event in decoder.feed(block)]
        assert len(list(decoder.feed(event))) == 1
    events = (event for block in blocks(MAX_EVENT_LINES + 1000) for event in decoder.feed(block))
    with pytest.raises(ProtocolError, match="lines without an event"):
        list(events)


@pytest.mark.parametrize("size", [1, 2, 7, 60_000])
def test_comments_between_events_do_no_harm(size: int) -> None:
    text = (
        b": ping\n\n" * 50 + b'event: progress\ndata: {"matchCount": 0, "done": true}\n\n: x\nevent: done\ndata: {}\n\n'
    )

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await answering(b"", "", "")(scope, receive, send)
            return
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for start in range(0, len(text), size):
            await send({"type": "http.response.body", "body": text[start : start + size], "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    with served(app) as url, sl.connect(url, "token", retries=0) as client:
        assert client.search("x").status == "complete"
