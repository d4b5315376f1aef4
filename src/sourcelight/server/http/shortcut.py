"""The way of a small search from its socket to its answer, in one call.

Behind all middleware, a small search costs more in tasks, messages and wrapped calls than in its index. `Shortcut`
applies the same checks to a plain GET of the stream, in the same order and by the same objects: host, size, credential,
limits of the account. Whatever it would refuse, or can't answer at once, it leaves to the application, which then
decides. So it can give an answer that the application would give, and no other.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from starlette.types import Scope

from sourcelight.server.http.connections import TrustedProxies
from sourcelight.server.http.middleware.access_log import (
    REQUEST_ID,
    Address,
    RequestLog,
    RequestNotes,
    new_request_id,
)
from sourcelight.server.http.middleware.guards import MAX_ADDRESS_BYTES, SECURITY_HEADERS, HostNames
from sourcelight.server.http.middleware.metrics import Metrics, route_of
from sourcelight.server.http.reader import headers_of
from sourcelight.server.http.requests import request_id
from sourcelight.server.http.response import COMPRESS_IN_THREAD_BYTES, STREAM_HEADERS, accepts_gzip, compress
from sourcelight.server.http.stream import NOT_SMALL, Fallback, SearchStream


def _lines(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    return b"".join(b"%s: %s\r\n" % header for header in headers)


_HEAD = _lines(STREAM_HEADERS)
_PACKED_HEAD = _HEAD + _lines(((b"content-encoding", b"gzip"),))
_SECURITY = _lines(SECURITY_HEADERS)


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """An answer of status 200: its own headers as lines, its body, and its log entry."""

    headers: bytes
    body: bytes
    client: Address | None
    notes: RequestNotes
    number: str
    start_s: float


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

    def answer(self, scope: Scope) -> ShortAnswer | None:
        """Return the answer to a GET of the path over HTTP/1.1 without a body; None: only the application can tell.

        Parameters
        ----------
        scope
            The request as ASGI describes it. It is marked where the engine need not be asked again.
        """
        start_s = time.monotonic()
        # The first header of each name, as the endpoint reads them; the host must be the only one.
        headers = headers_of(scope)
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        size = len(scope["raw_path"]) + len(scope["query_string"])
        if not self._hosts.has_accepted(hosts) or size > MAX_ADDRESS_BYTES:
            return None

        number, notes, client = new_request_id(), RequestNotes(), self._proxies.address_of(scope)
        context = request_id.set(number)
        try:
            answer = self._search.answer_at_once(scope["query_string"], headers, client, notes)
        finally:
            request_id.reset(context)

        if isinstance(answer, Fallback):
            if answer is Fallback.NOT_SMALL:
                scope[NOT_SMALL] = True
            return None

        body = b"".join(answer.frames)
        head = _HEAD
        if accepts_gzip(headers.get("accept-encoding", "")):
            if len(body) > COMPRESS_IN_THREAD_BYTES:
                return None
            head, body = _PACKED_HEAD, compress(body)

        head += b"%s%s: %s\r\n" % (_SECURITY, REQUEST_ID, number.encode())
        return ShortAnswer(head, body, client, notes, number, start_s)

    def note(self, scope: Scope, answer: ShortAnswer) -> None:
        """Count an answer that was sent, and write its line to the access log."""
        taken_s = time.monotonic() - answer.start_s
        self._metrics.count(self._route, "GET", 200, taken_s)
        self._log.write(scope, answer.client, answer.notes, answer.number, 200, len(answer.body), taken_s)
