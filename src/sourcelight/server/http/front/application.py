"""The application: routes that need no engine, and from `Application.open` on all others, behind the same guards."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Protocol
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from sourcelight.server.http.middleware.guards import plain_response, search_refusal
from sourcelight.server.http.middleware.metrics import Metrics
from sourcelight.server.identity import Authenticator, Refusal

STREAM_PATH = "/.api/search/stream"

WAIT_S = 20.0
"""Seconds that a request waits for the engine: clients and proxies give up after 30 to 60."""

_STEP_S = 0.05


class _Part(Protocol):
    """A part of the service with running work."""

    def stop(self) -> None:
        """End it."""
        ...


class GetOnly(Route):
    """A route for GET only; the framework's own adds HEAD."""

    def __init__(self, path: str, endpoint: object) -> None:
        super().__init__(path, endpoint, methods=["GET"])  # type: ignore[arg-type]  # an ASGI app is right, too
        self.methods = {"GET"}


class Application(Starlette):
    """The framework's application: routes that answer at once, and after `open` all others.

    Parameters
    ----------
    routes
        Routes that need no engine. Requests for other paths wait for `open`.
    guards
        Middleware of every request; the first one is the outermost.
    metrics
        Counts of requests; it learns of the engine in `open`.
    authenticator
        Refuses searches that would wait in vain.
    wait_s
        Seconds that a request waits before it gets 503.
    """

    def __init__(
        self,
        routes: Sequence[BaseRoute],
        guards: Sequence[Middleware],
        metrics: Metrics,
        authenticator: Authenticator,
        *,
        wait_s: float = WAIT_S,
    ) -> None:
        super().__init__(routes=routes, middleware=guards, exception_handlers={404: _not_found, 405: _wrong_method})
        # A redirect would answer before authentication, and so reveal which paths exist.
        self.router.redirect_slashes = False
        self.router.default = self._answer_later
        self.metrics = metrics
        self.is_open = False
        self.is_stopping = False
        self._guards = guards
        self._authenticator = authenticator
        self.wait_s = wait_s
        self._direct: Mapping[str, ASGIApp] = {}
        self._parts: list[_Part] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        direct = None
        if scope["type"] == "http" and scope["method"] == "GET":
            direct = self._direct.get(scope["path"])
        if direct is not None:
            await direct(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    def add_part(self, part: _Part) -> None:
        """Register a part to be stopped with the service. Callable from any thread."""
        self._parts.append(part)
        # It may have been made while the service stopped.
        if self.is_stopping:
            part.stop()

    def open(self, routes: Sequence[BaseRoute], direct: Mapping[str, ASGIApp]) -> None:
        """Answer all requests from now on. Callable from any thread.

        Parameters
        ----------
        routes
            All routes, the first ones included.
        direct
            Applications by path, which GET requests reach past the framework, behind the guards only.
        """
        self.router.routes = list(routes)
        self.router.default = self.router.not_found
        self._direct = {path: guard(app, self._guards) for path, app in direct.items()}
        self.is_open = True

    def stop(self) -> None:
        """End running work, and refuse waiting work."""
        self.is_stopping = True
        for part in list(self._parts):
            part.stop()

    async def _answer_later(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a route of the open service, after waiting for it."""
        if scope["path"] == STREAM_PATH:
            principal = self._authenticator.for_search(Request(scope).headers)
            if isinstance(principal, Refusal):
                await search_refusal(principal)(scope, receive, send)
                return

        wait_until_s = time.monotonic() + self.wait_s
        # In steps, because the engine opens in another thread, and a service may stop meanwhile.
        while not self.is_open and not self.is_stopping and time.monotonic() < wait_until_s:  # noqa: ASYNC110
            await asyncio.sleep(_STEP_S)

        if self.is_open:
            await self.router(scope, receive, send)
            return

        text = "The service is stopping." if self.is_stopping else "The service is starting; retry in a moment."
        await plain_response(503, text, {"Retry-After": "5"})(scope, receive, send)


def guard(app: ASGIApp, guards: Sequence[Middleware]) -> ASGIApp:
    """Return `app` behind `guards`; the first one is the outermost."""
    for cls, args, kwargs in reversed(guards):
        app = cls(app, *args, **kwargs)
    return app


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
