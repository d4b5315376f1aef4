"""`deepsearch` and `deepsearch_read` of a service: questions, answers and citations.

Services answer with JSON or with Markdown. A conversation in Markdown has its data in front, a heading of level 1 for
each question, and the sources of an answer at its end::

    ---
    title: Retries of the client
    share_url: https://code.example.com/deepsearch/4cb2
    ---
    # How long does a failed request wait?

    It waits 100 ms, and twice as long after each further failure [1].

    ## Sources
    - [client/retry.go L20-31](/github.com/example/client/-/blob/client/retry.go?L20-31)
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from sourcelight.backends.remote.mcp.payloads import is_cut, notices
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.catalog import table_of_rows
from sourcelight.core.tools.conversations import SCOPE

_LINK = re.compile(r"^Link: (\S+)", re.MULTILINE)
"""The first line of an answer in Markdown: ``Link: https://code.example.com/deepsearch/4cb2``."""

_FRONT_MATTER = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)
"""Fields between two lines of ``---`` at the start of a text."""

_QUESTION = re.compile(r"^# (.+)$", re.MULTILINE)
"""The heading that a question is in the text of a conversation."""

_CONVERSATION = re.compile(r"/deepsearch/([^/?#]+)$")
"""The end of an address of a conversation: ``/deepsearch/4f2a…``."""

_BACKSLASH = re.compile(r"\\([\\`*\[\]<>|])")
r"""An escaped character of a label: ``\[`` in ``[values\[0\]](…)``."""

_LINES = re.compile(r"L(\d+)(?:-(\d+))?")
"""Lines in an address: ``L20-31``, or ``L20``."""

_NO_ANSWER = "The service gave no answer to the question."
_STILL_RUNNING = "The question is still running; read the conversation later with deepsearch_read."
Fields = Mapping[str, Any]


async def _deepsearch(request: ToolRequest) -> ToolResult:
    # The scope is no argument of the specification, so no schema has it; a service without it never gets it.
    arguments: dict[str, Any] = {}
    scope: dict[str, Any] = {}
    for name, value in request.arguments.items():
        group = scope if name in SCOPE else arguments
        group[name] = value

    answer = (await request.ask(arguments, beside=scope)).read(("readToken", "url", "answer"))
    if isinstance(answer, str):
        answer = _parse_answer(answer)

    url = _text(answer, "url")
    # Nothing to read, now or later, is no answer: it would be called complete, and stored for the next time.
    if not (url or any(_text(answer, key) for key in ("answer", "readToken", "status"))):
        answer = {**answer, "status": "error"}

    sources = _objects(request, answer, "sources")
    extra_fields = _extra_fields(request, answer)
    info: dict[str, Any] = {
        "status": _text(answer, "status") or "completed",
        "title": _text(answer, "title"),
        "url": url,
        "read_token": _text(answer, "readToken") or _token_of(url),
        "answer": _text(answer, "answer"),
        "sources": sources,
    }
    info.update(extra_fields)
    question = {"question": request.arguments["question"], "sources": sources, **extra_fields}
    return _answer(request, [question], info, answer)


def _parse_answer(text: str) -> dict[str, Any]:
    """Parse a text with the address of a conversation, then the answer, or nothing while the question runs."""
    link = _LINK.search(text)
    if link is None:
        answer = text.strip()
        return {"url": "", "answer": answer, "sources": parse_sources(answer)}

    # Services of this form answer with the text itself, or with nothing but where to read it later.
    answer = text[link.end() :].strip()
    sources = parse_sources(answer)
    if sources:
        return {"url": link[1], "status": "completed", "answer": answer, "sources": sources}
    return {"url": link[1], "status": "processing", "answer": "", "sources": []}


def _token_of(url: str) -> str:
    """Return the token at the end of an address of a conversation; empty for another address."""
    match = _CONVERSATION.search(url)
    if match is None:
        return ""
    return match[1]


async def _deepsearch_read(request: ToolRequest) -> ToolResult:
    value = (await request.ask(request.arguments)).read(("questions",))
    if isinstance(value, str):
        value = _parse_conversation(value)

    questions = [_question(request, question) for question in _entries(request, value, "questions")]
    info = {
        "status": _text(value, "status") or "completed",
        "title": _text(value, "title"),
        "share_url": _text(value, "shareUrl"),
        "created_at": _text(value, "createdAt"),
        "updated_at": _text(value, "updatedAt"),
        "questions": questions,
    }
    return _answer(request, questions, info, value)


def _question(request: ToolRequest, question: Fields) -> dict[str, Any]:
    return {
        "question": _text(question, "question"),
        "answer": _text(question, "answer"),
        "status": _text(question, "status") or "completed",
        "sources": _objects(request, question, "sources"),
        **_extra_fields(request, question),
    }


def _extra_fields(request: ToolRequest, value: Fields) -> dict[str, Any]:
    """Return the fields that only sourcelight services have."""
    stats, error = value.get("stats"), value.get("error")
    follow_ups = value.get("suggestedFollowups")
    return {
        "suggested_followups": [text for text in follow_ups or () if isinstance(text, str)],
        "stats": dict(stats) if isinstance(stats, Mapping) else {},
        "rejected": _objects(request, value, "rejected"),
        "tables": [_table(request, table) for table in _entries(request, value, "tables")],
        "pins": _objects(request, value, "pins"),
        "researcher": _text(value, "researcher"),
        "model": _text(value, "model"),
        "error": dict(error) if isinstance(error, Mapping) else {},
        "state": _text(value, "state") or _text(value, "status") or "completed",
    }


def _text(value: Fields, key: str) -> str:
    """Return a text; empty for a value of another type, of which a reader could make nothing."""
    text = value.get(key)
    return text if isinstance(text, str) else ""


def _entries(request: ToolRequest, value: Fields, key: str) -> list[Fields]:
    """Return the objects of a list, and record how many entries are none."""
    entries = value.get(key) or []
    if not isinstance(entries, list):
        request.doubts.append(f"The service sent {key} that can't be read.")
        return []

    objects = [entry for entry in entries if isinstance(entry, Mapping)]
    _count_lost(request, len(entries) - len(objects), key)
    return objects


def _objects(request: ToolRequest, value: Fields, key: str) -> list[dict[str, Any]]:
    """Return the objects of a list with their texts, numbers and nulls."""
    objects = []
    for entry in _entries(request, value, key):
        objects.append({name: field for name, field in entry.items() if _is_plain(field)})
    return objects


def _table(request: ToolRequest, table: Fields) -> dict[str, Any]:
    """Return a counted table with the rows that have a value for each of its columns."""
    columns, rows = table.get("columns"), table.get("rows")
    columns = [str(name) for name in columns] if isinstance(columns, list) else []
    rows = rows if isinstance(rows, list) else []
    readable = [row for row in rows if isinstance(row, list) and len(row) == len(columns) and all(map(_is_plain, row))]
    _count_lost(request, len(rows) - len(readable), "a table")
    plain_fields = {name: field for name, field in table.items() if _is_plain(field)}
    return plain_fields | {"columns": columns, "rows": readable}


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _count_lost(request: ToolRequest, count: int, container: str) -> None:
    if count:
        request.doubts.append(f"The service sent {count_of(count, 'entry')} in {container} that can't be read.")


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

    # A text before the first heading, then in turn each question and what is below it.
    parts = _QUESTION.split(text)
    questions = []
    for question, section in zip(parts[1::2], parts[2::2], strict=True):
        answer, _, _ = section.partition("\n## Sources\n")
        questions.append({"question": question, "answer": answer.strip(), "sources": parse_sources(section)})

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
    _, _, lines = text.partition("## Sources\n")
    for line in lines.split("\n"):
        if not line.startswith("- [") or not line.endswith(")"):
            continue

        # No expression: one that finds the last bracket before a link takes quadratic time on a line of brackets.
        label, separator, link = line[len("- [") : -len(")")].rpartition("](")
        has_blank = any(map(str.isspace, link))
        if separator and not has_blank:
            sources.append({"type": _type_of(link), "label": _BACKSLASH.sub(r"\1", label), "link": link})
    return sources


def _type_of(link: str) -> str:
    if "/-/blob/" in link:
        return "file"
    if "/-/commit/" in link:
        return "commit"
    if link.startswith("/search?"):
        return "search"
    return "repository"


def _answer(request: ToolRequest, questions: Sequence[Fields], info: dict[str, Any], value: Fields) -> ToolResult:
    is_done = info["status"] == "completed"
    messages = notices(value)
    if info["status"] == "error" and not messages:
        messages = (_NO_ANSWER,)
    elif not is_done and not messages:
        messages = (_STILL_RUNNING,)

    return ToolResult(
        columns="conversation",
        table=table_of_rows("conversation", list(_rows(request, questions))),
        attributes=info,
        complete=is_done and not is_cut(value),
        notices=messages,
    )


def _rows(request: ToolRequest, questions: Sequence[Fields]) -> Iterator[dict[str, Any]]:
    for number, question in enumerate(questions, 1):
        for source in (*question["sources"], *question["rejected"]):
            row = {"question_number": number, "question": question["question"]}
            row.update(_source_columns(request, source))
            yield row


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
