"""Heads and trailers of requests are bounded, and requests on one connection are told apart."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from server.running_service import BOUND_S, TOKEN, ScriptedEngine, Serve, Service
from sourcelight.core.wire.events import Done
from sourcelight.server.http.run import MAX_HEAD_BYTES

_PIECE = 64 * 1024


def _quiet(*_: object) -> Iterator[Done]:
    yield Done()


@pytest.fixture
def service(serve: Serve) -> Service:
    return serve(ScriptedEngine(_quiet))


def _connected(service: Service) -> socket.socket:
    location = urlsplit(service.url)
    assert location.hostname is not None
    assert location.port is not None
    return socket.create_connection((location.hostname, location.port), timeout=BOUND_S)


def _sent_until_refused(connection: socket.socket, block: bytes, max_bytes: int) -> int:
    """Bytes taken before the service closed the connection; all of `most` when it never did."""
    sent = 0
    try:
        while sent < max_bytes:
            connection.sendall(block)
            sent += len(block)
    except OSError:
        pass
    return sent


@pytest.mark.parametrize("start", [b"GET /healthz?", b"GET /healthz HTTP/1.1\r\nX: ", b"GET /healthz HTTP/1.1\r\n"])
def test_a_head_that_never_ends_is_cut_off(service: Service, start: bytes) -> None:
    block = b"x" * _PIECE if not start.endswith(b"1.1\r\n") else b"a: b\r\n" * (_PIECE // 6)
    maximum = 64 * MAX_HEAD_BYTES
    with _connected(service) as connection:
        connection.sendall(start)
        assert _sent_until_refused(connection, block, maximum) < maximum


def test_trailers_that_never_end_are_cut_off(service: Service) -> None:
    maximum = 64 * MAX_HEAD_BYTES
    head = b"POST /.api/mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
    with _connected(service) as connection:
        connection.sendall(head)
        assert _sent_until_refused(connection, b"X: " + b"y" * _PIECE, maximum) < maximum


def test_trailers_are_no_headers(service: Service) -> None:
    """A host in a trailer would otherwise be a second one, which is refused."""
    request = (
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"1\r\nx\r\n0\r\nHost: evil.example\r\n\r\n"
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    with _connected(service) as connection:
        connection.sendall(request)
        assert _all_of(connection).count(b"HTTP/1.1 200") == 2


def test_a_large_body_in_pieces_is_no_head(service: Service) -> None:
    size = 2 * MAX_HEAD_BYTES - 1024
    with _connected(service) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(0, size, 1024):
            connection.sendall(b"x" * 1024)
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert _all_of(connection).count(b"HTTP/1.1 200") == 2


@pytest.mark.parametrize(
    "request_text",
    [
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n folded: x\r\nbad name: y\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"no request at all\r\n\r\n",
    ],
    ids=["two lengths", "unlike lengths", "bad name", "bad byte", "no request"],
)
def test_what_could_be_read_in_two_ways_is_refused(service: Service, request_text: bytes) -> None:
    with _connected(service) as connection:
        connection.sendall(request_text)
        assert _all_of(connection).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("size", [65_530, 65_534, 65_535, 65_536, 65_537])
def test_addresses_around_the_bound_of_the_parser_are_read_alike(service: Service, size: int) -> None:
    path = "/.api/src-cli/version?q="
    with _connected(service) as connection:
        connection.sendall(b"GET %b HTTP/1.0\r\nHost: localhost\r\n\r\n" % (path + "x" * (size - len(path))).encode())
        assert _all_of(connection).startswith(b"HTTP/1.1 200 ")


def _all_of(connection: socket.socket) -> bytes:
    result = b""
    while portion := connection.recv(_PIECE):
        result += portion
    return result


def test_blanks_around_the_value_of_a_header_are_no_part_of_it(service: Service) -> None:
    with _connected(service) as connection:
        for value in (b"token " + TOKEN.encode(), b" \t token " + TOKEN.encode() + b" \t "):
            connection.sendall(
                b"GET /.api/search/stream?q=x HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n"
                b"Authorization:" + value + b"\r\n\r\n"
            )
            answer = b""
            while b"event: done" not in answer:
                block = connection.recv(_PIECE)
                assert block, answer
                answer += block
            assert answer.startswith(b"HTTP/1.1 200")
            while not answer.endswith(b"0\r\n\r\n"):
                answer += connection.recv(_PIECE)
