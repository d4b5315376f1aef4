"""The explorer's widget: answers the requests of its page in the browser. Loads anywidget.

The synchronized state has the page's program, style and filters. Rows go by message, on request.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
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
from sourcelight.display.notebook.widgets.explorer_rows import (
    SORTS,
    ExplorerRows,
    RowQuery,
    RowSelection,
    RowSource,
    facts_of,
)

_CHOICES = 200  # values of a drop-down, which counts the further ones
_PAGE = 400
_VIEWS = 8
_AROUND = 500
_NOTES = 6
_FIRST_PAGE_S, _LOOK_S = 0.5, 0.2


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

    def __init__(self, source: RowSource) -> None:
        self._source = source
        self._rows = ExplorerRows()
        self._selections: dict[str, RowSelection] = {}
        self._last = RowQuery()
        self._reads: dict[tuple[int, int, int], Future[list[tuple[int, str]]]] = {}
        super().__init__()
        self.on_msg(self._on_message)
        self.observe(self._on_filters, "filters")

    def __repr__(self) -> str:
        return self._source.text()

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle = super()._repr_mimebundle_(**options)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        fallback = {"text/plain": self._source.text(), "text/html": self._source.html()}
        return {**(data or {}), **fallback}

    def _ipython_display_(self) -> None:
        until = time.monotonic() + _FIRST_PAGE_S
        while self._source.update().phase == "running" and not self._source.batches() and time.monotonic() < until:
            time.sleep(0.02)  # wait a moment, so that the page for exports has rows
        page = display_widget(self._repr_mimebundle_(), self._source.text(), self._source.html())
        if page is not None and self._source.update().phase == "running":
            threading.Thread(target=self._finish_page, args=(page,), name="sourcelight-page", daemon=True).start()

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

        answer = {"view": self._view, "rows": self._page, "lines": self._lines, "stop": self._on_stop}.get(
            str(message.get("kind"))
        )
        if answer is not None:
            reply = answer(message)
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
        while len(self._selections) > _VIEWS:
            del self._selections[next(iter(self._selections))]

        update = self._source.update()
        return {
            "shown": len(selection.numbers),
            "all": len(self._rows),
            "phase": update.phase,
            "headline": visible(update.headline),
            "query": one_line(self._source.query, 300),
            "notes": [[kind, one_line(text, 300)] for kind, text in update.notes[:_NOTES]],
            "more_notes": max(len(update.notes) - _NOTES, 0),
            "repositories": _choices(selection.repositories),
            "languages": _choices(selection.languages),
            **self._page(message),
        }

    def _page(self, message: Mapping[str, Any]) -> dict[str, Any]:
        selection = self._selections.get(str(message.get("from")))
        start, count = _number(message.get("start")), min(_number(message.get("count")), _PAGE)
        if selection is None:
            return {"start": start, "rows": []}

        return {
            "start": start,
            "rows": [_row(row) for row in self._rows.rows(selection.numbers[start : start + count])],
        }

    def _lines(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._rows.take_in(self._source.batches())
        number = _number(message.get("row"))
        if number >= len(self._rows):
            return {"error": "this row doesn't exist"}

        above, below = (min(_number(message.get(name)), _AROUND) for name in ("above", "below"))
        (row,) = self._rows.rows([number])
        head = {"row": number, "title": _title(row), "links": self._links(row), "about": _about(row)}
        if not row["path"] or row["line_number"] is None:
            text_lines = row["text"].split("\n")[:_AROUND] if row["text"] else []
            return {**head, "lines": [[None, text_runs(line), False] for line in text_lines]}

        first, last = max(row["line_number"] - above, 1), row["line_number"] + below
        key = (number, first, last)
        if key not in self._reads:
            self._reads.clear()  # the page shows one place at a time
            commit = row["commit"] or row["revision"] or ""
            self._reads[key] = self._source.read(row["repository"], commit, row["path"], first, last)

        reading = self._reads[key]
        # Waiting would block the kernel; the page asks again.
        if not reading.done():
            return {**head, "pending": True}

        try:
            context = reading.result()
        except Exception as error:  # noqa: BLE001 - of any backend; reported to the reader
            context = [(row["line_number"], row["line"])] if row["line"] else []
            head["error"] = one_line(f"the lines around can't be read: {error}", 300)

        spans = (row["start"] or [], row["end"] or [])
        edges = {"top": first == 1, "bottom": not context or context[-1][0] < last}
        if row["line"] is not None and has_json_line(row):
            match = row_line(row)
            texts = {**dict(context_lines(context)), row["line_number"]: match.text}
            context, spans = sorted(texts.items()), (match.starts, match.ends)

        lines = [
            [
                position,
                text_runs(line, *spans) if position == row["line_number"] else text_runs(line),
                position == row["line_number"],
            ]
            for position, line in context
        ]
        return {**head, "lines": lines, **edges}

    def _links(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        with suppress(OSError):
            return [
                {"kind": link.kind, "words": link.words, "href": link.href, "path": link.path, "line": link.line}
                for link in self._source.links.of(facts_of(row))
            ]
        return []


def _number(value: Any) -> int:
    # `abs` also excludes NaN and infinity, for which `int` would raise. JavaScript's integers are exact below 2**53.
    if isinstance(value, int | float) and abs(value) < 2**53:
        return max(int(value), 0)
    return 0


def _parse_query(value: Any) -> RowQuery:
    """Parse a request of the page; invalid parts are ignored."""
    fields = value if isinstance(value, Mapping) else {}
    texts = {name: str(fields.get(name) or "")[:1000] for name in ("repository", "path", "text", "sort")}
    language = fields.get("language", "")
    return RowQuery(
        repository=texts["repository"],
        language=None if language is None else str(language)[:1000],
        path=texts["path"],
        text=texts["text"],
        sort=texts["sort"] if texts["sort"] in SORTS else "",
        descending=bool(fields.get("descending")),
    )


def _choices(choices: tuple[tuple[str | None, int], ...]) -> dict[str, Any]:
    """Return the values of a filter, each raw, as displayed and with its rows, and the number of further values."""
    visible = [[value, one_line(value, 80) if value else "(none)", count] for value, count in choices[:_CHOICES]]
    return {"values": visible, "more": max(len(choices) - _CHOICES, 0)}


def _title(row: Mapping[str, Any]) -> str:
    location = "/".join(part for part in (row["repository"], row["path"]) if part)
    if row["type"] in {"commit", "diff"} and row["commit"]:
        location = f"{row['repository']}@{row['commit'][:10]}{'/' + row['path'] if row['path'] else ''}"
    return one_line(f"{location}:{row['line_number']}" if row["line_number"] else location, 400)


def _about(row: Mapping[str, Any]) -> str:
    """Describe a commit by author and date, a definition by kind, a line of a notebook by its cell."""
    cell = f"cell {row['cell']} ({row['cell_kind']}), line {row['cell_line']}" if row["cell"] else ""
    if row["author"]:
        when = f"{row['author_date']:%Y-%m-%d %H:%M} UTC" if row["author_date"] else ""
        return one_line(", ".join(filter(None, (row["author"], when, row["side"], cell))), 200)
    return one_line(cell or (f"{row['symbol_kind']} {row['symbol']}" if row["symbol"] else ""), 200)


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as the page shows it: texts that hide nothing, and pieces of its line."""
    folder, _, name = (row["path"] or "").rpartition("/")
    if row["type"] in {"commit", "diff"} and not row["path"]:
        folder, name = "", (row["commit"] or "")[:10]

    return {
        "row": row["row"],
        "repository": one_line(row["repository"] or "", 200),
        "folder": one_line(f"{folder}/" if folder else "", 300),
        "name": one_line(name, 200),
        "line": row["line_number"],
        "language": one_line(row["language"] or "", 60),
        "text": _text(row),
        "title": _title(row),
    }


def _text(row: Mapping[str, Any]) -> list[TextRun]:
    if row["line"] is not None:
        line = row_line(row)
        stripped = line.text.lstrip(" \t")
        by = len(line.text) - len(stripped)
        return text_runs(stripped, [start - by for start in line.starts], [end - by for end in line.ends])

    if row["message"] is not None:
        return text_runs(row["message"].partition("\n")[0])

    title = row["path"] or row["repository"] or ""
    return text_runs(title, row["name_start"] or [], row["name_end"] or [])
