"""Handlers of the tools about deep search.

`Conversations` gives a `ToolResult` whose attributes have all that the handlers write:

- always `status` (``processing``, ``completed`` or ``error``) and `title`;
- of `ask` also `url`, `read_token`, `answer` (Markdown) and `sources`;
- of `read` also `share_url`, `created_at`, `updated_at` (RFC 3339, UTC) and `questions`, each with `question`,
  `answer`, `status`, `sources`, `suggested_followups` and `stats`.

A source is a dict of `type`, `label` and `link`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from sourcelight.core.batches.results import ToolResult, place_text
from sourcelight.core.errors import UnsupportedTool
from sourcelight.core.markup import code, link_label, one_line
from sourcelight.core.tools import conversations
from sourcelight.engines.tools.context import Conversations, ToolContext
from sourcelight.engines.tools.handler import Handler, Rendered, drop_empty, tail, with_notices
from sourcelight.engines.tools.pages.items import FactItems

_MAX_ROWS = 1_000
"""Rows of a counted table that one call gives: more than a model reads, and 100 kB of JSON."""

_DEFAULT_LIMIT = 50
"""Conversations of a list without a limit."""

_COPIED = ("stats", "tables", "pins", "researcher", "model", "error", "state")
"""Attributes that a payload has under the same names."""

_HEADING_KEYS = {"title": "title", "share_url": "shareUrl", "created": "createdAt", "updated": "updatedAt"}
"""Lines above the text of a conversation, and the keys of its payload that they show."""

# The characters that end the target of a link in Markdown, or begin a tag: ()<>\
_TARGET_SPECIAL = re.compile(r"[()<>\\]")
# ](/repository/-/blob/path#L3), the target of a link to a page of this service
_LINK = re.compile(r"\]\((/[^()\s]+)\)")


def _ask(arguments: conversations.DeepSearchArguments, context: ToolContext) -> ToolResult:
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


def _read(arguments: conversations.DeepSearchReadArguments, context: ToolContext) -> ToolResult:
    return _conversations("deepsearch_read", context).read(arguments.identifier, context)


def _render_answer(answer: ToolResult, context: ToolContext) -> Rendered:
    attributes = _with_places(answer.attributes, context)
    url = attributes.get("url", "")
    payload: dict[str, Any] = {"url": url}

    # An address of a conversation ends with its token.
    token = attributes.get("read_token", "")
    if not url.endswith(f"/{token}"):
        payload["readToken"] = token

    status = attributes.get("status", "completed")
    payload["status"] = status
    text = f"Link: {url}\n\n"
    if status == "processing":
        text += (
            f"The question is still running. Call deepsearch_read with the identifier {url} in a few seconds, "
            "and again until it says completed.\n"
        )
    else:
        answer_text = attributes.get("answer", "")
        payload |= {"title": attributes.get("title", ""), "answer": answer_text}
        payload |= _beside_answer(attributes)
        text += f"{answer_text.rstrip()}\n{_source_sections(attributes)}"

    return payload | tail(answer), with_notices(text, answer)


def _with_places(value: Any, context: ToolContext) -> Any:
    """Return attributes of a conversation with locations instead of links, for readers without pages."""
    if context.has_pages:
        return value
    return _replace_links(value)


def _replace_links(value: Any) -> Any:
    """Return a value with locations instead of links, in texts and in all values of dicts and lists."""
    if isinstance(value, str):
        return _LINK.sub(lambda link: f"]({_place(link[1])})", value)

    if isinstance(value, list | tuple):
        return [_replace_links(item) for item in value]

    if not isinstance(value, Mapping):
        return value

    replaced = {}
    for name, item in value.items():
        if name == "link" and isinstance(item, str):
            replaced[name] = _place(item)
        else:
            replaced[name] = _replace_links(item)
    return replaced


def _place(url: str) -> str:
    """Return the place of an address as the target of a link: without characters that end it or start a tag."""
    return _TARGET_SPECIAL.sub(lambda match: quote(match[0]), one_line(place_text(url)))


def _beside_answer(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return additional keys: who answered, the commits, the tables, and errors."""
    keys = {name: attributes.get(name) for name in _COPIED}
    keys["tables"] = [_cut_table(table) for table in attributes.get("tables") or ()]
    keys["sources"] = _sources(attributes.get("sources", ()))
    keys["suggestedFollowups"] = list(attributes.get("suggested_followups") or ())
    keys["rejected"] = _sources(attributes.get("rejected", ()))
    return drop_empty(keys)


def _cut_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a counted table with its first rows, and whether it has more."""
    rows = list(table["rows"])
    return {**table, "rows": rows[:_MAX_ROWS], "truncated": len(rows) > _MAX_ROWS}


def _sources(sources: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return sources with the keys that every client knows, and of citations how their check ended."""
    results = []
    for source in sources:
        result = {name: source.get(name, "") for name in ("type", "label", "link")}
        for name in ("repository", "commit", "role", "status"):
            if source.get(name):
                result[name] = source[name]
        results.append(result)
    return results


def _source_sections(attributes: Mapping[str, Any]) -> str:
    """Return the sources of an answer, and citations that failed their check, each below a heading of Markdown."""
    source_lines = ""
    for source in attributes.get("sources", ()):
        label = link_label(str(source.get("label", "")))
        source_lines += f"- [{label}]({source.get('link', '')})\n"

    rejected_lines = ""
    for source in attributes.get("rejected", ()):
        rejected_lines += f"- {code(str(source.get('label', '')))}\n"

    sections = ""
    if source_lines:
        sections += f"\n## Sources\n\n{source_lines}"
    if rejected_lines:
        sections += f"\n## Removed citations\n\n{rejected_lines}"
    return sections


def _render_read(answer: ToolResult, context: ToolContext) -> Rendered:
    attributes = _with_places(answer.attributes, context)
    questions = [_question_payload(question) for question in attributes.get("questions", ())]
    payload = {
        "title": attributes.get("title", ""),
        "shareUrl": attributes.get("share_url", ""),
        "createdAt": attributes.get("created_at", ""),
        "updatedAt": attributes.get("updated_at", ""),
        "status": attributes.get("status", "completed"),
        "questions": questions,
        **tail(answer),
    }
    heading = ""
    for name, key in _HEADING_KEYS.items():
        heading += f"{name}: {_one_line(payload[key])}\n"

    parts = [f"---\n{heading}---\n"]
    for question in questions:
        answer_text = question["answer"].rstrip() or f"({question['status']}: there is no answer yet)"
        parts.append(f"# {_one_line(question['question'])}\n\n{answer_text}\n{_source_sections(question)}")

    return payload, with_notices("\n".join(parts), answer)


def _question_payload(question: Mapping[str, Any]) -> dict[str, Any]:
    payload = {
        "question": question.get("question", ""),
        "answer": question.get("answer", ""),
        "status": question.get("status", "completed"),
    }
    return payload | _beside_answer(question)


def _one_line(text: Any) -> str:
    return one_line(" ".join(str(text).split()))


def _follow_up(arguments: conversations.DeepSearchFollowUpArguments, context: ToolContext) -> ToolResult:
    return _conversations("deepsearch_follow_up", context).follow_up(
        arguments.identifier,
        arguments.question,
        context,
        repos=arguments.repos or (),
        revision=arguments.revision or "",
    )


def _change(arguments: conversations.DeepSearchChangeArguments, context: ToolContext) -> ToolResult:
    changes = {name: value for name, value in arguments.to_wire().items() if name != "identifier"}
    return _conversations("deepsearch_change", context).change(arguments.identifier, changes, context)


def _list(arguments: conversations.DeepSearchListArguments, context: ToolContext) -> ToolResult:
    return _conversations("deepsearch_list", context).list(
        context,
        text=arguments.text or "",
        starred=arguments.starred,
        first=arguments.limit or _DEFAULT_LIMIT,
        skip=arguments.skip or 0,
    )


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(conversations.DEEPSEARCH, _ask, _render_answer, None),
    Handler(conversations.DEEPSEARCH_READ, _read, _render_read, FactItems("questions", "questions", "answer")),
    Handler(conversations.DEEPSEARCH_FOLLOW_UP, _follow_up),
    Handler(conversations.DEEPSEARCH_CHANGE, _change),
    Handler(conversations.DEEPSEARCH_LIST, _list),
)
