"""Requests and responses of the conversation endpoints: access, bodies, errors, and the JSON of the first API."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sourcelight.core.errors import ClusterError, QueryError, StateFull, ToolError
from sourcelight.engines.deepsearch.conversations import records
from sourcelight.engines.deepsearch.conversations.records import RUNNING, ConversationRecord, QuestionRecord, visible_to
from sourcelight.engines.deepsearch.redaction import format_error
from sourcelight.engines.tools import ToolContext
from sourcelight.server.http.middleware.access_log import notes_of
from sourcelight.server.http.requests import RequestRefused
from sourcelight.server.identity import Authenticator, Refusal

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.conversations import ConversationService
    from sourcelight.engines.execution import Engine


log = logging.getLogger("sourcelight.deepsearch")
BUSY = "running"
DISK = "disk"

_TYPES = {"search": "Search", "repository": "Repository", "file": "File", "commit": "Commit"}

_COUNTS = (
    "time_millis", "tool_calls", "total_input_tokens", "cached_tokens", "cache_creation_input_tokens", "prompt_tokens",
    "completion_tokens", "total_tokens", "credits",
)  # fmt: skip

_RECORD_COUNTS = {"total_input_tokens": "input_tokens", "completion_tokens": "output_tokens"}


@dataclass(frozen=True, slots=True)
class ConversationRequest:
    """A request to the conversations.

    Parameters
    ----------
    service
        The conversations.
    context
        Context for calls of tools.
    """

    service: ConversationService
    context: ToolContext


@dataclass(frozen=True, slots=True)
class ConversationAccess:
    """Access checks for requests.

    Parameters
    ----------
    engine, service
        The engine and the conversations.
    authenticator
        Identifies the sender of a request.
    external_url
        Address of the service; empty: the address that each request used.
    """

    engine: Engine
    service: ConversationService
    authenticator: Authenticator
    external_url: str = ""

    def base_of(self, request: Request) -> str:
        """Return the address of the service, as the caller sees it."""
        return self.external_url or f"{request.url.scheme}://{request.headers.get('host', 'localhost')}"

    def enter(self, request: Request) -> ConversationRequest:
        """Identify the sender, and require a header that a foreign page can't set. Raises `RequestRefused`."""
        principal = self.authenticator.for_search(request.headers)
        if isinstance(principal, Refusal):
            raise RequestRefused(principal.status, principal.text)
        if principal.is_anonymous:
            raise RequestRefused(401, "Private mode requires authentication.")

        notes_of(request.scope).name(principal)
        # A form of a foreign page can't set this header, and a script of one needs a CORS permission that is never
        # given.
        if not request.headers.get("x-requested-with", "").strip():
            raise RequestRefused(
                400, "The header X-Requested-With is missing; set it to the name and version of your client."
            )

        context = ToolContext(self.engine, principal.viewer, served=True, base_url=self.base_of(request))
        return ConversationRequest(self.service, context)

    def guard(
        self, handle: Callable[[Request, ConversationRequest], Awaitable[Response]]
    ) -> Callable[..., Awaitable[Response]]:
        """Return a handler whose errors become responses."""

        async def endpoint(request: Request) -> Response:
            try:
                return await handle(request, self.enter(request))
            except RequestRefused as exc:
                return error_response(exc.status, exc.text)
            except (ToolError, QueryError) as exc:
                return error_response(status_of(exc), str(exc))
            except StateFull as exc:
                return error_response(507, exc.for_callers)
            except ClusterError as exc:
                log.warning("deep search request failed: %s", exc)
                return error_response(503, exc.for_callers)
            except Exception as exc:  # noqa: BLE001 - the log has it, its text left out
                error_id = secrets.token_hex(6)
                text = format_error(exc)
                log.error("deep search request failed, id %s: %s", error_id, text)  # noqa: TRY400 - no text of questions in logs
                return error_response(500, f"internal error, id {error_id}: see the log of the service")

        return endpoint


def status_of(exc: ToolError | QueryError) -> int:
    """Return the HTTP status of an error: busy, disk full, not found, or bad request."""
    argument = exc.argument if isinstance(exc, ToolError) else ""
    if argument == BUSY:
        return 409
    if argument == DISK:
        return 507
    return 404 if argument == "identifier" else 400


def error_response(status: int, text: str) -> Response:
    """Return an error as JSON."""
    headers = {"Cache-Control": "no-store"}
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="sourcelight"'
    return JSONResponse({"error": text}, status, headers)


def json_response(value: Any, status: int = 200) -> Response:
    """Return a value as JSON."""
    return JSONResponse(value, status, {"Cache-Control": "no-store"})


def text_in(body: dict[str, Any], name: str) -> str:
    """Return a text of a body. Raises `RequestRefused`."""
    value = body.get(name)
    if not isinstance(value, str) or not value.strip():
        raise RequestRefused(400, f"{name} must be a non-empty string.")
    return value


async def run_blocking(function: Callable[..., Any], *args: Any) -> Any:
    """Run a blocking function in a thread."""
    return await anyio.to_thread.run_sync(lambda: function(*args))


def conversation_json(caller: ConversationRequest, conversation: ConversationRecord) -> dict[str, Any]:
    """Return a conversation with all its questions, as this reader may see it."""
    service, context = caller.service, caller.context
    token = service.token(conversation)
    is_owner = conversation.owner == context.viewer.name

    # On the wire, `share_url` is the address of every conversation. Only `is_shared` says whether it is shared.
    value: dict[str, Any] = {
        "id": conversation.id,
        "title": conversation.title,
        "questions": [question_json(caller, question) for question in service.store.questions(conversation.id)],
        "created_at": records.moment(conversation.created_ms),
        "updated_at": records.moment(conversation.updated_ms),
        "read_token": token,
        "share_url": service.url(conversation, context),
        "is_starred": conversation.starred if is_owner else False,
        "is_shared": conversation.shared,
        "viewer": {"is_owner": is_owner},
        # The wire requires the key; -1 means that there is no quota.
        "quota_usage": {"total_quota": 0, "quota_limit": -1, "reset_time": None},
    }
    account = caller.service.state.accounts.get(conversation.owner)
    value["user_id"] = account.id if is_owner else None
    return value


def question_json(caller: ConversationRequest, question: QuestionRecord) -> dict[str, Any]:
    """Return a question as this reader may see it."""
    visible = visible_to(question, caller.context.viewer, caller.context.engine.catalog)
    is_running = question.status in RUNNING
    value: dict[str, Any] = {
        "id": question.id,
        "conversation_id": question.conversation,
        "question": question.text,
        "title": question.text[:80],
        "created_at": records.moment(question.created_ms),
        "updated_at": records.moment(question.finished_ms or question.started_ms or question.created_ms),
        "status": question.status if is_running else "completed",
        "answer": visible.answer,
        "sources": [
            {"type": _TYPES.get(source.type, source.type), "label": source.label, "link": source.link}
            for source in visible.sources
        ],
        "suggested_followups": None if is_running else list(visible.followups),
        "turns": turns_of(caller, question) if is_running else None,
        "stats": stats_json(visible.stats),
    }
    if question.error:
        value["error"] = {
            "title": question.error.get("title", ""),
            "kind": question.error.get("kind", ""),
            "message": visible.question.error.get("message", ""),
            "details": "",
        }

    return value


def stats_json(stats: Mapping[str, Any]) -> dict[str, int]:
    """Return counts under their wire names; unknown counts are 0."""
    return {name: int(stats.get(name, stats.get(_RECORD_COUNTS.get(name, ""), 0)) or 0) for name in _COUNTS}


def turns_of(caller: ConversationRequest, question: QuestionRecord) -> Sequence[dict[str, str]]:
    """Return the steps so far, for the owner only: searches may name repositories that others can't see."""
    conversation = caller.service.store.by_number(question.conversation)
    if conversation is None or conversation.owner != caller.context.viewer.name or hides(caller, question):
        return []

    return [
        {"role": "assistant", "reasoning": turn_text(event.payload), "timestamp": records.moment(event.at_ms)}
        for event in caller.service.store.events(question.id)
        if event.kind == "turn"
    ]


def hides(caller: ConversationRequest, question: QuestionRecord) -> bool:
    """Return whether a question used repositories that its reader may not see, or may no longer see."""
    return visible_to(question, caller.context.viewer, caller.context.engine.catalog).is_partial


def turn_text(payload: Mapping[str, Any]) -> str:
    """Return a step as one line: the tool, its query and its result."""
    parts = [str(payload.get(name) or "") for name in ("tool", "query", "result")]
    return ": ".join(part for part in parts if part)
