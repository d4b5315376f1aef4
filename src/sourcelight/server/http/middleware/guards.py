"""Guards of every endpoint: host check, size limits, security headers.

No middleware changes or buffers a body, so streams pass through unchanged.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sourcelight.server.http.listener import LOOPBACK_NAMES
from sourcelight.server.identity import Refusal

MAX_ADDRESS_BYTES = 64 * 1024
MAX_BODY_BYTES = 1024 * 1024

SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
)

_MAX_ACCEPTED_HOSTS = 100
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9._~-]{1,255}))(?::([0-9]{1,5}))?")


def plain_response(status: int, text: str, headers: Mapping[str, str] | None = None) -> PlainTextResponse:
    """Return a line of plain text, with a challenge for status 401."""
    extra = {"WWW-Authenticate": 'Bearer realm="sourcelight"'} if status == 401 else {}
    return PlainTextResponse(f"{text}\n" if text else "", status, {**extra, **(headers or {})})


def search_refusal(refusal: Refusal) -> PlainTextResponse:
    """Return the response to a search without the right credential."""
    # Without the reason, a client would renew a token that can't get more than it has.
    challenge = 'Bearer realm="sourcelight", error="insufficient_scope", scope="user:all"'
    extra = {"WWW-Authenticate": challenge} if refusal.error == "insufficient_scope" else {}
    return plain_response(refusal.status, refusal.text, extra)


class HostNames:
    """The names of this service, so that a foreign page can't reach it by DNS rebinding.

    Any port is accepted: port forwarding changes it, and an attacker gains nothing. A service that listens on all
    addresses also accepts an address instead of a name, because an address can't be rebound.
    """

    def __init__(self, names: Iterable[str], *, any_address: bool) -> None:
        self._names = LOOPBACK_NAMES | {name.lower().strip("[]") for name in names}
        self._any_address = any_address
        self._accepted_hosts: set[bytes] = set()

    def has_accepted(self, hosts: list[bytes]) -> bool:
        """Return whether a request with these ``Host`` headers passes as an earlier one did."""
        return len(hosts) == 1 and hosts[0] in self._accepted_hosts

    def refusal(self, hosts: list[bytes]) -> ASGIApp | None:
        """Return the response that refuses a request with these ``Host`` headers; None: it passes."""
        if self.has_accepted(hosts):
            return None

        name = host_name(hosts[0].decode("latin-1")) if len(hosts) == 1 else ""
        if not name:
            return plain_response(400, "Send one Host header with the name of this service.")
        if not (name in self._names or (self._any_address and _is_address(name))):
            text = "This service doesn't have the host name of this request; set its address with externalURL."
            return plain_response(421, text)

        # Checking costs more than the look-up; the bound keeps a caller from filling memory with spellings.
        if len(self._accepted_hosts) < _MAX_ACCEPTED_HOSTS:
            self._accepted_hosts.add(hosts[0])

        return None


class HostCheck:
    """Refuses requests for host names that aren't in `hosts`."""

    def __init__(self, app: ASGIApp, *, hosts: HostNames) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on requests that name this service."""
        if scope["type"] == "http":
            refused = self._hosts.refusal([value for name, value in scope["headers"] if name == b"host"])
            if refused is not None:
                await refused(scope, receive, send)
                return
        await self._app(scope, receive, send)


class SizeLimits:
    """Refuses addresses (414) and bodies (413) that are too long.

    Parameters
    ----------
    app
        The next application.
    exempt_prefix
        Paths with this prefix have their own limit: the MCP endpoints.
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
    """Adds headers that restrict how a browser uses a response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and add the headers to its response."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message["headers"])
                # A page may set its own, stricter policy, which wins.
                present = {name for name, _ in headers}
                message["headers"] = headers + [header for header in SECURITY_HEADERS if header[0] not in present]
            await send(message)

        await self._app(scope, receive, send_with_headers)


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
