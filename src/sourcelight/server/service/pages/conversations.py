"""The page of a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from sourcelight.core.batches.results import Answer
from sourcelight.core.markup import escape, one_line, own_address, to_html
from sourcelight.server.service.pages.frame import page

_REFRESH_S = 3
_STATES = {
    "pending": ("warn", "waits for its turn"),
    "processing": ("warn", "is being worked on; this page loads itself again"),
    "canceled": ("warn", "was canceled"),
    "error": ("bad", "could not be answered"),
}
_CHECKED = {"verified": "good", "moved": "warn", "rejected": "bad"}


def link_of(url: str, prefix: str) -> str:
    """Where a link of an answer leads on our pages; empty where there is no page of ours."""
    target = own_address(url)
    if not target or target.startswith("/search?"):
        return ""
    if target.startswith("/") and "/-/" not in target:  # a repository
        target = f"{target.partition('?')[0]}/-/tree/"
    return prefix + target if target.startswith("/") else target


def conversation_page(answer: Answer, turns: Mapping[int, list[str]], *, prefix: str, markdown: str) -> Response:
    """The page of what `deepsearch_read` gives; `turns` are what was done for questions under way, by number from 0."""
    facts = answer.attributes
    running = False
    parts = []
    for number, question in enumerate(facts["questions"]):
        running = running or question["state"] in {"pending", "processing"}
        parts.append(_question(question, turns.get(number, []), prefix))
    shared = "everyone with its link may read it" if facts["shared"] else "only its owner may read it"
    head = (
        f"<h1>{escape(one_line(facts['title'], 200))}</h1>"
        f'<p class="quiet">Opened {escape(facts["created_at"])}, changed {escape(facts["updated_at"])}; {shared}. '
        f'<a href="{escape(markdown)}">As Markdown</a></p>'
    )
    return page(facts["title"], head + "".join(parts), prefix=prefix, refresh_s=_REFRESH_S if running else 0)


def _question(question: Mapping[str, Any], turns: list[str], prefix: str) -> str:
    colour, words = _STATES.get(question["state"], ("", ""))
    state = f'<p class="{colour}" role="status">This question {words}.</p>' if words else ""
    done = "".join(f"<li>{escape(one_line(turn, 300))}</li>" for turn in turns)
    done = f"<h3>So far</h3><ol>{done}</ol>" if done else ""
    body = to_html(question["answer"], lambda url: link_of(url, prefix), top=2)
    sources = "".join(f"<li>{_source(source, prefix)}</li>" for source in question["sources"])
    sources = f"<h3>Sources</h3><ul>{sources}</ul>" if sources else ""
    rejected = "".join(f"<li>{_source(source, prefix)}</li>" for source in question["rejected"])
    sources += f"<h3>Citations taken out</h3><ul>{rejected}</ul>" if rejected else ""
    asked = "".join(f"<li>{escape(one_line(text, 300))}</li>" for text in question["suggested_followups"])
    asked = f"<h3>What could be asked next</h3><ul>{asked}</ul>" if asked else ""
    return (
        f"<article><h2>{escape(one_line(question['question'], 1000))}</h2>{state}{done}{body}{sources}{asked}</article>"
    )


def _source(source: Mapping[str, Any], prefix: str) -> str:
    label = escape(one_line(source["label"], 300))
    target = link_of(source["link"], prefix)
    shown = f'<a href="{escape(target)}">{label}</a>' if target else label
    status = source.get("status") or ""
    checked = f' <span class="{_CHECKED[status]}">{status}</span>' if status in _CHECKED else ""
    return f"{shown}{checked}"
