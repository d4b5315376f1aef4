"""Requests read by httptools, whose parser is written in C, within bounds of ours."""

from __future__ import annotations

from urllib.parse import unquote

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: Far above what is answered, so that over-long addresses get their 414 in place of the parser's bare 400.
MAX_HEAD_BYTES = 512 * 1024
# The parser of addresses counts in 16 bits.
_LONGEST_PARSED = 0xFFFF


class BoundedHttp(HttpToolsProtocol):
    """HTTP/1.1 on one connection, ended when what comes beside bodies grows beyond `MAX_HEAD_BYTES`.

    The parser itself sets no bound to a request line, to headers, or to the headers that may follow a body sent in
    chunks; nothing here reads those last ones, so they are dropped.
    """

    _beside_body = 0
    _in_head = True

    def data_received(self, data: bytes) -> None:
        """Read on, unless too much was read already."""
        if self._beside_body <= MAX_HEAD_BYTES:
            super().data_received(data)
            self._beside_body += len(data)
        elif self._in_head:
            self.send_400_response("Invalid HTTP request received.")
        else:
            self.transport.close()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head, self._beside_body = True, 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header has been read."""
        if self._in_head:
            # The parser keeps blanks behind a value, which are no part of it (RFC 9110, 5.5).
            super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        """The head has been read."""
        self._in_head, self._beside_body = False, 0
        address = self.url
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
