"""The way of a small search from its socket to its answer, in one call.

Behind all middleware, a small search costs more in tasks, messages and wrapped calls than in its index. `Shortcut`
applies the same checks to a plain GET of the stream, in the same order and by the same objects: host, size, credential,
limits of the account. Whatever it would refuse, or can't answer at once, it leaves to the application, which then
decides. So it can give an answer that the application would give, and no other.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

from starlette.types import Scope

from sourcelight.server.http.connections import TrustedProxies
from sourcelight.server.http.middleware.access_log import (
    REQUEST_ID,
    LineParts,
    RequestLog,
    RequestNotes,
    new_request_id,
)
from sourcelight.server.http.middleware.guards import MAX_ADDRESS_BYTES, SECURITY_HEADERS, HostNames
from sourcelight.server.http.middleware.metrics import Metrics, route_of
from sourcelight.server.http.reader import Sender, headers_of
from sourcelight.server.http.requests import request_id
from sourcelight.server.http.response import COMPRESS_IN_THREAD_BYTES, STREAM_HEADERS, accepts_gzip, compress
from sourcelight.server.http.stream import NOT_SMALL, Fallback, SearchStream

_QUERY_BYTES = bytes(sorted(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%!$&'()*+,;=:@/?"))
"""Bytes of a query string as RFC 3986 has them. None of them ends it."""


def _lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join([b"%s: %s\r\n" % header for header in headers])


_HEAD = _lines(STREAM_HEADERS)
_PACKED_HEAD = _HEAD + _lines(((b"content-encoding", b"gzip"),))
_SECURITY = _lines(SECURITY_HEADERS)


@dataclass(frozen=True, slots=True)
class RequestHead:
    """Everything but the query string of a request that passed the first checks: who sends it, and how to answer.

    Attributes
    ----------
    sender
        Where it comes from.
    path_bytes
        Bytes of its path.
    packs
        Whether the answer may be compressed.
    parts
        Its parts of a line of the access log.
    """

    sender: Sender
    path_bytes: int
    packs: bool
    parts: LineParts


@dataclass(frozen=True, slots=True)
class HeadBytes:
    """The bytes of a head before and after its query string, to recognize the next request with the same head.

    A client that sends one search after another on a connection repeats all but the query. Parsing the same headers,
    looking for their values and hashing their credential would take as long as a small search.
    """

    start: bytes
    end: bytes
    head: RequestHead

    @classmethod
    def of_request(cls, data: bytes, address: bytes, head: RequestHead) -> HeadBytes | None:
        """Return the bytes around the query of an answered request; None if `data` isn't just that request."""
        path, _, query = address.partition(b"?")
        start = b"GET %s?" % path
        end = data[len(start) + len(query) :]
        is_one_request = (
            data.startswith(start + query + b" HTTP/1.1\r\n")
            and end.endswith(b"\r\n\r\n")
            and end.count(b"\r\n\r\n") == 1
            # No line ends in another way, which the parser may accept as the end of the head.
            and end.count(b"\r") == end.count(b"\n") == end.count(b"\r\n")
        )
        return cls(start, end, head) if is_one_request else None

    def query_of(self, data: bytes) -> bytes | None:
        """Return the query string of a request that differs in nothing else; None for all other bytes."""
        if not data.startswith(self.start) or not data.endswith(self.end):
            return None
        query = data[len(self.start) : -len(self.end)]
        return None if query.translate(None, _QUERY_BYTES) else query


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """An answer of status 200: its own headers as lines, its body, and its log entry."""

    headers: bytes
    body: bytes
    notes: RequestNotes
    number: str
    start_s: float

    def to_bytes(self, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        """Return the whole response, with the headers of all responses of the server first."""
        # Its length, where the application sends chunks: a client reads the body in one step.
        return b"HTTP/1.1 200 OK\r\n%s%scontent-length: %d\r\n\r\n%s" % (
            _lines(headers),
            self.headers,
            len(self.body),
            self.body,
        )


class Shortcut:
    """Answers plain requests of one path without the application.

    Parameters
    ----------
    path
        The path of the stream.
    search
        The endpoint.
    hosts, proxies, log, metrics
        The headers of the application's middleware.
    """

    def __init__(
        self,
        path: str,
        search: SearchStream,
        hosts: HostNames,
        proxies: TrustedProxies,
        log: RequestLog,
        metrics: Metrics,
    ) -> None:
        self.path = path.encode()
        self._search = search
        self._hosts = hosts
        self._proxies = proxies
        self._log = log
        self._metrics = metrics
        self._route = route_of(path)

    def head_of(self, scope: Scope) -> RequestHead | None:
        """Return the head of a GET of the path over HTTP/1.1 without a body; None: only the application can tell.

        Parameters
        ----------
        scope
            The request as ASGI describes it.
        """
        # The host must be the only one.
        if not self._hosts.has_accepted([value for name, value in scope["headers"] if name == b"host"]):
            return None

        # The first header of each name, as the endpoint reads them.
        headers, client = headers_of(scope), self._proxies.address_of(scope)
        return RequestHead(
            sender=Sender(headers, client),
            path_bytes=len(scope["raw_path"]),
            packs=accepts_gzip(headers.get("accept-encoding", "")),
            parts=self._log.parts_of(scope, client),
        )

    def bytes_of(self, data: bytes, address: bytes, head: RequestHead) -> HeadBytes | None:
        """Return how to recognize the head of an answered request, see `HeadBytes.of_request`."""
        return HeadBytes.of_request(data, address, head)

    def answer(self, head: RequestHead, query: bytes, marks: MutableMapping[str, Any]) -> ShortAnswer | None:
        """Return the answer to a request with a head and a query string; None: only the application can tell.

        `marks` gets a mark for the scope of the request where the engine need not be asked again.
        """
        start_s = time.monotonic()
        if head.path_bytes + len(query) > MAX_ADDRESS_BYTES:
            return None

        number, notes = new_request_id(), RequestNotes()
        context = request_id.set(number)
        try:
            answer = self._search.answer_at_once(query, head.sender, notes)
        finally:
            request_id.reset(context)

        if isinstance(answer, Fallback):
            if answer is Fallback.NOT_SMALL:
                marks[NOT_SMALL] = True
            return None

        body = b"".join(answer.frames)
        lines = _HEAD
        if head.packs:
            if len(body) > COMPRESS_IN_THREAD_BYTES:
                return None
            lines, body = _PACKED_HEAD, compress(body)

        lines += b"%s%s: %s\r\n" % (_SECURITY, REQUEST_ID, number.encode())
        return ShortAnswer(lines, body, notes, number, start_s)

    def note(self, head: RequestHead, answer: ShortAnswer) -> None:
        """Count an answer that was sent, and write its line to the access log."""
        taken_s = time.monotonic() - answer.start_s
        self._metrics.count(self._route, "GET", 200, taken_s)
        self._log.write(head.parts, answer.notes, answer.number, 200, len(answer.body), taken_s)
