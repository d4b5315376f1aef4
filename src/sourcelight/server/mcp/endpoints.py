"""The ASGI application of the endpoints: what is checked before a message reaches the protocol.

In this order: whether there are endpoints at all, the credential, the permission ``MCP#ACCESS``, the scope, the
method, the origin; then the body, which the SDK limits to 4 MiB.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from sourcelight.server.identity import Principal, Refusal
from sourcelight.server.mcp.suites import ENDPOINTS, METADATA_PREFIX, PREFIX, McpOptions, challenge, resource_metadata

if TYPE_CHECKING:
    from sourcelight.engines.execution import LocalEngine
    from sourcelight.engines.tools import Conversations
    from sourcelight.server.mcp.calls import CallIdentity, ToolRunner

_CALLER = "sourcelight.mcp.caller"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# An origin has nothing behind its port (RFC 6454, 6.2); the parser of addresses takes `[::1]evil` for `::1`.
_ORIGIN = re.compile(r"https?://(?:\[[0-9a-f:.]+\]|[a-z0-9._~-]+)(?::[0-9]{1,5})?", re.IGNORECASE)
Authenticate = Callable[[Mapping[str, str]], Principal | Refusal]
Noted = Callable[[Scope, Principal], None]


def _unnoted(scope: Scope, principal: Principal) -> None:
    del scope, principal


class McpEndpoints:
    """All MCP endpoints and their metadata documents, as one ASGI application.

    Parameters
    ----------
    engine
        Answers calls.
    options
        What the operator chose.
    authenticate
        From headers (names in lower case) to whom a request acts for: someone with a credential that is good for MCP,
        and with ``MCP#ACCESS``. Called in the event loop.
    conversations
        Deep search; None where there is none.
    noted
        Told for whom each request is answered, for the logs.
    """

    def __init__(
        self,
        engine: LocalEngine,
        options: McpOptions,
        authenticate: Authenticate,
        *,
        conversations: Conversations | None = None,
        noted: Noted = _unnoted,
    ) -> None:
        self._engine = engine
        self._options = options
        self._authenticate = authenticate
        self._conversations = conversations
        self._noted = noted
        self._calls: ToolRunner | None = None
        self._servers: Mapping[str, Any] = {}
        self._loading = threading.Lock()
        self._stopping = False

    @staticmethod
    def owns(path: str) -> bool:
        """Whether requests for `path` come here."""
        return path == PREFIX or path.startswith((f"{PREFIX}/", METADATA_PREFIX))

    def stop(self) -> None:
        """End the calls under way; new ones are turned away. Callable from any thread."""
        self._stopping = True
        if self._calls is not None:
            self._calls.stop()

    def load(self) -> None:
        """Load the SDK and make the servers: a second of work that the first message else waits for."""
        from sourcelight.server.mcp.calls import ToolRunner
        from sourcelight.server.mcp.protocol import Context, make_server
        from sourcelight.server.mcp.suites import suite_tools

        def caller_of(context: Context) -> CallIdentity:
            if context.request is None:
                raise TypeError("a message without its request")
            caller: CallIdentity = context.request.scope[_CALLER]
            return caller

        with self._loading:
            if self._servers:
                return
            calls = ToolRunner(self._engine, self._conversations, self._options.timeout_s, self._options.calls)
            self._calls = calls
            self._servers = {
                suite: make_server(suite_tools(suite, self._options), calls, caller_of) for suite in ENDPOINTS.values()
            }

    def preload(self) -> None:
        """Start to load in a thread of its own, so that no message has to wait for it."""
        if self._options.enabled:
            threading.Thread(target=self.load, name="sourcelight-mcp-load", daemon=True).start()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = Headers(scope=scope)
        path = scope["path"].rstrip("/")
        if not self._options.enabled:
            await _plain(404, "no route")(scope, receive, send)
            return
        base_url = self._options.external_url or f"{scope['scheme']}://{headers.get('host', 'localhost')}"
        if path.startswith(METADATA_PREFIX):
            await _metadata(scope["method"], base_url, path.removeprefix(METADATA_PREFIX))(scope, receive, send)
            return
        suite = ENDPOINTS.get(path)
        if suite is None:
            await _plain(404, "no route")(scope, receive, send)
            return
        caller = self._caller(scope, headers, base_url, path)
        refused = caller if isinstance(caller, Response) else self._unfit(scope, headers)
        if refused is not None:
            await refused(scope, receive, send)
            return
        scope[_CALLER] = caller
        if not self._servers:
            await anyio.to_thread.run_sync(self.load)
        from sourcelight.server.mcp.protocol import serve_request

        await serve_request(self._servers[suite], scope, receive, send)

    def _caller(self, scope: Scope, headers: Headers, base_url: str, path: str) -> CallIdentity | Response:
        """For whom a request runs, or the answer to one that may not go on."""
        from sourcelight.server.mcp.calls import CallIdentity

        principal = self._authenticate(headers)
        if isinstance(principal, Refusal):
            # A challenge asks for another credential: it would not help an account without the permission.
            asks = principal.status == 401 or principal.error
            extra = {"WWW-Authenticate": challenge(base_url, path, principal.error, principal.text)} if asks else {}
            return _plain(principal.status, principal.text, extra)
        self._noted(scope, principal)

        def holds() -> bool:
            now = self._authenticate(headers)
            return not isinstance(now, Refusal) and now.covers(principal)

        return CallIdentity(principal.viewer, base_url, holds)

    def _unfit(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a request that is no message for this service; None for one that may be."""
        if scope["method"] != "POST":
            return _plain(405, "Messages come by POST; this service keeps no streams or sessions.", {"Allow": "POST"})
        if not self._right_origin(headers.getlist("origin")):
            return _plain(403, "This service does not answer to pages of this origin.")
        if self._stopping:
            return _plain(503, "The service is stopping.", {"Retry-After": "5"})
        return None

    def _right_origin(self, origins: list[str]) -> bool:
        """Whether a request comes from no page, one of this machine, or one of the service's own address."""
        if not origins:
            return True
        if len(origins) > 1 or _ORIGIN.fullmatch(origins[0]) is None:
            return False
        try:
            parts = urlsplit(origins[0])
            own = urlsplit(self._options.external_url)
            place = (parts.scheme, parts.hostname, parts.port or _port(parts.scheme))
            own_place = (own.scheme, own.hostname, own.port or _port(own.scheme))
        except ValueError:
            return False
        return parts.hostname in _LOOPBACK or (bool(own.hostname) and place == own_place)


def _port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _metadata(method: str, base_url: str, path: str) -> Response:
    if path and path not in ENDPOINTS:
        return _plain(404, "not found")
    if method not in {"GET", "HEAD"}:
        return _plain(405, "Documents are read by GET.", {"Allow": "GET, HEAD"})
    document = resource_metadata(base_url, path or PREFIX)
    return JSONResponse(document, headers={"Cache-Control": "no-store", "Access-Control-Allow-Origin": "*"})


def _plain(status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{text}\n", status, dict(headers or {}))
