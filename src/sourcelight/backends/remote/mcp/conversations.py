"""`deepsearch` and `deepsearch_read` of a service: questions, answers and citations."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from sourcelight.backends.remote.mcp.payloads import notices
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools.catalog import COLUMNS, table_of
from sourcelight.core.tools.conversations import SCOPE

_LINK = re.compile(r"^Link: (\S+)", re.MULTILINE)
_FRONT = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)
_QUESTION = re.compile(r"^# (.+)$", re.MULTILINE)
_CONVERSATION = re.compile(r"/deepsearch/([^/?#]+)$")
_LINES = re.compile(r"L(\d+)(?:-(\d+))?")
_STILL = "The question is still running; read the conversation later with deepsearch_read."
Facts = Mapping[str, Any]


async def _deepsearch(request: ToolRequest) -> ToolResult:
    # The scope is no argument of the specification, so no schema has it; a service without it never gets it.
    scope = {name: value for name, value in request.arguments.items() if name in SCOPE}
    arguments = {name: value for name, value in request.arguments.items() if name not in SCOPE}
    value = (await request.ask(arguments, beside=scope)).read(("readToken", "url", "answer"))
    if isinstance(value, str):
        link = _LINK.search(value)
        url, fields = (link[1], value[link.end() :].strip()) if link else ("", value.strip())
        # Services of this form answer with the text itself, or with nothing but where to read it later.
        payload = parse_sources(fields)
        status = "completed" if payload or not link else "processing"
        value = {"url": url, "status": status, "answer": fields if status == "completed" else "", "sources": payload}

    status = str(value.get("status") or "completed")
    question = {
        "question": request.arguments["question"],
        "sources": value.get("sources") or (),
        **_follow_up_text(value),
    }
    info = {
        "status": status,
        "title": value.get("title", ""),
        "url": value.get("url", ""),
        "read_token": value.get("readToken") or _token_of(str(value.get("url") or "")),
        "answer": value.get("answer", ""),
        "sources": [dict(source) for source in question["sources"]],
        **_follow_up_text(value),
    }
    return _answer(request, [question], info, notices(value))


def _token_of(url: str) -> str:
    """Return the token at the end of an address of a conversation; empty for another address."""
    match = _CONVERSATION.search(url)
    return match[1] if match else ""


async def _deepsearch_read(request: ToolRequest) -> ToolResult:
    value = (await request.ask(request.arguments)).read(("questions",))
    if isinstance(value, str):
        value = _conversation(value)

    questions = [
        {
            "question": question.get("question", ""),
            "answer": question.get("answer", ""),
            "status": question.get("status", "completed"),
            "sources": [dict(source) for source in question.get("sources") or ()],
            **_follow_up_text(question),
        }
        for question in value.get("questions") or ()
    ]
    info = {
        "status": str(value.get("status") or "completed"),
        "title": value.get("title", ""),
        "share_url": value.get("shareUrl", ""),
        "created_at": value.get("createdAt", ""),
        "updated_at": value.get("updatedAt", ""),
        "questions": questions,
    }
    return _answer(request, questions, info, notices(value))


def _follow_up_text(value: Facts) -> dict[str, Any]:
    """Return the fields that only sourcelight services have."""
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
    """Parse the Markdown of a conversation; only a top-level heading starts a question."""
    front = _FRONT.match(text.lstrip())
    body = text.lstrip()[front.end() :] if front else text
    fields = dict(line.partition(": ")[::2] for line in front[1].split("\n")) if front else {}
    heads = list(_QUESTION.finditer(body))
    starts = [*(head.start() for head in heads), len(body)]
    questions = []
    for head, end in zip(heads, starts[1:], strict=True):
        section = body[head.end() : end]
        answer = section.partition("\n## Sources\n")[0].strip()
        questions.append({"question": head[1], "answer": answer, "sources": parse_sources(section)})

    return {
        "title": fields.get("title", ""),
        "shareUrl": fields.get("share_url", ""),
        "createdAt": fields.get("created", ""),
        "updatedAt": fields.get("updated", ""),
        "questions": questions,
    }


def parse_sources(text: str) -> list[dict[str, str]]:
    """Return the sources that a text lists, with their types, labels and links."""
    sources = []
    for line in text.partition("## Sources\n")[2].split("\n"):
        # No expression: one that finds the last bracket before a link takes quadratic time on a line of brackets.
        label, separator, link = line[3:-1].rpartition("](")
        if line.startswith("- [") and line.endswith(")") and separator and not any(map(str.isspace, link)):
            sources.append({"type": _type_of(link), "label": label, "link": link})
    return sources


def _type_of(link: str) -> str:
    if "/-/blob/" in link:
        return "file"
    if "/-/commit/" in link:
        return "commit"
    return "search" if link.startswith("/search?") else "repository"


def _answer(
    request: ToolRequest, questions: Sequence[Facts], info: dict[str, Any], notices: tuple[str, ...]
) -> ToolResult:
    rows = list(_rows(request, questions))
    names = [column.name for column in COLUMNS["conversation"]]
    table = table_of("conversation", len(rows), **{name: [row.get(name) for row in rows] for name in names})
    complete = info["status"] == "completed"
    return ToolResult(
        columns="conversation",
        table=table,
        attributes=info,
        complete=complete,
        notices=notices or (() if complete else (_STILL,)),
    )


def _rows(request: ToolRequest, questions: Sequence[Facts]) -> Iterator[dict[str, Any]]:
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
            blob = request.blob(link)
            if blob.repository:
                lines = _LINES.fullmatch(blob.lines)
                row |= {"repository": blob.repository, "commit": blob.commit or None, "path": blob.path}
                if lines:
                    row |= {"start_line": int(lines[1]), "end_line": int(lines[2] or lines[1])}
            elif kind == "repository":
                row["repository"] = row["repository"] or request.relative(link).strip("/").partition("@")[0] or None

            yield row


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    "deepsearch": _deepsearch,
    "deepsearch_read": _deepsearch_read,
}
