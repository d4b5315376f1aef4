"""The first HTTP API of deep search: ``/.api/deepsearch/v1``.

The documented endpoints open, poll, list and delete conversations, and add and cancel questions. Two are additions:
``PATCH`` of a conversation (title, star, sharing, a new link), and the events of a question as a stream.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import anyio.to_thread
import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ToolError
from sourcelight.engines.deepsearch.conversations import ConversationRecord, QuestionEvent
from sourcelight.engines.deepsearch.question.scope import NamedScope
from sourcelight.server.http.deepsearch.messages import (
    ConversationAccess,
    ConversationRequest,
    conversation_json,
    hides,
    json_response,
    question_json,
    run_blocking,
    text_in,
)
from sourcelight.server.http.middleware.access_log import notes_of
from sourcelight.server.http.requests import RequestRefused, read_json_object
from sourcelight.server.http.response import EventStream
from sourcelight.server.identity import FairQueue, QueueFull

PREFIX = "/.api/deepsearch/v1"
DEFAULT_PAGE = 20
MAX_PAGE = 100
"""Conversations of a page: without ``page_first``, and at most."""

_MAX_SKIPPED = 1 << 40
"""Maximum of ``page_after`` and of the number of an event: more than there are, and within 64 bits of SQLite."""

_MAX_DIGITS = 18
"""Digits of a number that surely has 64 bits."""

_MAX_STREAMS = 64
_MAX_STREAMS_PER_ACCOUNT = 8
"""Open streams of events, of all accounts and of one; each has a thread that waits."""

_TOO_MANY_STREAMS = "Too many streams of events are open; close one of yours, or retry in a moment."
_MISSING = "conversation not found: it doesn't exist, or it isn't shared with you"
_CHANGES = {"title": str, "is_starred": bool, "is_shared": bool, "reset_link": bool}
"""Fields that a ``PATCH`` may have, with their types."""

_RECORD_NAMES = {"is_starred": "starred", "is_shared": "shared"}
"""Names of the same fields in a record, where they differ."""


@dataclass(frozen=True, slots=True)
class _ListQuery:
    """The parameters of a list of conversations.

    Attributes
    ----------
    first, skip
        Conversations of the page, and those before it.
    starred
        Whether the conversations have a star; None: either.
    order
        Name of the column to sort by, with ``-`` before it for descending.
    identifier
        Id or read token of the only conversation; empty: all.
    owner
        Id of their owner; empty: the sender.
    """

    first: int
    skip: int
    starred: bool | None
    order: str
    identifier: str
    owner: str


class Api:
    """The endpoints.

    Parameters
    ----------
    access
        Access checks for requests.
    """

    def __init__(self, access: ConversationAccess) -> None:
        self._access = access
        self._streams: set[Cancellation] = set()
        self._turns = FairQueue(_MAX_STREAMS, _MAX_STREAMS_PER_ACCOUNT, 0)
        # Each stream waits in a thread for its next event. In the threads of all requests, 40 streams of one account
        # would stop the service.
        self._threads = anyio.CapacityLimiter(_MAX_STREAMS)

    def routes(self) -> list[Route]:
        """Return the routes for an application."""
        conversation = PREFIX + "/{id}"
        question = conversation + "/questions/{question}"
        guard = self._access.guard
        return [
            Route(PREFIX, guard(self._list), methods=["GET"]),
            Route(PREFIX, guard(self._open), methods=["POST"]),
            Route(conversation, guard(self._read), methods=["GET"]),
            Route(conversation, guard(self._change), methods=["PATCH"]),
            Route(conversation, guard(self._delete), methods=["DELETE"]),
            Route(conversation + "/questions", guard(self._ask), methods=["POST"]),
            Route(question, guard(self._question), methods=["GET"]),
            Route(question + "/cancel", guard(self._cancel), methods=["POST"]),
            Route(question + "/events", guard(self._events), methods=["GET"]),
        ]

    def stop(self) -> None:
        """End the streams of events. Callable from any thread."""
        for cancellation in list(self._streams):
            cancellation.cancel()

    async def _open(self, request: Request, caller: ConversationRequest) -> Response:
        body = await read_json_object(request)
        text = _question_in(request, body)
        scope = _scope_in(body)

        def work() -> Any:
            number = caller.service.open(text, caller.context)
            caller.service.ask_in(number, text, caller.context, scope)
            return self._conversation_json(caller, number)

        return json_response(await run_blocking(work), 202)

    async def _ask(self, request: Request, caller: ConversationRequest) -> Response:
        number = _number(request, "id")
        body = await read_json_object(request)
        text = _question_in(request, body)
        scope = _scope_in(body)
        if body.get("conversation_id", number) != number:
            raise RequestRefused(400, "conversation_id differs from the one in the address.")

        def work() -> Any:
            question = caller.service.ask_in(number, text, caller.context, scope)
            return question_json(caller, self._own_question(caller, number, question))

        return json_response(await run_blocking(work), 202)

    async def _read(self, request: Request, caller: ConversationRequest) -> Response:
        number = _number(request, "id")
        return json_response(await run_blocking(self._conversation_json, caller, number))

    async def _question(self, request: Request, caller: ConversationRequest) -> Response:
        number = _number(request, "id")
        question = _number(request, "question")

        def work() -> Any:
            return question_json(caller, self._own_question(caller, number, question))

        return json_response(await run_blocking(work))

    async def _list(self, request: Request, caller: ConversationRequest) -> Response:
        query = _list_query_in(request.query_params)
        return json_response(await run_blocking(_list_conversations, caller, query))

    async def _change(self, request: Request, caller: ConversationRequest) -> Response:
        number = _number(request, "id")
        body = await read_json_object(request)
        for name, value in body.items():
            if name not in _CHANGES or not isinstance(value, _CHANGES[name]):
                raise RequestRefused(
                    400, "Accepted fields: title (text); is_starred, is_shared and reset_link (true or false)."
                )

        changes = {_RECORD_NAMES.get(name, name): value for name, value in body.items()}

        def work() -> Any:
            caller.service.change(str(number), changes, caller.context)
            return self._conversation_json(caller, number)

        return json_response(await run_blocking(work))

    async def _cancel(self, request: Request, caller: ConversationRequest) -> Response:
        number = _number(request, "id")
        question = _number(request, "question")

        def work() -> Any:
            self._own_question(caller, number, question)
            caller.service.cancel(question, caller.context)
            return question_json(caller, self._own_question(caller, number, question))

        return json_response(await run_blocking(work))

    async def _delete(self, request: Request, caller: ConversationRequest) -> Response:
        await run_blocking(caller.service.delete, _number(request, "id"), caller.context)
        return Response(status_code=204)

    async def _events(self, request: Request, caller: ConversationRequest) -> Response:
        number = _number(request, "id")
        question = _number(request, "question")
        # A browser that connects again sends the header.
        last_event = request.headers.get("last-event-id") or request.query_params.get("after")
        after = _whole_number(last_event, "after", default=0, limit=_MAX_SKIPPED)
        await run_blocking(self._own_question, caller, number, question)
        account = caller.context.viewer.name
        try:
            await self._turns.acquire(account, 0)
        except QueueFull:
            raise RequestRefused(429, _TOO_MANY_STREAMS) from None

        cancellation = Cancellation()
        context = replace(caller.context, cancellation=cancellation)
        self._streams.add(cancellation)

        async def event_frames() -> AsyncGenerator[bytes, None]:
            steps = caller.service.events(question, context, after)
            while True:
                # `next` blocks until an event; abandoned when the reader leaves, and `cancellation` then ends the
                # thread.
                event = await anyio.to_thread.run_sync(next, steps, None, abandon_on_cancel=True, limiter=self._threads)
                if event is None:
                    return
                frame = await run_blocking(self._visible_frame, request, caller, question, event)
                if frame is None:
                    return
                yield frame

        async def end() -> None:
            cancellation.cancel()
            self._streams.discard(cancellation)
            self._turns.release(account)

        return EventStream(event_frames(), {"Cache-Control": "no-store"}, end)

    def _visible_frame(
        self, request: Request, caller: ConversationRequest, question: int, event: QuestionEvent
    ) -> bytes | None:
        """Return an event as its reader may see it now, or None without a valid account, credential or question."""
        try:
            current = self._access.enter(request)
        except RequestRefused:
            return None

        record = current.service.store.question(question)
        if record is None or current.context.viewer.name != caller.context.viewer.name:
            return None

        return _encode_event(event, bare=hides(current, record))

    def _conversation_json(self, caller: ConversationRequest, number: int) -> dict[str, Any]:
        return conversation_json(caller, caller.service.find(str(number), caller.context))

    def _own_question(self, caller: ConversationRequest, number: int, question: int) -> Any:
        """Return a question of the sender's conversation; another's question raises as if it didn't exist."""
        for record in caller.service.questions(number, caller.context):
            if record.id == question:
                return record
        raise RequestRefused(404, _MISSING)


def _list_query_in(parameters: Mapping[str, str]) -> _ListQuery:
    """Read the parameters of a list. Raises `RequestRefused`."""
    return _ListQuery(
        first=_whole_number(parameters.get("page_first"), "page_first", default=DEFAULT_PAGE, limit=MAX_PAGE),
        skip=_whole_number(parameters.get("page_after"), "page_after", default=0, limit=_MAX_SKIPPED),
        starred=_flag(parameters.get("filter_is_starred"), "filter_is_starred"),
        order=parameters.get("sort", "-updated_at"),
        identifier=parameters.get("filter_read_token") or parameters.get("filter_id") or "",
        owner=parameters.get("filter_user_id") or "",
    )


def _list_conversations(caller: ConversationRequest, query: _ListQuery) -> dict[str, Any]:
    service = caller.service
    context = caller.context
    if query.identifier:
        try:
            record = service.find(query.identifier, context)
        except ToolError:
            return _page_json(caller, [])
        if query.starred is not None and record.starred is not query.starred:
            return _page_json(caller, [])
        return _page_json(caller, [record])

    # An account sees its own conversations, and those of others only by their read tokens.
    if query.owner and query.owner != str(service.state.accounts.get(context.viewer.name).id):
        return _page_json(caller, [])

    # The service checks the order; the records are read in the same order.
    service.list(context, order=query.order, first=1)
    # One more than the page, to know whether another page follows.
    records = service.store.list_for_owner(
        context.viewer.name, starred=query.starred, order=query.order, first=query.first + 1, skip=query.skip
    )
    next_page = None
    if len(records) > query.first:
        next_page = str(query.skip + query.first)
    return _page_json(caller, records[: query.first], next_page)


def _page_json(
    caller: ConversationRequest, records: Sequence[ConversationRecord], next_page: str | None = None
) -> dict[str, Any]:
    return {
        "conversations": [conversation_json(caller, record) for record in records],
        "page_info": {"has_next_page": next_page is not None, "end_cursor": next_page},
    }


def _encode_event(event: QuestionEvent, *, bare: bool) -> bytes:
    """Return an event of ``text/event-stream``; a bare one says only that something happened, and when."""
    value: dict[str, Any] = {"number": event.number, "at_ms": event.at_ms}
    if not bare:
        value.update(event.payload)
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.number, event.kind.encode(), orjson.dumps(value))


def _question_in(request: Request, body: dict[str, Any]) -> str:
    """Return the question of a body. The access log gets its length and its hash."""
    text = text_in(body, "question")
    notes_of(request.scope).query = text
    return text


def _scope_in(body: dict[str, Any]) -> NamedScope:
    """Return the scope that clients of this package send with a question. Raises `RequestRefused`."""
    repos = body.get("repos")
    revision = body.get("revision")
    if not isinstance(repos, list | None) or not isinstance(revision, str | None):
        raise RequestRefused(400, "repos must be a list of names, and revision a string.")

    names: list[str] = []
    for name in repos or ():
        if not isinstance(name, str) or not name:
            raise RequestRefused(400, "repos must be a list of non-empty names.")
        names.append(name)

    return NamedScope(tuple(names), revision or "")


def _number(request: Request, name: str) -> int:
    """Return an id in the path; any other text is a conversation that doesn't exist."""
    text = request.path_params[name]
    if not (text.isascii() and text.isdigit() and len(text) < _MAX_DIGITS):
        raise RequestRefused(404, _MISSING)
    return int(text)


def _whole_number(text: str | None, name: str, *, default: int, limit: int) -> int:
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS) or int(text) > limit:
        raise RequestRefused(400, f"{name} must be a whole number, at most {limit:,}.")
    return int(text)


def _flag(text: str | None, name: str) -> bool | None:
    if text is None:
        return None
    if text.lower() not in {"true", "false", "1", "0"}:
        raise RequestRefused(400, f"{name} must be true or false.")
    return text.lower() in {"true", "1"}
