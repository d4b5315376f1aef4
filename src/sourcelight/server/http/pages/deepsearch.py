"""Pages of deep search: one's conversations, asking, and a conversation that shows its progress while it runs.

Forms open, ask, cancel, share and delete; without script a running conversation reloads itself. Forms count only from
this service's own pages.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import ClusterError, QueryError, ToolError
from sourcelight.core.markup import escape, one_line
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.conversations import DEEPSEARCH_READ
from sourcelight.engines import tools
from sourcelight.engines.tools import ToolContext
from sourcelight.server.http.middleware.access_log import notes_of
from sourcelight.server.http.pages.access import PageAccess
from sourcelight.server.http.pages.browser import PageStream
from sourcelight.server.http.pages.conversations import QUESTION_FIELD, conversation_html, is_running
from sourcelight.server.http.pages.frame import HEADERS, page
from sourcelight.server.http.pages.python import call_text, notebook, python_block
from sourcelight.server.identity import QueueFull

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.conversations import ConversationService

PATH = "/deepsearch"

REFRESH_S = 3
"""Seconds after which a browser without script reloads a running conversation."""

_NOTEBOOK = ".ipynb"

_LOOK_S = 0.4
"""Seconds between looks at whether a conversation has changed, for a page that follows it."""

_HEARTBEAT_S = 15.0
"""Seconds after which an unchanged stream sends a comment: proxies close silent connections, often after 60 s."""

_LIVE_S = 900.0
"""Seconds after which a stream ends; the page opens another one."""

_LISTED = 50
"""Conversations on a page."""

_MAX_SEARCH_CHARS = 200
_MAX_QUESTION_CHARS = 2_000
_MAX_SKIP_DIGITS = 9
"""Digits of a number of conversations to skip."""

_CHANGES: Mapping[str, Mapping[str, bool]] = {
    "cancel": {"cancel": True},
    "share": {"shared": True},
    "unshare": {"shared": False},
    "delete": {"delete": True},
}
"""The changes that the buttons of a conversation ask for, by the value of the button."""

_NO_ACCOUNT = "Deep search stores conversations per account. Sign in first."
_SWITCHED_OFF = "Deep search is turned off on this service."


@dataclass(frozen=True, slots=True)
class _Reading:
    """A conversation as its reader sees it now."""

    answer: ToolResult
    html: str
    is_running: bool
    is_own: bool
    calls: Mapping[str, str]


class ConversationPages:
    """The pages of conversations.

    Parameters
    ----------
    conversations
        Conversations; None without deep search.
    access
        Access checks.
    """

    def __init__(self, conversations: ConversationService | None, access: PageAccess) -> None:
        self._conversations = conversations
        self._access = access
        self._stopping = False

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        if self._conversations is None:
            return [Route(PATH, self._switched_off)]

        return [
            Route(PATH, self._list, methods=["GET"]),
            Route(PATH, self._open, methods=["POST"]),
            Route(f"{PATH}/shared/{{id}}/live", self._live, methods=["GET"]),
            Route(f"{PATH}/shared/{{id}}", self._conversation, methods=["GET"]),
            Route(f"{PATH}/{{id}}/live", self._live, methods=["GET"]),
            Route(f"{PATH}/{{id}}", self._conversation, methods=["GET"]),
            Route(f"{PATH}/{{id}}", self._change, methods=["POST"]),
        ]

    def stop(self) -> None:
        """End the streams. Callable from any thread."""
        self._stopping = True

    @property
    def _service(self) -> ConversationService:
        assert self._conversations is not None  # noqa: S101 - there is no route without it
        return self._conversations

    async def _switched_off(self, _: Request) -> Response:
        return self._access.refusal_page(_SWITCHED_OFF, 404, "Not found")

    async def _list(self, request: Request) -> Response:
        context = self._access.enter(request)
        if isinstance(context, Response):
            return context
        if not context.viewer.name:
            return self._access.sign_in_first(request, _NO_ACCOUNT)

        values = request.query_params
        text = values.get("text", "")[:_MAX_SEARCH_CHARS]
        after = values.get("after", "")
        skip = 0
        if after.isascii() and after.isdigit() and len(after) <= _MAX_SKIP_DIGITS:
            skip = int(after)

        def list_conversations() -> ToolResult:
            return self._service.list(replace(context, base_url=""), text=text, first=_LISTED + 1, skip=skip)

        answer = await anyio.to_thread.run_sync(list_conversations)
        question = values.get("question", "")[:_MAX_QUESTION_CHARS]
        body = self._list_html(answer.table.to_pylist(), text, skip, question)
        return page("Deep search", body, prefix=self._access.prefix, posts=True)

    def _list_html(self, rows: list[dict[str, Any]], text: str, skip: int, question: str) -> str:
        prefix = escape(self._access.prefix)
        items = "".join(_list_item(row, prefix) for row in rows[:_LISTED])
        more_html = ""
        if len(rows) > _LISTED:
            older = urlencode({"text": text, "after": str(skip + _LISTED)}, errors="replace")
            more_html = f'<p><a href="{prefix}{PATH}?{escape(older)}">Older conversations</a></p>'

        empty = ""
        if not items:
            reason = "No conversation contains this text." if text else "No conversations yet."
            empty = f'<p class="quiet">{reason}</p>'
        return (
            f'<h1>Deep search</h1><form class="ask" method="post" action="{prefix}{PATH}">'
            f"{QUESTION_FIELD.format(label='What do you want to know about the code?', text=escape(question))}"
            '<p class="quiet">Add filters such as <code>repo:acme</code> to narrow the search. Every citation of an '
            'answer is checked.</p><button name="do" value="ask">Ask</button></form><h2>Your conversations</h2>'
            f'<form class="inline" action="{prefix}{PATH}"><input name="text" aria-label="Text in conversations" '
            f'maxlength="200" value="{escape(text)}"><button>Find</button></form>{empty}<ul>{items}</ul>{more_html}'
        )

    async def _open(self, request: Request) -> Response:
        entered = await self._access.enter_form(request)
        if isinstance(entered, Response):
            return entered

        context, form = entered
        question = form.get("question", "")
        notes_of(request.scope).query = question

        def work() -> str:
            number = self._service.open(question, context)
            self._service.ask_in(number, question, context)
            return self._address(str(number), context)

        return await self._run(request, context, work)

    async def _change(self, request: Request) -> Response:
        entered = await self._access.enter_form(request)
        if isinstance(entered, Response):
            return entered

        context, form = entered
        button = form.get("do", "")
        question = form.get("question", "") if button == "ask" else ""
        notes_of(request.scope).query = question

        def work() -> str:
            conversation = self._service.find(f"{PATH}/{request.path_params['id']}", context)
            number = str(conversation.id)
            if button == "ask":
                self._service.ask_in(conversation.id, question, context)
            elif button in _CHANGES:
                self._service.change(number, _CHANGES[button], context)
            else:
                raise ToolError("unknown button; reload the page and try again")

            if button == "delete":
                return PATH
            return self._address(number, context)

        return await self._run(request, context, work)

    async def _run(self, request: Request, context: ToolContext, work: Any) -> Response:
        if not context.viewer.name:
            return self._access.sign_in_first(request, _NO_ACCOUNT)

        try:
            return self._access.to(await anyio.to_thread.run_sync(work))
        except (ToolError, QueryError) as exc:
            if isinstance(exc, ToolError) and exc.argument == "identifier":
                return self._access.absent(request, context)
            return self._access.refusal_page(str(exc))
        except ClusterError as exc:
            return self._access.unavailable(exc)

    def _address(self, identifier: str, context: ToolContext) -> str:
        """Return the address of a conversation without the service's."""
        return self._service.url(self._service.find(identifier, context), replace(context, base_url=""))

    async def _conversation(self, request: Request) -> Response:
        context = self._access.enter(request)
        if isinstance(context, Response):
            return context

        identifier = request.path_params["id"]
        try:
            reading = await anyio.to_thread.run_sync(self._read, request, context)
        except ToolError:
            return self._access.absent(request, context)
        except ClusterError as exc:
            return self._access.unavailable(exc)

        if identifier.endswith(".md"):
            _, text = tools.render(DEEPSEARCH_READ, reading.answer, context)
            return PlainTextResponse(text, media_type="text/markdown", headers=HEADERS)

        path = self._path(request)
        call = call_text("deepsearch_read", path)
        if identifier.endswith(_NOTEBOOK):
            number = request.query_params.get("question", "")
            return notebook(reading.calls.get(number, call), context.base_url, "deepsearch")

        follow = ""
        refresh_s = 0
        if reading.is_running:
            follow = f' data-follow="{escape(self._access.prefix)}{escape(path)}/live"'
            refresh_s = REFRESH_S
        return page(
            reading.answer.attributes["title"],
            f'<div id="conversation"{follow}>{reading.html}</div>',
            prefix=self._access.prefix,
            refresh_s=refresh_s,
            posts=reading.is_own,
            use=python_block(call, context.base_url, f"{quote(identifier)}{_NOTEBOOK}"),
        )

    def _path(self, request: Request) -> str:
        infix = "shared/" if "/shared/" in request.scope["path"] else ""
        return f"{PATH}/{infix}{quote(request.path_params['id'].removesuffix(_NOTEBOOK))}"

    def _read(self, request: Request, context: ToolContext) -> _Reading:
        path = self._path(request)
        conversation = self._service.find(path, context)
        answer = self._service.read(path, context)
        is_own = bool(context.viewer.name) and conversation.owner == context.viewer.name
        action = ""
        calls: Mapping[int, str] = {}
        if is_own:
            action = f"{self._access.prefix}{PATH}/{self._service.token(conversation)}"
            calls = self._calls(conversation.id)

        name = quote(request.path_params["id"])
        # Relative, so that it works behind a proxy; a stream's page is one step above it.
        html = conversation_html(
            answer,
            self._turns(conversation.id, context),
            {number: _ask_call(call, number, name, context) for number, call in calls.items()},
            prefix=self._access.prefix,
            markdown=f"{name}.md",
            action=action,
        )
        return _Reading(
            answer=answer,
            html=html,
            is_running=is_running(answer),
            is_own=is_own,
            calls={str(number): call for number, call in calls.items()},
        )

    def _calls(self, conversation: int) -> dict[int, str]:
        """Return the calls that ask the questions of a conversation again, by their index.

        For its owner alone: the scope of a question can name repositories that other readers may not see.
        """
        calls: dict[int, str] = {}
        for number, question in enumerate(self._service.store.questions(conversation)):
            scope = question.requested_scope
            text = f"{question.filters} {question.text}".strip()
            calls[number] = call_text(
                "deepsearch", text, repos=list(scope.repositories) or None, revision=scope.revision or None
            )
        return calls

    def _turns(self, conversation: int, context: ToolContext) -> Mapping[int, list[str]]:
        """Return what the researcher has said so far about each question that still runs, by its index."""
        from sourcelight.server.http.deepsearch.messages import ConversationRequest, turns_of

        caller = ConversationRequest(self._service, context)
        turns: dict[int, list[str]] = {}
        for number, question in enumerate(self._service.store.questions(conversation)):
            if question.status in {"pending", "processing"}:
                turns[number] = [turn["reasoning"] for turn in turns_of(caller, question)]
        return turns

    async def _live(self, request: Request) -> Response:
        context = self._access.enter(request)
        if isinstance(context, Response):
            return context

        try:
            # Before the stream begins, so that missing things have the status of a page.
            await anyio.to_thread.run_sync(self._read, request, context)
        except ToolError:
            return self._access.absent(request, context)

        turn = self._access.live_turn(request, context)
        try:
            await turn.__aenter__()
        except QueueFull:
            return self._access.busy()

        async def end() -> None:
            await turn.__aexit__(None, None, None)

        return PageStream(self._states(request), end)

    async def _states(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Yield the conversation each time that it has changed, as its reader may see it then."""
        sent_html = ""
        sent_s = time.monotonic()
        end_s = sent_s + _LIVE_S
        while not self._stopping and time.monotonic() < end_s:
            # Once more for each state: the account, its session or its permissions may have ended.
            context = self._access.enter(request)
            if isinstance(context, Response):
                return

            try:
                reading = await anyio.to_thread.run_sync(self._read, request, context)
            except (ToolError, ClusterError):
                return

            if reading.html != sent_html:
                sent_html = reading.html
                sent_s = time.monotonic()
                yield _frame(reading)
            elif time.monotonic() - sent_s > _HEARTBEAT_S:
                sent_s = time.monotonic()
                yield b": \n\n"

            if not reading.is_running:
                return

            await anyio.sleep(_LOOK_S)


def _list_item(row: Mapping[str, Any], prefix: str) -> str:
    """Return a conversation of the list; `prefix` is HTML of the service's path."""
    title = escape(one_line(row["title"], 200))
    details = [count_of(row["questions"], "question"), escape(row["status"]), f"{row['updated_at']:%Y-%m-%d %H:%M}"]
    if row["shared"]:
        details.append("shared")
    return (
        f'<li><a href="{prefix}{escape(row["url"])}">{title}</a> <span class="quiet">{", ".join(details)}</span></li>'
    )


def _ask_call(call: str, number: int, name: str, context: ToolContext) -> str:
    """Return HTML that asks a question of a conversation in Python; `number` counts from 0."""
    address = f"{name}{_NOTEBOOK}?question={number}"
    return python_block(call, context.base_url, address, name=f"python-{number}", label=f"question {number + 1}")


def _frame(reading: _Reading) -> bytes:
    text = json.dumps({"html": reading.html, "done": not reading.is_running})
    return f"event: state\ndata: {text}\n\n".encode("utf-8", "replace")
