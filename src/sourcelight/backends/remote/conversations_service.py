"""Follow-ups, changes and the list of conversations, over the versioned API of a service (release 7.0 and later).

Its documentation names the calls, the resource names, the nested questions and the states. Titles, stars and shares are
not in it; what a response has beyond that stays in the attribute ``payload``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sourcelight.backends.remote.transport import HttpTransport
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import ServiceError, ToolError
from sourcelight.core.tools.catalog import table_of

PATH = "/api/deepsearch.v1.Service"
_SELF = "users/~self"
_NAME = re.compile(r"users/[^/]+/conversations/[^/]+")
"""The name of a conversation: ``users/me/conversations/12``."""

_STATES = ("processing", "completed", "canceled", "error")
_PAGE = 100
"""Conversations that are requested at a time."""

_MAX_PAGES = 10
"""Pages of a list, because a broken service may send cursors forever."""


class ConversationsService:
    """The caller's conversations at a service, over its versioned API.

    Parameters
    ----------
    connection
        To the service.
    """

    def __init__(self, connection: HttpTransport) -> None:
        self._transport = connection

    async def follow_up(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Ask another question. Read the conversation later for the answer."""
        name, conversation = await self._find(arguments["identifier"])
        question = {"input": [{"question": {"text": arguments["question"]}}]}
        answer = await self._ask("AddConversationQuestion", {"parent": name, "question": question})
        info = {
            "status": "processing",
            "title": conversation.get("title", ""),
            "url": conversation.get("url", ""),
            "payload": dict(answer),
        }
        return ToolResult("conversation", table_of("conversation", 0), info, complete=False)

    async def change(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Cancel the running question of a conversation, or delete it; the API has no other changes."""
        other_changes = [
            name for name in ("title", "starred", "shared", "reset_link") if arguments.get(name) is not None
        ]
        if other_changes:
            raise ToolError(f"this service can change {', '.join(other_changes)} only on its own pages")

        name, conversation = await self._find(arguments["identifier"])
        if arguments.get("cancel"):
            conversation = await self._ask("CancelConversation", {"name": name}) or conversation

        if arguments.get("delete"):
            await self._ask("DeleteConversation", {"name": name})

        info = {
            "title": conversation.get("title", ""),
            "url": conversation.get("url", ""),
            "questions": [],
            "status": "completed",
            "state": _state(conversation),
            "payload": dict(conversation),
        }
        return ToolResult("conversation", table_of("conversation", 0), info)

    async def list_conversations(self, arguments: Mapping[str, Any]) -> ToolResult:
        """List the caller's conversations, at most ``limit``; summaries have no status and no number of questions."""
        limit, skip = int(arguments.get("limit") or 50), int(arguments.get("skip") or 0)
        filters: list[dict[str, Any]] = []
        if arguments.get("text"):
            filters.append({"contentQuery": arguments["text"]})

        if arguments.get("starred") is not None:
            filters.append({"starred": arguments["starred"]})

        rows = await self._summaries(skip + limit, filters)
        rows = rows[skip : skip + limit]
        table = table_of(
            "conversations",
            len(rows),
            id=[_number(row) for row in rows],
            title=[str(row.get("title") or "") for row in rows],
            starred=[arguments.get("starred")] * len(rows),
            created_at=[parse_time(row.get("createTime")) for row in rows],
            updated_at=[parse_time(row.get("updateTime")) for row in rows],
            url=[str(row.get("url") or "") for row in rows],
        )
        return ToolResult("conversations", table, {"names": [str(row.get("name") or "") for row in rows]})

    async def _summaries(self, limit: int, filters: list[dict[str, Any]]) -> list[Mapping[str, Any]]:
        rows: list[Mapping[str, Any]] = []
        body: dict[str, Any] = {"parent": _SELF, "pageSize": min(limit, _PAGE)}
        if filters:
            body["filters"] = filters

        for _ in range(_MAX_PAGES):
            page = await self._ask("ListConversationSummaries", body)
            summaries = page.get("conversationSummaries") or ()
            rows += summaries
            token = page.get("nextPageToken")
            if len(rows) >= limit or not token or not summaries:
                break
            body["pageToken"] = token

        return rows

    async def _find(self, identifier: str) -> tuple[str, Mapping[str, Any]]:
        """Return the resource name of a conversation and what is known of it.

        The documentation has no way from a read token to a name; the address of a conversation is in the caller's list.
        """
        text = identifier.strip()
        if _NAME.fullmatch(text):
            name = text
        elif text.isdecimal():
            name = f"{_SELF}/conversations/{text}"
        else:
            name = ""
        if name:
            return name, await self._ask("GetConversation", {"name": name})

        token = text.rstrip("/").rpartition("/")[2].removesuffix(".md")
        for summary in await self._summaries(_PAGE * _MAX_PAGES, []):
            if token and token in str(summary.get("url") or ""):
                return str(summary["name"]), summary

        raise ToolError("conversation not found: it doesn't exist, or it isn't yours")

    async def _ask(self, procedure: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            value = await self._transport.ask_json("POST", f"{PATH}/{procedure}", dict(body), {})
        except ServiceError as exc:
            message = json_text(exc.text, "message") if exc.status in {400, 404, 409} else ""
            if message:
                raise ToolError(message) from exc
            raise

        return value if isinstance(value, Mapping) else {}


def _state(conversation: Mapping[str, Any]) -> str:
    state = conversation.get("state")
    return next((name for name in _STATES if isinstance(state, Mapping) and name in state), "unknown")


def json_text(body: str, key: str) -> str:
    """Return the text of a key in the body of an error, which may be cut or no JSON; empty without one."""
    match = re.search(rf'"{key}"\s*:\s*"((?:[^"\\]|\\.)*)"', body or "")
    return match[1] if match else ""


def parse_time(text: Any) -> datetime | None:
    """Parse a time of the wire; return None if it isn't one."""
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None


def _number(summary: Mapping[str, Any]) -> int | None:
    last = str(summary.get("name") or "").rpartition("/")[2]
    return int(last) if last.isdecimal() and len(last) <= 18 else None
