"""Routes that need no engine: health, the first messages of MCP clients, and OAuth.

The guards of all requests are set up here, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from sourcelight.repos.state import State
from sourcelight.server.http.connections import ConnectionLimits, ForwardedAddress, TrustedProxies
from sourcelight.server.http.front.application import Application, GetOnly
from sourcelight.server.http.middleware.access_log import AccessLog, RequestLog, notes_of
from sourcelight.server.http.middleware.credential_uses import CredentialUses
from sourcelight.server.http.middleware.guards import HostCheck, HostNames, SecurityHeaders, SizeLimits, plain_response
from sourcelight.server.http.middleware.metrics import Metrics, RequestMetrics
from sourcelight.server.http.settings import Settings
from sourcelight.server.identity import Authenticator, OwnerToken, Principal
from sourcelight.server.mcp.addresses import METADATA_PREFIX, McpOptions
from sourcelight.server.mcp.endpoints import McpEndpoints
from sourcelight.server.oauth import OAuthEndpoints, OAuthOptions

if TYPE_CHECKING:
    from sourcelight.engines.execution import Engine
    from sourcelight.engines.tools import Conversations
    from sourcelight.server.mcp.opening import EngineOpening

#: ``src version`` shows it as recommended: the release whose documents the service follows.
SRC_CLI_VERSION = "7.0.0"
MCP_PATHS = ("/.api/mcp", "/.api/mcp/{rest:path}", METADATA_PREFIX, METADATA_PREFIX + "/{rest:path}")
_ANY = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - recognized, not bound


def create_front(
    engine: Engine | EngineOpening,
    settings: Settings,
    *,
    state: State,
    is_on_this_machine: bool,
    owner_token: OwnerToken | None = None,
    bind_host: str = "127.0.0.1",
    conversations: Conversations | None = None,
    uses: CredentialUses | None = None,
) -> Application:
    """Create the application of a service whose engine may open later.

    Parameters
    ----------
    engine
        The engine that searches, or its opening.
    settings
        Site configuration.
    state
        Accounts, tokens and clients.
    is_on_this_machine
        Whether repositories have directories on this machine, which grants then refer to.
    owner_token
        Recognizes a token of the owner that `state` does not store.
    bind_host
        The address it binds; a request may name it as its host.
    conversations
        Deep search beside an open engine; None without it.
    uses
        Records each use of a credential; None: only the access log does.

    Returns
    -------
    Application
        ``state.mcp`` has all MCP endpoints; ``state.authenticator`` identifies the sender of a request.
    """
    authenticator = Authenticator(
        state,
        owner=owner_token,
        public=settings.auth_public,
        dynamic_clients=settings.registers_clients,
        external_url=settings.external_url,
        is_on_this_machine=is_on_this_machine,
    )
    oauth = OAuthEndpoints(
        state,
        authenticator,
        OAuthOptions(
            external_url=settings.external_url,
            registration=settings.registers_clients,
            devices=settings.device_sign_in,
        ),
    )
    mcp = McpEndpoints(
        engine,
        _mcp_options(settings),
        authenticator,
        conversations=conversations,
        on_principal=note_principal,
    )
    metrics = Metrics()
    proxies = TrustedProxies(settings.trusted_proxies)
    request_log = RequestLog(uses=(uses or CredentialUses()).append, queries=settings.log_queries)
    hosts = HostNames(_names(settings, bind_host), any_address=bind_host in _ANY)
    guards = _guards(proxies, request_log, metrics, hosts)
    app = Application([*first_routes(mcp, oauth), Route("/readyz", _starting)], guards, metrics, authenticator)
    app.add_part(mcp)
    app.state.connection_limits = ConnectionLimits(stall_s=float(settings.reader_timeout_s))
    app.state.is_trusted_proxy = proxies.__contains__

    # For the shortcut past these guards, which is made with the engine.
    app.state.shortcut = None
    app.state.hosts, app.state.proxies, app.state.request_log = hosts, proxies, request_log
    app.state.authenticator = authenticator
    app.state.oauth = oauth
    app.state.mcp = mcp
    return app


def _mcp_options(settings: Settings) -> McpOptions:
    return McpOptions(
        enabled=settings.mcp_enabled,
        disabled_tools=frozenset(settings.mcp_tools_disabled),
        without_deepsearch=settings.deepsearch_tool_disabled,
        external_url=settings.external_url,
        timeout_s=float(settings.max_timeout_s),
        origins=frozenset(settings.mcp_allowed_origins),
        max_tokens=settings.mcp_default_max_tokens,
        with_structure=settings.mcp_structured_content,
    )


def _guards(
    proxies: TrustedProxies, request_log: RequestLog, metrics: Metrics, hosts: HostNames
) -> Sequence[Middleware]:
    """Return the middleware of every request; the outermost comes first.

    The caller's address must be known before the log names it. Sizes are checked after the host, so that a foreign page
    learns nothing.
    """
    return [
        Middleware(ForwardedAddress, proxies=proxies),
        Middleware(AccessLog, log=request_log),
        Middleware(RequestMetrics, metrics=metrics),
        Middleware(SecurityHeaders),
        Middleware(HostCheck, hosts=hosts),
        Middleware(SizeLimits),
    ]


def first_routes(mcp: McpEndpoints, oauth: OAuthEndpoints) -> list[BaseRoute]:
    """Return the routes that need no engine."""
    return [
        GetOnly("/.api/src-cli/version", _version),
        *(Route(path, mcp) for path in MCP_PATHS),
        *oauth.routes(),
        Route("/healthz", _alive),
    ]


def note_principal(scope: Scope, principal: Principal) -> None:
    """Record the sender of a request for the access log."""
    notes_of(scope).name(principal)


def _names(settings: Settings, bind_host: str) -> Sequence[str]:
    external = urlsplit(settings.external_url).hostname if settings.external_url else None
    return [name for name in (external, None if bind_host in _ANY else bind_host) if name]


async def _version(_: Request) -> Response:
    return JSONResponse({"version": SRC_CLI_VERSION})


async def _alive(_: Request) -> Response:
    return plain_response(200, "ok")


async def _starting(request: Request) -> Response:
    return plain_response(503, "stopping" if request.app.is_stopping else "starting")
