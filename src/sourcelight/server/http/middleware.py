"""ASGI middleware: host check, size limits, security headers, access log, log of credential uses.

No middleware changes or buffers a body, so streams pass through unchanged.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import json
import logging
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sourcelight.core.errors import IndexWriteFailed
from sourcelight.repos.file_locks import lock_file
from sourcelight.repos.private_files import open_private
from sourcelight.server.http.listener import LOOPBACK_NAMES
from sourcelight.server.http.requests import ACCESS_LOGGER, caller_id, request_id
from sourcelight.server.identity import Principal

log = logging.getLogger("sourcelight.service")
USES_FILE_NAME = "credential-uses.jsonl"
_LOG_PERIOD_S = 60.0
_LOCK_S = 1.0


class CredentialUses:
    """Appends lines to a file with rotation; starts a new file when it was moved away.

    A full file becomes ``….1``, the previous ``….1`` becomes ``….2`` and so on; the oldest is deleted. Several
    processes may append to one file.

    Parameters
    ----------
    path
        The file, with mode 0600. Empty: no file.
    max_bytes
        Size at which a file is full; a line is never split.
    max_files
        Number of full files to keep.

    Notes
    -----
    A failed write goes to the service's log, once a minute, and doesn't stop a search; a full disk would otherwise
    stop all.
    """

    def __init__(self, path: str = "", max_bytes: int = 16 << 20, max_files: int = 9) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._max_files = max_files
        self._lock = threading.Lock()
        self._file = -1
        self._identity = (0, 0)
        self._failed_at_s = -_LOG_PERIOD_S

    def append(self, line: str) -> None:
        """Append one line."""
        if not self._path:
            return
        try:
            with self._lock:
                # One `write` to a descriptor with O_APPEND: lines of several processes don't mix.
                os.write(self._descriptor(), f"{line}\n".encode())
        except OSError as exc:
            now_s = time.monotonic()
            # A full disk would otherwise fill the other log with one message per request.
            if now_s - self._failed_at_s >= _LOG_PERIOD_S:
                self._failed_at_s = now_s
                log.error("can't write credential uses to %s: %s", USES_FILE_NAME, exc.strerror)  # noqa: TRY400 - in words

    def _descriptor(self) -> int:
        status = self._stat()
        if status is not None and status.st_size >= self._max_bytes:
            self._close_file()
            # A file that can't be locked or renamed keeps growing: lines matter more than its size.
            with contextlib.suppress(OSError, IndexWriteFailed):
                self._rotate()
            status = self._stat()
        identity = (0, 0) if status is None else (status.st_dev, status.st_ino)
        if self._file < 0 or identity != self._identity:
            self._close_file()
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            for name in ("O_CLOEXEC", "O_BINARY"):  # POSIX has one, Windows the other
                flags |= getattr(os, name, 0)
            self._file = os.open(self._path, flags, 0o600)
            file_status = os.fstat(self._file)
            self._identity = (file_status.st_dev, file_status.st_ino)
        return self._file

    def _stat(self) -> os.stat_result | None:
        try:
            return os.stat(self._path)  # noqa: PTH116 - for each request
        except FileNotFoundError:
            return None

    def _rotate(self) -> None:
        """Shift all files to the next number, unless another process has done so."""
        deadline = time.monotonic() + _LOCK_S

        def check_deadline() -> None:
            if time.monotonic() > deadline:
                raise TimeoutError

        with open_private(f"{self._path}.lock", "a+b") as file, lock_file(file, check_deadline):
            status = self._stat()
            # Checked again under the lock: another process may have rotated the file meanwhile.
            if status is None or status.st_size < self._max_bytes:
                return
            # From the oldest to the newest, so that no file is overwritten before it has moved.
            for number in range(self._max_files, 0, -1):
                source = f"{self._path}.{number - 1}" if number > 1 else self._path
                with contextlib.suppress(FileNotFoundError):
                    os.replace(source, f"{self._path}.{number}")  # noqa: PTH105 - names of one folder

    def _close_file(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close_file()


def plain_response(status: int, text: str, headers: Mapping[str, str] | None = None) -> PlainTextResponse:
    """Return a line of plain text, with a challenge for status 401."""
    extra = {"WWW-Authenticate": 'Bearer realm="sourcelight"'} if status == 401 else {}
    return PlainTextResponse(f"{text}\n" if text else "", status, {**extra, **(headers or {})})


MAX_ADDRESS_BYTES = 64 * 1024
MAX_BODY_BYTES = 1024 * 1024
_NOTES = "sourcelight.notes"
_SECURITY = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_MAX_ACCEPTED_HOSTS = 100
_MAX_LOGGED_CHARS = 2_000
_TOKEN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)

access_log = logging.getLogger(ACCESS_LOGGER)
_to_json = json.JSONEncoder(separators=(",", ":")).encode


def _write_line(text: str) -> None:
    """Write a line to the access log, without looking for the code that wrote it, which is always this."""
    if access_log.isEnabledFor(logging.INFO):
        access_log.handle(logging.LogRecord(ACCESS_LOGGER, logging.INFO, __file__, 0, text, None, None))


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


def notes_of(scope: Scope) -> RequestNotes:
    """Return the notes of a request, created on first use."""
    notes = scope.setdefault(_NOTES, RequestNotes())
    if not isinstance(notes, RequestNotes):
        raise TypeError(f"foreign value under {_NOTES}")
    return notes


class AccessLog:
    """Writes one JSON line per request, without query text, credentials or addresses' query strings.

    A query or question appears as its length and a keyed hash: equal texts have equal hashes until the service
    restarts, and guesses can't be checked against it. A read token in a path appears as such a hash too. Lines with a
    credential also go to `uses`; they name it by its number. `queries` adds the text of queries and questions.

    Each request has an identifier: in its line, in other lines about it, and in the header ``X-Request-ID`` of its
    answer. One that the caller sent stands beside it.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        write: Callable[[str], None] = _write_line,
        uses: Callable[[str], None] = lambda _: None,
        queries: bool = False,
    ) -> None:
        self._app = app
        self._queries = queries
        self._uses = uses
        self._write = write
        self._key = secrets.token_bytes(16)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and write its line at the end of the response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start_s = time.monotonic()
        notes = notes_of(scope)
        status = size = 0
        number = secrets.token_hex(8)
        context = request_id.set(number)

        async def send_counted(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", number.encode())]
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
            client = scope.get("client")
            line: dict[str, object] = {
                "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "request_id": number,
                "client": client[0] if client else "",
                # Cut, because the caller chooses it: a log line stays short.
                "method": scope["method"][:16],
                "path": _TOKEN.sub(lambda match: self._hash(match[0].lower()), scope["path"])[:200],
                "status": status,
                "bytes": size,
                "duration_ms": round((time.monotonic() - start_s) * 1000),
            }
            if notes.viewer:
                line["viewer"] = notes.viewer
            if notes.query:
                line["query_hash"] = self._hash(notes.query)
                line["query_length"] = len(notes.query)
                if self._queries:
                    line["query"] = notes.query[:_MAX_LOGGED_CHARS]
            sent = [value for name, value in scope["headers"] if name == b"x-request-id"]
            if sent and (sent_id := caller_id(sent[0].decode("latin-1"))):
                line["caller_request_id"] = sent_id
            if notes.outcome:
                line |= {"outcome": notes.outcome, "events": notes.events, "rows": notes.rows}
            if notes.credential:
                line["credential"] = notes.credential
            text = _to_json(line)
            self._write(text)
            if notes.credential:
                self._uses(text)

    def _hash(self, text: str) -> str:
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=6).hexdigest()


class HostCheck:
    """Refuses requests for other host names, so that a foreign page can't reach the service by DNS rebinding.

    Any port is accepted: port forwarding changes it, and an attacker gains nothing. A service that listens on all
    addresses also accepts an address instead of a name, because an address can't be rebound.
    """

    def __init__(self, app: ASGIApp, *, names: Iterable[str], any_address: bool) -> None:
        self._app = app
        self._names = LOOPBACK_NAMES | {name.lower().strip("[]") for name in names}
        self._any_address = any_address
        self._accepted_hosts: set[bytes] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on requests that name this service."""
        if scope["type"] == "http":
            headers = [value for name, value in scope["headers"] if name == b"host"]
            if len(headers) != 1 or headers[0] not in self._accepted_hosts:
                refused = self._refusal(headers)
                if refused is not None:
                    await refused(scope, receive, send)
                    return
        await self._app(scope, receive, send)

    def _refusal(self, headers: list[bytes]) -> ASGIApp | None:
        name = host_name(headers[0].decode("latin-1")) if len(headers) == 1 else ""
        if not name:
            return plain_response(400, "Send one Host header with the name of this service.")
        if not (name in self._names or (self._any_address and _is_address(name))):
            text = "This service doesn't have the host name of this request; externalURL sets another one."
            return plain_response(421, text)
        # Checking costs more than the look-up; the bound keeps a caller from filling memory with spellings.
        if len(self._accepted_hosts) < _MAX_ACCEPTED_HOSTS:
            self._accepted_hosts.add(headers[0])
        return None


class SizeLimits:
    """Refuses addresses (414) and bodies (413) that are too long.

    Parameters
    ----------
    app
        The next application.
    own_limit
        Paths with this prefix have their own limit, such as the MCP endpoints.
    """

    def __init__(self, app: ASGIApp, *, exempt_prefix: str = "/.api/mcp") -> None:
        self._app = app
        self._exempt_prefix = exempt_prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on requests within the limits, and stop reading a body that exceeds them."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"]) > MAX_ADDRESS_BYTES:
            await plain_response(414, f"The address is longer than {MAX_ADDRESS_BYTES} bytes.")(scope, receive, send)
            return
        # These endpoints have their own, larger limit.
        if scope["path"].startswith(self._exempt_prefix):
            await self._app(scope, receive, send)
            return
        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            await plain_response(413, f"The body is larger than {MAX_BODY_BYTES} bytes.")(scope, receive, send)
            return
        size = 0

        async def receive_counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            # Looks as if the caller disconnected: frameworks stop reading, and no exception crosses their parsers.
            return message if size <= MAX_BODY_BYTES else {"type": "http.disconnect"}

        await self._app(scope, receive_counted, send)


class SecurityHeaders:
    """Adds headers that restrict what a browser does with a response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and add the headers to its response."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message["headers"])
                # A page may set a stricter policy of its own; it wins.
                present = {name for name, _ in headers}
                message["headers"] = headers + [header for header in _SECURITY if header[0] not in present]
            await send(message)

        await self._app(scope, receive, send_with_headers)


_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9._~-]{1,255}))(?::([0-9]{1,5}))?")


def host_name(header: str) -> str:
    """Return the lower-case name of a Host header without port and brackets; empty for a malformed one.

    It matches the whole header: the URL parser takes ``[::1]evil`` for ``::1``.
    """
    match = _HOST.fullmatch(header)
    if match is None or int(match[3] or 0) > 65_535:
        return ""
    if match[1] is not None and not _is_address(match[1]):
        return ""
    return (match[1] or match[2]).lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
