"""What all pages have in common: head, style, policy.

The page of a conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import HTMLResponse, Response

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.markup import escape, one_line, own_address, to_html

STYLE_PATH = "/-/page.css"
_POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
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
    title: str, body: str, *, prefix: str = "", status: int = 200, refresh_s: int = 0, wide: bool = False
) -> Response:
    """A page.

    Parameters
    ----------
    title
        Text of the title.
    body
        HTML.
    prefix
        What addresses below the service start with, where a proxy adds a path.
    status
        HTTP status.
    refresh_s
        Load it again after so many seconds; 0: never.
    wide
        Whether it takes all the width there is.
    """
    refresh = f'<meta http-equiv="refresh" content="{refresh_s}">' if refresh_s else ""
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">{refresh}'
        f"<title>{escape(one_line(title, 120))} \u00b7 sourcelight</title>"
        f'<link rel="stylesheet" href="{escape(prefix)}{STYLE_PATH}"></head>'
        f"<body><main{' class=wide' if wide else ''}>{body}</main></body></html>\n"
    )
    # Paths of any bytes may stand in a text as lone surrogates, which are shown by now; what is left must not break.
    return HTMLResponse(text.encode("utf-8", "replace"), status, HEADERS)


def fault(status: int, title: str, text: str, *, prefix: str = "", sign_in: str = "") -> Response:
    """What went wrong; `sign_in` is where to sign in, if that may help."""
    more = f'<p><a href="{escape(sign_in)}">Sign in</a></p>' if sign_in else ""
    answer = page(title, f"<h1>{escape(title)}</h1><p>{escape(text)}</p>{more}", prefix=prefix, status=status)
    if status == 401:
        answer.headers["WWW-Authenticate"] = 'Bearer realm="sourcelight"'
    return answer


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


def conversation_page(answer: ToolResult, turns: Mapping[int, list[str]], *, prefix: str, markdown: str) -> Response:
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
