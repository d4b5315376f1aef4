"""What a service's tools can't do with conversations, over its first HTTP API: follow-ups, changes, the list."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any

from sourcelight.backends.remote.transport import HttpTransport
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import NotFound, ServiceError, ToolError
from sourcelight.core.tools.catalog import table_of

PATH = "/.api/deepsearch/v1"
_IDENTIFIER = re.compile(
    r"(?:.*/deepsearch/(?:shared/)?)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]{1,17})(?:\.md)?(?:[?#].*)?",
    re.IGNORECASE | re.DOTALL,
)
_NAMES = {"title": "title", "starred": "is_starred", "shared": "is_shared", "reset_link": "reset_link"}
_MOST_LISTED = 1_000
_PAGE = 100


class ConversationsApi:
    """Conversations of one's own at a service.

    Parameters
    ----------
    connection
        To the service.
    """

    def __init__(self, connection: HttpTransport) -> None:
        self._connection = connection

    @property
    def calls(self) -> Mapping[str, Callable[[Mapping[str, Any]], Awaitable[ToolResult]]]:
        """What is answered here, by name."""
        return {
            "deepsearch_follow_up": self.follow_up,
            "deepsearch_change": self.change,
            "deepsearch_list": self.listed,
        }

    async def follow_up(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Ask another question; the answer is there when the conversation is read later."""
        found = await self._find(arguments["identifier"])
        number, question = found["id"], arguments["question"]
        body = {"conversation_id": number, "question": question}
        asked = await self._ask("POST", f"{PATH}/{number}/questions", body)
        facts = {
            "status": "processing",
            "title": found.get("title", ""),
            "url": found.get("share_url", ""),
            "read_token": found.get("read_token", ""),
            "question_id": asked.get("id"),
        }
        return ToolResult("conversation", table_of("conversation", 0), facts, complete=False)

    async def change(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Rename, star, share or delete a conversation, or cancel what it works on."""
        found = await self._find(arguments["identifier"])
        number = found["id"]
        body = {_NAMES[name]: value for name, value in arguments.items() if name in _NAMES}
        if body:
            try:
                found = await self._ask("PATCH", f"{PATH}/{number}", body)
            except ServiceError as exc:
                if exc.status not in {404, 405, 501}:
                    raise
                wanted = ", ".join(name for name in arguments if name in _NAMES)
                raise ToolError(f"this service has no way to set {wanted} but its own pages") from exc
        if arguments.get("cancel"):
            for question in found.get("questions") or ():
                if question.get("status") in {"pending", "processing"}:
                    await self._ask("POST", f"{PATH}/{number}/questions/{question['id']}/cancel", {})
        if arguments.get("delete"):
            await self._ask("DELETE", f"{PATH}/{number}")
        facts = {
            "title": found.get("title", ""),
            "url": found.get("share_url", ""),
            "share_url": found.get("share_url", ""),
            "read_token": found.get("read_token", ""),
            "starred": bool(found.get("is_starred")),
            "shared": bool(found.get("is_shared")),
            "questions": [],
            "status": "completed",
        }
        return ToolResult("conversation", table_of("conversation", 0), facts)

    async def listed(self, arguments: Mapping[str, Any]) -> ToolResult:
        """One's own conversations, as many as are asked for."""
        wanted = int(arguments.get("limit") or 50)
        skip = int(arguments.get("skip") or 0)
        params: dict[str, Any] = {"page_first": min(wanted, _PAGE)} | ({"page_after": skip} if skip else {})
        if arguments.get("starred") is not None:
            params["filter_is_starred"] = "true" if arguments["starred"] else "false"
        rows: list[Mapping[str, Any]] = []
        text = str(arguments.get("text") or "").casefold()
        for _ in range(_MOST_LISTED // _PAGE):
            page = await self._ask("GET", PATH, params=params)
            found = page.get("conversations") or ()
            rows += [one for one in found if text in str(one).casefold()]
            cursor = (page.get("page_info") or {}).get("end_cursor")
            if len(rows) >= wanted or not cursor or not found:
                break
            params["page_after"] = cursor
        rows = rows[:wanted]
        table = table_of(
            "conversations",
            len(rows),
            id=[int(one["id"]) for one in rows],
            title=[str(one.get("title") or _title(one)) for one in rows],
            status=[_status(one) for one in rows],
            questions=[len(one.get("questions") or ()) for one in rows],
            starred=[bool(one.get("is_starred")) for one in rows],
            shared=[bool(one.get("is_shared")) for one in rows],
            created_at=[_moment(one.get("created_at")) for one in rows],
            updated_at=[_moment(one.get("updated_at")) for one in rows],
            url=[str(one.get("share_url") or "") for one in rows],
        )
        return ToolResult("conversations", table)

    async def _find(self, identifier: str) -> Mapping[str, Any]:
        """A conversation of one's own by its address, read token or number."""
        read = _IDENTIFIER.fullmatch(identifier.strip())
        if read is None:
            raise ToolError("that is no identifier of a conversation: give its address or its read token")
        name = "filter_id" if read[1].isdigit() else "filter_read_token"
        found = (await self._ask("GET", PATH, params={name: read[1].lower()})).get("conversations") or ()
        if not found:
            raise ToolError("conversation not found: it does not exist, or it is not yours")
        first: Mapping[str, Any] = found[0]
        return first

    async def _ask(
        self, method: str, path: str, body: Any = None, *, params: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        try:
            value = await self._connection.ask_json(method, path, body, params or {})
        except NotFound as exc:
            said = _error_in(exc.text)
            raise (ToolError(said) if said else exc) from exc
        except ServiceError as exc:
            said = _error_in(exc.text) if exc.status in {400, 409} else ""
            raise (ToolError(said) if said else exc) from exc
        return value if isinstance(value, Mapping) else {}


def _error_in(text: str) -> str:
    found = re.search(r'"error"\s*:\s*"((?:[^"\\]|\\.)*)"', text or "")
    return found[1] if found else ""


def _title(conversation: Mapping[str, Any]) -> str:
    questions = conversation.get("questions") or ()
    return str(questions[0].get("title") or questions[0].get("question") or "") if questions else ""


def _status(conversation: Mapping[str, Any]) -> str:
    questions = conversation.get("questions") or ()
    last = questions[-1] if questions else {}
    return "error" if last.get("error") else str(last.get("status") or "completed")


def _moment(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None
