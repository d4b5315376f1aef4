"""Routes of pages, with access checks."""

from __future__ import annotations

import logging
import re
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, ClusterError, PatternError, QueryError, RepositoryError, ToolError
from sourcelight.core.tools.conversations import DEEPSEARCH_READ
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines import tools
from sourcelight.engines.tools import ToolContext
from sourcelight.server.http.middleware import notes_of
from sourcelight.server.http.pages import code, search
from sourcelight.server.http.pages.browser import is_own_request, requested_lines, send_script, send_style
from sourcelight.server.http.pages.conversations import (
    HEADERS,
    SCRIPT_PATH,
    STYLE_PATH,
    conversation_page,
    error_page,
)
from sourcelight.server.http.pages.suggestions import suggest
from sourcelight.server.identity import Authenticator, FairQueue, Principal, QueueFull, Refusal
from sourcelight.server.oauth import READER_COOKIE

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.conversations import ConversationService
    from sourcelight.engines.execution import Engine

log = logging.getLogger("sourcelight.service")
_ABSENT = "This page doesn't exist, or you may not see it."
_PAGES, _PAGES_PER_READER, _MAX_WAITING, _QUEUE_S = 16, 6, 16, 10.0
_BESIDE_S, _ASKED_S = 1.5, 15.0
"""Seconds for what stands beside the contents of a page, and for what its reader has asked for."""
_MAX_ENTRIES, _MAX_NAME_CHARS = 500, 200
_KINDS = frozenset({"blob", "tree", "commit", "compare", "symbol"})


@dataclass(frozen=True, slots=True)
class _Address:
    """The parts of the address of a page of code."""

    kind: str
    repository: str
    revision: str
    path: str

    @classmethod
    def parse(cls, request_path: str) -> _Address | None:
        """Read ``/repository@revision/-/kind/path``, or ``/repository@revision``; None for any other address."""
        name_part, separator, right = request_path.partition("/-/")
        kind, slash, path = right.partition("/") if separator else ("tree", "/", "")
        if request_path.startswith(("/.", "//")) or kind not in _KINDS or not slash or len(name_part) < 2:
            return None
        if not separator and name_part.endswith("/"):
            return None
        name, at, revision = name_part[1:].rpartition("@")
        if not at or kind in {"commit", "compare"}:
            name, revision = name_part[1:], ""
        return cls(kind, name, revision, path)


class _CodeRoute(Route):
    """Matches addresses of repositories, files, directories and commits; leaves others to earlier routes."""

    def __init__(
        self, path: str, endpoint: Callable[[Request], Awaitable[Response]], *, has_repositories: bool
    ) -> None:
        super().__init__(path, endpoint)
        self._has_repositories = has_repositories

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether this route answers a request."""
        if scope["type"] != "http" or _Address.parse(scope["path"]) is None:
            return Match.NONE, {}
        if "/-/" not in scope["path"] and (scope["method"] not in {"GET", "HEAD"} or not self._has_repositories):
            return Match.NONE, {}
        return super().matches(scope)


class Pages:
    """The pages of one engine.

    Parameters
    ----------
    engine
        Reads files and commits.
    desk
        Conversations; None without deep search.
    authenticator
        Identifies the sender of a request.
    external_url
        The service's address; empty: what each request used.
    has_repositories
        Whether addresses of repositories have pages.
    """

    def __init__(
        self,
        engine: Engine,
        conversations: ConversationService | None,
        authenticator: Authenticator,
        external_url: str = "",
        *,
        has_repositories: bool = True,
    ) -> None:
        self._engine = engine
        self._conversations = conversations
        self._authenticator = authenticator
        self._external_url = external_url
        self._has_repositories = has_repositories
        self._prefix = urlsplit(external_url).path.rstrip("/")
        self._queue = FairQueue(_PAGES, _PAGES_PER_READER, _MAX_WAITING)

    def routes(self) -> list[BaseRoute]:
        """Return the routes. Add them last: the route of code matches every address."""
        conversations = [
            Route("/deepsearch/shared/{id}", self._conversation),
            Route("/deepsearch/{id}", self._conversation),
        ]
        return [
            Route(STYLE_PATH, send_style),
            *(conversations if self._conversations is not None else []),
            Route(SCRIPT_PATH, send_script),
            Route(search.PATH, self._search),
            Route(search.LIVE_PATH, self._search_live, methods=["GET"]),
            Route(search.EXPORT_PATH, self._export, methods=["GET"]),
            Route(search.NOTEBOOK_PATH, self._notebook, methods=["GET"]),
            Route(search.SUGGESTIONS_PATH, self._suggestions, methods=["GET"]),
            _CodeRoute("/{rest:path}", self._code, has_repositories=self._has_repositories),
        ]

    def _enter(self, request: Request) -> ToolContext | Response:
        cookie = request.cookies.get(READER_COOKIE, "") if is_own_request(request) else ""
        principal = self._authenticator.for_page(request.headers, cookie)
        if isinstance(principal, Refusal):
            sign_in = self._sign_in(request) if principal.status == 401 else ""
            return error_page(
                principal.status,
                "Sign in first" if sign_in else "Not allowed",
                principal.text,
                prefix=self._prefix,
                sign_in=sign_in,
            )
        notes_of(request.scope).name(principal)
        return ToolContext(self._engine, principal.viewer, base_url=self._base_of(request))

    def _base_of(self, request: Request) -> str:
        return self._external_url or f"{request.url.scheme}://{request.headers.get('host', 'localhost')}"

    def _sign_in(self, request: Request) -> str:
        query = request.scope["query_string"].decode("latin-1")
        target = quote(request.scope["path"], safe="/@") + (f"?{query}" if query else "")
        return f"{self._prefix}/.auth/sign-in?to={quote(target, safe='')}"

    def _absent(self, request: Request, context: ToolContext, text: str = _ABSENT) -> Response:
        sign_in = "" if context.viewer.name else self._sign_in(request)
        return error_page(404, "Not found", text, prefix=self._prefix, sign_in=sign_in)

    def _error_response(self, exc: ClusterError) -> Response:
        log.warning("can't render a page: %s", exc)
        return error_page(503, "Temporarily unavailable", exc.for_callers, prefix=self._prefix)

    async def _conversation(self, request: Request) -> Response:
        context = self._enter(request)
        if isinstance(context, Response):
            return context
        identifier = request.path_params["id"]
        address = f"/deepsearch/{'shared/' if '/shared/' in request.scope['path'] else ''}{identifier}"
        try:
            answer, turns = await anyio.to_thread.run_sync(self._read, address, context)
        except ToolError:
            return self._absent(request, context)
        except ClusterError as exc:
            return self._error_response(exc)
        if identifier.endswith(".md"):
            text = tools.render(DEEPSEARCH_READ, answer, context)[1]
            return PlainTextResponse(text, media_type="text/markdown", headers=HEADERS)
        name = quote(identifier)
        return conversation_page(answer, turns, prefix=self._prefix, markdown=f"{name}.md")

    def _read(self, address: str, context: ToolContext) -> tuple[Any, Mapping[int, list[str]]]:
        from sourcelight.server.http.deepsearch.messages import ConversationRequest, turns_of

        assert self._conversations is not None  # noqa: S101 - there is no route without it
        conversations = self._conversations
        conversation = conversations.find(address, context)
        caller = ConversationRequest(conversations, Principal(context.viewer.name, context.viewer), context)
        turns = {
            number: [turn["reasoning"] for turn in turns_of(caller, question)]
            for number, question in enumerate(conversations.store.questions(conversation.id))
            if question.status in {"pending", "processing"}
        }
        return conversations.read(address, context), turns

    async def _search(self, request: Request) -> Response:
        return await self._answer_query(
            request, lambda query, context: search.search_page(query, context, prefix=self._prefix)
        )

    async def _export(self, request: Request) -> Response:
        return await self._answer_query(request, search.export)

    async def _notebook(self, request: Request) -> Response:
        base_url = self._base_of(request)
        return await self._answer_query(request, lambda query, _: search.notebook(query, base_url))

    async def _answer_query(
        self, request: Request, answer: Callable[[search.PageQuery, ToolContext], Response]
    ) -> Response:
        """Return what `answer` makes of the query of a request."""
        context = self._enter(request)
        if isinstance(context, Response):
            return context
        query, context = self._query(request), self._with_deadline(context)
        try:
            async with self._turn(request, context):
                return await anyio.to_thread.run_sync(answer, query, context)
        except (QueryError, PatternError, RepositoryError, ToolError) as exc:
            return error_page(400, "This search can't be made", str(exc), prefix=self._prefix)
        except ClusterError as exc:
            return self._error_response(exc)
        except QueueFull:
            return self._busy()

    async def _search_live(self, request: Request) -> Response:
        context = self._enter(request)
        if isinstance(context, Response):
            return context
        query, context = self._query(request), self._with_deadline(context)
        states = search.live_states(query, context, prefix=self._prefix)
        turn = self._turn(request, context)
        try:
            await turn.__aenter__()
        except QueueFull:
            return self._busy()

        async def send() -> AsyncIterator[bytes]:
            try:
                while True:
                    state = await anyio.to_thread.run_sync(next, states, b"", abandon_on_cancel=True)
                    if not state:
                        return
                    yield state
            finally:
                # Also when the reader has gone: the work stops at its next look.
                context.cancellation.cancel()
                await turn.__aexit__(None, None, None)

        headers = {**HEADERS, "X-Accel-Buffering": "no"}
        return StreamingResponse(send(), media_type="text/event-stream", headers=headers)

    async def _suggestions(self, request: Request) -> Response:
        context = self._enter(request)
        if isinstance(context, Response):
            return context
        names = [repository.name for repository in self._engine.catalog.visible(context.viewer)]
        return JSONResponse(suggest(self._query(request).query, names), headers=HEADERS)

    def _query(self, request: Request) -> search.PageQuery:
        return search.PageQuery.parse(request.scope["query_string"].decode("latin-1"))

    def _with_deadline(self, context: ToolContext) -> ToolContext:
        # Addresses on pages are relative to the prefix, so there is no base here.
        return replace(context, cancellation=Cancellation(search.TIMEOUT_S), served=True, base_url="")

    def _turn(self, request: Request, context: ToolContext) -> AbstractAsyncContextManager[None]:
        reader = context.viewer.name or f"anonymous {(request.scope.get('client') or ('',))[0]}"
        return self._queue.slot(reader, _QUEUE_S)

    def _busy(self) -> Response:
        answer = error_page(
            429, "Busy", "Too many pages are being made; reload this one in a moment.", prefix=self._prefix
        )
        answer.headers["Retry-After"] = "2"
        return answer

    async def _code(self, request: Request) -> Response:
        context = self._enter(request)
        if isinstance(context, Response):
            return context
        address = _Address.parse(request.scope["path"])
        assert address is not None  # noqa: S101 - the route has parsed it
        try:
            return await anyio.to_thread.run_sync(
                self._code_page, address, request.scope["query_string"].decode("latin-1"), context
            )
        except RepositoryError:
            return self._absent(request, context)
        except ToolError as exc:
            return self._absent(request, context, str(exc))
        except ClusterError as exc:
            return self._error_response(exc)

    def _code_page(self, address: _Address, query: str, context: ToolContext) -> Response:
        repository, revision, path = address.repository, address.revision, address.path
        arguments: dict[str, Any] = {"repo": repository} | ({"revision": revision} if revision else {})
        parameters = dict(parse_qsl(query, errors="replace"))
        match address.kind:
            case "commit":
                answer = tools.call("commit_details", {"repo": repository, "revision": path.strip("/")}, context)
                return code.commit_page(answer, prefix=self._prefix)
            case "compare":
                base, _, head = path.partition("...")
                ends = {"base": parameters.get("base") or base, "head": parameters.get("head") or head or "HEAD"}
                answer = tools.call("compare_revisions", {"repo": repository, **ends}, context)
                return code.compare_page(answer, prefix=self._prefix)
            case "symbol":
                return self._symbol_page(arguments | {"path": path}, parameters.get("name", ""), context)
            case "tree":
                return self._directory_page(arguments, path.strip("/"), context)
        answer = tools.call("read_file", arguments | {"path": path}, context)
        arguments = {"repo": repository, "path": path, "revision": answer.attributes["commit"]}
        outline, _ = self._beside("outline", arguments, context)
        blame, note = self._beside("blame", arguments, context, _ASKED_S) if "blame" in parameters else (None, "")
        view = code.FilePageView(requested_lines(query), outline, blame, note)
        return code.file_page(answer, view, prefix=self._prefix)

    def _symbol_page(self, arguments: Mapping[str, Any], name: str, context: ToolContext) -> Response:
        asked = {**arguments, "symbol": name[:_MAX_NAME_CHARS]}
        answers = [
            answer or note
            for answer, note in (
                self._beside("go_to_definition", asked, context, _ASKED_S),
                self._beside("find_references", asked | {"limit": 100}, context, _ASKED_S),
            )
        ]
        return code.symbol_page(name[:_MAX_NAME_CHARS], arguments["path"], *answers, prefix=self._prefix)

    def _directory_page(self, arguments: Mapping[str, Any], path: str, context: ToolContext) -> Response:
        answer = tools.call("list_files", {**arguments, **({"path": path} if path else {})}, context)
        repository, commit = arguments["repo"], answer.attributes["commit"]
        files = [row["path"] for row in answer.table.to_pylist() if row["kind"] != "directory"][:_MAX_ENTRIES]
        changes, note = None, ""
        if files:
            asked = {"repo": repository, "paths": files, "revision": commit}
            changes, note = self._beside("last_changes", asked, context)
        people, owners, languages = None, None, Counter[str]()
        if not path:
            people, _ = self._beside("contributors", {"repos": [repository], "by": ["year"]}, context)
            languages = self._languages(repository, context)
            owners, _ = self._beside("ownership", {"repo": repository, "revision": commit}, context)
        view = code.DirectoryView(changes, people, languages, owners, note)
        return code.directory_page(answer, path, view, prefix=self._prefix)

    def _languages(self, repository: str, context: ToolContext) -> Counter[str]:
        """Count the files of a repository by language; nothing where that takes too long."""
        request = SearchRequest(f"repo:^{re.escape(repository)}$ file:. type:path fork:yes archived:yes count:all")
        try:
            table = self._engine.count(request, ["repository", "language"], context.viewer, Cancellation(_BESIDE_S))
        except (QueryError, PatternError, RepositoryError):
            return Counter()
        rows = [] if table is None else table.to_pylist()
        return Counter({row["language"]: row["files"] for row in rows if row["language"]})

    def _beside(
        self, name: str, arguments: Mapping[str, Any], context: ToolContext, seconds: float = _BESIDE_S
    ) -> tuple[ToolResult | None, str]:
        """Return what stands beside the contents of a page if it is there in time; else the reason."""
        cancellation = Cancellation()
        timer = threading.Timer(seconds, cancellation.cancel)
        timer.start()
        try:
            return tools.call(name, arguments, replace(context, cancellation=cancellation)), ""
        except Cancelled:
            return None, f"{name} takes longer than {seconds:g} s and is left out; reload the page in a while."
        except (ToolError, RepositoryError) as exc:
            return None, str(exc)
        finally:
            timer.cancel()
