"""Follow-ups, changes and the list of conversations, over the first HTTP API of a service.

Its tools can't do this. Release 7.0 deprecates this API; where it is gone, `conversations_service` takes its place.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.backends.remote.bodies import FORM_ERRORS
from sourcelight.backends.remote.conversations_service import ConversationsService, json_text, parse_time
from sourcelight.backends.remote.transport import HttpTransport
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import NotFound, ProtocolError, ServiceError, SourcelightError, ToolError
from sourcelight.core.query.regexps import escape_name, exact_name
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.core.tools.catalog import table_of
from sourcelight.core.tools.conversations import SCOPE

if TYPE_CHECKING:
    import pyarrow as pa

PATH = "/.api/deepsearch/v1"
"""Path of the first API."""

_IDENTIFIER = re.compile(
    r"(?:.*/deepsearch/(?:shared/)?)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]{1,17})(?:\.md)?(?:[?#].*)?",
    re.IGNORECASE | re.DOTALL,
)
"""``https://host/deepsearch/shared/1f4c09aa-…`` or ``….md``, a read token alone, or the number of a conversation."""

_WIRE_NAMES = {"title": "title", "starred": "is_starred", "shared": "is_shared", "reset_link": "reset_link"}
"""Names of the properties that `deepsearch_change` can change, by its arguments."""

ASKING = frozenset({"deepsearch", "deepsearch_follow_up"})
"""Tools that ask a question."""

_GONE = frozenset({404, 405, 410, 501})
"""Statuses of a service that lacks the first API."""

_LACKS_CHANGES = frozenset({404, 405, 501})
"""Statuses of a service that has the first API without the endpoint for changes."""

_Call = Callable[[Mapping[str, Any]], Awaitable[ToolResult]]

_MAX_LISTED = 1_000
"""Conversations that are read for one list, however many of them fit its text."""

_PAGE = 100
"""Conversations in one response: the largest number that services take."""


def with_scope_as_text(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Write repositories and revision as filters in the question, for services that take nothing else."""
    names = list(arguments.get("repos") or ())
    filters = []
    if len(names) == 1:
        filters.append(f"repo:{quote_value(exact_name(names[0]))}")
    elif names:
        alternatives = "|".join(map(escape_name, names))
        filters.append(f"repo:{quote_value(f'^(?:{alternatives})$')}")

    if arguments.get("revision"):
        filters.append(f"rev:{quote_value(arguments['revision'])}")

    remaining = {name: value for name, value in arguments.items() if name not in SCOPE}
    return {**remaining, "question": " ".join([*filters, arguments["question"]])}


class ConversationsApi:
    """The caller's conversations at a service.

    Parameters
    ----------
    connection
        To the service.
    """

    def __init__(self, connection: HttpTransport) -> None:
        self._transport = connection
        self._service = ConversationsService(connection)
        self._is_versioned = False

    @property
    def calls(self) -> Mapping[str, Callable[[Mapping[str, Any]], Awaitable[ToolResult]]]:
        """The calls that this class answers, by name."""
        service = self._service
        calls = {
            "deepsearch_follow_up": self._either(self.follow_up, service.follow_up),
            "deepsearch_change": self._either(self.change, service.change),
            "deepsearch_list": self._either(self.list_conversations, service.list_conversations),
        }
        return {name: _convert_errors(ask) for name, ask in calls.items()}

    def _either(self, first: _Call, versioned: _Call) -> _Call:
        """Return a call of the first API, or of the versioned one where a service no longer has the first."""

        async def ask(arguments: Mapping[str, Any]) -> ToolResult:
            if self._is_versioned:
                return await versioned(arguments)

            try:
                return await first(arguments)
            except ServiceError as exc:
                if exc.status not in _GONE:
                    raise
                refusal = exc

            try:
                answer = await versioned(arguments)
            except NotFound:
                # The service has neither.
                raise refusal from None

            self._is_versioned = True
            return answer

        return ask

    async def follow_up(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Ask another question. Read the conversation later for the answer."""
        conversation = await self._find(arguments["identifier"])
        number = conversation["id"]
        scope = {key: arguments[key] for key in sorted(SCOPE & arguments.keys())}
        body = {"conversation_id": number, "question": arguments["question"], **scope}
        answer = await self._ask("POST", f"{PATH}/{number}/questions", body)
        info = {
            "status": "processing",
            "title": conversation.get("title", ""),
            "url": conversation.get("share_url", ""),
            "read_token": conversation.get("read_token", ""),
            "question_id": answer.get("id"),
        }
        return ToolResult("conversation", table_of("conversation", 0), info, complete=False)

    async def change(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Rename, star, share or delete a conversation, or cancel its running questions."""
        conversation = await self._find(arguments["identifier"])
        number = conversation["id"]
        changes = {name: value for name, value in arguments.items() if name in _WIRE_NAMES}
        if changes:
            body = {_WIRE_NAMES[name]: value for name, value in changes.items()}
            try:
                conversation = await self._ask("PATCH", f"{PATH}/{number}", body)
            except ServiceError as exc:
                if exc.status not in _LACKS_CHANGES:
                    raise
                names = ", ".join(changes)
                raise ToolError(f"this service can change {names} only on its own pages") from exc

        if arguments.get("cancel"):
            for question in conversation.get("questions") or ():
                if question.get("status") in {"pending", "processing"}:
                    await self._ask("POST", f"{PATH}/{number}/questions/{question['id']}/cancel", {})

        if arguments.get("delete"):
            await self._ask("DELETE", f"{PATH}/{number}")

        info = {
            "title": conversation.get("title", ""),
            "url": conversation.get("share_url", ""),
            "share_url": conversation.get("share_url", ""),
            "read_token": conversation.get("read_token", ""),
            "starred": bool(conversation.get("is_starred")),
            "shared": bool(conversation.get("is_shared")),
            "questions": [],
            "status": "completed",
        }
        return ToolResult("conversation", table_of("conversation", 0), info)

    async def list_conversations(self, arguments: Mapping[str, Any]) -> ToolResult:
        """List the caller's conversations, at most ``limit``."""
        limit = int(arguments.get("limit") or 50)
        params: dict[str, Any] = {"page_first": min(limit, _PAGE)}
        if arguments.get("skip"):
            params["page_after"] = int(arguments["skip"])
        if arguments.get("starred") is not None:
            params["filter_is_starred"] = "true" if arguments["starred"] else "false"

        rows: list[Mapping[str, Any]] = []
        text = str(arguments.get("text") or "").casefold()

        # Bounded: a service may return the same cursor forever.
        for _ in range(_MAX_LISTED // _PAGE):
            page = await self._ask("GET", PATH, params=params)
            conversations = page.get("conversations") or ()
            rows += [conversation for conversation in conversations if text in str(conversation).casefold()]
            cursor = (page.get("page_info") or {}).get("end_cursor")
            if len(rows) >= limit or not cursor or not conversations:
                break
            params["page_after"] = cursor

        return ToolResult("conversations", _table_of_conversations(rows[:limit]))

    async def _find(self, identifier: str) -> Mapping[str, Any]:
        """Return a conversation of the caller by its address, read token or number."""
        read = _IDENTIFIER.fullmatch(identifier.strip())
        if read is None:
            raise ToolError("not an identifier of a conversation; pass its address or its read token")

        name = "filter_id" if read[1].isdigit() else "filter_read_token"
        page = await self._ask("GET", PATH, params={name: read[1].lower()})
        conversations = page.get("conversations") or ()
        if not conversations:
            raise ToolError("conversation not found: it doesn't exist, or it isn't yours")

        first: Mapping[str, Any] = conversations[0]
        return first

    async def _ask(
        self, method: str, path: str, body: Any = None, *, params: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """Send a request; a refusal that has a reason raises `ToolError` with it."""
        try:
            value = await self._transport.ask_json(method, path, body, params or {})
        except ServiceError as exc:
            message = ""
            if isinstance(exc, NotFound) or exc.status in {400, 409}:
                message = json_text(exc.text, "error")
            if not message:
                raise
            raise ToolError(message) from exc

        if isinstance(value, Mapping):
            return value
        return {}


def _convert_errors(ask: _Call) -> _Call:
    """Return a call that raises `ProtocolError` where a response has a field of another type than its name says."""

    async def ask_checked(arguments: Mapping[str, Any]) -> ToolResult:
        try:
            return await ask(arguments)
        except SourcelightError:
            raise
        except FORM_ERRORS as exc:
            raise ProtocolError(f"the deep search API of the service sent a malformed response: {exc}") from exc

    return ask_checked


def _table_of_conversations(conversations: Sequence[Mapping[str, Any]]) -> pa.Table:
    columns: dict[str, list[Any]] = {
        "id": [],
        "title": [],
        "status": [],
        "questions": [],
        "starred": [],
        "shared": [],
        "created_at": [],
        "updated_at": [],
        "url": [],
    }
    for conversation in conversations:
        columns["id"].append(int(conversation["id"]))
        columns["title"].append(_title(conversation))
        columns["status"].append(_status(conversation))
        columns["questions"].append(len(conversation.get("questions") or ()))
        columns["starred"].append(bool(conversation.get("is_starred")))
        columns["shared"].append(bool(conversation.get("is_shared")))
        columns["created_at"].append(parse_time(conversation.get("created_at")))
        columns["updated_at"].append(parse_time(conversation.get("updated_at")))
        columns["url"].append(str(conversation.get("share_url") or ""))

    return table_of("conversations", len(conversations), **columns)


def _title(conversation: Mapping[str, Any]) -> str:
    """Return the title of a conversation, or of its first question, or that question."""
    if conversation.get("title"):
        return str(conversation["title"])
    questions = conversation.get("questions") or ()
    if not questions:
        return ""
    return str(questions[0].get("title") or questions[0].get("question") or "")


def _status(conversation: Mapping[str, Any]) -> str:
    """Return the status of the last question."""
    questions = conversation.get("questions") or ()
    if not questions:
        return "completed"
    last_question = questions[-1]
    if last_question.get("error"):
        return "error"
    return str(last_question.get("status") or "completed")
