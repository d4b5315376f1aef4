"""Counts and times of requests for Prometheus, without names of repositories, accounts or queries.

Each application has its own registry. Labels come from fixed lists, so that no caller can create new series.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sourcelight.server.http.middleware.access_log import notes_of
from sourcelight.server.http.middleware.guards import plain_response
from sourcelight.server.identity import Authenticator, Refusal

if TYPE_CHECKING:
    from sourcelight.repos import Catalog

PATH = "/metrics"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_MAX_UNCOUNTED = 64
_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60, 300)
# The longest start that fits counts.
_ROUTES = (
    ("/.api/search/stream", "stream"),
    ("/.api/mcp", "mcp"),
    ("/.api/analyses/", "analyses"),
    ("/.api/graphql", "graphql"),
    ("/.api/deepsearch/", "deepsearch"),
    ("/.api/", "other"),
    ("/.auth/", "sign-in"),
    ("/.well-known/", "sign-in"),
    ("/deepsearch", "deepsearch pages"),
    ("/search", "search pages"),
    ("/healthz", "health"),
    ("/readyz", "health"),
    (PATH, "health"),
)


def route_of(path: str) -> str:
    """Return the label of an address: the part of the service that answers it."""
    for start, label in _ROUTES:
        if path.startswith(start):
            return label
    return "code pages" if "/-/" in path else "other"


class Metrics:
    """The registry of one application; requests count from the first, though the library loads in `connect`.

    Requests are counted some at a time: after a pause between two, the library's code has left the processor's caches,
    and counting one takes ten times as long as it does among others.
    """

    def __init__(self) -> None:
        self.open = 0
        self._registry: Any = None
        self._uncounted: list[tuple[str, str, int, float]] = []
        self._count: Callable[[str, str, int, float], None] | None = None

    def connect(self, searches: Callable[[], int], catalog: Catalog) -> None:
        """Create the registry.

        Parameters
        ----------
        searches
            Gives the number of searches that run now.
        catalog
            The repositories that are served.
        """
        # Loaded late: it takes as long as all that a service needs for its first answer.
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

        registry = CollectorRegistry()
        requests = Counter(
            "sourcelight_requests", "Answered requests", ("route", "method", "status"), registry=registry
        )
        seconds = Histogram(
            "sourcelight_request_seconds",
            "Time from a request to the end of its response",
            ("route",),
            buckets=_BUCKETS_S,
            registry=registry,
        )
        open_requests = Gauge("sourcelight_open_requests", "Requests in progress", registry=registry)
        open_requests.set_function(lambda: float(self.open))
        running = Gauge("sourcelight_running_searches", "Stream searches in progress", registry=registry)
        running.set_function(lambda: float(searches()))
        served = Gauge("sourcelight_repositories", "Served repositories", registry=registry)
        served.set_function(lambda: float(len(catalog.repositories)))
        ProcessCollector(registry=registry)

        # The library's look-up by labels takes longer than counting; there are few routes, methods and statuses.
        counter, timer = functools.cache(requests.labels), functools.cache(seconds.labels)

        def count(route: str, method: str, status: int, taken_s: float) -> None:
            counter(route, method, str(status)).inc()
            timer(route).observe(taken_s)

        self._registry, self._count = registry, count

    def count(self, route: str, method: str, status: int, taken_s: float) -> None:
        """Count a request of a route (see `route_of`) that took so many seconds."""
        self._uncounted.append((route, method if method in _METHODS else "other", status, taken_s))
        if len(self._uncounted) >= _MAX_UNCOUNTED:
            self._count_all()

    def _count_all(self) -> None:
        if self._count is None:
            return
        # Another thread may add one meanwhile, so each is taken from the list.
        while self._uncounted:
            self._count(*self._uncounted.pop())

    def endpoint(
        self, authenticator: Authenticator, *, public: bool
    ) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the endpoint of all values: for administrators, or `public`."""

        async def read(request: Request) -> Response:
            if not public:
                principal = authenticator.for_search(request.headers)
                if isinstance(principal, Refusal):
                    return plain_response(principal.status, principal.text)
                notes_of(request.scope).name(principal)
                if not principal.viewer.sees_private:
                    return plain_response(403, "Metrics are for administrators; metrics.public opens them.")

            from prometheus_client import generate_latest
            from prometheus_client.exposition import CONTENT_TYPE_LATEST

            self._count_all()
            headers = {"Cache-Control": "no-store", "Vary": "Authorization"}
            return Response(generate_latest(self._registry), headers=headers, media_type=CONTENT_TYPE_LATEST)

        return read


class RequestMetrics:
    """Counts requests and their times."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count it at its end."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        start_s, status, route = time.monotonic(), 0, route_of(scope["path"])

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._metrics.open += 1
        try:
            await self._app(scope, receive, send_noted)
        finally:
            self._metrics.open -= 1
            # 0: the caller left before the answer began.
            self._metrics.count(route, scope["method"], status, time.monotonic() - start_s)
