"""What every endpoint about conversations needs of a request: who asks, a context, a body, and faults as answers.

Conversations and questions in the JSON of the service's first API.
"""

from __future__ import annotations

import json
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
from sourcelight.server.http.middleware import notes_of
from sourcelight.server.identity import Authenticator, Principal, Refusal

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.conversations import ConversationService
    from sourcelight.engines.execution import LocalEngine


log = logging.getLogger("sourcelight.deepsearch")
BUSY = "running"
DISK = "disk"
MOST_BODY_BYTES = 256 * 1024


class RequestRefused(Exception):
    """Raised with the status and the text of an answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


@dataclass(frozen=True, slots=True)
class ConversationRequest:
    """A request of someone who is known.

    Parameters
    ----------
    desk
        The conversations.
    principal
        Who asks.
    context
        For whom, as tools are called with it.
    """

    desk: ConversationService
    principal: Principal
    context: ToolContext


@dataclass(frozen=True, slots=True)
class ConversationAccess:
    """What lets requests in.

    Parameters
    ----------
    engine, desk
        What answers.
    authenticator
        Tells who asks.
    external_url
        The service's address; empty: what each request used.
    """

    engine: LocalEngine
    desk: ConversationService
    authenticator: Authenticator
    external_url: str = ""

    def base_of(self, request: Request) -> str:
        """Address of the service, as the caller sees it."""
        return self.external_url or f"{request.url.scheme}://{request.headers.get('host', 'localhost')}"

    def enter(self, request: Request) -> ConversationRequest:
        """Know who asks: by a header that no foreign page can set. Raises `RequestRefused`."""
        found = self.authenticator.for_search(request.headers)
        if isinstance(found, Refusal):
            raise RequestRefused(found.status, found.text)
        if found.is_anonymous:
            raise RequestRefused(401, "Private mode requires authentication.")
        notes_of(request.scope).name(found)
        if not request.headers.get("x-requested-with", "").strip():
            raise RequestRefused(400, "The header X-Requested-With is missing: name your client and its version there.")
        context = ToolContext(self.engine, found.viewer, served=True, base_url=self.base_of(request))
        return ConversationRequest(self.desk, found, context)

    def guarded(
        self, handle: Callable[[Request, ConversationRequest], Awaitable[Response]]
    ) -> Callable[..., Awaitable[Response]]:
        """Turn what a handler raises into an answer."""

        async def endpoint(request: Request) -> Response:
            try:
                return await handle(request, self.enter(request))
            except RequestRefused as fault:
                return told(fault.status, fault.text)
            except (ToolError, QueryError) as fault:
                return told(status_of(fault), str(fault))
            except StateFull as fault:
                return told(507, fault.for_callers)
            except ClusterError as fault:
                log.warning("request failed: %s", fault)
                return told(503, fault.for_callers)
            except Exception as fault:  # noqa: BLE001 - the log has it, its text left out
                number = secrets.token_hex(6)
                said = format_error(fault)
                log.error("request failed, id %s: %s", number, said)  # noqa: TRY400 - no text of questions in logs
                return told(500, f"internal error, id {number}: the log of the service says more")

        return endpoint


def status_of(fault: ToolError | QueryError) -> int:
    """The status of a fault: what is busy, what is not there, and what can't be taken."""
    argument = getattr(fault, "argument", "")
    if argument == BUSY:
        return 409
    if argument == DISK:
        return 507
    return 404 if argument == "identifier" else 400


def told(status: int, text: str) -> Response:
    """A fault as JSON."""
    headers = {"Cache-Control": "no-store"}
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="sourcelight"'
    return JSONResponse({"error": text}, status, headers)


def given(value: Any, status: int = 200) -> Response:
    """An answer as JSON."""
    return JSONResponse(value, status, {"Cache-Control": "no-store"})


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object of a request; an empty body is an empty one. Raises `RequestRefused`."""
    if request.headers.get("content-type", "application/json").partition(";")[0].strip() != "application/json":
        raise RequestRefused(400, "The body has to be JSON: Content-Type application/json.")
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > MOST_BODY_BYTES:
            raise RequestRefused(413, f"The body is larger than {MOST_BODY_BYTES:,} bytes.")
    try:
        value = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        raise RequestRefused(400, "The body is not JSON.") from None
    if not isinstance(value, dict):
        raise RequestRefused(400, "The body has to be a JSON object.")
    return value


def text_in(body: dict[str, Any], name: str) -> str:
    """A text of a body. Raises `RequestRefused`."""
    value = body.get(name)
    if not isinstance(value, str) or not value.strip():
        raise RequestRefused(400, f"{name} is missing: it has to be a text that is not empty.")
    return value


async def apart(function: Callable[..., Any], *args: Any) -> Any:
    """Run what blocks in a thread."""
    return await anyio.to_thread.run_sync(lambda: function(*args))


_TYPES = {"search": "Search", "repository": "Repository", "file": "File", "commit": "Commit"}
_COUNTS = (
    "time_millis", "tool_calls", "total_input_tokens", "cached_tokens", "cache_creation_input_tokens", "prompt_tokens",
    "completion_tokens", "total_tokens", "credits",
)  # fmt: skip
_OWN_COUNTS = {"total_input_tokens": "input_tokens", "completion_tokens": "output_tokens"}


def conversation_json(asking: ConversationRequest, conversation: ConversationRecord) -> dict[str, Any]:
    """A conversation with all its questions, as this reader may see it."""
    desk, context = asking.desk, asking.context
    token = desk.token(conversation)
    is_owner = conversation.owner == context.viewer.name
    # `share_url` is the service's name for the conversation's own address; whether it opens to others is `is_shared`.
    found: dict[str, Any] = {
        "id": conversation.id,
        "title": conversation.title,
        "questions": [question_json(asking, each) for each in desk.store.questions(conversation.id)],
        "created_at": records.moment(conversation.created_ms),
        "updated_at": records.moment(conversation.updated_ms),
        "read_token": token,
        "share_url": desk.url(conversation, context),
        "is_starred": conversation.starred if is_owner else False,
        "is_shared": conversation.shared,
        "viewer": {"is_owner": is_owner},
        "quota_usage": {"total_quota": 0, "quota_limit": -1, "reset_time": None},
    }
    account = asking.desk.state.accounts.get(conversation.owner)
    found["user_id"] = account.id if is_owner else None
    return found


def question_json(asking: ConversationRequest, question: QuestionRecord) -> dict[str, Any]:
    """A question as this reader may see it."""
    shown = visible_to(question, asking.context.viewer, asking.context.engine.catalog)
    running = question.status in RUNNING
    found: dict[str, Any] = {
        "id": question.id,
        "conversation_id": question.conversation,
        "question": question.text,
        "title": question.text[:80],
        "created_at": records.moment(question.created_ms),
        "updated_at": records.moment(question.finished_ms or question.started_ms or question.created_ms),
        "status": question.status if running else "completed",
        "answer": shown.answer,
        "sources": [
            {"type": _TYPES.get(source.type, source.type), "label": source.label, "link": source.link}
            for source in shown.sources
        ],
        "suggested_followups": None if running else list(shown.followups),
        "turns": turns_of(asking, question) if running else None,
        "stats": stats_json(shown.stats),
    }
    if question.error:
        found["error"] = {
            "title": question.error.get("title", ""),
            "kind": question.error.get("kind", ""),
            "message": shown.question.error.get("message", ""),
            "details": "",
        }
    return found


def stats_json(stats: Mapping[str, Any]) -> dict[str, int]:
    """Counts under the service's names; those that are not known are 0."""
    return {name: int(stats.get(name, stats.get(_OWN_COUNTS.get(name, ""), 0)) or 0) for name in _COUNTS}


def turns_of(asking: ConversationRequest, question: QuestionRecord) -> Sequence[dict[str, str]]:
    """What was done so far, for whoever asked: others learn nothing of searches that may name what they can't see."""
    conversation = asking.desk.store.by_number(question.conversation)
    if conversation is None or conversation.owner != asking.context.viewer.name or hides(asking, question):
        return []
    return [
        {"role": "assistant", "reasoning": turn_text(event.payload), "timestamp": records.moment(event.at_ms)}
        for event in asking.desk.store.events(question.id)
        if event.kind == "turn"
    ]


def hides(asking: ConversationRequest, question: QuestionRecord) -> bool:
    """Whether a question was about repositories that its reader may not see, or no longer."""
    return visible_to(question, asking.context.viewer, asking.context.engine.catalog).is_partial


def turn_text(payload: Mapping[str, Any]) -> str:
    """A turn in a line: the tool, what with, and what it gave."""
    parts = [str(payload.get(name) or "") for name in ("tool", "query", "result")]
    return ": ".join(part for part in parts if part)
