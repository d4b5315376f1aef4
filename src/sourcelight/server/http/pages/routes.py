"""Routes of the pages of searches and code."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, ClusterError, PatternError, QueryError, RepositoryError, ToolError
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines import tools
from sourcelight.engines.tools import ToolContext
from sourcelight.repos.state import State
from sourcelight.server.http.pages import code, search
from sourcelight.server.http.pages.access import PageAccess
from sourcelight.server.http.pages.browser import EventStream, requested_lines, send_script, send_style
from sourcelight.server.http.pages.conversations import HEADERS, SCRIPT_PATH, STYLE_PATH, error_page
from sourcelight.server.http.pages.deepsearch import ConversationPages
from sourcelight.server.http.pages.file import FilePageView, file_page
from sourcelight.server.http.pages.python import compared_revisions, notebook, python_block, python_call
from sourcelight.server.http.pages.saved import SavedPages, save_form
from sourcelight.server.http.pages.suggestions import suggest
from sourcelight.server.identity import Authenticator, QueueFull

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.conversations import ConversationService
    from sourcelight.engines.execution import Engine

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
    conversations
        Conversations; None without deep search.
    authenticator
        Identifies the sender of a request.
    state
        Where saved answers are.
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
        state: State,
        external_url: str = "",
        *,
        has_repositories: bool = True,
    ) -> None:
        self._engine = engine
        self._has_repositories = has_repositories
        self._access = PageAccess(engine, authenticator, external_url)
        self._conversations = ConversationPages(conversations, self._access)
        self._saved = SavedPages(state, self._access)
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
            _CodeRoute("/{rest:path}", self._code, has_repositories=self._has_repositories),
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
            return error_page(400, "This search can't be made", str(exc), prefix=self._access.prefix)
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
            try:
                while state := await anyio.to_thread.run_sync(next, states, b"", abandon_on_cancel=True):
                    yield state
            finally:
                # Also when the reader has gone: the work stops at its next look.
                context.cancellation.cancel()
                self._live.discard(context.cancellation)
                await turn.__aexit__(None, None, None)

        return EventStream(send())

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

    async def _code(self, request: Request) -> Response:
        context = self._access.enter(request)
        if isinstance(context, Response):
            return context
        try:
            return await anyio.to_thread.run_sync(
                self._code_page, request.scope["path"], request.scope["query_string"].decode("latin-1"), context
            )
        except RepositoryError:
            return self._access.absent(request, context)
        except ToolError as exc:
            return self._access.absent(request, context, str(exc))
        except ClusterError as exc:
            return self._access.unavailable(exc)

    def _code_page(self, request_path: str, query: str, context: ToolContext) -> Response:
        address = _Address.parse(request_path)
        assert address is not None  # noqa: S101 - the route has parsed it
        repository, revision, path = address.repository, address.revision, address.path
        arguments: dict[str, Any] = {"repo": repository} | ({"revision": revision} if revision else {})
        parameters = dict(parse_qsl(query, errors="replace"))
        lines = requested_lines(query)
        call, prefix = python_call(address.kind, arguments, path, parameters, lines), self._access.prefix
        if "notebook" in parameters:
            # It says what the address says; running it takes access of one's own.
            return notebook(call, context.base_url, "code")
        notebook_url = f"{prefix}{quote(request_path)}?{query}{'&' * bool(query)}notebook=1"
        use = python_block(call, context.base_url, notebook_url)
        match address.kind:
            case "commit":
                answer = tools.call("commit_details", {"repo": repository, "revision": path.strip("/")}, context)
                return code.commit_page(answer, prefix=prefix, use=use)
            case "compare":
                ends = compared_revisions(path, parameters)
                answer = tools.call("compare_revisions", {"repo": repository, **ends}, context)
                return code.compare_page(answer, prefix=prefix, use=use)
            case "symbol":
                name = parameters.get("name", "")[:_MAX_NAME_CHARS]
                return self._symbol_page(arguments | {"path": path}, name, context, use)
            case "tree":
                return self._directory_page(arguments, path.strip("/"), context, use)
        answer = tools.call("read_file", arguments | {"path": path}, context)
        arguments = {"repo": repository, "path": path, "revision": answer.attributes["commit"]}
        outline, _ = self._beside("outline", arguments, context)
        blame, note = self._beside("blame", arguments, context, _ASKED_S) if "blame" in parameters else (None, "")
        history = None
        if "history" in parameters and lines is not None:
            line_arguments = arguments | {"startLine": lines[0], "endLine": lines[1], "limit": _MAX_ENTRIES}
            history, history_note = self._beside("history_of", line_arguments, context, _ASKED_S)
            note = note or history_note
        # The commit of now, so that the copied program reads what the page shows.
        use = python_block(python_call("blob", arguments, path, parameters, lines), context.base_url, notebook_url)
        view = FilePageView(lines, outline, blame, note, history, use)
        return file_page(answer, view, prefix=self._access.prefix)

    def _symbol_page(self, arguments: Mapping[str, Any], name: str, context: ToolContext, use: str) -> Response:
        symbol_arguments = {**arguments, "symbol": name}
        answers = [
            answer or note
            for answer, note in (
                self._beside("go_to_definition", symbol_arguments, context, _ASKED_S),
                self._beside("find_references", symbol_arguments | {"limit": 100}, context, _ASKED_S),
            )
        ]
        return code.symbol_page(name, arguments["path"], *answers, prefix=self._access.prefix, use=use)

    def _directory_page(self, arguments: Mapping[str, Any], path: str, context: ToolContext, use: str) -> Response:
        answer = tools.call("list_files", {**arguments, **({"path": path} if path else {})}, context)
        repository, commit = arguments["repo"], answer.attributes["commit"]
        files = [row["path"] for row in answer.table.to_pylist() if row["kind"] != "directory"][:_MAX_ENTRIES]
        changes, note = None, ""
        if files:
            file_arguments = {"repo": repository, "paths": files, "revision": commit}
            changes, note = self._beside("last_changes", file_arguments, context)
        people, owners, languages = None, None, Counter[str]()
        if not path:
            people, _ = self._beside("contributors", {"repos": [repository], "by": ["year"]}, context)
            languages = self._languages(repository, context)
            owners, _ = self._beside("ownership", {"repo": repository, "revision": commit}, context)
        view = code.DirectoryView(changes, people, languages, owners, note)
        return code.directory_page(answer, path, view, prefix=self._access.prefix, use=use)

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
