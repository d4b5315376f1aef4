"""Requests read by httptools, whose parser is written in C, within bounds of ours: of size, of time and of number."""

from __future__ import annotations

import asyncio
from typing import Any, Literal
from urllib.parse import unquote

from uvicorn.protocols.http.flow_control import service_unavailable
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sourcelight.server.service.connections import (
    HEALTH_PATHS,
    PENDING_BYTES,
    ConnectionLimits,
    ConnectionRegister,
    bytes_in_system,
)

#: Far above what is answered, so that over-long addresses get their 414 in place of the parser's bare 400.
MAX_HEAD_BYTES = 512 * 1024
# The parser of addresses counts in 16 bits.
_LONGEST_PARSED = 0xFFFF


class BoundedHttp(HttpToolsProtocol):
    """HTTP/1.1 on one connection, ended when what comes beside bodies grows beyond `MAX_HEAD_BYTES`.

    The parser itself sets no bound to a request line, to headers, or to the headers that may follow a body sent in
    chunks; nothing here reads those last ones, so they are dropped. Neither does it bound the time that a peer takes
    to send a request or to read an answer.
    """

    register: ConnectionRegister
    _beside_body = 0
    _in_head = True
    _phase: Literal["idle", "head", "body"] = "head"
    _deadline: asyncio.TimerHandle | None = None
    _deadline_of = ""
    _stall: asyncio.TimerHandle | None = None
    _unsent = 0

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # A server of our own has one for all its connections; elsewhere each connection is bounded by itself.
        register = getattr(self.server_state, "register", None)
        self.register = ConnectionRegister(ConnectionLimits()) if register is None else register

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its base has it
        """A connection was opened: its peer has to send a request now."""
        super().connection_made(transport)
        self.register.add(self, self.client[0] if self.client else "")
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        self.register.remove(self)
        for timer in (self._deadline, self._stall):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def drop(self) -> None:
        """Close at once, without waiting for what was not read yet."""
        if self.transport is not None:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read on, unless too much was read already."""
        if self._phase == "idle":
            self._phase = "head"
        if self._beside_body <= MAX_HEAD_BYTES:
            super().data_received(data)
            self._beside_body += len(data)
        elif self._in_head:
            self.send_400_response("Invalid HTTP request received.")
        else:
            self.transport.close()
        self._watch()

    def _watch(self) -> None:
        """Set a deadline for the part of a request that has begun; a later part has a later one."""
        phase = self._phase
        if self._deadline is not None and self._deadline_of != phase:
            self._deadline.cancel()
            self._deadline = None
        if self._deadline is None and phase != "idle":
            limits = self.register.limits
            self._deadline_of = phase
            self._deadline = self.loop.call_later(limits.head_s if phase == "head" else limits.body_s, self.drop)

    def on_response_complete(self) -> None:
        """An answer has gone out: the connection waits for the next request."""
        super().on_response_complete()
        if self._phase == "idle" and (self.cycle is None or self.cycle.response_complete):
            self.register.wait(self)

    def pause_writing(self) -> None:
        """The peer takes less than there is for it; it has to take something."""
        super().pause_writing()
        self._unsent = self._pending_bytes()
        self._look_again()

    def resume_writing(self) -> None:
        """The peer has taken most of it."""
        super().resume_writing()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _pending_bytes(self) -> int:
        """Bytes that the peer has not taken: those that wait here, and those that the system holds for it."""
        return self.transport.get_write_buffer_size() + bytes_in_system(self.transport)

    def _look_again(self) -> None:
        self._stall = self.loop.call_later(self.register.limits.stall_s, self._end_stall)

    def _end_stall(self) -> None:
        unsent = self._pending_bytes()
        if unsent >= self._unsent > 0:
            self.drop()
            return
        self._unsent = unsent
        self._look_again()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head, self._beside_body, self._phase = True, 0, "head"
        super().on_message_begin()
        self.scope["extensions"] = {PENDING_BYTES: self._pending_bytes}  # type: ignore[dict-item]

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header has been read."""
        if self._in_head:
            # The parser keeps blanks behind a value, which are no part of it (RFC 9110, 5.5).
            super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        """The head has been read."""
        self._in_head, self._beside_body, self._phase = False, 0, "body"
        address = self.url
        app = self.app
        if self.register.is_full and address.partition(b"?")[0].decode("latin-1") not in HEALTH_PATHS:
            self.app = service_unavailable
        try:
            self._read_head(address)
        finally:
            self.app = app

    def on_message_complete(self) -> None:
        """The whole request has been read."""
        self._phase = "idle"
        self.register.work(self)
        super().on_message_complete()
        if self.cycle is not None and self.cycle.response_complete:
            self.register.wait(self)

    def _read_head(self, address: bytes) -> None:
        if len(address) <= _LONGEST_PARSED:
            super().on_headers_complete()
            return
        self.url = b"/"
        super().on_headers_complete()
        # The application has not been called yet.
        path, _, query = address.partition(b"#")[0].partition(b"?")
        self.scope["path"], self.scope["raw_path"] = unquote(path.decode("latin-1")), path
        self.scope["query_string"] = query

    def on_body(self, body: bytes) -> None:
        """A piece of the body has been read."""
        self._beside_body = 0
        super().on_body(body)
