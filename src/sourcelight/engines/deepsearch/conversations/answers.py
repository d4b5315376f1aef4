"""Conversations as answers of tools: a table of sources, and everything else beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sourcelight.core.batches.results import Answer
from sourcelight.core.tools.catalog import table_of
from sourcelight.engines.deepsearch.conversations.records import Conversation, KeptSource, Shown

LEGACY = {"pending": "processing", "canceled": "error"}
"""How states read that the tools do not know."""


def moment(at_ms: int) -> str:
    """A time as RFC 3339, UTC."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def asked_answer(conversation: Conversation, shown: Shown, url: str, token: str) -> Answer:
    """The answer of `deepsearch`."""
    question = shown.question
    facts = {
        "id": conversation.id,
        "question_id": question.id,
        "url": url,
        "read_token": token,
        "title": conversation.title,
        **_facts(shown),
    }
    return Answer("conversation", _sources_table([shown]), facts, question.status == "completed", _notices(shown))


def read_answer(conversation: Conversation, shown: Sequence[Shown], url: str) -> Answer:
    """The answer of `deepsearch_read`."""
    last = _facts(shown[-1])["status"] if shown else "completed"
    facts = {
        "id": conversation.id,
        "title": conversation.title,
        "share_url": url,
        "created_at": moment(conversation.created_ms),
        "updated_at": moment(conversation.updated_ms),
        "status": last,
        "starred": conversation.starred,
        "shared": conversation.shared,
        "questions": [{"question": each.question.text, **_facts(each)} for each in shown],
    }
    notices = tuple(dict.fromkeys(notice for each in shown for notice in _notices(each)))
    return Answer("conversation", _sources_table(shown), facts, last == "completed", notices)


def _facts(shown: Shown) -> dict[str, Any]:
    question = shown.question
    return {
        "status": LEGACY.get(question.status, question.status),
        "state": question.status,
        "answer": shown.answer or _told(question.error),
        "sources": [_source(source) for source in shown.sources],
        "rejected": [_source(source) for source in shown.rejected],
        "suggested_followups": list(shown.followups),
        "tables": [dict(table) for table in shown.tables],
        "stats": dict(shown.stats),
        "error": dict(question.error),
        "researcher": question.researcher,
        "model": question.model,
        "pins": [{"repository": p.repository, "revision": p.revision, "commit": p.commit} for p in question.pins],
        "withheld": shown.withheld,
    }


def _told(error: Mapping[str, str]) -> str:
    return f"{error.get('title', 'Error')}: {error.get('message', '')}\n" if error else ""


def _source(source: KeptSource) -> dict[str, Any]:
    return {
        "type": source.type,
        "label": source.label,
        "link": source.link,
        "repository": source.repository,
        "commit": source.commit,
        "path": source.path,
        "line_number": source.begin_line,
        "last_line_number": source.end_line,
        "role": source.role,
        "status": source.status,
    }


def _notices(shown: Shown) -> tuple[str, ...]:
    error = shown.question.error
    return (f"{error.get('title', 'Error')}: {error.get('message', '')}",) if error else ()


def _sources_table(shown: Sequence[Shown]) -> Any:
    rows = [(each.question, source) for each in shown for source in (*each.sources, *each.rejected)]
    return table_of(
        "conversation",
        len(rows),
        question_number=[question.position for question, _ in rows],
        question=[question.text for question, _ in rows],
        type=[source.type for _, source in rows],
        label=[source.label for _, source in rows],
        link=[source.link for _, source in rows],
        repository=[source.repository or None for _, source in rows],
        commit=[source.commit or None for _, source in rows],
        path=[source.path or None for _, source in rows],
        line_number=[source.begin_line or None for _, source in rows],
        last_line_number=[source.end_line or None for _, source in rows],
        role=[source.role or None for _, source in rows],
        status=[source.status or None for _, source in rows],
    )


def list_answer(found: Sequence[tuple[Conversation, str]]) -> Answer:
    """A list of conversations, each with its address."""
    held = [conversation for conversation, _ in found]

    def when(at_ms: int) -> datetime:
        return datetime.fromtimestamp(at_ms / 1000, UTC)

    table = table_of(
        "conversations",
        len(held),
        id=[each.id for each in held],
        title=[each.title for each in held],
        status=[each.status for each in held],
        questions=[each.questions for each in held],
        starred=[each.starred for each in held],
        shared=[each.shared for each in held],
        created=[when(each.created_ms) for each in held],
        updated=[when(each.updated_ms) for each in held],
        url=[url for _, url in found],
    )
    return Answer("conversations", table)
