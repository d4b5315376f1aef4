"""The tools about deep search: `deepsearch`, `deepsearch_read`.

What they say is in the attributes of the `ToolResult` that `Conversations` gives: for both `status` (``processing``,
``completed`` or ``error``) and `title`; for `ask` also `url`, `read_token`, `answer` (Markdown) and `sources`; for
`read` also `share_url`, `created_at`, `updated_at` (RFC 3339, UTC) and `questions`, each with `question`, `answer`,
`status`, `sources`, `suggested_followups` and `stats`. A source is a dict of `type`, `label` and `link`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import UnsupportedTool
from sourcelight.core.markup import code
from sourcelight.engines.tools.context import Analysis, Arguments, Conversations, Tool, ToolContext
from sourcelight.engines.tools.handler import tail, with_notices

_MOST_ROWS = 1_000
"""Rows of a counted table that one call gives."""


def _conversations(call: str, context: ToolContext) -> Conversations:
    if context.conversations is None:
        raise UnsupportedTool(
            f"{call}: deep search is not offered here; use nls_search and keyword_search to find code, and read_file "
            "to read it",
            tool=call,
        )
    return context.conversations


def _ask(arguments: Arguments, context: ToolContext) -> ToolResult:
    return _conversations("deepsearch", context).ask(arguments["question"], context)


def _read(arguments: Arguments, context: ToolContext) -> ToolResult:
    return _conversations("deepsearch_read", context).read(arguments["identifier"], context)


def _sources(sources: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sources with the keys that every client knows, and of citations how their check ended."""
    return [
        {name: source.get(name, "") for name in ("type", "label", "link")}
        | {name: source[name] for name in ("repository", "commit", "role", "status") if source.get(name)}
        for source in sources
    ]


def _beside(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What we say beside the known keys: who answered, of which commits, the tables, and what went wrong."""
    found = {name: facts.get(name) for name in ("tables", "pins", "researcher", "model", "error", "state")}
    found["tables"] = [
        {**table, "rows": list(table["rows"])[:_MOST_ROWS], "truncated": len(table["rows"]) > _MOST_ROWS}
        for table in facts.get("tables") or ()
    ]
    found["rejected"] = _sources(facts.get("rejected", ()))
    return {name: value for name, value in found.items() if value}


def _source_lines(facts: Mapping[str, Any]) -> str:
    lines = "".join(f"- [{one.get('label', '')}]({one.get('link', '')})\n" for one in facts.get("sources", ()))
    taken_out = "".join(f"- {code(str(one.get('label', '')))}\n" for one in facts.get("rejected", ()))
    shown = f"\n## Sources\n\n{lines}" if lines else ""
    return f"{shown}\n## Citations taken out\n\n{taken_out}" if taken_out else shown


def _render_asked(answer: ToolResult, context: ToolContext) -> tuple[dict[str, Any], str]:
    del context
    facts = answer.attributes
    status, url = facts.get("status", "completed"), facts.get("url", "")
    payload: dict[str, Any] = {"url": url, "readToken": facts.get("read_token", ""), "status": status}
    text = f"Link: {url}\n\n"
    if status == "processing":
        text += (
            f"The question is still being worked on. Call deepsearch_read with the identifier {url} in some seconds, "
            "and again until it says completed.\n"
        )
    else:
        sources = _sources(facts.get("sources", ()))
        payload |= {"title": facts.get("title", ""), "answer": facts.get("answer", ""), "sources": sources}
        payload |= _beside(facts) | {"suggestedFollowups": list(facts.get("suggested_followups") or ())}
        payload |= {"stats": dict(facts.get("stats") or {})}
        text += f"{facts.get('answer', '').rstrip()}\n{_source_lines(facts)}"
    return payload | tail(answer), with_notices(text, answer)


def _render_read(answer: ToolResult, context: ToolContext) -> tuple[dict[str, Any], str]:
    del context
    facts = answer.attributes
    questions = [
        {
            "question": question.get("question", ""),
            "answer": question.get("answer", ""),
            "status": question.get("status", "completed"),
            "sources": _sources(question.get("sources", ())),
            "suggestedFollowups": list(question.get("suggested_followups") or ()),
            "stats": dict(question.get("stats") or {}),
            **_beside(question),
        }
        for question in facts.get("questions", ())
    ]
    payload = {
        "title": facts.get("title", ""),
        "shareUrl": facts.get("share_url", ""),
        "createdAt": facts.get("created_at", ""),
        "updatedAt": facts.get("updated_at", ""),
        "status": facts.get("status", "completed"),
        "questions": questions,
        **tail(answer),
    }
    head = "".join(
        f"{name}: {_one_line(payload[key])}\n"
        for name, key in (
            ("title", "title"),
            ("share_url", "shareUrl"),
            ("created", "createdAt"),
            ("updated", "updatedAt"),
        )
    )
    parts = [f"---\n{head}---\n"]
    for question in questions:
        told = question["answer"].rstrip() or f"({question['status']}: there is no answer yet)"
        parts.append(f"# {_one_line(question['question'])}\n\n{told}\n{_source_lines(question)}")
    return payload, with_notices("\n".join(parts), answer)


def _one_line(text: Any) -> str:
    return " ".join(str(text).split())


TOOLS: tuple[Tool, ...] = (
    Tool(
        "deepsearch",
        "Ask about the code",
        "Ask a question about the code in plain language; it is researched over several searches and answered with "
        "links to what was read. It opens a conversation and takes from some seconds to minutes: when the answer says "
        "that the question is still being worked on, read it later with deepsearch_read. Use it for questions that "
        "need many searches; ask in detail and name repositories that matter.",
        {
            "type": "object",
            "properties": {
                "question": {
                    "type": "string",
                    "minLength": 1,
                    "description": "A detailed question about one matter, with the names of repositories, files or "
                    "functions that are known.",
                }
            },
            "required": ["question"],
            "additionalProperties": False,
        },
        _ask,
        _render_asked,
        read_only=False,
    ),
    Tool(
        "deepsearch_read",
        "Read a deep search conversation",
        "Read the questions, answers and sources of a deep search conversation, as Markdown.",
        {
            "type": "object",
            "properties": {
                "identifier": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Address of the conversation, as deepsearch gave it or as it was shared, or its "
                    "read token.",
                }
            },
            "required": ["identifier"],
            "additionalProperties": False,
        },
        _read,
        _render_read,
    ),
)


def _follow_up(arguments: Arguments, context: ToolContext) -> ToolResult:
    return _conversations("deepsearch_follow_up", context).follow_up(
        arguments["identifier"], arguments["question"], context
    )


def _change(arguments: Arguments, context: ToolContext) -> ToolResult:
    changes = {name: value for name, value in arguments.items() if name != "identifier"}
    return _conversations("deepsearch_change", context).change(arguments["identifier"], changes, context)


def _list(arguments: Arguments, context: ToolContext) -> ToolResult:
    return _conversations("deepsearch_list", context).list(
        context,
        text=arguments.get("text", ""),
        starred=arguments.get("starred"),
        first=arguments.get("limit", 50),
        skip=arguments.get("skip", 0),
    )


def _object(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_IDENTIFIER = {"type": "string", "minLength": 1, "description": "Address, read token or number of the conversation."}

ANALYSES: tuple[Analysis, ...] = (
    Analysis(
        "deepsearch_follow_up",
        _object(
            ["identifier", "question"],
            identifier=_IDENTIFIER,
            question={"type": "string", "minLength": 1, "description": "The next question."},
        ),
        _follow_up,
    ),
    Analysis(
        "deepsearch_change",
        _object(
            ["identifier"],
            identifier=_IDENTIFIER,
            title={"type": "string", "minLength": 1, "description": "Another title."},
            starred={"type": "boolean", "description": "Whether it is starred."},
            shared={"type": "boolean", "description": "Whether everyone with its link may read it."},
            reset_link={"type": "boolean", "description": "Make its former link open nothing any more."},
            cancel={"type": "boolean", "description": "Cancel the question that is being worked on."},
            delete={"type": "boolean", "description": "Delete it."},
        ),
        _change,
    ),
    Analysis(
        "deepsearch_list",
        _object(
            [],
            text={"type": "string", "description": "Text in a title, a question or an answer; empty: all."},
            starred={"type": "boolean", "description": "Only starred ones, or only others."},
            limit={"type": "integer", "minimum": 1, "maximum": 1000, "description": "Most to give; default 50."},
            skip={"type": "integer", "minimum": 0, "description": "How many to leave out at the start."},
        ),
        _list,
    ),
)
