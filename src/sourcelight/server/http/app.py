"""The ASGI application: routes and middleware."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from sourcelight.core.markup import escape
from sourcelight.repos.state import State
from sourcelight.server.http import trace as tracing
from sourcelight.server.http.analyses import Analyses
from sourcelight.server.http.connections import ConnectionLimits, ForwardedAddress, TrustedProxies
from sourcelight.server.http.middleware.access_log import AccessLog, RequestLog, notes_of
from sourcelight.server.http.middleware.credential_uses import CredentialUses
from sourcelight.server.http.middleware.guards import HostCheck, HostNames, SecurityHeaders, SizeLimits, plain_response
from sourcelight.server.http.middleware.metrics import PATH as METRICS_PATH
from sourcelight.server.http.middleware.metrics import Metrics, RequestMetrics
from sourcelight.server.http.pacing import Cadence
from sourcelight.server.http.pages.conversations import page
from sourcelight.server.http.pages.routes import Pages
from sourcelight.server.http.settings import Settings
from sourcelight.server.http.shortcut import Shortcut
from sourcelight.server.http.stream import SearchStream, StreamLimits
from sourcelight.server.identity import Authenticator, OwnerToken, Principal, Refusal
from sourcelight.server.mcp.endpoints import McpEndpoints
from sourcelight.server.mcp.suites import METADATA_PREFIX, McpOptions
from sourcelight.server.oauth import OAuthEndpoints, OAuthOptions

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.conversations import ConversationService
    from sourcelight.engines.execution import Engine, Limits
    from sourcelight.engines.tools import Conversations
    from sourcelight.server.http.deepsearch.api import Api
    from sourcelight.server.http.graphql.endpoint import GraphQLEndpoint

DEFAULT_TIMEOUT_S = 20.0
#: ``src version`` shows it as recommended: the release whose documents the service follows.
SRC_CLI_VERSION = "7.0.0"
STREAM_PATH = "/.api/search/stream"
GRAPHQL_PATH = "/.api/graphql"
NO_GRAPHQL = (
    "This service was installed without GraphQL: its operator can add it with `pip install 'sourcelight[graphql]'`. "
    "Searches are at /.api/search/stream, tools at /.api/mcp."
)
MCP_PATHS = ("/.api/mcp", "/.api/mcp/{rest:path}", METADATA_PREFIX, METADATA_PREFIX + "/{rest:path}")
_ANY = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - recognized, not bound
_HOME = (
    '<h1>Search code and its history</h1><p>Type a query above, open the <a href="{prefix}/search">list of '
    'repositories</a>, or continue in Python:</p><pre tabindex="0">import sourcelight as sl\n\n'
    'code = sl.connect("{address}")  # the token is in SRC_ACCESS_TOKEN\ncode.search("TODO").matches</pre>'
)


class _GetOnly(Route):
    """A route for GET only; the framework's own adds HEAD."""

    def __init__(self, path: str, endpoint: object) -> None:
        super().__init__(path, endpoint, methods=["GET"])  # type: ignore[arg-type]  # an ASGI app is right, too
        self.methods = {"GET"}


class Application(Starlette):
    """The framework's application, with a shortcut for `direct` paths past its middleware.

    Parameters
    ----------
    direct
        Applications by path, behind their own guards.
    options
        Options of the framework.
    """

    def __init__(self, direct: Mapping[str, ASGIApp], **options: Any) -> None:
        super().__init__(**options)
        self._direct = direct

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        direct = None
        if scope["type"] == "http" and scope["method"] == "GET":
            direct = self._direct.get(scope["path"])
        if direct is not None:
            await direct(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def create_app(
    engine: Engine,
    settings: Settings,
    *,
    state: State | None = None,
    owner_token: str | OwnerToken | None = None,
    bind_host: str = "127.0.0.1",
    cadence: Cadence | None = None,
    limits: StreamLimits | None = None,
    conversations: Conversations | None = None,
    uses: CredentialUses | None = None,
) -> Starlette:
    """Create the application of a service.

    Parameters
    ----------
    engine
        The engine that searches.
    settings
        Site configuration.
    state
        Accounts, tokens and clients; None: a new one in memory.
    owner_token
        A token of the owner that `state` does not store, or an object that recognizes it.
    bind_host
        The address it binds; a request may name it as its host.
    cadence
        Times and sizes of streams; None: 100 ms ticks, 32 KiB, a heartbeat each 5 s.
    limits
        Limits of running searches; None: the defaults.
    conversations
        Deep search for its tools; None without it.
    uses
        Records each use of a credential; None: only the access log does.

    Returns
    -------
    Starlette
        ``state.search`` is the stream's endpoint, ``state.mcp`` has all MCP endpoints; their `stop` ends running calls.
        ``state.authenticator`` identifies the sender of a request.
    """
    owner = OwnerToken.of(owner_token) if isinstance(owner_token, str) else owner_token
    traces = tracing.TraceLog()
    state_store = state or State()
    catalog = engine.catalog
    catalog.share(state_store.repositories, settings.default_visibility)
    authenticator = Authenticator(
        state_store,
        owner=owner,
        public=settings.auth_public,
        dynamic_clients=settings.registers_clients,
        external_url=settings.external_url,
        is_on_this_machine=catalog.is_on_this_machine,
    )
    oauth = OAuthEndpoints(
        state_store,
        authenticator,
        OAuthOptions(
            external_url=settings.external_url,
            registration=settings.registers_clients,
            devices=settings.device_sign_in,
        ),
    )
    search = SearchStream(
        engine, settings, authenticator, traces, cadence=cadence or Cadence(), limits=limits or StreamLimits()
    )

    mcp = McpEndpoints(
        engine,
        McpOptions(
            enabled=settings.mcp_enabled,
            disabled_tools=frozenset(settings.mcp_tools_disabled),
            without_deepsearch=settings.deepsearch_tool_disabled,
            external_url=settings.external_url,
            timeout_s=float(settings.max_timeout_s),
            origins=frozenset(settings.mcp_allowed_origins),
            max_tokens=settings.mcp_default_max_tokens,
            with_structure=settings.mcp_structured_content,
        ),
        authenticator.for_mcp,
        conversations=conversations,
        on_principal=_note_principal,
    )
    analyses = Analyses(
        engine,
        authenticator,
        enabled=settings.analyses_enabled,
        timeout_s=float(settings.max_analysis_s),
    )
    service = _served_conversations(conversations)
    api = None if service is None else _deepsearch_api(engine, service, authenticator, settings)
    pages = Pages(
        engine,
        service,
        authenticator,
        state_store,
        settings.external_url,
    )

    async def read_trace(request: Request) -> Response:
        principal = authenticator.for_search(request.headers)
        if isinstance(principal, Refusal):
            return plain_response(principal.status, principal.text, {"WWW-Authenticate": 'Basic realm="sourcelight"'})
        notes_of(request.scope).name(principal)
        trace = traces.read(request.path_params["trace_id"], principal)
        if trace is None:
            # The same answer for another caller's trace: its existence is not revealed.
            return plain_response(404, "This trace doesn't exist, or it is no longer stored.")
        return HTMLResponse(tracing.page(trace), headers={"Cache-Control": "no-store", "Vary": "Authorization"})

    @functools.cache
    def graphql_endpoint() -> GraphQLEndpoint:
        # Made for the first request: most services never get one, and the library takes 60 ms to import.
        from sourcelight.server.http.graphql.endpoint import GraphQLEndpoint

        return GraphQLEndpoint(
            engine,
            authenticator,
            timeout_s=float(settings.max_timeout_s),
            version=SRC_CLI_VERSION,
            on_principal=lambda request, principal: _note_principal(request.scope, principal),
        )

    async def graphql(request: Request) -> Response:
        if find_spec("graphql") is None:
            return JSONResponse({"errors": [{"message": NO_GRAPHQL}]}, 501, {"Cache-Control": "no-store"})
        return await graphql_endpoint()(request)

    async def version(_: Request) -> Response:
        return JSONResponse({"version": SRC_CLI_VERSION})

    async def alive(_: Request) -> Response:
        return plain_response(200, "ok")

    async def ready(_: Request) -> Response:
        if search.stopping:
            return plain_response(503, "stopping")
        if engine.indexing.is_running:
            return plain_response(503, "indexing")
        if engine.indexing.failure is not None and engine.report is None:
            return plain_response(503, "indexing failed: see the log of the service")
        # Names no path or repository, because anyone may call this. The log and `admin` name them.
        warning = "\nrepos.toml can't be read: its previous settings still apply" if catalog.settings_problems else ""
        return plain_response(200, f"ready{warning}")

    metrics = Metrics(lambda: search.running, catalog)
    proxies = TrustedProxies(settings.trusted_proxies)
    request_log = RequestLog(uses=(uses or CredentialUses()).append, queries=settings.log_queries)
    hosts = HostNames(_names(settings, bind_host), any_address=bind_host in _ANY)
    # The outermost comes first: the caller's address must be known before the log names it, and sizes are checked after
    # the host, so that a foreign page learns nothing.
    guards = [
        Middleware(ForwardedAddress, proxies=proxies),
        Middleware(AccessLog, log=request_log),
        Middleware(RequestMetrics, metrics=metrics),
        Middleware(SecurityHeaders),
        Middleware(HostCheck, hosts=hosts),
        Middleware(SizeLimits),
    ]
    app = Application(
        {STREAM_PATH: guard(search, guards)},
        routes=[
            _GetOnly(STREAM_PATH, search),
            _GetOnly("/.api/src-cli/version", version),
            _GetOnly(tracing.PATH + "{trace_id}", read_trace),
            *(Route(path, mcp) for path in MCP_PATHS),
            Route(GRAPHQL_PATH, graphql, methods=["POST"]),
            *analyses.routes(),
            *oauth.routes(),
            Route("/healthz", alive),
            Route("/readyz", ready),
            Route(METRICS_PATH, metrics.endpoint(authenticator, public=settings.metrics_public), methods=["GET"]),
            Route("/", functools.partial(_home, settings.external_url)),
            *([] if api is None else api.routes()),
            *pages.routes(),
        ],
        middleware=guards,
        exception_handlers={404: _not_found, 405: _wrong_method},
    )
    # A redirect would answer before authentication, and so tell which paths exist.
    app.router.redirect_slashes = False
    app.state.search = search
    app.state.connection_limits = ConnectionLimits(stall_s=float(settings.reader_timeout_s))
    app.state.is_trusted_proxy = proxies.__contains__
    app.state.shortcut = Shortcut(STREAM_PATH, search, hosts, proxies, request_log, metrics)
    app.state.authenticator = authenticator
    app.state.oauth = oauth
    app.state.mcp = mcp
    app.state.analyses = analyses
    app.state.deepsearch = api
    app.state.pages = pages
    return app


async def _home(external_url: str, request: Request) -> Response:
    address = external_url or f"{request.url.scheme}://{request.headers.get('host', 'localhost')}"
    prefix = urlsplit(external_url).path.rstrip("/")
    return page("Start", _HOME.format(prefix=escape(prefix), address=escape(address)), prefix=prefix)


def guard(app: ASGIApp, guards: Sequence[Middleware]) -> ASGIApp:
    """Return `app` behind `guards`; the first one is the outermost."""
    for cls, args, kwargs in reversed(guards):
        app = cls(app, *args, **kwargs)
    return app


def _served_conversations(conversations: Conversations | None) -> ConversationService | None:
    """Return the conversations if they have an API and pages too."""
    if conversations is None:
        return None
    from sourcelight.engines.deepsearch.conversations import ConversationService

    return conversations if isinstance(conversations, ConversationService) else None


def _deepsearch_api(
    engine: Engine, service: ConversationService, authenticator: Authenticator, settings: Settings
) -> Api:
    from sourcelight.server.http.deepsearch.api import Api
    from sourcelight.server.http.deepsearch.messages import ConversationAccess

    return Api(ConversationAccess(engine, service, authenticator, settings.external_url))


def search_limits(settings: Settings) -> Limits:
    """Return the limits of a search: 20 s by default, at most the configured maximum."""
    from sourcelight.engines.execution import Limits

    max_timeout_s = float(settings.max_timeout_s)
    return Limits(default_timeout_s=min(DEFAULT_TIMEOUT_S, max_timeout_s), max_timeout_s=max_timeout_s)


def _note_principal(scope: Scope, principal: Principal) -> None:
    notes_of(scope).name(principal)


def _names(settings: Settings, bind_host: str) -> Sequence[str]:
    external = urlsplit(settings.external_url).hostname if settings.external_url else None
    return [name for name in (external, None if bind_host in _ANY else bind_host) if name]


async def _not_found(request: Request, _: Exception) -> Response:
    path = request.scope["path"]
    if path.endswith("/") and any(route.path == path[:-1] for route in request.app.routes):
        # Relative, so that it works behind a proxy that adds a path.
        query = request.scope["query_string"].decode("latin-1")
        target = "../" + quote(path[:-1].rpartition("/")[2])
        return RedirectResponse(f"{target}?{query}" if query else target, 307)
    return plain_response(404, "no route" if path.startswith("/.api/") else "not found")


async def _wrong_method(_: Request, exc: Exception) -> Response:
    allowed = exc.headers if isinstance(exc, HTTPException) else None
    return Response(status_code=405, headers=allowed)
