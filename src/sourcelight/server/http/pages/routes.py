"""The addresses of pages, and who may open them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from sourcelight.core.errors import ClusterError, RepositoryError, ToolError
from sourcelight.core.tools.conversations import DEEPSEARCH_READ
from sourcelight.engines import tools
from sourcelight.engines.tools import ToolContext
from sourcelight.server.http.middleware import notes_of
from sourcelight.server.http.pages import code
from sourcelight.server.http.pages.conversations import HEADERS, STYLE, STYLE_PATH, conversation_page, fault
from sourcelight.server.identity import Authenticator, Principal, Refusal
from sourcelight.server.oauth import READER_COOKIE

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.conversations import ConversationService
    from sourcelight.engines.execution import LocalEngine

log = logging.getLogger("sourcelight.service")
_ABSENT = "There is no such page, or you may not see it."
_KINDS = frozenset({"blob", "tree", "commit"})


@dataclass(frozen=True, slots=True)
class _Address:
    """What the address of a page of code says."""

    kind: str
    repository: str
    revision: str
    rest: str

    @classmethod
    def of(cls, path: str) -> _Address | None:
        """Read ``/repository@revision/-/kind/rest``; None for any other address."""
        left, _, right = path.partition("/-/")
        kind, slash, rest = right.partition("/")
        if path.startswith("/.") or kind not in _KINDS or not slash or len(left) < 2:
            return None
        name, at, revision = left[1:].rpartition("@")
        if not at or kind == "commit":
            name, revision = left[1:], ""
        return cls(kind, name, revision, rest)


class _CodeRoute(Route):
    """Takes the addresses of files, folders and commits, and leaves all others to the routes and faults of before."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether a request comes here."""
        if scope["type"] != "http" or _Address.of(scope["path"]) is None:
            return Match.NONE, {}
        return super().matches(scope)


class Pages:
    """The pages over one engine.

    Parameters
    ----------
    engine
        Answers for files and commits.
    desk
        Conversations; None where there is no deep search.
    authenticator
        Tells who asks.
    external_url
        The service's address; empty: what each request used.
    """

    def __init__(
        self,
        engine: LocalEngine,
        desk: ConversationService | None,
        authenticator: Authenticator,
        external_url: str = "",
    ) -> None:
        self._engine = engine
        self._desk = desk
        self._authenticator = authenticator
        self._external_url = external_url
        self._prefix = urlsplit(external_url).path.rstrip("/")

    def routes(self) -> list[BaseRoute]:
        """The routes; those of code have to stand last."""
        conversations = [
            Route("/deepsearch/shared/{id}", self._conversation),
            Route("/deepsearch/{id}", self._conversation),
        ]
        return [
            Route(STYLE_PATH, _style),
            *(conversations if self._desk is not None else []),
            _CodeRoute("/{rest:path}", self._code),
        ]

    def _enter(self, request: Request) -> ToolContext | Response:
        found = self._authenticator.for_page(request.headers, request.cookies.get(READER_COOKIE, ""))
        if isinstance(found, Refusal):
            sign_in = self._sign_in(request) if found.status == 401 else ""
            return fault(
                found.status,
                "Sign in first" if sign_in else "Not allowed",
                found.text,
                prefix=self._prefix,
                sign_in=sign_in,
            )
        notes_of(request.scope).name(found)
        return ToolContext(self._engine, found.viewer, base_url=self._base_of(request))

    def _base_of(self, request: Request) -> str:
        return self._external_url or f"{request.url.scheme}://{request.headers.get('host', 'localhost')}"

    def _sign_in(self, request: Request) -> str:
        query = request.scope["query_string"].decode("latin-1")
        here = quote(request.scope["path"], safe="/@") + (f"?{query}" if query else "")
        return f"{self._prefix}/.auth/sign-in?to={quote(here, safe='')}"

    def _absent(self, request: Request, context: ToolContext, text: str = _ABSENT) -> Response:
        sign_in = "" if context.viewer.name else self._sign_in(request)
        return fault(404, "Not found", text, prefix=self._prefix, sign_in=sign_in)

    def _unanswered(self, said: ClusterError) -> Response:
        log.warning("a page could not be made: %s", said)
        return fault(503, "No answer now", said.for_callers, prefix=self._prefix)

    async def _conversation(self, request: Request) -> Response:
        context = self._enter(request)
        if isinstance(context, Response):
            return context
        identifier = request.path_params["id"]
        wanted = f"/deepsearch/{'shared/' if '/shared/' in request.scope['path'] else ''}{identifier}"
        try:
            answer, turns = await anyio.to_thread.run_sync(self._read, wanted, context)
        except ToolError:
            return self._absent(request, context)
        except ClusterError as said:
            return self._unanswered(said)
        if identifier.endswith(".md"):
            text = tools.render(DEEPSEARCH_READ, answer, context)[1]
            return PlainTextResponse(text, media_type="text/markdown", headers=HEADERS)
        name = quote(identifier)
        return conversation_page(answer, turns, prefix=self._prefix, markdown=f"{name}.md")

    def _read(self, wanted: str, context: ToolContext) -> tuple[Any, Mapping[int, list[str]]]:
        from sourcelight.server.http.deepsearch.messages import ConversationRequest, turns_of

        assert self._desk is not None  # noqa: S101 - there is no route without it
        desk = self._desk
        conversation = desk.find(wanted, context)
        asking = ConversationRequest(desk, Principal(context.viewer.name, context.viewer), context)
        turns = {
            number: [turn["reasoning"] for turn in turns_of(asking, question)]
            for number, question in enumerate(desk.store.questions(conversation.id))
            if question.status in {"pending", "processing"}
        }
        return desk.read(wanted, context), turns

    async def _code(self, request: Request) -> Response:
        context = self._enter(request)
        if isinstance(context, Response):
            return context
        found = _Address.of(request.scope["path"])
        assert found is not None  # noqa: S101 - the route looked
        try:
            return await anyio.to_thread.run_sync(
                self._shown, found, request.scope["query_string"].decode("latin-1"), context
            )
        except RepositoryError:
            return self._absent(request, context)
        except ToolError as said:
            return self._absent(request, context, str(said))
        except ClusterError as said:
            return self._unanswered(said)

    def _shown(self, found: _Address, query: str, context: ToolContext) -> Response:
        repository, revision, rest = found.repository, found.revision, found.rest
        named: dict[str, Any] = {"repo": repository} | ({"revision": revision} if revision else {})
        if found.kind == "commit":
            answer = tools.call("commit_details", {"repo": repository, "revision": rest.strip("/")}, context)
            return code.commit_page(answer, prefix=self._prefix)
        if found.kind == "tree":
            path = rest.strip("/")
            answer = tools.call("list_files", named | ({"path": path} if path else {}), context)
            return code.folder_page(answer, path, prefix=self._prefix)
        answer = tools.call("read_file", named | {"path": rest}, context)
        return code.file_page(answer, code.lines_asked(query), prefix=self._prefix)


async def _style(_: Request) -> Response:
    return Response(STYLE, media_type="text/css", headers={"Cache-Control": "max-age=3600"})
