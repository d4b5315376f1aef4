"""Several searches at once, and the one labelled answer that they give.

A few searches are under way at a time, each with a state of its own; one that fails keeps what it has, and only if all
fail is the first error raised. The answer is a `SearchResult` with the rows of all searches one after another, so that
everything that shows, writes or joins a result does so with several.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sourcelight.client.search.queries import QueryText, query_text
from sourcelight.client.search.result import SearchResult, metadata, sql_tables_of_result
from sourcelight.client.search.search_run import SearchRun
from sourcelight.core.batches import MatchBatch, RepositoryInfo
from sourcelight.core.errors import SourcelightError
from sourcelight.core.markup import count_of, escape, one_line
from sourcelight.core.wire.request import SearchRequest
from sourcelight.display.frames import NAME, SEARCHES
from sourcelight.display.frames.export import MatchWriter
from sourcelight.display.frames.sql import SqlTables, sql_tables
from sourcelight.display.frames.tables import rows_table, to_pandas
from sourcelight.display.notebook.many_state import ManyState
from sourcelight.display.notebook.views import LinkResolver

if TYPE_CHECKING:
    from sourcelight.display.frames.tables import Frame, Table

_WIDTH = 60
"""Characters of a name or query in the summary; twice as many of other texts."""


class ManyResult(SearchResult):
    """The answers to several searches as one; made by `search_many`.

    It is a `SearchResult` whose `matches` have the `name` of the search as their first column. `searches` has the
    status of each search, and ``result[name]`` its result. The status is the worst of all searches.
    """

    def __init__(self, results: Mapping[str, SearchResult], backend: str, state: ManyState) -> None:
        parts = [result._parts for result in results.values()]  # noqa: SLF001 - a subclass
        batches: list[Any] = []
        infos: dict[str, RepositoryInfo] = {}
        for part in parts:
            batches += part.batches
            infos.update((info.name, info) for info in part.infos)

        title = f"{count_of(len(results), 'search')}: {', '.join(results)}"
        started_at = min(part.asked_at for part in parts)
        super().__init__(
            SearchRequest(title), backend, state, tuple(batches), tuple(infos.values()), asked_at=started_at
        )
        self._source = parts[0].source
        self._results = dict(results)

    @property
    def links(self) -> LinkResolver:
        """Resolver of links for rows: at the service, at their code host, or in JupyterLab."""
        first = next(iter(self._results.values()))
        return replace(super().links, folder_of=first.links.folder_of)

    def __getitem__(self, name: str) -> SearchResult:
        """Return the result of one search."""
        return self._results[name]

    @cached_property
    def searches(self) -> Frame:
        """DataFrame with one row per search: name, query, matches, rows, status, reasons."""
        return self._with_source(to_pandas(rows_table(SEARCHES, self._summary_rows()), SEARCHES))

    def _summary_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "query": result.query,
                "matches": result.match_count,
                "rows": len(result),
                "status": result.status,
                "reasons": "; ".join(result.reasons),
            }
            for name, result in self._results.items()
        ]

    @cached_property
    def arrow(self) -> Table:
        """Arrow table of matches, with the columns of `matches`."""
        import pyarrow as pa

        tables = [_with_name(name, result.arrow) for name, result in self._results.items()]
        return pa.concat_tables(tables).unify_dictionaries()

    @cached_property
    def matches(self) -> Frame:
        """DataFrame as of a `SearchResult`, with the `name` of the search in front, one search after another."""
        return to_pandas(self.arrow, (NAME, *self._columns), self.attrs)

    def _write(self, target: Any, kind: str, *, spreadsheet: bool = False) -> None:
        writer = MatchWriter(target, kind, with_names=True, served=self._served, spreadsheet=spreadsheet)
        try:
            for batch in self.arrow.to_batches():
                writer.write(batch)
        except BaseException:
            writer.discard()
            raise

        writer.finish(metadata(self.attrs))

    def __repr__(self) -> str:
        searches = count_of(len(self._results), "search")
        lines = [f"ManyResult: {count_of(self.match_count, 'match')} of {searches}: {self.status}"]
        for row in self._summary_rows():
            reasons_text = f" ({one_line(row['reasons'], 2 * _WIDTH)})" if row["reasons"] else ""
            name, query = one_line(row["name"], _WIDTH), one_line(row["query"], _WIDTH)
            lines.append(f"  {name}: {count_of(row['matches'], 'match')} of {query}: {row['status']}{reasons_text}")
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002
        from sourcelight.display.notebook.result_view import result_html

        heads = "".join(f'<th scope="col">{column.name}</th>' for column in SEARCHES)
        body = "".join(_html_row(row.values()) for row in self._summary_rows())
        table = f'<table aria-label="Searches"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'
        searches = f'<div class="sl-result"><div class="sl-scroll">{table}</div></div>'
        return {"text/plain": repr(self), "text/html": f"{searches}{result_html(self._view())}"}


@sql_tables.register
def _(result: ManyResult) -> SqlTables:
    tables = sql_tables_of_result(result)
    return replace(tables, frames=lambda: {**tables.frames(), "searches": result.searches})


def _html_row(values: Iterable[Any]) -> str:
    cells = "".join(f"<td>{escape(one_line(str(value), 2 * _WIDTH))}</td>" for value in values)
    return f"<tr>{cells}</tr>"


def _with_name(name: str, table: Table) -> Table:
    import pyarrow as pa

    # A dictionary with one name: four bytes for each row, however long the name is.
    codes = pa.array([0], pa.int32()).take(pa.array([0] * len(table), pa.int64()))
    return table.add_column(0, NAME.name, pa.DictionaryArray.from_arrays(codes, pa.array([name], pa.string())))


def label_queries(queries: Mapping[str, QueryText] | Iterable[QueryText]) -> dict[str, QueryText]:
    """Return queries by name; queries of a list are named by their text.

    Raises
    ------
    ValueError
        Without a query, and for a duplicate query in a list.
    """
    if isinstance(queries, str):
        raise TypeError("give a dict of names and queries, or a list of queries; search() takes one query")

    if isinstance(queries, Mapping):
        by_name = {str(name): query for name, query in queries.items()}
    else:
        query_list = list(queries)
        by_name = {query_text(query): query for query in query_list}
        if len(by_name) < len(query_list):
            raise ValueError("a query occurs twice in the list; pass a dict to name them")

    if not by_name:
        raise ValueError("no queries: give a dict of names and queries")

    return by_name


class SearchManyRun:
    """Several searches from their requests to their statuses.

    Parameters
    ----------
    runs
        The searches by name.
    backend
        Name of the backend that the display shows.
    concurrency
        Searches under way at the same time.
    """

    def __init__(self, runs: Mapping[str, SearchRun], backend: str, concurrency: int) -> None:
        self.runs = dict(runs)
        self.state = ManyState({name: run.state for name, run in runs.items()})
        self._backend = backend
        self._concurrency = concurrency
        self._errors: list[SourcelightError] = []

    async def work(self) -> None:
        """Run all searches; a failure doesn't stop the others.

        Raises
        ------
        SourcelightError
            When every search failed: the error of the first, with what arrived as its `result`.
        """
        # Shared by all workers: `popleft` without an await in between hands out each search once.
        pending = deque(self.runs.items())
        worker_count = min(self._concurrency, len(self.runs))
        workers = [asyncio.create_task(self._work_off(pending)) for _ in range(worker_count)]
        try:
            # Raises only for a bug or a cancellation: errors of single searches are collected in `_errors`.
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            self.state.finish()

        if len(self._errors) == len(self.runs):
            self._errors[0].result = self.result()
            raise self._errors[0]

    async def _work_off(self, pending: deque[tuple[str, SearchRun]]) -> None:
        while pending:
            name, run = pending.popleft()
            self.state.start(name)
            try:
                async with aclosing(run.events()) as events:
                    async for event in events:
                        if isinstance(event, MatchBatch):
                            run.batches.append(event.batch)
            except SourcelightError as exc:
                self._errors.append(exc)

    def result(self) -> ManyResult:
        """Return the result so far."""
        return ManyResult({name: run.result() for name, run in self.runs.items()}, self._backend, self.state)
