"""Searches of a client: `search` and the methods that take the same keywords.

All methods make a run with the same keywords and drive it to its end. `search` keeps its batches, `stream` yields them,
`export` writes them, and `explore` shows them. After an error or an interrupt, `last` has the rows that arrived, except
those of `stream`, which keeps none.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from typing import IO, TYPE_CHECKING, Any

from sourcelight.client.counts import CountMethods
from sourcelight.client.progress import painting, watch
from sourcelight.client.search.queries import QueryText, query_text
from sourcelight.client.search.search_run import unbroken
from sourcelight.core.arguments import checks_methods
from sourcelight.core.batches import Event, MatchBatch
from sourcelight.core.extras import require_notebook
from sourcelight.core.wire.request import CLIENT_MATCHES, SearchRequest
from sourcelight.display.notebook.painter import ProgressChoice

if TYPE_CHECKING:
    from sourcelight.client.search.explanation import QueryExplanation
    from sourcelight.client.search.result import Export, SearchResult
    from sourcelight.client.search.run_source import RunSource
    from sourcelight.client.search.search_many import ManyResult
    from sourcelight.display.notebook.widgets.explorer import Explorer


@checks_methods
class SearchMethods(CountMethods):
    """Awaited searches, which give matches, and awaited counts."""

    async def search(
        self,
        query: QueryText,
        *,
        pattern_type: str = "standard",
        limit: int | None = None,
        context_lines: int | None = None,
        max_line_bytes: int | None = None,
        timeout_s: float | None = None,
        exhaustive: bool = False,
        progress: ProgressChoice = None,
    ) -> SearchResult:
        """Search and return all matches.

        Parameters
        ----------
        query
            What to search for: text in the query language, or an expression made with `sourcelight.q`.
        pattern_type
            Default pattern type: ``standard``, ``keyword``, ``regexp``, ``literal`` or ``ast-grep``; ``patternType:``
            in the query takes precedence.
        limit
            Return at most this many matches; None: all. The search continues, and counts the others.
        context_lines
            Lines on each side of a match, in the column `chunk`; None: no chunks.
        max_line_bytes
            Cut longer lines of a chunk; None: keep them whole.
        timeout_s
            Timeout of the search, in seconds; None: the limit of the backend.
        exhaustive
            Get all matches, also from a service that caps its answers: a capped query is repeated in parts, by
            repository, then language, then path, several at a time, and each file is returned once. Rows arrive when
            their part is complete, and `timeout_s` applies to each part. `skipped` names incomplete parts, and parts
            that remain after 1,000 requests; without such rows, the answer is complete.
        progress
            None: draw in a notebook and on a terminal. True, False, or a callable that gets a snapshot ten times a
            second.

        Returns
        -------
        SearchResult
            All matches. `status` says whether the result is complete, and `skipped` lists skipped files and
            repositories.

        Raises
        ------
        QueryError
            When the query can't be parsed; `position` and `hint` say where and why.
        SearchFailed, StreamBroken, TransportError
            When the search failed; `result` of the error, and `last`, have the rows that arrived.
        """
        run = self._run(
            query,
            exhaustive=exhaustive,
            keeps_rows=True,
            pattern_type=pattern_type,
            limit=limit,
            context_lines=context_lines,
            max_line_bytes=max_line_bytes,
            timeout_s=timeout_s,
        )
        self._last = run

        # A function and no result: `last` is read rarely, and making tables that nobody reads would cost time.
        self._read_last = run.result

        async def keep(event: MatchBatch) -> None:
            # Batches are immutable, so they are kept as they came and joined only when a table is made.
            run.batches.append(event.batch)

        await self._drive(run, keep, progress)
        return run.result()

    async def stream(
        self,
        query: QueryText,
        *,
        pattern_type: str = "standard",
        limit: int | None = None,
        context_lines: int | None = None,
        max_line_bytes: int | None = None,
        timeout_s: float | None = None,
        exhaustive: bool = False,
        progress: ProgressChoice = False,
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of a search as they arrive, without storing them. Leaving the loop stops the search.

        Parameters
        ----------
        query, pattern_type, limit, context_lines, max_line_bytes, timeout_s, exhaustive
            As in `search`.
        progress
            As in `search`, but False by default: nothing is drawn.

        Raises
        ------
        QueryError
            The query can't be parsed.
        SearchFailed
            After the last event, if the service reported that the search failed.
        """
        run = self._run(
            query,
            exhaustive=exhaustive,
            pattern_type=pattern_type,
            limit=limit,
            context_lines=context_lines,
            max_line_bytes=max_line_bytes,
            timeout_s=timeout_s,
        )
        async with painting(run.state, progress), aclosing(run.events()) as events:
            async for event in events:
                yield event

    async def explore(
        self,
        query: QueryText,
        *,
        pattern_type: str = "standard",
        limit: int | None = None,
        context_lines: int | None = None,
        max_line_bytes: int | None = None,
        timeout_s: float | None = None,
        exhaustive: bool = False,
    ) -> Explorer:
        """Return an explorer at once; it shows rows while they arrive, and has a Stop button.

        The search continues after the cell has finished, and the kernel stays free. `last`, or ``result`` of
        the explorer, has what arrived so far. The explorer shows errors.

        Parameters
        ----------
        query, pattern_type, limit, context_lines, max_line_bytes, timeout_s, exhaustive
            As in `search`.
        """
        from sourcelight.client.search.explorer_source import explorer

        return explorer(
            await self._start(
                query,
                exhaustive=exhaustive,
                pattern_type=pattern_type,
                limit=limit,
                context_lines=context_lines,
                max_line_bytes=max_line_bytes,
                timeout_s=timeout_s,
            )
        )

    async def _start(self, query: QueryText, *, exhaustive: bool, **options: Any) -> RunSource:
        """Start a search on this loop and leave it running, for an explorer."""
        require_notebook("anywidget", "the explorer")
        from sourcelight.client.search.run_source import RunSource

        run = self._run(query, exhaustive=exhaustive, **options)
        self._last = run
        self._read_last = run.result
        return RunSource(run)

    async def export(  # noqa: PLR0913 - its options are those of search
        self,
        query: QueryText,
        path: str | os.PathLike[str] | IO[bytes],
        *,
        format: str | None = None,  # noqa: A002 - the name users type
        spreadsheet: bool = False,
        pattern_type: str = "standard",
        limit: int | None = None,
        context_lines: int | None = None,
        max_line_bytes: int | None = None,
        timeout_s: float | None = None,
        exhaustive: bool = False,
        progress: ProgressChoice = None,
    ) -> Export:
        """Write the matches of a search to a file while they arrive, in constant memory.

        The file appears when it is complete. If the search is stopped or breaks, the rows that arrived are kept as
        ``NAME.partial.EXT``; `last` has that path.

        Parameters
        ----------
        query
            As in `search`.
        path
            Path, or an open binary file.
        format
            ``jsonl``, ``csv`` or ``parquet``; None: by the extension of the path. Each has the text unchanged, and
            `sourcelight.read_matches` gives the frame back.
        spreadsheet
            With CSV, whether the file is for people who open it in a spreadsheet: see `SearchResult.to_csv`.
        pattern_type, limit, context_lines, max_line_bytes, timeout_s, exhaustive, progress
            As in `search`.

        Returns
        -------
        Export
            The path, the numbers of rows and matches, and the status.

        Raises
        ------
        ValueError
            For an unknown format, and for `spreadsheet` with another format than CSV.
        """
        from sourcelight.client.search.result import Export, metadata
        from sourcelight.display.frames.export import MatchWriter

        run = self._run(
            query,
            exhaustive=exhaustive,
            pattern_type=pattern_type,
            limit=limit,
            context_lines=context_lines,
            max_line_bytes=max_line_bytes,
            timeout_s=timeout_s,
        )
        run.recover = None  # a file that is stopped holds whole parts only
        writer = MatchWriter(path, format, served=bool(self.services), spreadsheet=spreadsheet)
        self._last_export = None
        self._read_last = lambda: self._last_export

        async def write(event: MatchBatch) -> None:
            await unbroken(asyncio.to_thread(writer.write, event.batch))

        try:
            await self._drive(run, write, progress)
        finally:
            # A limited result is whole as far as the service gives it; an interrupted or failed one gets the name of a
            # partial file.
            end = writer.finish if run.state.status in {"complete", "partial", "limited"} else writer.keep_partial
            if run.state.phase == "failed" and not writer.rows:
                writer.discard()
                final_path = ""
            else:
                final_path = await unbroken(asyncio.to_thread(end, metadata(run.result().attrs)))

            state = run.state
            self._last_export = Export(
                final_path, writer.rows, state.matches, state.status, state.reasons, state.alerts
            )

        return self._last_export

    async def search_many(
        self,
        queries: Mapping[str, QueryText] | Iterable[QueryText],
        *,
        concurrency: int | None = None,
        pattern_type: str = "standard",
        limit: int | None = None,
        context_lines: int | None = None,
        max_line_bytes: int | None = None,
        timeout_s: float | None = None,
        exhaustive: bool = False,
        progress: ProgressChoice = None,
    ) -> ManyResult:
        """Run several searches and return one result, in which each row has the name of its search.

        A search that fails does not stop the others: see `searches` of the result. An interrupt keeps finished
        searches, and the rows of the others that have arrived, in `last`.

        Parameters
        ----------
        queries
            Queries by name; or a list of queries, which are their own names.
        concurrency
            Searches at the same time. None: 1 in this process, where one search uses all cores; 4 at a service.
        pattern_type, limit, context_lines, max_line_bytes, timeout_s, exhaustive, progress
            As in `search`, for each of them.

        Returns
        -------
        ManyResult
            The rows of all searches, with the search in the first column, ``name``; `searches` has one row per search.

        Raises
        ------
        SourcelightError
            When every search failed: the error of the first.
        """
        from sourcelight.client.search.exhaustive import MAX_CONCURRENT
        from sourcelight.client.search.search_many import SearchManyRun, label_queries

        by_label = label_queries(queries)
        if concurrency is not None and concurrency < 1:
            raise ValueError(f"search_many: concurrency must be at least 1, got {concurrency}")

        runs = {
            name: self._run(
                query,
                exhaustive=exhaustive,
                keeps_rows=True,
                pattern_type=pattern_type,
                limit=limit,
                context_lines=context_lines,
                max_line_bytes=max_line_bytes,
                timeout_s=timeout_s,
            )
            for name, query in by_label.items()
        }
        many = SearchManyRun(runs, self._backend.name, concurrency or (1 if self._backend.local else MAX_CONCURRENT))
        self._last = many
        self._read_last = many.result
        await watch(many.state, many.work(), progress, client=self)
        return many.result()

    async def explain(
        self, query: QueryText, *, pattern_type: str = "standard", timeout_s: float | None = None
    ) -> QueryExplanation:
        """Explain a query: its tree, the effect of each filter, what the index rules out, likely mistakes.

        Runs no search. Other services don't explain queries. The explanation then has only the tree, as this version
        parses it, and a note.

        Parameters
        ----------
        query
            Text in the query language, or an expression of `sourcelight.q`.
        pattern_type
            As in `search`.
        timeout_s
            Timeout for the figures of the index, in seconds; None: the limit of the backend.

        Returns
        -------
        QueryExplanation
            Displays itself; `text` is for terminals.

        Raises
        ------
        QueryError
            When the query can't be parsed; the message has the position and a hint.
        """
        from sourcelight.client.search.explanation import QueryExplanation, from_tree

        request = SearchRequest(
            query_text(query), pattern_type=pattern_type, timeout_s=timeout_s, default_matches=CLIENT_MATCHES
        )
        data = await self._backend.explain(request)
        if data is None:
            return from_tree(request, self._backend.name)
        return QueryExplanation(data)
