"""The explorer's widget: answers the requests of its page in the browser. Loads anywidget.

The synchronized state has the page's program, style and filters. Rows go by message, on request::

    page:    {"kind": "rows", "from": "a1", "id": 7, "start": 0, "count": 100}
    widget:  {"kind": "rows", "from": "a1", "id": 7, "start": 0, "rows": [{"row": 0, "name": "retry.py", …}, …]}

``from`` is the view that asks: the same explorer may be displayed several times.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import anywidget
import traitlets

from sourcelight.core.cells.json_lines import context_lines, has_json_line, row_line
from sourcelight.core.former_names import refuses_former_names
from sourcelight.core.markup import one_line, visible
from sourcelight.display.notebook.html_pages import display_widget, replace_page
from sourcelight.display.notebook.programs import program, style
from sourcelight.display.notebook.views.marked_text import TextRun, text_runs
from sourcelight.display.notebook.widgets import explorer_rows

_MAX_CHOICES = 200
"""Values of a drop-down, which counts the further ones."""

_MAX_PAGE_ROWS = 400
"""Rows of one message; the page asks for as many as fit on it, twice."""

_MAX_VIEWS = 8
"""Views whose selected rows are remembered."""

_MAX_CONTEXT_LINES = 500
"""Lines above a row, and below it, that one message has."""

_MAX_NOTES = 6
"""Notes above the rows, which count the further ones."""

_MAX_INPUT_CHARS = 1000
"""Characters of each filter; more can't be typed by hand."""

_FIRST_PAGE_S = 0.5
"""Seconds that a display waits for first rows, so that the page for exports has some."""

_LOOK_S = 0.2
"""Seconds between two looks at whether a search has ended."""


@refuses_former_names("Explorer")
class Explorer(anywidget.AnyWidget):  # type: ignore[misc]  # anywidget's bases ship no types
    """Rows of an answer to filter, sort and look into; made by ``explore``, never by hand.

    Outside of a notebook its text is that of the result.

    Parameters
    ----------
    source
        The rows.
    """

    _esm = program("explorer")
    _css = style("explorer")
    filters = traitlets.Dict().tag(sync=True)
    """The last input of the reader; reactive notebooks run the cells that use the explorer when it changes."""

    def __init__(self, source: explorer_rows.RowSource) -> None:
        self._source = source
        self._rows = explorer_rows.ExplorerRows()
        self._selections: dict[str, explorer_rows.RowSelection] = {}
        # What is displayed now: the last query of any view.
        self._last = explorer_rows.RowQuery()
        self._reads: dict[tuple[int, int, int], Future[list[tuple[int, str]]]] = {}
        super().__init__()
        self.on_msg(self._on_message)
        self.observe(self._on_filters, "filters")

    def __repr__(self) -> str:
        return self._source.text()

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle = super()._repr_mimebundle_(**options)
        # Some versions of the base class also return metadata.
        if isinstance(bundle, tuple):
            bundle, _ = bundle
        fallback = {"text/plain": self._source.text(), "text/html": self._source.html()}
        return {**(bundle or {}), **fallback}

    def _ipython_display_(self) -> None:
        self._wait_for_rows()
        page = display_widget(self._repr_mimebundle_(), self._source.text(), self._source.html())
        if page is not None and self._source.update().phase == "running":
            threading.Thread(target=self._finish_page, args=(page,), name="sourcelight-page", daemon=True).start()

    def _wait_for_rows(self) -> None:
        deadline = time.monotonic() + _FIRST_PAGE_S
        while time.monotonic() < deadline:
            if self._source.update().phase != "running" or self._source.batches():
                return
            time.sleep(0.02)

    def _finish_page(self, page: Any) -> None:
        """Replace the page for exports after the search: until then it shows "still running"."""
        while self._source.update().phase == "running":
            time.sleep(_LOOK_S)
        with suppress(Exception):  # the kernel may be shutting down, or its front end closed
            replace_page(page, self._source.text(), self._source.html())

    @property
    def visible_rows(self) -> Any:
        """DataFrame of the rows that are displayed now, filtered and in their order; columns as in ``matches``."""
        import pyarrow as pa

        from sourcelight.display.frames.tables import matches_table, to_pandas

        batches = self._source.batches()
        self._rows.take_in(batches)
        numbers = self._rows.select(self._last).numbers
        return to_pandas(matches_table(batches).take(pa.array(numbers)), attrs=self._source.result().attrs)

    @property
    def result(self) -> Any:
        """The `SearchResult` of the rows; while the search runs, of the rows so far."""
        return self._source.result()

    def stop(self) -> None:
        """Stop the search of the rows, if it is still running, and keep its rows."""
        self._source.stop()

    def _on_message(self, _widget: Any, message: Any, _buffers: Any) -> None:
        if not isinstance(message, Mapping):
            return

        handlers = {"view": self._view, "rows": self._page, "lines": self._lines, "stop": self._on_stop}
        handler = handlers.get(str(message.get("kind")))
        if handler is not None:
            reply = handler(message)
            self.send({**reply, "kind": message["kind"], "from": message.get("from"), "id": message.get("id")})

    def _on_filters(self, change: Any) -> None:
        self._last = _parse_query(change["new"])

    def _on_stop(self, _message: Mapping[str, Any]) -> dict[str, Any]:
        self.stop()
        return {}

    def _view(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._rows.take_in(self._source.batches())
        row_query = _parse_query(message.get("asked"))
        selection = self._rows.select(row_query)
        self._last = row_query
        name = str(message.get("from"))

        # Removed first, so that it goes to the end: the view that was used longest ago is forgotten first.
        self._selections.pop(name, None)
        self._selections[name] = selection
        while len(self._selections) > _MAX_VIEWS:
            oldest_name = next(iter(self._selections))
            del self._selections[oldest_name]

        update = self._source.update()
        return {
            "shown": len(selection.numbers),
            "all": len(self._rows),
            "phase": update.phase,
            "headline": visible(update.headline),
            "query": one_line(self._source.query, 300),
            "notes": [[kind, one_line(text, 300)] for kind, text in update.notes[:_MAX_NOTES]],
            "more_notes": max(len(update.notes) - _MAX_NOTES, 0),
            "repositories": _choices(selection.repositories),
            "languages": _choices(selection.languages),
            **self._page(message),
        }

    def _page(self, message: Mapping[str, Any]) -> dict[str, Any]:
        selection = self._selections.get(str(message.get("from")))
        start = _number(message.get("start"))
        count = min(_number(message.get("count")), _MAX_PAGE_ROWS)
        if selection is None:
            return {"start": start, "rows": []}

        rows = self._rows.rows(selection.numbers[start : start + count])
        return {"start": start, "rows": list(map(_row, rows))}

    def _lines(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._rows.take_in(self._source.batches())
        number = _number(message.get("row"))
        if number >= len(self._rows):
            return {"error": "this row doesn't exist"}

        (row,) = self._rows.rows([number])
        head = {"row": number, "title": _title(row), "links": self._links(row), "about": _about(row)}
        # A commit or a repository: its text, in which no line is the row's.
        if not row["path"] or row["line_number"] is None:
            text_lines = row["text"].split("\n")[:_MAX_CONTEXT_LINES] if row["text"] else []
            return {**head, "lines": [[None, text_runs(line), False] for line in text_lines]}

        first = max(row["line_number"] - _context_lines(message, "above"), 1)
        last = row["line_number"] + _context_lines(message, "below")
        reading = self._read(number, row, first, last)
        # Waiting would block the kernel; the page asks again.
        if not reading.done():
            return {**head, "pending": True}

        try:
            context = reading.result()
        except Exception as error:  # noqa: BLE001 - of any backend; reported to the reader
            context = [(row["line_number"], row["line"])] if row["line"] else []
            head["error"] = one_line(f"the lines around can't be read: {error}", 300)

        is_at_end = not context or context[-1][0] < last
        return {**head, "lines": _marked_lines(row, context), "top": first == 1, "bottom": is_at_end}

    def _read(self, number: int, row: Mapping[str, Any], first: int, last: int) -> Future[list[tuple[int, str]]]:
        """Start to read the lines around a row, or return the reading that has been started."""
        key = (number, first, last)
        if key not in self._reads:
            # The page shows the lines of one row at a time.
            self._reads.clear()
            commit = row["commit"] or row["revision"] or ""
            self._reads[key] = self._source.read(row["repository"], commit, row["path"], first, last)
        return self._reads[key]

    def _links(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        links = []
        # A checkout may be gone, or not readable.
        with suppress(OSError):
            for link in self._source.links.of(explorer_rows.facts_of(row)):
                links.append(
                    {"kind": link.kind, "words": link.words, "href": link.href, "path": link.path, "line": link.line}
                )
        return links


def _number(value: Any) -> int:
    # `abs` also excludes NaN and infinity, for which `int` would raise. JavaScript's integers are exact below 2**53.
    if isinstance(value, int | float) and abs(value) < 2**53:
        return max(int(value), 0)
    return 0


def _context_lines(message: Mapping[str, Any], name: str) -> int:
    """Return how many lines above or below a row the page wants."""
    return min(_number(message.get(name)), _MAX_CONTEXT_LINES)


def _parse_query(value: Any) -> explorer_rows.RowQuery:
    """Parse a request of the page; invalid parts are ignored."""
    fields = value if isinstance(value, Mapping) else {}

    def text_of(name: str) -> str:
        return str(fields.get(name) or "")[:_MAX_INPUT_CHARS]

    # Null selects the rows without a language, and the empty text all rows.
    language = fields.get("language", "")
    if language is not None:
        language = str(language)[:_MAX_INPUT_CHARS]
    sort = text_of("sort")
    if sort not in explorer_rows.SORTS:
        sort = ""
    return explorer_rows.RowQuery(
        repository=text_of("repository"),
        language=language,
        path=text_of("path"),
        text=text_of("text"),
        sort=sort,
        descending=bool(fields.get("descending")),
    )


def _choices(choices: tuple[tuple[str | None, int], ...]) -> dict[str, Any]:
    """Return the values of a filter, each raw, as displayed and with its rows, and the number of further values."""
    values = []
    for value, count in choices[:_MAX_CHOICES]:
        label = one_line(value, 80) if value else "(none)"
        values.append([value, label, count])
    return {"values": values, "more": max(len(choices) - _MAX_CHOICES, 0)}


def _marked_lines(row: Mapping[str, Any], context: Sequence[tuple[int, str]]) -> list[list[Any]]:
    """Return the lines around a row for the page: number, pieces of the text, whether it is the row's own line."""
    starts = row["start"] or []
    ends = row["end"] or []
    # In a notebook, the lines of cells are strings of JSON.
    if row["line"] is not None and has_json_line(row):
        match = row_line(row)
        starts = match.starts
        ends = match.ends
        texts = dict(context_lines(context))
        texts[row["line_number"]] = match.text
        context = sorted(texts.items())

    lines: list[list[Any]] = []
    for number, text in context:
        if number == row["line_number"]:
            lines.append([number, text_runs(text, starts, ends), True])
        else:
            lines.append([number, text_runs(text), False])
    return lines


def _title(row: Mapping[str, Any]) -> str:
    """Return ``owner/name/src/retry.py:7``, or ``owner/name@1f4c09aa27/src/retry.py:7`` for a commit."""
    location = row["repository"] or ""
    if row["type"] in {"commit", "diff"} and row["commit"]:
        location = f"{row['repository']}@{row['commit'][:10]}"
    if row["path"]:
        location = f"{location}/{row['path']}" if location else row["path"]
    if row["line_number"]:
        location = f"{location}:{row['line_number']}"
    return one_line(location, 400)


def _about(row: Mapping[str, Any]) -> str:
    """Describe a commit by author and date, a definition by kind, a line of a notebook by its cell."""
    cell = ""
    if row["cell"]:
        cell = f"cell {row['cell']} ({row['cell_kind']}), line {row['cell_line']}"

    if row["author"]:
        date = f"{row['author_date']:%Y-%m-%d %H:%M} UTC" if row["author_date"] else ""
        return one_line(", ".join(filter(None, (row["author"], date, row["side"], cell))), 200)
    if cell:
        return one_line(cell, 200)
    if row["symbol"]:
        return one_line(f"{row['symbol_kind']} {row['symbol']}", 200)
    return ""


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as the page shows it: texts that hide nothing, and pieces of its line."""
    folder, slash, name = (row["path"] or "").rpartition("/")
    if row["type"] in {"commit", "diff"} and not row["path"]:
        name = (row["commit"] or "")[:10]

    return {
        "row": row["row"],
        "repository": one_line(row["repository"] or "", 200),
        "folder": one_line(folder + slash, 300),
        "name": one_line(name, 200),
        "line": row["line_number"],
        "language": one_line(row["language"] or "", 60),
        "text": _text(row),
        "title": _title(row),
    }


def _text(row: Mapping[str, Any]) -> list[TextRun]:
    if row["line"] is not None:
        line = row_line(row)
        text = line.text.lstrip(" \t")
        indent = len(line.text) - len(text)
        return text_runs(text, [start - indent for start in line.starts], [end - indent for end in line.ends])

    if row["message"] is not None:
        return text_runs(row["message"].partition("\n")[0])

    title = row["path"] or row["repository"] or ""
    return text_runs(title, row["name_start"] or [], row["name_end"] or [])
