"""The page of a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from sourcelight.core.batches.results import ToolResult, place_name
from sourcelight.core.markup import escape, one_line, own_address, to_html, without_tags
from sourcelight.core.markup.markdown import inline_html

_METHOD_SECTIONS = frozenset({"Method", "Searched"})

_OPEN_LINES = 24
"""Lines of an answer before its sections are folded: about a screen."""

_STATES = {
    "pending": ("warn", "is waiting for its turn"),
    "processing": ("warn", "is in progress; this page updates itself"),
    "canceled": ("warn", "was canceled"),
    "error": ("bad", "failed"),
}
_CHECKED = {"verified": "good", "moved": "warn", "rejected": "bad"}
QUESTION_FIELD = (
    '<label for="question">{label}</label><textarea id="question" name="question" rows="3" maxlength="20000" required>'
    "{text}</textarea>"
)


def link_of(url: str, prefix: str) -> str:
    """Return the address of a link of an answer on these pages; empty for an address of another site."""
    target = own_address(url)
    return prefix + target if target.startswith("/") else target


def conversation_html(
    answer: ToolResult,
    turns: Mapping[int, list[str]],
    use: Mapping[int, str],
    *,
    prefix: str,
    markdown: str,
    action: str = "",
) -> str:
    """Return a result of `deepsearch_read` as HTML.

    Parameters
    ----------
    answer
        The result.
    turns
        Steps of running questions, by index from 0.
    use
        HTML that asks a question in Python, by its index.
    prefix
        Start of the service's addresses.
    markdown
        Address of its Markdown.
    action
        Address of the forms of its owner; empty for other readers, who have none.
    """
    info = answer.attributes
    parts = []
    for number, question in enumerate(info["questions"]):
        # The first question is usually the title above it.
        is_title = question["question"] == info["title"]
        parts.append(_question(question, turns.get(number, []), prefix, use.get(number, ""), is_title=is_title))
    if action:
        parts.append(_owner_forms(info, action))

    visibility = "anyone with the link can read it" if info["shared"] else "only its owner can read it"
    return (
        f"<h1>{escape(one_line(info['title'], 200))}</h1>"
        f'<p class="quiet">Opened {_minute(info["created_at"])}, changed {_minute(info["updated_at"])}; {visibility}. '
        f'<a href="{escape(markdown)}">As Markdown</a></p>{"".join(parts)}'
    )


def _minute(time: str) -> str:
    """Return an ISO time as readers write it: ``2026-03-02 09:05 UTC`` for ``2026-03-02T09:05:40Z``."""
    return f"{escape(time[:16].replace('T', ' '))} UTC"


def is_running(answer: ToolResult) -> bool:
    """Return whether a conversation still works on a question."""
    return _has_running(answer.attributes["questions"])


def _has_running(questions: Sequence[Mapping[str, Any]]) -> bool:
    return any(question["state"] in {"pending", "processing"} for question in questions)


def _owner_forms(info: Mapping[str, Any], action: str) -> str:
    def button(do: str, label: str) -> str:
        return f'<button name="do" value="{do}">{label}</button>'

    start = f'<form method="post" action="{escape(action)}"'
    if _has_running(info["questions"]):
        return f"{start}>{button('cancel', 'Cancel the question')}</form>"

    sharing = button("unshare", "Stop sharing") if info["shared"] else button("share", "Share by link")
    return (
        f'{start} class="ask">{QUESTION_FIELD.format(label="Ask more", text="")}{button("ask", "Ask")}</form>'
        f'{start} class="inline">{sharing} <details><summary>Delete</summary>'
        f"{button('delete', 'Delete for everyone')}</details></form>"
    )


def _question(question: Mapping[str, Any], turns: list[str], prefix: str, use: str, *, is_title: bool) -> str:
    color, status_text = _STATES.get(question["state"], ("", ""))
    state = f'<p class="{color}" role="status">This question {status_text}.</p>' if status_text else ""
    steps = _list("Steps so far", "ol", [escape(one_line(turn, 300)) for turn in turns])
    body = to_html(
        question["answer"],
        lambda url: link_of(url, prefix),
        top=2,
        open_lines=_OPEN_LINES,
        collapsed_titles=_METHOD_SECTIONS,
        show_link=_show_citation,
    )
    sources = _folded_list("Sources", question["sources"], prefix)
    sources += _folded_list("Removed citations", question["rejected"], prefix)
    follow_ups = [_follow_up(text, prefix) for text in question["suggested_followups"]]
    next_questions = _list("Follow-up questions", "ul", follow_ups)
    hidden = " class=hidden" if is_title else ""
    heading = f"<h2{hidden}>{escape(one_line(question['question'], 1000))}</h2>"
    return f"<article>{heading}{state}{steps}{body}{sources}{next_questions}{use}</article>"


def _list(title: str, tag: str, items: Sequence[str]) -> str:
    """Return a list of HTML items below its title; empty without any."""
    if not items:
        return ""
    items_html = "".join(f"<li>{item}</li>" for item in items)
    return f"<h3>{title}</h3><{tag}>{items_html}</{tag}>"


def _show_citation(label: str, address: str, target: str) -> str:
    """Show a citation by the name of its file and its lines; its title is its full label."""
    if not target:
        return label

    name = place_name(address)
    if not name:
        return f'<a href="{escape(target)}">{label}</a>'
    return f'<a href="{escape(target)}" title="{escape(without_tags(label))}">{escape(name)}</a>'


def _follow_up(text: str, prefix: str) -> str:
    """Return a question that may come next, as a link to the page that asks it."""
    text = one_line(text, 300)
    address = f"{prefix}/deepsearch?question={quote(text, safe='', errors='replace')}"
    return f'<a href="{escape(address)}">{inline_html(text, lambda _: "")}</a>'


def _folded_list(title: str, sources: Sequence[Mapping[str, Any]], prefix: str) -> str:
    """Return a list of places below its number: the answer has links to them already."""
    if not sources:
        return ""
    items = "".join(f"<li>{_source(source, prefix)}</li>" for source in sources)
    summary = f'<summary><h3>{title}</h3> <span class="quiet">{len(sources):,}</span></summary>'
    return f'<details class="sources">{summary}<ul>{items}</ul></details>'


def _source(source: Mapping[str, Any], prefix: str) -> str:
    label = escape(one_line(source["label"], 300))
    target = link_of(source["link"], prefix)
    label_html = f'<a href="{escape(target)}">{label}</a>' if target else label
    status = source.get("status") or ""
    checked = f' <span class="{_CHECKED[status]}">{status}</span>' if status in _CHECKED else ""
    return f"{label_html}{checked}"
