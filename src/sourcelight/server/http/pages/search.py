"""The search page: a query box, results while they arrive, files of them, and suggestions.

Everything works without script: the box is a form, and each state has an address. The script adds live results,
suggestions and keys. The cookie identifies the sender of its requests only if the browser reports that they come from
pages of this service.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from starlette.responses import Response

from sourcelight.core.batches import Event, MatchBatch
from sourcelight.core.batches.results import repository_url
from sourcelight.core.batches.schema import conform
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import PatternError, QueryError, ToolError
from sourcelight.core.markup import escape, one_line
from sourcelight.core.wire.request import SearchRequest
from sourcelight.display.frames.encoders import write_csv, write_json_lines
from sourcelight.engines.tools import ToolContext
from sourcelight.repos import Viewer
from sourcelight.server.http.pages.frame import HEADERS, page
from sourcelight.server.http.pages.python import python_block
from sourcelight.server.http.pages.search_view import SearchView, search_url
from sourcelight.server.http.ranked_search import is_ranked, ranked_events

if TYPE_CHECKING:
    from sourcelight.engines.execution import Engine

PATH = "/search"
LIVE_PATH, EXPORT_PATH, NOTEBOOK_PATH, SUGGESTIONS_PATH = (
    "/search/live", "/search/export", "/search/notebook", "/search/suggestions",
)  # fmt: skip
TIMEOUT_S = 20.0

FIRST_PAINT_S = 0.7
"""Seconds that a page waits for its results; the script, or a request to wait, shows later ones."""

MAX_EXPORTED = 10_000
"""Maximum matches of an exported file."""

_TICK_S = 0.25
"""Seconds between two states of a live search: each has the whole HTML of the results."""

_MAX_TYPE_CHARS = 40
_FORMATS = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
}
_FORMAT_LABELS = {"csv": "CSV", "jsonl": "JSON Lines", "parquet": "Parquet"}
_EXAMPLES = (
    ("TODO lang:python", "lines with a text, in files of a language"),
    ("type:symbol Client", "definitions by name"),
    ('type:diff after:"1 month ago" timeout', "changed lines of the last month"),
    ("/func \\w+Error\\(/ -file:test", "a regular expression, without tests"),
    ("repo:has.file(go.mod) select:repo", "repositories by their files"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PageQuery:
    """The parameters of an address of a search."""

    query: str
    pattern_type: str = ""
    waits: bool = False
    format: str = "csv"

    @classmethod
    def parse(cls, query_string: str) -> PageQuery:
        """Read the parameters; the first of a repeated name counts."""
        values: dict[str, str] = {}
        for name, value in parse_qsl(query_string, errors="replace"):
            values.setdefault(name, value)
        return cls.of(values)

    @classmethod
    def of(cls, values: Mapping[str, str]) -> PageQuery:
        """Read the fields of a form.

        A query that is too long and an unknown pattern type stay as they are, so that the search refuses them: the
        results of half a query, or of another reading of it, would look like the answer. An unknown format is CSV.
        """
        export_format = values.get("format", "csv")
        return cls(
            query=values.get("q", ""),
            pattern_type=values.get("patternType", "")[:_MAX_TYPE_CHARS],
            waits=values.get("wait") == "1",
            format=export_format if export_format in _FORMATS else "csv",
        )

    @property
    def request(self) -> SearchRequest:
        """The search that pages show."""
        kind = self.pattern_type or "standard"
        return SearchRequest(self.query, kind, chunk_matches=True, context_lines=1, max_line_len=2_000, cells=True)


def search_page(query: PageQuery, context: ToolContext, *, prefix: str, base_url: str, actions: str = "") -> Response:
    """Return the page of a search with its first results, or examples and repositories without a query.

    Parameters
    ----------
    query
        The parameters of the address.
    context
        Engine, viewer, and a cancellation that ends with the time of a page.
    prefix
        Start of the service's addresses.
    base_url
        The service's address, for programs.
    actions
        HTML of forms for the search, such as one to save it.
    """
    if not query.query.strip():
        return page("Search", _start(context, prefix), prefix=prefix, wide=True)

    view = SearchView(query.query, query.pattern_type, prefix, base_url)
    deadline = time.monotonic() + (TIMEOUT_S if query.waits else FIRST_PAINT_S)
    status = 200
    try:
        with closing(events_of(query, context.engine, context.viewer, context.cancellation)) as events:
            for event in events:
                view.add(event)
                if view.done or time.monotonic() > deadline:
                    break
    except (QueryError, PatternError) as exc:
        view.fail(exc)
        status = 400

    live = ""
    if not view.done:
        # The script and "Wait for all of it" start a search of their own; this one must not keep running.
        context.cancellation.cancel()
        wait = escape(search_url(prefix, query.query, query.pattern_type, wait="1"))
        live = f'<p class="message warn" id="wait">The search continues. <a href="{wait}">Wait for all of it</a></p>'

    body = (
        # A heading for screen readers: on screen, the query box says the same.
        f'<h1 class="hidden">Search: {escape(one_line(query.query, 200))}</h1>'
        f"{_tools(query, prefix, base_url, actions)}{live}"
        f'<div id="results" data-done="{int(view.done)}">{view.to_html()}</div>'
    )
    title = f"{query.query} \u00b7 search"
    return page(
        title, body, prefix=prefix, wide=True, query=query.query, kind=query.pattern_type, status=status, posts=True
    )


def live_states(query: PageQuery, context: ToolContext, *, prefix: str, base_url: str) -> Iterator[bytes]:
    """Yield states of a running search as events, from the first results to its end."""
    view = SearchView(query.query, query.pattern_type, prefix, base_url)
    shown_s = 0.0
    try:
        with closing(events_of(query, context.engine, context.viewer, context.cancellation)) as events:
            for event in events:
                view.add(event)
                if isinstance(event, MatchBatch) and time.monotonic() - shown_s >= _TICK_S:
                    shown_s = time.monotonic()
                    yield _state(view)
    except (QueryError, PatternError) as exc:
        view.fail(exc)

    view.done = True
    yield _state(view)


def _state(view: SearchView) -> bytes:
    text = json.dumps({"html": view.to_html(), "done": view.done})
    return f"event: state\ndata: {text}\n\n".encode("utf-8", "replace")


def events_of(
    query: PageQuery, engine: Engine, viewer: Viewer, cancellation: Cancellation
) -> Generator[Event, None, None]:
    """Yield the events of the search that pages show; raises `QueryError` and `PatternError`."""
    # A description in words has no matches to stream: its files are ranked as a whole.
    find = partial(ranked_events, engine) if is_ranked(query.request) else engine.stream
    yield from find(query.request, viewer, cancellation)


def export(query: PageQuery, context: ToolContext) -> Response:
    """Return the matches of a search as a file; raises `QueryError` and `ToolError`.

    Its name says ``limited`` when there are more matches than it has.
    """
    request = SearchRequest(query.query, query.pattern_type or "standard", default_matches=MAX_EXPORTED)
    view = SearchView(query.query, query.pattern_type, "")
    batches, rows = [], 0
    for event in context.engine.stream(request, context.viewer, context.cancellation):
        if isinstance(event, MatchBatch):
            batches.append(event.batch)
            rows += event.rows
            # A query's own `count:` may exceed the default of the request, and all rows are in memory until the file is
            # written.
            if rows > 20 * MAX_EXPORTED:
                raise ToolError(f"more than {20 * MAX_EXPORTED:,} rows: narrow the query, or use Python")
        else:
            view.add(event)

    table, file = conform(batches, visible_only=True), io.BytesIO()
    if query.format == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, file)
    elif query.format == "jsonl":
        write_json_lines(table, file)
    else:
        # Users open CSV files in a spreadsheet, which would run a text that looks like a formula.
        write_csv(table, file, spreadsheet=True)

    status = view.status
    name = "matches" if status == "complete" else f"matches-{status}"
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}.{query.format}"'}
    headers["X-Sourcelight-Status"] = status
    return Response(file.getvalue(), media_type=_FORMATS[query.format], headers=headers)


def python_call(query: PageQuery) -> str:
    """Return the search as a call of a client."""
    kind = f", pattern_type={query.pattern_type!r}" if query.pattern_type else ""
    return f"result = code.search({query.query!r}{kind})\nresult.matches"


def _tools(query: PageQuery, prefix: str, base_url: str, actions: str) -> str:
    def link(path: str, **options: str) -> str:
        return escape(search_url(prefix, query.query, query.pattern_type, path, **options))

    files = ", ".join(
        f'<a href="{link(EXPORT_PATH, format=name)}">{label}</a>' for name, label in _FORMAT_LABELS.items()
    )
    notebook_url = search_url(prefix, query.query, query.pattern_type, NOTEBOOK_PATH)
    return (
        f'<div class="tools">{python_block(python_call(query), base_url, notebook_url)}'
        f'<p class="quiet">Export as {files}</p>{actions}</div>'
    )


def _start(context: ToolContext, prefix: str) -> str:
    examples = "".join(
        f'<li><a href="{escape(search_url(prefix, query))}"><code>{escape(query)}</code></a> '
        f'<span class="quiet">{escape(meaning)}</span></li>'
        for query, meaning in _EXAMPLES
    )
    visible = list(context.engine.catalog.visible(context.viewer))
    items = "".join(
        f'<li><a href="{escape(repository_url(prefix, repository.name))}/-/tree/">{escape(repository.name)}</a> '
        f'<span class="quiet">{escape(one_line(repository.info.description, 120))}</span></li>'
        for repository in visible[:200]
    )
    more_html = f'<p class="quiet">{len(visible) - 200:,} more: search with <code>type:repo</code>.</p>' * (
        len(visible) > 200
    )
    return (
        "<h1>Search code</h1><p>Type a query above. <kbd>/</kbd> focuses the box, <kbd>j</kbd> and <kbd>k</kbd> "
        f'move through results.</p><ul class="examples">{examples}</ul><h2>Repositories</h2><ul>{items}</ul>{more_html}'
    )
