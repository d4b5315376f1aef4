"""The page of a conversation, and the frame of every page: head, style, security headers."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from starlette.responses import HTMLResponse, Response

from sourcelight.core.batches.results import ToolResult, place_name
from sourcelight.core.markup import escape, one_line, own_address, to_html
from sourcelight.core.markup.markdown import inline_html
from sourcelight.core.query.fields import ALIASES

_METHOD_SECTIONS = frozenset({"Looked up", "Counted", "Searched"})
_OPEN_LINES = 24
"""Lines of an answer before its sections are folded: about a screen."""

STYLE_PATH = "/-/page.css"
SCRIPT_PATH = "/-/page.js"
_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_FIELDS = " ".join(ALIASES)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Frame-Options": "DENY",
    "Cache-Control": "private, no-store",
    "Vary": "Authorization, Cookie",
}
STYLE = """:root {
  color-scheme: light dark;
  --ground: #ffffff; --text: #1c2430; --quiet: #566070; --line: #d0d6de; --code: #f4f6f9; --act: #1858c4;
  --hit: #fff3c4; --add: #e2f6e5; --del: #fde7e9; --good: #1a6b2d; --warn: #7a5200; --bad: #a61b29;
  --word: #00694a; --said: #9a2015; --number: #00647a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12161d; --text: #e7ebf1; --quiet: #a5afbe; --line: #39424f; --code: #1b212b; --act: #7fb0ff;
    --hit: #4a3f12; --add: #12351c; --del: #431a20; --good: #7fd18f; --warn: #ffd98a; --bad: #ff9aa2;
    --word: #7fd39b; --said: #ffab9b; --number: #7fd6e6;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 1rem/1.55 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
main.wide { max-width: none; }
h1 { font-size: 1.5rem; line-height: 1.3; } h2 { font-size: 1.25rem; margin-top: 2rem; } h3 { font-size: 1.05rem; }
h1, h2, h3, p, li, dd { overflow-wrap: anywhere; }
a { color: var(--act); } :focus-visible { outline: 3px solid var(--act); outline-offset: 2px; }
.quiet, .quiet a { color: var(--quiet); } .good { color: var(--good); } .warn { color: var(--warn); }
.bad { color: var(--bad); }
pre, code { font-family: ui-monospace, monospace; font-size: .9em; }
pre { margin: .5rem 0; padding: .6rem .8rem; background: var(--code); border: 1px solid var(--line); overflow-x: auto;
  border-radius: .3rem; tab-size: 4; }
table { border-collapse: collapse; } th, td { text-align: left; vertical-align: top; padding: .15rem .6rem; }
article table, .files { display: block; overflow-x: auto; }
article th, article td { border-bottom: 1px solid var(--line); }
blockquote { margin: .5rem 0; padding-left: 1rem; border-left: 4px solid var(--line); }
.lines { width: 100%; tab-size: 4; } .lines td { padding: 0 .6rem; white-space: pre; }
.lines td { font: .875rem/1.5 ui-monospace, monospace; }
.lines td:first-child { text-align: right; width: 1%; user-select: none; }
.lines td:first-child a { color: var(--quiet); text-decoration: none; }
.lines tr.hit, .lines tr:target { background: var(--hit); }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .3rem; background: var(--code); }
.sl-c { color: var(--quiet); font-style: italic; } .sl-k { color: var(--word); font-weight: 600; }
.sl-s { color: var(--said); } .sl-n { color: var(--number); }
.diff span { display: block; min-height: 1.5em; }
.diff .add { background: var(--add); } .diff .del { background: var(--del); }
"""


def page(
    title: str,
    body: str,
    *,
    prefix: str = "",
    status: int = 200,
    refresh_s: int = 0,
    wide: bool = False,
    query: str = "",
    kind: str = "",
    posts: bool = False,
    use: str = "",
) -> Response:
    """Return an HTML page.

    Parameters
    ----------
    title
        Text of the title.
    body
        HTML.
    prefix
        Start of the service's addresses, where a proxy adds a path.
    status
        HTTP status.
    refresh_s
        Seconds until a browser without script reloads it; 0: never.
    wide
        Whether it uses the full width.
    query, kind
        What the query box at the top has: a query and a pattern type.
    posts
        Whether it has forms that change something.
    use
        HTML of the page in Python, above the rest.
    """
    refresh = f'<noscript><meta http-equiv="refresh" content="{refresh_s}"></noscript>' if refresh_s else ""
    tools = f'<div class="tools">{use}</div>' if use else ""
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">{refresh}'
        f"<title>{escape(one_line(title, 120))} \u00b7 sourcelight</title>"
        f'<link rel="stylesheet" href="{escape(prefix)}{STYLE_PATH}">'
        f'<script src="{escape(prefix)}{SCRIPT_PATH}" defer></script></head>'
        f"<body>{_bar(prefix, query, kind)}<main{' class=wide' if wide else ''}>{tools}{body}</main></body></html>\n"
    )
    # A path of any bytes may have lone surrogates in its text. They are visible by now; the rest must not fail here.
    # With no-referrer, a browser would send "Origin: null" with forms of this service, which then refuses them.
    headers = {**HEADERS, "Referrer-Policy": "same-origin"} if posts else HEADERS
    return HTMLResponse(text.encode("utf-8", "replace"), status, headers)


def _bar(prefix: str, query: str, kind: str) -> str:
    """Return the bar at the top of every page: home and the query box."""
    options = "".join(
        f'<option value="{value}"{" selected" if value == kind else ""}>{label}</option>'
        for value, label in (
            ("", "Standard"),
            ("keyword", "Keywords"),
            ("regexp", "Regexp"),
            ("literal", "Literal"),
            ("ast-grep", "Code"),
            ("nls", "Description"),
        )
    )
    base = escape(prefix)
    return (
        f'<header class="bar"><a href="{base}/search">sourcelight</a><nav aria-label="Pages">'
        f'<a href="{base}/deepsearch">Deep search</a> <a href="{base}/search/saved">Saved</a> '
        f'<a href="{base}/.auth/sign-in">Account</a></nav>'
        f'<form class="search" role="search" action="{base}/search" data-fields="{_FIELDS}" '
        f'data-live="{base}/search/live" '
        f'data-suggestions="{base}/search/suggestions"><div class="field">'
        f'<input name="q" type="text" value="{html.escape(query)}" aria-label="Search code" placeholder="Search code" '
        'maxlength="10000" autocomplete="off" autocapitalize="none" spellcheck="false"></div>'
        f'<select name="patternType" aria-label="Pattern type">{options}</select>'
        '<button type="submit">Search</button></form></header>'
    )


def error_page(
    status: int, title: str, text: str, *, prefix: str = "", sign_in: str = "", extra_html: str = ""
) -> Response:
    """Return the page of an error; `sign_in` is the address to sign in at, if that may help; `extra_html` is HTML."""
    sign_in_link = f'<p><a href="{escape(sign_in)}">Sign in</a></p>' if sign_in else ""
    body = f"<h1>{escape(title)}</h1><p>{escape(text)}</p>{sign_in_link}{extra_html}"
    answer = page(title, body, prefix=prefix, status=status)
    if status == 401:
        answer.headers["WWW-Authenticate"] = 'Bearer realm="sourcelight"'
    return answer


_STATES = {
    "pending": ("warn", "is waiting for its turn"),
    "processing": ("warn", "is in progress; this page updates itself"),
    "canceled": ("warn", "was canceled"),
    "error": ("bad", "failed"),
}
_CHECKED = {"verified": "good", "moved": "warn", "rejected": "bad"}


def link_of(url: str, prefix: str) -> str:
    """Return the address of a link of an answer on these pages; empty for an address that is not one's own."""
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
    parts = [
        # The first question is usually the title above it.
        _question(
            question, turns.get(number, []), prefix, use.get(number, ""), is_title=question["question"] == info["title"]
        )
        for number, question in enumerate(info["questions"])
    ]
    visibility = "anyone with the link can read it" if info["shared"] else "only its owner can read it"
    return (
        f"<h1>{escape(one_line(info['title'], 200))}</h1>"
        f'<p class="quiet">Opened {_minute(info["created_at"])}, changed {_minute(info["updated_at"])}; {visibility}. '
        f'<a href="{escape(markdown)}">As Markdown</a></p>{"".join(parts)}'
        f"{_owner_forms(info, action) if action else ''}"
    )


def _minute(time: str) -> str:
    """Return a time as readers write it, such as ``2026-03-02 09:05 UTC``, of one such as ``2026-03-02T09:05:40Z``."""
    return f"{escape(time[:16].replace('T', ' '))} UTC"


def is_running(answer: ToolResult) -> bool:
    """Return whether a conversation still works on a question."""
    return any(question["state"] in {"pending", "processing"} for question in answer.attributes["questions"])


def _owner_forms(info: Mapping[str, Any], action: str) -> str:
    def button(do: str, label: str) -> str:
        return f'<button name="do" value="{do}">{label}</button>'

    start = f'<form method="post" action="{escape(action)}"'
    if any(question["state"] in {"pending", "processing"} for question in info["questions"]):
        return f"{start}>{button('cancel', 'Cancel the question')}</form>"
    sharing = button("unshare", "Stop sharing") if info["shared"] else button("share", "Share by link")
    return (
        f'{start} class="ask">{QUESTION_FIELD.format(label="Ask more", text="")}{button("ask", "Ask")}</form>'
        f'{start} class="inline">{sharing} <details><summary>Delete</summary>'
        f"{button('delete', 'Delete for everyone')}</details></form>"
    )


QUESTION_FIELD = (
    '<label for="question">{label}</label><textarea id="question" name="question" rows="3" maxlength="20000" required>'
    "{text}</textarea>"
)


def _question(question: Mapping[str, Any], turns: list[str], prefix: str, use: str, *, is_title: bool) -> str:
    colour, status_text = _STATES.get(question["state"], ("", ""))
    state = f'<p class="{colour}" role="status">This question {status_text}.</p>' if status_text else ""
    done = "".join(f"<li>{escape(one_line(turn, 300))}</li>" for turn in turns)
    done = f"<h3>Steps so far</h3><ol>{done}</ol>" if done else ""
    body = to_html(question["answer"], lambda url: link_of(url, prefix), top=2, open_lines=_OPEN_LINES,
                   collapsed_titles=_METHOD_SECTIONS, show_link=_show_citation)  # fmt: skip
    sources = "".join(f"<li>{_source(source, prefix)}</li>" for source in question["sources"])
    sources = _folded_list("Sources", question["sources"], prefix)
    sources += _folded_list("Removed citations", question["rejected"], prefix)
    follow_ups = "".join(f"<li>{_follow_up(text, prefix)}</li>" for text in question["suggested_followups"])
    follow_ups = f"<h3>Follow-up questions</h3><ul>{follow_ups}</ul>" if follow_ups else ""
    heading = f"<h2{' class=hidden' if is_title else ''}>{escape(one_line(question['question'], 1000))}</h2>"
    return f"<article>{heading}{state}{done}{body}{sources}{follow_ups}{use}</article>"


def _show_citation(label: str, address: str, target: str) -> str:
    """Show a citation by the name of its file and its lines; its title is its full label."""
    name = place_name(address)
    if not target or not name:
        return f'<a href="{escape(target)}">{label}</a>' if target else label
    full = escape(html.unescape(re.sub(r"<[^>]*>", "", label)))
    return f'<a href="{escape(target)}" title="{full}">{escape(name)}</a>'


def _follow_up(text: str, prefix: str) -> str:
    """Return a question that may come next, as a link to the page that asks it."""
    text = one_line(text, 300)
    address = f"{prefix}/deepsearch?question={quote(text, safe='', errors='replace')}"
    return f'<a href="{escape(address)}">{inline_html(text, lambda _: "")}</a>'


def _folded_list(title: str, sources: Sequence[Mapping[str, Any]], prefix: str) -> str:
    """Return a list of places below its number: the answer has links to them already."""
    items = "".join(f"<li>{_source(source, prefix)}</li>" for source in sources)
    summary = f'<summary><h3>{title}</h3> <span class="quiet">{len(sources):,}</span></summary>'
    return f'<details class="sources">{summary}<ul>{items}</ul></details>' if items else ""


def _source(source: Mapping[str, Any], prefix: str) -> str:
    label = escape(one_line(source["label"], 300))
    target = link_of(source["link"], prefix)
    label_html = f'<a href="{escape(target)}">{label}</a>' if target else label
    status = source.get("status") or ""
    checked = f' <span class="{_CHECKED[status]}">{status}</span>' if status in _CHECKED else ""
    return f"{label_html}{checked}"
