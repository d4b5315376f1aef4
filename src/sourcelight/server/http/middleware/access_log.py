"""The access log: one JSON line per request, with the fields of its endpoint.

No line has query text, credentials or query strings of addresses, unless the operator asks for the text of queries.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import logging
import os
import random
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO, TypeAlias

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sourcelight.server.http.requests import ACCESS_LOGGER, JsonFormatter, caller_id, request_id
from sourcelight.server.identity import Principal

_NOTES = "sourcelight.notes"
_MAX_LOGGED_CHARS = 2_000
_TOKEN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


Address: TypeAlias = tuple[str, int]
"""A host and a port."""

REQUEST_ID = b"x-request-id"
access_log = logging.getLogger(ACCESS_LOGGER)
_quote = json.encoder.encode_basestring_ascii
_AS_IT_IS = "%(message)s"
"""Format of a record whose line is its message alone."""


_numbers = random.Random()  # noqa: S311 - they tell requests apart, and open nothing


def _write_line(text: str) -> None:
    """Write a line to the access log, without looking for the code that wrote it, which is always this."""
    handler = _handler_at(int(time.monotonic()))
    if handler is not None and _write_to(handler, text):
        return
    if access_log.isEnabledFor(logging.INFO):
        access_log.handle(_record_of(text))


@functools.lru_cache(maxsize=1)
def _handler_at(_second: int) -> logging.StreamHandler[TextIO] | None:
    """Return the handler of `_only_stream`, looked up once in a second: its configuration hardly ever changes."""
    return _only_stream() if access_log.isEnabledFor(logging.INFO) else None


def _write_to(handler: logging.StreamHandler[TextIO], text: str) -> bool:
    try:
        with handler.lock or contextlib.nullcontext():
            handler.stream.write(text + handler.terminator)
            handler.flush()
    except Exception:  # noqa: BLE001 - the handler meets it again with a record, and reports it
        return False
    return True


def _only_stream() -> logging.StreamHandler[TextIO] | None:
    """Return the handler of the access log if it is a single one, and writes messages as they are.

    The logging module calls fifteen functions for a record. That costs more than the write, as their code has left the
    processor's caches.
    """
    handlers: list[logging.Handler] = []
    logger: logging.Logger | None = access_log
    if access_log.disabled or access_log.filters:
        return None
    while logger is not None:
        handlers += logger.handlers
        logger = logger.parent if logger.propagate else None

    handler = handlers[0] if len(handlers) == 1 else None
    # Other classes may do anything with a record.
    if type(handler) is not logging.StreamHandler or handler.filters or handler.level > logging.INFO:
        return None
    formatter = handler.formatter
    if type(formatter) is not JsonFormatter and not (
        type(formatter) is logging.Formatter and vars(formatter)["_fmt"] == _AS_IT_IS
    ):
        return None
    return handler


def _record_of(text: str) -> logging.LogRecord:
    earlier = _first_record(threading.get_ident(), os.getpid())
    record = logging.LogRecord.__new__(logging.LogRecord)
    now_s = time.time()
    vars(record).update(
        vars(earlier),
        msg=text,
        created=now_s,
        msecs=float(int(now_s % 1 * 1000)),
        relativeCreated=earlier.relativeCreated + (now_s - earlier.created) * 1000,
    )
    return record


@functools.lru_cache(maxsize=8)
def _first_record(_thread: int, _process: int) -> logging.LogRecord:
    """Return a record from which the others of its thread differ in text and time: making one takes 30 µs."""
    return logging.LogRecord(ACCESS_LOGGER, logging.INFO, __file__, 0, "", None, None)


@functools.lru_cache(maxsize=2)
def _time_text(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))


@dataclass(frozen=True, slots=True)
class LineParts:
    """The parts of a line that all requests of a client with the same headers and path share, as JSON."""

    address: str
    caller: str


@dataclass(slots=True)
class RequestNotes:
    """Notes of an endpoint for the access log."""

    viewer: str = ""
    credential: str = ""
    query: str = ""
    outcome: str = ""
    events: int = 0
    rows: int = 0

    def name(self, principal: Principal) -> None:
        """Record the viewer and the credential of the request."""
        self.viewer = principal.account or "anonymous"
        self.credential = principal.credential


def new_request_id() -> str:
    """Return an identifier for a request."""
    # Python's own generator: the system's takes a call for each number.
    return f"{_numbers.getrandbits(64):016x}"


def notes_of(scope: Scope) -> RequestNotes:
    """Return the notes of a request, created on first use."""
    notes = scope.setdefault(_NOTES, RequestNotes())
    if not isinstance(notes, RequestNotes):
        raise TypeError(f"foreign value under {_NOTES}")
    return notes


class RequestLog:
    """Writes one JSON line per request, without query text, credentials or addresses' query strings.

    A query or question appears as its length and a keyed hash: equal texts have equal hashes until the service
    restarts, and guesses can't be checked against it. A read token in a path appears as such a hash too. Lines with a
    credential also go to `uses`; they name it by its number. `queries` adds the text of queries and questions.

    Each request has an identifier: in its line, in other lines about it, and in the header ``X-Request-ID`` of its
    answer. The caller's own identifier is logged, too.
    """

    def __init__(
        self,
        *,
        write: Callable[[str], None] = _write_line,
        uses: Callable[[str], None] = lambda _: None,
        queries: bool = False,
    ) -> None:
        self._queries = queries
        self._uses = uses
        self._write = write
        self._key = secrets.token_bytes(16)

    def parts_of(self, scope: Scope, client: Address | None) -> LineParts:
        """Return the parts of a line that depend on a request's head, and where it came from."""
        host = client[0] if client else ""
        # Cut, because the caller chooses it: a log line stays short.
        method = scope["method"][:16]
        path = _TOKEN.sub(lambda match: self._hash(match[0].lower()), scope["path"])[:200]
        sent = [value for name, value in scope["headers"] if name == b"x-request-id"]
        sent_id = caller_id(sent[0].decode("latin-1")) if sent else ""
        return LineParts(
            f'"client":{_quote(host)},"method":{_quote(method)},"path":{_quote(path)}',
            f',"caller_request_id":{_quote(sent_id)}' if sent_id else "",
        )

    def write(self, parts: LineParts, notes: RequestNotes, number: str, status: int, size: int, taken_s: float) -> None:
        """Write the line of an answered request.

        Parameters
        ----------
        parts
            What its head tells.
        notes, number
            What its endpoint noted, and its identifier.
        status, size, taken_s
            The status, the bytes of the body, and the seconds of its answer.
        """
        # JSON by hand: encoders are written for any value, and these are numbers, texts and names without quotes.
        line = (
            f'{{"time":"{_time_text(int(time.time()))}","request_id":"{number}",{parts.address},'
            f'"status":{status},"bytes":{size},"duration_ms":{round(taken_s * 1000)}'
        )
        if notes.viewer:
            line += f',"viewer":{_quote(notes.viewer)}'

        if notes.query:
            line += f',"query_hash":"{self._hash(notes.query)}","query_length":{len(notes.query)}'
            if self._queries:
                line += f',"query":{_quote(notes.query[:_MAX_LOGGED_CHARS])}'

        line += parts.caller
        if notes.outcome:
            line += f',"outcome":{_quote(notes.outcome)},"events":{notes.events},"rows":{notes.rows}'

        if notes.credential:
            line += f',"credential":{_quote(notes.credential)}'

        line += "}"
        self._write(line)
        if notes.credential:
            self._uses(line)

    def _hash(self, text: str) -> str:
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=6).hexdigest()


class AccessLog:
    """Writes the line of each request to `log`, at the end of its response."""

    def __init__(self, app: ASGIApp, *, log: RequestLog) -> None:
        self._app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and write its line at the end of the response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        start_s = time.monotonic()
        notes = notes_of(scope)
        status = size = 0
        number = new_request_id()
        context = request_id.set(number)

        async def send_counted(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (REQUEST_ID, number.encode())]
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, send_counted)
        except ClientDisconnect:
            # No reader is left; otherwise each of a thousand such connections would log a traceback.
            notes.outcome = notes.outcome or "disconnected"
        finally:
            request_id.reset(context)
            parts = self._log.parts_of(scope, scope.get("client"))
            self._log.write(parts, notes, number, status, size, time.monotonic() - start_s)
