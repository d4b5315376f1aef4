"""The frame of every page: head, style, query box and security headers."""

from __future__ import annotations

import html

from starlette.responses import HTMLResponse, Response

from sourcelight.core.markup import escape, one_line
from sourcelight.core.query.fields import ALIASES

STYLE_PATH = "/-/page.css"
SCRIPT_PATH = "/-/page.js"
_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_FIELDS = " ".join(ALIASES)
"""Names of filters, which the page's script completes."""

_PATTERN_TYPES = {
    "": "Standard",
    "keyword": "Keywords",
    "regexp": "Regexp",
    "literal": "Literal",
    "ast-grep": "Code",
    "nls": "Description",
}
"""Labels of the pattern types of the query box."""

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
        The contents of the query box at the top: a query and a pattern type.
    posts
        Whether it has forms that change something.
    use
        HTML of the page in Python, above the rest.
    """
    refresh = f'<noscript><meta http-equiv="refresh" content="{refresh_s}"></noscript>' if refresh_s else ""
    tools = f'<div class="tools">{use}</div>' if use else ""
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="robots" content="noindex">{refresh}'
        f"<title>{escape(one_line(title, 120))} \u00b7 sourcelight</title>"
        f'<link rel="stylesheet" href="{escape(prefix)}{STYLE_PATH}">'
        f'<script src="{escape(prefix)}{SCRIPT_PATH}" defer></script>'
    )
    width = " class=wide" if wide else ""
    text = (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>'
        f"<body>{_bar(prefix, query, kind)}<main{width}>{tools}{body}</main></body></html>\n"
    )
    headers = dict(HEADERS)
    if posts:
        # With no-referrer, a browser would send "Origin: null" with forms of this service, which then refuses them.
        headers["Referrer-Policy"] = "same-origin"

    # A path of any bytes may have lone surrogates in its text. They are visible by now; the rest must not fail here.
    return HTMLResponse(text.encode("utf-8", "replace"), status, headers)


def _bar(prefix: str, query: str, kind: str) -> str:
    """Return the bar at the top of every page: home and the query box."""
    # A type without a label, such as `structural` in the address of another service, stays chosen.
    labels = _PATTERN_TYPES if kind in {*_PATTERN_TYPES, "standard"} else {**_PATTERN_TYPES, escape(kind): escape(kind)}
    options = ""
    for value, label in labels.items():
        selected = " selected" if value == escape(kind) else ""
        options += f'<option value="{value}"{selected}>{label}</option>'

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
    """Return the page of an error.

    `sign_in` is the address to sign in at, if that may help; `extra_html` is not escaped.
    """
    sign_in_link = f'<p><a href="{escape(sign_in)}">Sign in</a></p>' if sign_in else ""
    body = f"<h1>{escape(title)}</h1><p>{escape(text)}</p>{sign_in_link}{extra_html}"
    answer = page(title, body, prefix=prefix, status=status)
    if status == 401:
        answer.headers["WWW-Authenticate"] = 'Bearer realm="sourcelight"'
    return answer
