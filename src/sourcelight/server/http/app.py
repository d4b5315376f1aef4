"""The routes of an open service: search, pages, analyses, conversations; `front` has those before."""

from __future__ import annotations

import functools
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from sourcelight.core.markup import escape
from sourcelight.repos.state import State
from sourcelight.server.http import trace as tracing
from sourcelight.server.http.analyses import Analyses
from sourcelight.server.http.front import (
    SRC_CLI_VERSION,
    STREAM_PATH,
    Application,
    GetOnly,
    create_front,
    first_routes,
    note_principal,
)
from sourcelight.server.http.middleware.access_log import notes_of
from sourcelight.server.http.middleware.credential_uses import CredentialUses
from sourcelight.server.http.middleware.guards import plain_response
from sourcelight.server.http.middleware.metrics import PATH as METRICS_PATH
from sourcelight.server.http.pacing import Cadence
from sourcelight.server.http.pages.frame import page
from sourcelight.server.http.pages.routes import Pages
from sourcelight.server.http.settings import Settings
from sourcelight.server.http.shortcut import Shortcut
from sourcelight.server.http.stream import SearchStream, StreamLimits
from sourcelight.server.identity import Authenticator, OwnerToken, Refusal

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.conversations import ConversationService
    from sourcelight.engines.execution import Engine, Limits
    from sourcelight.engines.tools import Conversations
    from sourcelight.server.http.deepsearch.api import Api
    from sourcelight.server.http.graphql.endpoint import GraphQLEndpoint

DEFAULT_TIMEOUT_S = 20.0
GRAPHQL_PATH = "/.api/graphql"
NO_GRAPHQL = (
    "This service was installed without GraphQL: its operator can add it with `pip install 'sourcelight[graphql]'`. "
    "Searches are at /.api/search/stream, tools at /.api/mcp."
)
_HOME = (
    '<h1>Search code and its history</h1><p>Type a query above, open the <a href="{prefix}/search">list of '
    'repositories</a>, or continue in Python:</p><pre tabindex="0">import sourcelight as sl\n\n'
    'code = sl.connect("{address}")  # the token is in SRC_ACCESS_TOKEN\ncode.search("TODO").matches</pre>'
)


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
) -> Application:
    """Create the application of a service with an open engine.

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
    Application
        As `open_app` leaves it.
    """
    state_store = state or State()
    app = create_front(
        engine,
        settings,
        state=state_store,
        is_on_this_machine=engine.catalog.is_on_this_machine,
        owner_token=OwnerToken.of(owner_token) if isinstance(owner_token, str) else owner_token,
        bind_host=bind_host,
        conversations=conversations,
        uses=uses,
    )
    open_app(app, engine, settings, state_store, cadence=cadence, limits=limits, conversations=conversations)
    return app


def open_app(
    app: Application,
    engine: Engine,
    settings: Settings,
    state: State,
    *,
    cadence: Cadence | None = None,
    limits: StreamLimits | None = None,
    conversations: Conversations | None = None,
) -> None:
    """Answer all requests by an application with an engine, with the parameters of `create_app`.

    Afterwards ``app.state.search`` is the stream's endpoint.
    """
    catalog = engine.catalog
    catalog.share(state.repositories, settings.default_visibility)
    authenticator: Authenticator = app.state.authenticator
    traces = tracing.TraceLog()
    search = SearchStream(
        engine, settings, authenticator, traces, cadence=cadence or Cadence(), limits=limits or StreamLimits()
    )
    analyses = Analyses(
        engine,
        authenticator,
        enabled=settings.analyses_enabled,
        timeout_s=float(settings.max_analysis_s),
    )
    service = _served_conversations(conversations)
    api = None if service is None else _deepsearch_api(engine, service, authenticator, settings)
    pages = Pages(engine, service, authenticator, state, settings.external_url)
    app.add_part(search)
    app.add_part(analyses)
    app.add_part(pages)
    if api is not None:
        app.add_part(api)

    app.metrics.connect(lambda: search.running, catalog)
    app.state.search = search
    app.state.shortcut = Shortcut(
        STREAM_PATH, search, app.state.hosts, app.state.proxies, app.state.request_log, app.metrics
    )
    app.open(
        [
            GetOnly(STREAM_PATH, search),
            GetOnly(tracing.PATH + "{trace_id}", functools.partial(_read_trace, traces, authenticator)),
            *first_routes(app.state.mcp, app.state.oauth),
            Route(GRAPHQL_PATH, _GraphQL(engine, authenticator, settings).answer, methods=["POST"]),
            *analyses.routes(),
            Route("/readyz", functools.partial(_ready, engine, search)),
            Route(METRICS_PATH, app.metrics.endpoint(authenticator, public=settings.metrics_public), methods=["GET"]),
            Route("/", functools.partial(_home, settings.external_url)),
            *([] if api is None else api.routes()),
            *pages.routes(),
        ],
        {STREAM_PATH: search},
    )


async def _read_trace(traces: tracing.TraceLog, authenticator: Authenticator, request: Request) -> Response:
    """Return the trace of a search to its caller."""
    principal = authenticator.for_search(request.headers)
    if isinstance(principal, Refusal):
        return plain_response(principal.status, principal.text, {"WWW-Authenticate": 'Basic realm="sourcelight"'})

    notes_of(request.scope).name(principal)
    trace = traces.read(request.path_params["trace_id"], principal)
    if trace is None:
        # The same answer for another caller's trace: its existence is not revealed.
        return plain_response(404, "This trace doesn't exist, or it is no longer stored.")

    return HTMLResponse(tracing.page(trace), headers={"Cache-Control": "no-store", "Vary": "Authorization"})


class _GraphQL:
    """The GraphQL endpoint, made for the first request: most services never get one, and its import takes 60 ms."""

    def __init__(self, engine: Engine, authenticator: Authenticator, settings: Settings) -> None:
        self._engine = engine
        self._authenticator = authenticator
        self._timeout_s = float(settings.max_timeout_s)

    async def answer(self, request: Request) -> Response:
        """Answer a request; 501 if the library isn't installed."""
        if find_spec("graphql") is None:
            return JSONResponse({"errors": [{"message": NO_GRAPHQL}]}, 501, {"Cache-Control": "no-store"})
        return await self._endpoint(request)

    @functools.cached_property
    def _endpoint(self) -> GraphQLEndpoint:
        from sourcelight.server.http.graphql.endpoint import GraphQLEndpoint

        return GraphQLEndpoint(
            self._engine,
            self._authenticator,
            timeout_s=self._timeout_s,
            version=SRC_CLI_VERSION,
            on_principal=lambda request, principal: note_principal(request.scope, principal),
        )


async def _ready(engine: Engine, search: SearchStream, _: Request) -> Response:
    """Return 200 if the service answers searches, else 503 with the reason."""
    if search.stopping:
        return plain_response(503, "stopping")
    if engine.indexing.is_running:
        return plain_response(503, "indexing")
    if engine.indexing.failure is not None and engine.report is None:
        return plain_response(503, "indexing failed: see the log of the service")

    # Names no path or repository, because anyone may call this. The log and `admin` name them.
    has_problems = bool(engine.catalog.settings_problems)
    warning = "\nrepos.toml can't be read: its previous settings still apply" if has_problems else ""
    return plain_response(200, f"ready{warning}")


async def _home(external_url: str, request: Request) -> Response:
    address = external_url or f"{request.url.scheme}://{request.headers.get('host', 'localhost')}"
    prefix = urlsplit(external_url).path.rstrip("/")
    return page("Start", _HOME.format(prefix=escape(prefix), address=escape(address)), prefix=prefix)


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
