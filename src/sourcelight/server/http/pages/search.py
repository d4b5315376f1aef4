"""The page of a search: what links of answers to ``/search?q=`` lead to."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from starlette.responses import Response

from sourcelight.core.markup import escape
from sourcelight.core.tools.files import KEYWORD_SEARCH, NLS_SEARCH
from sourcelight.engines import tools
from sourcelight.engines.tools import ToolContext
from sourcelight.server.http.pages.conversations import page

PATH = "/search"
TIMEOUT_S = 20.0
_PATTERN_TYPE = re.compile(r"(?i)(?<!\S)patterntype:(\S+)")
_RANKED = frozenset({"nls", "codycontext"})
_MAX_QUERY_CHARS = 10_000


def read_query(query_string: str) -> tuple[str, bool]:
    """Return the query of an address without ``patterntype:``, and whether it asks for ranked search.

    The pattern type of the query wins over the parameter ``patternType``, as in streams.
    """
    parameters: dict[str, str] = {}
    for name, value in parse_qsl(query_string):
        parameters.setdefault(name, value)
    text = parameters.get("q", "")[:_MAX_QUERY_CHARS]
    kinds = _PATTERN_TYPE.findall(text)
    kind = kinds[-1] if kinds else parameters.get("patternType", "")
    return " ".join(_PATTERN_TYPE.sub(" ", text).split(" ")).strip(), kind.lower() in _RANKED


def search_page(query: str, context: ToolContext, *, ranked: bool, prefix: str) -> Response:
    """Search and render the best files; raises `QueryError` and `ToolError`.

    Parameters
    ----------
    query
        What to search for; empty: the page says how to search.
    context
        A context with the limits of served answers.
    ranked
        Whether words describe the code, as in `nls_search`.
    prefix
        Start of the service's addresses.
    """
    if not query:
        return page("Search", "<h1>Search</h1><p>Put a query into the address: <code>/search?q=TODO</code></p>")
    tool = NLS_SEARCH if ranked else KEYWORD_SEARCH
    payload, _ = tools.render(tool, tools.answer(tool, {"query": query}, context), context)
    blocks = "".join(
        f'<h2><a href="{escape(prefix + block["url"])}">{escape(block["repo"])} / {escape(block["file"])}</a></h2>'
        + "".join(f"<pre>{escape(chunk['content'])}</pre>" for chunk in block.get("chunks") or ())
        for block in payload["blocks"]
    )
    notice = f'<p class="quiet">{escape(payload["notice"])}</p>' if payload.get("notice") else ""
    body = f"<h1>Search: {escape(query)}</h1>{notice}{blocks or '<p>No results.</p>'}"
    return page(f"{query} \u00b7 search", body, prefix=prefix)
