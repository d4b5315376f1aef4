"""The ASGI application of the MCP endpoints, with the checks before a message reaches the protocol.

The order is: enabled, credential, permission ``MCP#ACCESS``, scope, method, origin. The SDK limits the body to 4 MiB.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import anyio.to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Message, Receive, Scope, Send

from sourcelight.server.identity import Authenticator, Principal, Refusal
from sourcelight.server.mcp import addresses
from sourcelight.server.mcp.first_requests import answer_first

if TYPE_CHECKING:
    from sourcelight.engines.execution import Engine
    from sourcelight.engines.tools import Conversations
    from sourcelight.repos import Viewer
    from sourcelight.server.mcp.calls import ToolRunner
    from sourcelight.server.mcp.opening import EngineOpening

_CALLER = "sourcelight.mcp.caller"
_REQUEST_HEADERS = (
    "authorization, content-type, accept, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, last-event-id"
)
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this machine."""

# An origin ends with its port (RFC 6454, 6.2); the URL parser takes `[::1]evil` for `::1`.
_ORIGIN = re.compile(r"https?://(?:\[[0-9a-f:.]+\]|[a-z0-9._~-]+)(?::[0-9]{1,5})?", re.IGNORECASE)
OnPrincipal = Callable[[Scope, Principal], None]


def _ignore_principal(scope: Scope, principal: Principal) -> None:
    del scope, principal


class _Caller(NamedTuple):
    """The first fields of `calls.CallIdentity`, whose module loads with the first call."""

    viewer: Viewer
    base_url: str
    holds: Callable[[], bool]


class McpEndpoints:
    """All MCP endpoints and their metadata documents, as one ASGI application.

    Parameters
    ----------
    engine
        The engine that answers calls, or its opening, for which calls wait.
    options
        Settings of the operator.
    authenticator
        Identifies the sender of a request. Called in the event loop.
    conversations
        Deep search beside an open engine; None without it.
    on_principal
        Receives the principal of each request, for the logs.
    """

    def __init__(
        self,
        engine: Engine | EngineOpening,
        options: addresses.McpOptions,
        authenticator: Authenticator,
        *,
        conversations: Conversations | None = None,
        on_principal: OnPrincipal = _ignore_principal,
    ) -> None:
        self._engine = engine
        self._options = options
        self._authenticator = authenticator
        self._conversations = conversations
        self._on_principal = on_principal
        self._calls: ToolRunner | None = None
        self._servers: Mapping[str, Any] = {}
        self._loading = threading.Lock()
        self._load_thread: threading.Thread | None = None
        self._stopping = False

    def stop(self) -> None:
        """Stop running calls and refuse new ones. Callable from any thread."""
        self._stopping = True
        if self._calls is not None:
            self._calls.stop()

    def load(self) -> None:
        """Load the SDK and create the servers; this takes a second."""
        from sourcelight.server.mcp.calls import CallIdentity, ToolRunner
        from sourcelight.server.mcp.protocol import Context, make_server
        from sourcelight.server.mcp.suites import offers_pages, suite_tools

        def caller_of(context: Context) -> CallIdentity:
            if context.request is None:
                raise TypeError("a message without its request")
            caller: _Caller = context.request.scope[_CALLER]
            return CallIdentity(*caller)

        # Two first requests at the same time load the SDK once.
        with self._loading:
            if self._servers:
                return

            options = self._options
            calls = ToolRunner(
                engine=self._engine,
                conversations=self._conversations,
                timeout_s=options.timeout_s,
                at_once=options.calls,
                max_tokens=options.max_tokens,
                with_structure=options.with_structure,
            )
            self._calls = calls
            self._servers = {
                suite: make_server(
                    suite_tools(suite, options), calls, caller_of, offers_pages=offers_pages(suite, options)
                )
                for suite in addresses.ENDPOINTS.values()
            }

    def _list_tools(self, suite: str) -> bytes:
        if self._options.are_default_for_lists:
            return addresses.read_tool_list(suite)
        # Loaded late: a service answers for its default options before it has the definitions of tools.
        from sourcelight.server.mcp.suites import suite_tool_list

        return suite_tool_list(suite, self._options)

    def _start_loading(self) -> None:
        if self._load_thread is None:
            self._load_thread = threading.Thread(target=self.load, name="sourcelight-mcp-load", daemon=True)
            self._load_thread.start()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        headers = Headers(scope=scope)
        path = scope["path"].rstrip("/")
        if not self._options.enabled:
            await _plain_response(404, "no route")(scope, receive, send)
            return

        base_url = self._options.external_url or f"{scope['scheme']}://{headers.get('host', 'localhost')}"
        if path.startswith(addresses.METADATA_PREFIX):
            if scope["method"] == "OPTIONS":
                await Response(status_code=204, headers=_preflight("*", "GET, OPTIONS"))(scope, receive, send)
                return
            await _metadata(scope["method"], base_url, path.removeprefix(addresses.METADATA_PREFIX))(
                scope, receive, send
            )
            return

        suite = addresses.ENDPOINTS.get(path)
        if suite is None:
            await _plain_response(404, "no route")(scope, receive, send)
            return

        origins = headers.getlist("origin")
        if origins and self._is_allowed_origin(origins):
            if scope["method"] == "OPTIONS":
                # A preflight has no credential; the request after it is checked as any other.
                await Response(status_code=204, headers=_preflight(origins[0], "POST, OPTIONS"))(scope, receive, send)
                return
            send = _readable_by(origins[0], send)

        caller = self._caller(scope, headers, base_url, path)
        refused = caller if isinstance(caller, Response) else self._refuse_message(scope, headers)
        if refused is not None:
            await refused(scope, receive, send)
            return

        scope[_CALLER] = caller
        await self._serve_message(suite, scope, receive, send)

    async def _serve_message(self, suite: str, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._servers:
            answer, receive = await answer_first(scope, receive, partial(self._list_tools, suite))
            if answer is not None:
                await answer(scope, receive, send)
                # A call follows soon, so its modules load now. Earlier, the imports would have delayed the answer, and
                # taken a second of CPU time in services that no agent uses.
                self._start_loading()
                return
            await anyio.to_thread.run_sync(self.load)

        from sourcelight.server.mcp.protocol import serve_request

        await serve_request(self._servers[suite], scope, receive, send)

    def _caller(self, scope: Scope, headers: Headers, base_url: str, path: str) -> _Caller | Response:
        """Return the sender of a request, or the response that refuses it."""
        principal = self._authenticator.for_mcp(headers)
        if isinstance(principal, Refusal):
            # A challenge asks for another credential, which doesn't help an account without the permission.
            needs_challenge = principal.status == 401 or principal.error
            if needs_challenge:
                extra = {"WWW-Authenticate": addresses.challenge(base_url, path, principal.error, principal.text)}
            else:
                extra = {}
            return _plain_response(principal.status, principal.text, extra)

        self._on_principal(scope, principal)

        return _Caller(principal.viewer, base_url, partial(self._authenticator.still_uses_mcp, headers, principal))

    def _refuse_message(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the response to a request that is not a message for this service, or None for a message."""
        if scope["method"] != "POST":
            return _plain_response(
                405, "Send messages with POST; this service has no streams or sessions.", {"Allow": "POST"}
            )

        if not self._is_allowed_origin(headers.getlist("origin")):
            return _plain_response(403, "This service refuses requests from pages of this origin.")
        if self._stopping:
            return _plain_response(503, "The service is stopping.", {"Retry-After": "5"})

        return None

    def _is_allowed_origin(self, origins: list[str]) -> bool:
        """Return whether a request comes from no page, or one of this machine, the service or a configured origin."""
        if not origins:
            return True
        if len(origins) == 1 and origins[0].lower() in self._options.origins:
            return True
        if len(origins) > 1 or _ORIGIN.fullmatch(origins[0]) is None:
            return False

        try:
            parts = urlsplit(origins[0])
            service = urlsplit(self._options.external_url)
            origin = (parts.scheme, parts.hostname, parts.port or _port(parts.scheme))
            service_origin = (service.scheme, service.hostname, service.port or _port(service.scheme))
        except ValueError:
            return False

        # The MCP specification asks servers to check Origin against DNS rebinding. A page on this machine is trusted
        # like any local program.
        return parts.hostname in _LOOPBACK or (bool(service.hostname) and origin == service_origin)


def _preflight(origin: str, methods: str) -> dict[str, str]:
    """Return the headers of a preflight's answer (Fetch standard, 3.2.3)."""
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Methods": methods,
        "Access-Control-Allow-Headers": _REQUEST_HEADERS,
        "Access-Control-Max-Age": "600",
        "Vary": "Origin",
    }


def _readable_by(origin: str, send: Send) -> Send:
    """Let a page of `origin` read the response."""

    async def send_readable(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=list(message["headers"]))
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = "WWW-Authenticate, Mcp-Session-Id"
            headers.add_vary_header("Origin")
            message = {**message, "headers": headers.raw}
        await send(message)

    return send_readable


def _port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _metadata(method: str, base_url: str, path: str) -> Response:
    if path and path not in addresses.ENDPOINTS:
        return _plain_response(404, "not found")
    if method not in {"GET", "HEAD"}:
        return _plain_response(405, "Read documents with GET.", {"Allow": "GET, HEAD"})
    document = addresses.resource_metadata(base_url, path or addresses.PREFIX)
    return JSONResponse(document, headers={"Cache-Control": "no-store", "Access-Control-Allow-Origin": "*"})


def _plain_response(status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{text}\n", status, dict(headers or {}))
