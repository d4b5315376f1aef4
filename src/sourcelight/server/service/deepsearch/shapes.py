"""Conversations and questions in the JSON of the service's first API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.engines.deepsearch.conversations import records
from sourcelight.engines.deepsearch.conversations.records import RUNNING, Conversation, Question, shown_to

if TYPE_CHECKING:
    from sourcelight.server.service.deepsearch.asking import Asking

_TYPES = {"search": "Search", "repository": "Repository", "file": "File", "commit": "Commit"}
_COUNTS = (
    "time_millis", "tool_calls", "total_input_tokens", "cached_tokens", "cache_creation_input_tokens", "prompt_tokens",
    "completion_tokens", "total_tokens", "credits",
)  # fmt: skip
_OWN_COUNTS = {"total_input_tokens": "input_tokens", "completion_tokens": "output_tokens"}


def conversation_json(asking: Asking, conversation: Conversation) -> dict[str, Any]:
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


def question_json(asking: Asking, question: Question) -> dict[str, Any]:
    """A question as this reader may see it."""
    shown = shown_to(question, asking.context.viewer, asking.context.engine.catalog)
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


def turns_of(asking: Asking, question: Question) -> Sequence[dict[str, str]]:
    """What was done so far, for whoever asked: others learn nothing of searches that may name what they can't see."""
    conversation = asking.desk.store.by_number(question.conversation)
    if conversation is None or conversation.owner != asking.context.viewer.name or hides(asking, question):
        return []
    return [
        {"role": "assistant", "reasoning": turn_text(event.payload), "timestamp": records.moment(event.at_ms)}
        for event in asking.desk.store.events(question.id)
        if event.kind == "turn"
    ]


def hides(asking: Asking, question: Question) -> bool:
    """Whether a question was about repositories that its reader may not see, or no longer."""
    return shown_to(question, asking.context.viewer, asking.context.engine.catalog).is_partial


def turn_text(payload: Mapping[str, Any]) -> str:
    """A turn in a line: the tool, what with, and what it gave."""
    parts = [str(payload.get(name) or "") for name in ("tool", "query", "result")]
    return ": ".join(part for part in parts if part)
