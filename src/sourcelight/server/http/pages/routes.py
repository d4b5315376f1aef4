"""Routes of the pages and of searches."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ClusterError, PatternError, QueryError, RepositoryError, ToolError
from sourcelight.engines.tools import ToolContext
from sourcelight.repos.state import State
from sourcelight.server.http.pages import search
from sourcelight.server.http.pages.access import PageAccess
from sourcelight.server.http.pages.browser import PageStream, send_script, send_style
from sourcelight.server.http.pages.code.routes import CodePages
from sourcelight.server.http.pages.deepsearch import ConversationPages
from sourcelight.server.http.pages.frame import HEADERS, SCRIPT_PATH, STYLE_PATH, error_page
from sourcelight.server.http.pages.python import notebook
from sourcelight.server.http.pages.saved import SavedPages, save_form
from sourcelight.server.http.pages.suggestions import suggest
from sourcelight.server.identity import Authenticator, QueueFull

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.conversations import ConversationService
    from sourcelight.engines.execution import Engine


class Pages:
    """The pages of one engine.

    Parameters
    ----------
    engine
        Reads files and commits.
    conversations
        Conversations; None without deep search.
    authenticator
        Identifies the sender of a request.
    state
        Where saved answers are.
    external_url
        The service's address; empty: the address of each request.
    """

    def __init__(
        self,
        engine: Engine,
        conversations: ConversationService | None,
        authenticator: Authenticator,
        state: State,
        external_url: str = "",
    ) -> None:
        self._engine = engine
        self._access = PageAccess(engine, authenticator, external_url)
        self._conversations = ConversationPages(conversations, self._access)
        self._saved = SavedPages(state, self._access)
        self._code = CodePages(self._access)
        self._live: set[Cancellation] = set()

    def stop(self) -> None:
        """End the streams of pages. Callable from any thread."""
        self._conversations.stop()
        for cancellation in list(self._live):
            cancellation.cancel()

    def routes(self) -> list[BaseRoute]:
        """Return the routes. Add them last: the route of code matches every address."""
        return [
            Route(STYLE_PATH, send_style),
            *self._conversations.routes(),
            Route(SCRIPT_PATH, send_script),
            *self._saved.routes(),
            Route(search.PATH, self._search),
            Route(search.LIVE_PATH, self._search_live, methods=["GET"]),
            Route(search.EXPORT_PATH, self._export, methods=["GET"]),
            Route(search.NOTEBOOK_PATH, self._notebook, methods=["GET"]),
            Route(search.SUGGESTIONS_PATH, self._suggestions, methods=["GET"]),
            *self._code.routes(),
        ]

    async def _search(self, request: Request) -> Response:
        prefix, base_url = self._access.prefix, self._access.base_of(request)

        def answer(query: search.PageQuery, context: ToolContext) -> Response:
            actions = save_form(query.query, query.pattern_type, prefix) if context.viewer.name else ""
            return search.search_page(query, context, prefix=prefix, base_url=base_url, actions=actions)

        return await self._answer_query(request, answer)

    async def _export(self, request: Request) -> Response:
        return await self._answer_query(request, search.export)

    async def _notebook(self, request: Request) -> Response:
        base_url = self._access.base_of(request)
        return await self._answer_query(
            request, lambda query, _: notebook(search.python_call(query), base_url, "search")
        )

    async def _answer_query(
        self, request: Request, answer: Callable[[search.PageQuery, ToolContext], Response]
    ) -> Response:
        """Return what `answer` makes of the query of a request."""
        context = self._access.enter(request)
        if isinstance(context, Response):
            return context

        query, context = self._query(request), self._with_deadline(context)
        try:
            async with self._access.turn(request, context):
                return await anyio.to_thread.run_sync(answer, query, context)
        except (QueryError, PatternError, RepositoryError, ToolError) as exc:
            return error_page(400, "This search can't run", str(exc), prefix=self._access.prefix)
        except ClusterError as exc:
            return self._access.unavailable(exc)
        except QueueFull:
            return self._access.busy()

    async def _search_live(self, request: Request) -> Response:
        context = self._access.enter(request)
        if isinstance(context, Response):
            return context

        query, context = self._query(request), self._with_deadline(context)
        base_url = self._access.base_of(request)
        states = search.live_states(query, context, prefix=self._access.prefix, base_url=base_url)
        turn = self._access.turn(request, context)
        try:
            await turn.__aenter__()
        except QueueFull:
            return self._access.busy()

        self._live.add(context.cancellation)

        async def send() -> AsyncGenerator[bytes, None]:
            while state := await anyio.to_thread.run_sync(next, states, b"", abandon_on_cancel=True):
                yield state

        async def end() -> None:
            # Also after the reader has disconnected: the work stops at its next check.
            context.cancellation.cancel()
            self._live.discard(context.cancellation)
            await turn.__aexit__(None, None, None)

        return PageStream(send(), end)

    async def _suggestions(self, request: Request) -> Response:
        context = self._access.enter(request)
        if isinstance(context, Response):
            return context
        names = [repository.name for repository in self._engine.catalog.visible(context.viewer)]
        return JSONResponse(suggest(self._query(request).query, names), headers=HEADERS)

    def _query(self, request: Request) -> search.PageQuery:
        return search.PageQuery.parse(request.scope["query_string"].decode("latin-1"))

    def _with_deadline(self, context: ToolContext) -> ToolContext:
        # Addresses on pages are relative to the prefix, so there is no base here.
        return replace(context, cancellation=Cancellation(search.TIMEOUT_S), served=True, base_url="")
