"""The service's first HTTP API of deep search: ``/.api/deepsearch/v1``.

As its documents have it: conversations are opened, polled, listed and deleted, questions added and canceled. Ours
beside that: ``PATCH`` of a conversation (title, star, sharing, another link), and the events of a question as a stream.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import anyio.to_thread
import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ToolError
from sourcelight.engines.deepsearch.conversations import QuestionEvent
from sourcelight.server.http.deepsearch.messages import (
    ConversationAccess,
    ConversationRequest,
    RequestRefused,
    apart,
    body_of,
    conversation_json,
    given,
    hides,
    question_json,
    text_in,
)
from sourcelight.server.http.middleware import notes_of

PREFIX = "/.api/deepsearch/v1"
DEFAULT_PAGE, MOST_PAGE = 20, 100
_MISSING = "conversation not found: it does not exist, or it is not shared with you"
_CHANGES = {"title": str, "is_starred": bool, "is_shared": bool, "reset_link": bool}
_OWN_NAMES = {"is_starred": "starred", "is_shared": "shared"}


class Api:
    """The endpoints.

    Parameters
    ----------
    door
        Lets requests in.
    """

    def __init__(self, door: ConversationAccess) -> None:
        self._door = door
        self._streams: set[Cancellation] = set()

    def routes(self) -> list[Route]:
        """The routes, to be put into an application."""
        one, question = PREFIX + "/{id}", PREFIX + "/{id}/questions/{question}"
        table: dict[str, dict[str, Any]] = {
            PREFIX: {"GET": self._list, "POST": self._open},
            one: {"GET": self._read, "PATCH": self._change, "DELETE": self._delete},
            one + "/questions": {"POST": self._ask},
            question: {"GET": self._question},
            question + "/cancel": {"POST": self._cancel},
            question + "/events": {"GET": self._events},
        }
        return [
            Route(path, self._door.guarded(handle), methods=[method])
            for path, methods in table.items()
            for method, handle in methods.items()
        ]

    def stop(self) -> None:
        """End the streams of events. Callable from any thread."""
        for cancellation in list(self._streams):
            cancellation.cancel()

    async def _open(self, request: Request, asking: ConversationRequest) -> Response:
        text = _question_in(request, await body_of(request))

        def work() -> Any:
            number = asking.desk.open(text, asking.context)
            asking.desk.ask_in(number, text, asking.context)
            return self._shown(asking, number)

        return given(await apart(work), 202)

    async def _ask(self, request: Request, asking: ConversationRequest) -> Response:
        number = _number(request, "id")
        body = await body_of(request)
        text = _question_in(request, body)
        if body.get("conversation_id", number) != number:
            raise RequestRefused(400, "conversation_id is not the one of the address.")

        def work() -> Any:
            question = asking.desk.ask_in(number, text, asking.context)
            return question_json(asking, self._found(asking, number, question))

        return given(await apart(work), 202)

    async def _read(self, request: Request, asking: ConversationRequest) -> Response:
        number = _number(request, "id")
        return given(await apart(self._shown, asking, number))

    async def _question(self, request: Request, asking: ConversationRequest) -> Response:
        number, question = _number(request, "id"), _number(request, "question")
        return given(await apart(lambda: question_json(asking, self._found(asking, number, question))))

    async def _list(self, request: Request, asking: ConversationRequest) -> Response:
        wanted = request.query_params
        first = _whole(wanted.get("page_first"), "page_first", DEFAULT_PAGE, MOST_PAGE)
        skip = _whole(wanted.get("page_after"), "page_after", 0, 1 << 40)
        starred = _flag(wanted.get("filter_is_starred"), "filter_is_starred")
        order = wanted.get("sort", "-updated_at")

        def work() -> dict[str, Any]:
            desk, context = asking.desk, asking.context
            one = wanted.get("filter_read_token") or wanted.get("filter_id")
            if one:
                try:
                    found = [desk.find(one, context)]
                except ToolError:
                    found = []
                found = [each for each in found if starred is None or each.starred is starred]
                return {"conversations": [conversation_json(asking, each) for each in found], "page_info": _page(None)}
            user = wanted.get("filter_user_id")
            if user and user != str(desk.state.accounts.get(context.viewer.name).id):
                return {"conversations": [], "page_info": _page(None)}
            # The desk says what orders there are; the records are read by the same rule.
            desk.list(context, order=order, first=1)
            held = desk.store.list_for_owner(
                context.viewer.name, starred=starred, order=order, first=first + 1, skip=skip
            )
            more = str(skip + first) if len(held) > first else None
            return {
                "conversations": [conversation_json(asking, each) for each in held[:first]],
                "page_info": _page(more),
            }

        return given(await apart(work))

    async def _change(self, request: Request, asking: ConversationRequest) -> Response:
        number = _number(request, "id")
        body = await body_of(request)
        for name, value in body.items():
            if name not in _CHANGES or not isinstance(value, _CHANGES[name]):
                raise RequestRefused(
                    400, "Accepted are title (text), is_starred, is_shared and reset_link (true or false)."
                )
        changes = {_OWN_NAMES.get(name, name): value for name, value in body.items()}

        def work() -> Any:
            asking.desk.change(str(number), changes, asking.context)
            return self._shown(asking, number)

        return given(await apart(work))

    async def _cancel(self, request: Request, asking: ConversationRequest) -> Response:
        number, question = _number(request, "id"), _number(request, "question")

        def work() -> Any:
            self._found(asking, number, question)
            asking.desk.cancel(question, asking.context)
            return question_json(asking, self._found(asking, number, question))

        return given(await apart(work))

    async def _delete(self, request: Request, asking: ConversationRequest) -> Response:
        await apart(asking.desk.delete, _number(request, "id"), asking.context)
        return Response(status_code=204)

    async def _events(self, request: Request, asking: ConversationRequest) -> Response:
        number, question = _number(request, "id"), _number(request, "question")
        after = _whole(request.headers.get("last-event-id") or request.query_params.get("after"), "after", 0, 1 << 40)
        await apart(self._found, asking, number, question)
        cancellation = Cancellation()
        context = replace(asking.context, cancellation=cancellation)
        self._streams.add(cancellation)

        async def told() -> AsyncIterator[bytes]:
            steps = asking.desk.events(question, context, after)
            try:
                while True:
                    event = await anyio.to_thread.run_sync(next, steps, None, abandon_on_cancel=True)
                    if event is None:
                        return
                    frame = await apart(self._visible_frame, request, asking, question, event)
                    if frame is None:
                        return
                    yield frame
            finally:
                cancellation.cancel()
                self._streams.discard(cancellation)

        async def closing() -> AsyncIterator[bytes]:
            async with aclosing(told()) as parts:  # type: ignore[type-var]  # it is an async generator
                async for part in parts:
                    yield part

        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(closing(), media_type="text/event-stream", headers=headers)

    def _visible_frame(
        self, request: Request, asking: ConversationRequest, question: int, event: QuestionEvent
    ) -> bytes | None:
        """An event as its reader may see it now; None once the account, its credential or the question is gone."""
        try:
            current = self._door.enter(request)
        except RequestRefused:
            return None
        found = current.desk.store.question(question)
        if found is None or current.context.viewer.name != asking.context.viewer.name:
            return None
        return _framed(event, bare=hides(current, found))

    def _shown(self, asking: ConversationRequest, number: int) -> dict[str, Any]:
        return conversation_json(asking, asking.desk.find(str(number), asking.context))

    def _found(self, asking: ConversationRequest, number: int, question: int) -> Any:
        """A question of one's own conversation; raises as one that is not there."""
        found = next((each for each in asking.desk.questions(number, asking.context) if each.id == question), None)
        if found is None:
            raise RequestRefused(404, _MISSING)
        return found


def _framed(event: QuestionEvent, *, bare: bool) -> bytes:
    value = {"number": event.number, "at_ms": event.at_ms, **({} if bare else event.payload)}
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.number, event.kind.encode(), orjson.dumps(value))


def _question_in(request: Request, body: dict[str, Any]) -> str:
    """The question of a body; the access log gets its length and its hash."""
    text = text_in(body, "question")
    notes_of(request.scope).query = text
    return text


def _number(request: Request, name: str) -> int:
    text = request.path_params[name]
    if not (text.isascii() and text.isdigit() and len(text) < 18):
        raise RequestRefused(404, _MISSING)
    return int(text)


def _whole(text: str | None, name: str, default: int, most: int) -> int:
    if not text:
        return default
    if not (text.isascii() and text.isdigit()) or int(text) > most:
        raise RequestRefused(400, f"{name} has to be a whole number, {most:,} at most.")
    return int(text)


def _flag(text: str | None, name: str) -> bool | None:
    if text is None:
        return None
    if text.lower() not in {"true", "false", "1", "0"}:
        raise RequestRefused(400, f"{name} has to be true or false.")
    return text.lower() in {"true", "1"}


def _page(cursor: str | None) -> dict[str, Any]:
    return {"has_next_page": cursor is not None, "end_cursor": cursor}
