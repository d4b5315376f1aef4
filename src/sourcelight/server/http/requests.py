"""Read requests: the search, a body of bounded size, the identifier for the log, and special needs of clients.

Every endpoint that takes JSON reads it here, so that no body is larger in memory than its limit, and each fault has the
same status and words everywhere.
"""

from __future__ import annotations

import functools
import json
import logging
import re
import time
import zlib
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, unquote_plus, unquote_to_bytes

from starlette.requests import Request

from sourcelight.core.errors import QueryError

if TYPE_CHECKING:
    from sourcelight.core.wire.request import SearchRequest

MAX_BODY_BYTES = 256 * 1024

#: Clients that abort on matches of type ``diff``, or drop them; all know diffs as matches of type ``commit``.
WITHOUT_DIFF = ("src-cli", "raycast", "cody", "vscode", "vs code", "visual studio code", "jetbrains", "sourcegraph")
TRACE_HEADER = "x-sourcegraph-should-trace"
_WORDS = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}
_SHORT_BYTES = 1024
_WITHOUT_DIFF = re.compile("|".join(re.escape(name) for name in WITHOUT_DIFF), re.IGNORECASE)
_OWN = re.compile(r"sourcelight\b", re.IGNORECASE)
_MAX_CHARS = 512

#: The request that is answered in this context; empty outside of one. Threads that work for a request inherit it.
request_id: ContextVar[str] = ContextVar("sourcelight_request_id", default="")
ACCESS_LOGGER = "sourcelight.access"
_CALLER_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")


class RequestRefused(Exception):
    """A refused request: the status and the text of its response."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


async def read_json_object(
    request: Request, *, unpacks: bool = False, max_bytes: int = MAX_BODY_BYTES
) -> dict[str, Any]:
    """Read the JSON object of a request; an empty body is an empty object.

    Parameters
    ----------
    request
        Its body has at most `max_bytes`, unpacked.
    unpacks
        Whether ``Content-Encoding: gzip`` is understood; else the bytes are read as they come.
    max_bytes
        Largest body, unpacked.

    Raises
    ------
    RequestRefused
        Status 400 for another content type or anything but an object, 413 for too much, 415 for another encoding.
    """
    if request.headers.get("content-type", "application/json").partition(";")[0].strip() != "application/json":
        raise RequestRefused(400, "The body must be JSON with Content-Type application/json.")

    try:
        value = json.loads(await _read(request, max_bytes, unpacks=unpacks) or b"{}")
    except (ValueError, RecursionError):
        raise RequestRefused(400, "The body is not JSON.") from None

    if not isinstance(value, dict):
        raise RequestRefused(400, "The body must be a JSON object.")

    return value


async def _read(request: Request, max_bytes: int, *, unpacks: bool) -> bytes:
    coding = request.headers.get("content-encoding", "identity").strip().lower() if unpacks else "identity"
    if coding not in {"identity", "gzip"}:
        raise RequestRefused(415, "The body may be compressed with gzip only.")

    # wbits 31 is the gzip container. The output is bounded while it is made: 256 KiB may unfold to gigabytes.
    unpacker = zlib.decompressobj(31) if coding == "gzip" else None
    data = b""
    async for portion in request.stream():
        try:
            data += portion if unpacker is None else unpacker.decompress(portion, max_bytes + 1 - len(data))
        except zlib.error:
            raise RequestRefused(400, "The body is not gzip.") from None
        if len(data) > max_bytes or (unpacker is not None and unpacker.unconsumed_tail):
            raise RequestRefused(413, f"The body is larger than {max_bytes:,} bytes.")

    return data


def diff_type_of(headers: Mapping[str, str], setting: Literal["", "diff", "commit"]) -> Literal["diff", "commit"]:
    """Return the ``type`` of diff matches for the sender of a request; `setting` forces one."""
    if setting:
        return setting
    names = f"{headers.get('user-agent', '')[:_MAX_CHARS]} {headers.get('x-requested-with', '')[:_MAX_CHARS]}"
    return "commit" if _WITHOUT_DIFF.search(names) else "diff"


def shows_diffs(headers: Mapping[str, str]) -> bool:
    """Return whether the sender shows the text of diffs; our own client makes rows of every matching line instead."""
    return _OWN.match(headers.get("user-agent", "")) is None


def pairs_of(query: bytes) -> list[tuple[str, str]]:
    """Return the names and values of a query string."""
    # latin-1 accepts every byte; percent-decoding then reads UTF-8, with U+FFFD for invalid bytes.
    return parse_qsl(query.decode("latin-1"), keep_blank_values=True)


def read_request(query: bytes, headers: Mapping[str, str]) -> SearchRequest:
    """Return the search that a query string and headers (names in lower case) ask for.

    Raises
    ------
    QueryError
        As `SearchRequest.from_params`.
    """
    trace, with_diffs = _WORDS.get(headers.get(TRACE_HEADER, "").lower()), shows_diffs(headers)
    first, _, remaining = query.partition(b"&")

    # The query comes first as a rule, and a client's other parameters are always the same: these are read once.
    text = _unquote(first[2:]) if first.startswith(b"q=") else ""
    if text and len(remaining) < _SHORT_BYTES:
        try:
            return _request_but_text(remaining, trace, with_diffs=with_diffs).with_query(text)
        except QueryError:
            pass  # its message may quote the query, which only reading all of it knows

    return _read_request(query, trace, with_diffs=with_diffs)


def _unquote(value: bytes) -> str:
    """Return the text of a value as `pairs_of` reads it, in a fifth of the steps."""
    if not value.isascii():
        return unquote_plus(value.decode("latin-1"))
    value = value.replace(b"+", b" ")
    return (unquote_to_bytes(value) if b"%" in value else value).decode("utf-8", "replace")


@functools.lru_cache(maxsize=64)
def _request_but_text(remaining: bytes, trace: bool | None, *, with_diffs: bool) -> SearchRequest:  # noqa: FBT001
    return _read_request(b"q=x&" + remaining, trace, with_diffs=with_diffs)


def _read_request(query: bytes, trace: bool | None, *, with_diffs: bool) -> SearchRequest:  # noqa: FBT001
    # Loaded late: a client of MCP that waits for its first answer needs none of the stream protocol.
    from sourcelight.core.wire.request import SearchRequest

    request = SearchRequest.from_params(pairs_of(query))
    return replace(request, diff_previews=with_diffs, trace=request.trace if trace is None else trace)


def caller_id(header: str) -> str:
    """Return the identifier that a caller gave its request; empty for text that isn't only an identifier."""
    return header if _CALLER_ID.fullmatch(header) else ""


class JsonFormatter(logging.Formatter):
    """Writes each record as one line of JSON: line breaks and control characters of a message are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a line; lines of the access log are already JSON."""
        if record.name == ACCESS_LOGGER:
            return record.getMessage()

        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if number := request_id.get():
            line["request_id"] = number

        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)

        return json.dumps(line, separators=(",", ":"))
