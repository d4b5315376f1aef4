"""`deepsearch` and `deepsearch_read` of a service: questions, answers and citations."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from sourcelight.backends.remote.mcp.payloads import notices
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools.catalog import table_of_rows
from sourcelight.core.tools.conversations import SCOPE

_LINK = re.compile(r"^Link: (\S+)", re.MULTILINE)
_FRONT_MATTER = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)
_QUESTION = re.compile(r"^# (.+)$", re.MULTILINE)
_CONVERSATION = re.compile(r"/deepsearch/([^/?#]+)$")
_BACKSLASH = re.compile(r"\\([\\`*\[\]<>|])")
_LINES = re.compile(r"L(\d+)(?:-(\d+))?")
_STILL_RUNNING = "The question is still running; read the conversation later with deepsearch_read."
Fields = Mapping[str, Any]


async def _deepsearch(request: ToolRequest) -> ToolResult:
    # The scope is no argument of the specification, so no schema has it; a service without it never gets it.
    scope = {name: value for name, value in request.arguments.items() if name in SCOPE}
    arguments = {name: value for name, value in request.arguments.items() if name not in SCOPE}
    value = (await request.ask(arguments, beside=scope)).read(("readToken", "url", "answer"))
    if isinstance(value, str):
        value = _parse_answer(value)

    extra_fields = _extra_fields(value)
    sources = value.get("sources") or ()
    question = {"question": request.arguments["question"], "sources": sources, **extra_fields}
    info = {
        "status": str(value.get("status") or "completed"),
        "title": value.get("title", ""),
        "url": value.get("url", ""),
        "read_token": value.get("readToken") or _token_of(str(value.get("url") or "")),
        "answer": value.get("answer", ""),
        "sources": _copy_all(sources),
        **extra_fields,
    }
    return _answer(request, [question], info, notices(value))


def _parse_answer(text: str) -> dict[str, Any]:
    """Parse a text with the address of a conversation, then the answer, or nothing while the question runs."""
    link = _LINK.search(text)
    if link is None:
        answer = text.strip()
        return {"url": "", "status": "completed", "answer": answer, "sources": parse_sources(answer)}

    # Services of this form answer with the text itself, or with nothing but where to read it later.
    answer = text[link.end() :].strip()
    sources = parse_sources(answer)
    if sources:
        return {"url": link[1], "status": "completed", "answer": answer, "sources": sources}
    return {"url": link[1], "status": "processing", "answer": "", "sources": []}


def _token_of(url: str) -> str:
    """Return the token at the end of an address of a conversation; empty for another address."""
    match = _CONVERSATION.search(url)
    return match[1] if match else ""


async def _deepsearch_read(request: ToolRequest) -> ToolResult:
    value = (await request.ask(request.arguments)).read(("questions",))
    if isinstance(value, str):
        value = _parse_conversation(value)

    questions = [_question(question) for question in value.get("questions") or ()]
    info = {
        "status": str(value.get("status") or "completed"),
        "title": value.get("title", ""),
        "share_url": value.get("shareUrl", ""),
        "created_at": value.get("createdAt", ""),
        "updated_at": value.get("updatedAt", ""),
        "questions": questions,
    }
    return _answer(request, questions, info, notices(value))


def _question(question: Fields) -> dict[str, Any]:
    return {
        "question": question.get("question", ""),
        "answer": question.get("answer", ""),
        "status": question.get("status", "completed"),
        "sources": _copy_all(question.get("sources")),
        **_extra_fields(question),
    }


def _extra_fields(value: Fields) -> dict[str, Any]:
    """Return the fields that only sourcelight services have."""
    return {
        "suggested_followups": list(value.get("suggestedFollowups") or ()),
        "stats": dict(value.get("stats") or {}),
        "rejected": _copy_all(value.get("rejected")),
        "tables": _copy_all(value.get("tables")),
        "pins": _copy_all(value.get("pins")),
        "researcher": str(value.get("researcher") or ""),
        "model": str(value.get("model") or ""),
        "error": dict(value.get("error") or {}),
        "state": str(value.get("state") or value.get("status") or "completed"),
    }


def _copy_all(objects: Sequence[Fields] | None) -> list[dict[str, Any]]:
    return [dict(item) for item in objects or ()]


def _parse_conversation(text: str) -> dict[str, Any]:
    """Parse the Markdown of a conversation; only a top-level heading starts a question."""
    text = text.lstrip()
    fields: dict[str, str] = {}
    front_matter = _FRONT_MATTER.match(text)
    if front_matter is not None:
        text = text[front_matter.end() :]
        for line in front_matter[1].split("\n"):
            name, _, value = line.partition(": ")
            fields[name] = value

    questions = []
    headings = list(_QUESTION.finditer(text))
    for index, heading in enumerate(headings):
        end = headings[index + 1].start() if index + 1 < len(headings) else len(text)
        section = text[heading.end() : end]
        answer = section.partition("\n## Sources\n")[0].strip()
        questions.append({"question": heading[1], "answer": answer, "sources": parse_sources(section)})

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
            sources.append({"type": _type_of(link), "label": _BACKSLASH.sub(r"\1", label), "link": link})
    return sources


def _type_of(link: str) -> str:
    if "/-/blob/" in link:
        return "file"
    if "/-/commit/" in link:
        return "commit"
    return "search" if link.startswith("/search?") else "repository"


def _answer(
    request: ToolRequest, questions: Sequence[Fields], info: dict[str, Any], notices: tuple[str, ...]
) -> ToolResult:
    complete = info["status"] == "completed"
    if not complete and not notices:
        notices = (_STILL_RUNNING,)

    return ToolResult(
        columns="conversation",
        table=table_of_rows("conversation", list(_rows(request, questions))),
        attributes=info,
        complete=complete,
        notices=notices,
    )


def _rows(request: ToolRequest, questions: Sequence[Fields]) -> Iterator[dict[str, Any]]:
    for number, question in enumerate(questions, 1):
        for source in (*question["sources"], *question["rejected"]):
            yield {"question_number": number, "question": question["question"], **_source_columns(request, source)}


def _source_columns(request: ToolRequest, source: Fields) -> dict[str, Any]:
    link = str(source.get("link") or "")
    kind = str(source.get("type") or _type_of(link)).casefold()
    columns = {
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
        columns |= {"repository": blob.repository, "commit": blob.commit or None, "path": blob.path}
        lines = _LINES.fullmatch(blob.lines)
        if lines is not None:
            columns |= {"start_line": int(lines[1]), "end_line": int(lines[2] or lines[1])}
    elif kind == "repository" and columns["repository"] is None:
        columns["repository"] = request.relative(link).strip("/").partition("@")[0] or None

    return columns


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    "deepsearch": _deepsearch,
    "deepsearch_read": _deepsearch_read,
}
