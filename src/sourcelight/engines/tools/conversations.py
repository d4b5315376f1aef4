"""Handlers of the tools about deep search.

What they say is in the attributes of the `ToolResult` that `Conversations` gives: for both `status` (``processing``,
``completed`` or ``error``) and `title`; for `ask` also `url`, `read_token`, `answer` (Markdown) and `sources`; for
`read` also `share_url`, `created_at`, `updated_at` (RFC 3339, UTC) and `questions`, each with `question`, `answer`,
`status`, `sources`, `suggested_followups` and `stats`. A source is a dict of `type`, `label` and `link`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from sourcelight.core.batches.results import ToolResult, place_text
from sourcelight.core.errors import UnsupportedTool
from sourcelight.core.markup import code, link_label, one_line
from sourcelight.core.tools.conversations import (
    DEEPSEARCH,
    DEEPSEARCH_CHANGE,
    DEEPSEARCH_FOLLOW_UP,
    DEEPSEARCH_LIST,
    DEEPSEARCH_READ,
    DeepSearchArguments,
    DeepSearchChangeArguments,
    DeepSearchFollowUpArguments,
    DeepSearchListArguments,
    DeepSearchReadArguments,
)
from sourcelight.engines.tools.context import Conversations, ToolContext
from sourcelight.engines.tools.handler import Handler, Rendered, drop_empty, tail, with_notices
from sourcelight.engines.tools.pages.items import FactItems

_MAX_ROWS = 1_000
"""Rows of a counted table that one call gives."""

_TARGET_SPECIAL = re.compile(r"[()<>\\]")
_LINK = re.compile(r"\]\((/[^()\s]+)\)")


def _ask(arguments: DeepSearchArguments, context: ToolContext) -> ToolResult:
    asker = _conversations("deepsearch", context)
    return asker.ask(arguments.question, context, repos=arguments.repos or (), revision=arguments.revision or "")


def _conversations(tool: str, context: ToolContext) -> Conversations:
    if context.conversations is None:
        raise UnsupportedTool(
            f"{tool}: deep search is not available here; use nls_search and keyword_search to find code, and read_file "
            "to read it",
            tool=tool,
        )
    return context.conversations


def _read(arguments: DeepSearchReadArguments, context: ToolContext) -> ToolResult:
    return _conversations("deepsearch_read", context).read(arguments.identifier, context)


def _render_answer(answer: ToolResult, context: ToolContext) -> Rendered:
    attributes = _with_places(answer.attributes, context)
    status, url = attributes.get("status", "completed"), attributes.get("url", "")
    token = attributes.get("read_token", "")

    # An address of a conversation ends with its token.
    extra = {} if url.endswith(f"/{token}") else {"readToken": token}
    payload: dict[str, Any] = {"url": url, **extra, "status": status}
    text = f"Link: {url}\n\n"
    if status == "processing":
        text += (
            f"The question is still running. Call deepsearch_read with the identifier {url} in a few seconds, "
            "and again until it says completed.\n"
        )
    else:
        payload |= {"title": attributes.get("title", ""), "answer": attributes.get("answer", ""), **_beside(attributes)}
        text += f"{attributes.get('answer', '').rstrip()}\n{_source_lines(attributes)}"

    return payload | tail(answer), with_notices(text, answer)


def _with_places(value: Any, context: ToolContext) -> Any:
    """Return attributes of a conversation with locations instead of links, for readers without pages."""
    if context.has_pages:
        return value

    if isinstance(value, Mapping):
        return {
            name: _place(item) if name == "link" and isinstance(item, str) else _with_places(item, context)
            for name, item in value.items()
        }

    if isinstance(value, list | tuple):
        return [_with_places(item, context) for item in value]

    if isinstance(value, str):
        return _LINK.sub(lambda link: f"]({_place(link[1])})", value)
    return value


def _place(url: str) -> str:
    """Return the place of an address as the target of a link: without characters that end it or start a tag."""
    return _TARGET_SPECIAL.sub(lambda match: quote(match[0]), one_line(place_text(url)))


def _beside(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return additional keys: who answered, the commits, the tables, and errors."""
    extras = {
        name: attributes.get(name) for name in ("stats", "tables", "pins", "researcher", "model", "error", "state")
    }
    extras["sources"] = _sources(attributes.get("sources", ()))
    extras["suggestedFollowups"] = list(attributes.get("suggested_followups") or ())
    extras["tables"] = [
        {**table, "rows": list(table["rows"])[:_MAX_ROWS], "truncated": len(table["rows"]) > _MAX_ROWS}
        for table in attributes.get("tables") or ()
    ]
    extras["rejected"] = _sources(attributes.get("rejected", ()))
    return drop_empty(extras)


def _sources(sources: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return sources with the keys that every client knows, and of citations how their check ended."""
    return [
        {name: source.get(name, "") for name in ("type", "label", "link")}
        | {name: source[name] for name in ("repository", "commit", "role", "status") if source.get(name)}
        for source in sources
    ]


def _source_lines(attributes: Mapping[str, Any]) -> str:
    lines = "".join(
        f"- [{link_label(str(source.get('label', '')))}]({source.get('link', '')})\n"
        for source in attributes.get("sources", ())
    )
    rejected = "".join(f"- {code(str(source.get('label', '')))}\n" for source in attributes.get("rejected", ()))
    section = f"\n## Sources\n\n{lines}" if lines else ""
    return f"{section}\n## Removed citations\n\n{rejected}" if rejected else section


def _render_read(answer: ToolResult, context: ToolContext) -> Rendered:
    attributes = _with_places(answer.attributes, context)
    questions = [
        {
            "question": question.get("question", ""),
            "answer": question.get("answer", ""),
            "status": question.get("status", "completed"),
            **_beside(question),
        }
        for question in attributes.get("questions", ())
    ]
    payload = {
        "title": attributes.get("title", ""),
        "shareUrl": attributes.get("share_url", ""),
        "createdAt": attributes.get("created_at", ""),
        "updatedAt": attributes.get("updated_at", ""),
        "status": attributes.get("status", "completed"),
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
        reply = question["answer"].rstrip() or f"({question['status']}: there is no answer yet)"
        parts.append(f"# {_one_line(question['question'])}\n\n{reply}\n{_source_lines(question)}")

    return payload, with_notices("\n".join(parts), answer)


def _one_line(text: Any) -> str:
    return one_line(" ".join(str(text).split()))


def _follow_up(arguments: DeepSearchFollowUpArguments, context: ToolContext) -> ToolResult:
    return _conversations("deepsearch_follow_up", context).follow_up(
        arguments.identifier,
        arguments.question,
        context,
        repos=arguments.repos or (),
        revision=arguments.revision or "",
    )


def _change(arguments: DeepSearchChangeArguments, context: ToolContext) -> ToolResult:
    changes = {name: value for name, value in arguments.to_wire().items() if name != "identifier"}
    return _conversations("deepsearch_change", context).change(arguments.identifier, changes, context)


def _list(arguments: DeepSearchListArguments, context: ToolContext) -> ToolResult:
    return _conversations("deepsearch_list", context).list(
        context,
        text=arguments.text or "",
        starred=arguments.starred,
        first=arguments.limit or 50,
        skip=arguments.skip or 0,
    )


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(DEEPSEARCH, _ask, _render_answer, None),
    Handler(DEEPSEARCH_READ, _read, _render_read, FactItems("questions", "questions", "answer")),
    Handler(DEEPSEARCH_FOLLOW_UP, _follow_up),
    Handler(DEEPSEARCH_CHANGE, _change),
    Handler(DEEPSEARCH_LIST, _list),
)
