"""`deepsearch` and `deepsearch_read` of a service: what was asked, answered and cited."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from sourcelight.backends.remote.mcp.payloads import notices
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools.catalog import COLUMNS, table_of

_LINK = re.compile(r"^Link: (\S+)", re.MULTILINE)
_FRONT = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)
_QUESTION = re.compile(r"^# (.+)$", re.MULTILINE)
_SOURCE = re.compile(r"^- \[(.*)\]\((\S*)\)$", re.MULTILINE)
_LINES = re.compile(r"L(\d+)(?:-(\d+))?")
_STILL = "The question is still being worked on; read the conversation later with deepsearch_read."
Facts = Mapping[str, Any]


async def _deepsearch(asked: ToolRequest) -> ToolResult:
    value = (await asked.ask(asked.arguments)).read(("readToken", "url", "answer"))
    if isinstance(value, str):
        link = _LINK.search(value)
        url, told = (link[1], value[link.end() :].strip()) if link else ("", value.strip())
        # Services of this form answer with the text itself, or with nothing but where to read it later.
        answered = _sources_of(told)
        status = "completed" if answered or not link else "processing"
        value = {"url": url, "status": status, "answer": told if status == "completed" else "", "sources": answered}
    status = str(value.get("status") or "completed")
    question = {"question": asked.arguments["question"], "sources": value.get("sources") or (), **_said(value)}
    facts = {
        "status": status,
        "title": value.get("title", ""),
        "url": value.get("url", ""),
        "read_token": value.get("readToken", ""),
        "answer": value.get("answer", ""),
        "sources": [dict(source) for source in question["sources"]],
        **_said(value),
    }
    return _answer(asked, [question], facts, notices(value))


async def _deepsearch_read(asked: ToolRequest) -> ToolResult:
    value = (await asked.ask(asked.arguments)).read(("questions",))
    if isinstance(value, str):
        value = _conversation(value)
    questions = [
        {
            "question": one.get("question", ""),
            "answer": one.get("answer", ""),
            "status": one.get("status", "completed"),
            "sources": [dict(source) for source in one.get("sources") or ()],
            **_said(one),
        }
        for one in value.get("questions") or ()
    ]
    facts = {
        "status": str(value.get("status") or "completed"),
        "title": value.get("title", ""),
        "share_url": value.get("shareUrl", ""),
        "created_at": value.get("createdAt", ""),
        "updated_at": value.get("updatedAt", ""),
        "questions": questions,
    }
    return _answer(asked, questions, facts, notices(value))


def _said(value: Facts) -> dict[str, Any]:
    """What services of ours say beside what all say."""
    return {
        "suggested_followups": list(value.get("suggestedFollowups") or ()),
        "stats": dict(value.get("stats") or {}),
        "rejected": [dict(source) for source in value.get("rejected") or ()],
        "tables": [dict(table) for table in value.get("tables") or ()],
        "pins": [dict(pin) for pin in value.get("pins") or ()],
        "researcher": str(value.get("researcher") or ""),
        "model": str(value.get("model") or ""),
        "error": dict(value.get("error") or {}),
        "state": str(value.get("state") or value.get("status") or "completed"),
    }


def _conversation(text: str) -> dict[str, Any]:
    """What a conversation's Markdown says; a heading in an answer is taken for a question only at its top level."""
    front = _FRONT.match(text.lstrip())
    body = text.lstrip()[front.end() :] if front else text
    named = dict(line.partition(": ")[::2] for line in front[1].split("\n")) if front else {}
    heads = list(_QUESTION.finditer(body))
    ends = [head.start() for head in heads[1:]] + [len(body)]
    questions = []
    for head, end in zip(heads, ends, strict=True):
        told = body[head.end() : end]
        answer = told.partition("\n## Sources\n")[0].strip()
        questions.append({"question": head[1], "answer": answer, "sources": _sources_of(told)})
    return {
        "title": named.get("title", ""),
        "shareUrl": named.get("share_url", ""),
        "createdAt": named.get("created", ""),
        "updatedAt": named.get("updated", ""),
        "questions": questions,
    }


def _sources_of(text: str) -> list[dict[str, str]]:
    listed = text.partition("## Sources\n")[2]
    return [{"type": _type_of(link), "label": label, "link": link} for label, link in _SOURCE.findall(listed)]


def _type_of(link: str) -> str:
    if "/-/blob/" in link:
        return "file"
    if "/-/commit/" in link:
        return "commit"
    return "search" if link.startswith("/search?") else "repository"


def _rows(asked: ToolRequest, questions: Sequence[Facts]) -> Iterator[dict[str, Any]]:
    for number, question in enumerate(questions, 1):
        for source in (*question["sources"], *question["rejected"]):
            link = str(source.get("link") or "")
            kind = str(source.get("type") or _type_of(link)).casefold()
            row = {
                "question_number": number,
                "question": question["question"],
                "type": kind,
                "label": str(source.get("label") or ""),
                "link": link,
                "repository": source.get("repository") or None,
                "commit": source.get("commit") or None,
                "role": source.get("role") or None,
                "status": source.get("status") or None,
            }
            where = asked.blob(link)
            if where.repository:
                lines = _LINES.fullmatch(where.lines)
                row |= {"repository": where.repository, "commit": where.commit or None, "path": where.path}
                if lines:
                    row |= {"start_line": int(lines[1]), "end_line": int(lines[2] or lines[1])}
            elif kind == "repository":
                row["repository"] = row["repository"] or asked.relative(link).strip("/").partition("@")[0] or None
            yield row


def _answer(asked: ToolRequest, questions: Sequence[Facts], facts: dict[str, Any], said: tuple[str, ...]) -> ToolResult:
    rows = list(_rows(asked, questions))
    names = [column.name for column in COLUMNS["conversation"]]
    table = table_of("conversation", len(rows), **{name: [row.get(name) for row in rows] for name in names})
    complete = facts["status"] == "completed"
    return ToolResult("conversation", table, facts, complete, said or (() if complete else (_STILL,)))


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    "deepsearch": _deepsearch,
    "deepsearch_read": _deepsearch_read,
}
