"""Counts of matches: in all, by columns, and as a table.

All three count by one way. A query without a limit and a timeout is counted by the engine, which sends no rows; others,
and those of a backend that can't count, are searched and counted as their rows arrive. A count that is not of all
matches says so by a warning, because a number alone can't.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.client.progress import IncompleteCountWarning, warn, watch
from sourcelight.client.run_maker import RunMaker
from sourcelight.client.search.queries import QueryText, everything, is_bounded, query_text
from sourcelight.client.search.search_run import SearchRun, await_phase, consume
from sourcelight.core.arguments import checks_methods
from sourcelight.core.batches import MATCHES, SERVICE, MatchBatch
from sourcelight.core.batches.results import COUNT_SKIPPED, REPOSITORIES_COUNTED
from sourcelight.core.wire.decode import decode_skipped
from sourcelight.display.notebook import ProgressChoice

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyarrow import Table

_OTHER_NAMES = {"repo": "repository", "file": "path", "lang": "language"}
"""Filters of queries, and the columns that they are about."""

_COUNTABLE = tuple(
    column.name for column in MATCHES if column.is_visible and column.type in {"dict8", "dict32", "string", "int32"}
)


@checks_methods
class CountMethods(RunMaker):
    """Awaited counts of matches, for which no row is sent where the engine can count."""

    async def count(
        self,
        query: QueryText,
        *,
        pattern_type: str = "standard",
        timeout_s: float | None = None,
        exhaustive: bool = False,
        progress: ProgressChoice = None,
    ) -> int:
        """Count matches without reading lines, all of them unless the query limits their number.

        Parameters
        ----------
        query, pattern_type, timeout_s, exhaustive, progress
            As in `search`.

        Returns
        -------
        int
            The number of matches. An incomplete count emits an `IncompleteCountWarning`.

        Raises
        ------
        QueryError
            When the query can't be parsed; `position` and `hint` say where and why.
        """
        run = self._counting_run(query, exhaustive=exhaustive, pattern_type=pattern_type, timeout_s=timeout_s)
        return sum((await self._count(run, (), progress))["matches"].to_pylist())

    async def count_by(
        self,
        query: QueryText,
        by: str | Sequence[str],
        *,
        pattern_type: str = "standard",
        timeout_s: float | None = None,
        exhaustive: bool = False,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """Count matches per repository, language, path or another column, without reading lines.

        Parameters
        ----------
        query
            As in `search`. Counts all matches unless the query limits their number.
        by
            Columns of ``columns_of("matches")`` to group by, such as ``"repository"`` or
            ``["repository", "language"]``.
        pattern_type, timeout_s, exhaustive, progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per group: the columns of `by`, `matches` (int64), `files` (int64); most matches first. Empty
            without matches. An incomplete count emits an `IncompleteCountWarning`, and ``attrs["status"]`` says so.

        Raises
        ------
        QueryError
            When the query can't be parsed; `position` and `hint` say where and why.
        """
        from sourcelight.display.frames.aggregates import counts_frame

        run, table = await self._count_by(
            query, by, exhaustive=exhaustive, pattern_type=pattern_type, timeout_s=timeout_s, progress=progress
        )
        frame: DataFrame = counts_frame(table, run.result().attrs | {"query": str(query)})
        return frame

    async def count_table(
        self,
        query: QueryText,
        by: str | Sequence[str],
        *,
        pattern_type: str = "standard",
        timeout_s: float | None = None,
        exhaustive: bool = False,
        progress: ProgressChoice = None,
    ) -> Table:
        """Count as `count_by` does, and return an Arrow table: for installations without pandas.

        Parameters
        ----------
        query, by, pattern_type, timeout_s, exhaustive, progress
            As in `count_by`.

        Returns
        -------
        pyarrow.Table
            The columns and rows of `count_by`. An incomplete count emits an `IncompleteCountWarning`.

        Raises
        ------
        QueryError
            When the query can't be parsed.
        """
        from sourcelight.display.frames.aggregates import counts_table

        _, table = await self._count_by(
            query, by, exhaustive=exhaustive, pattern_type=pattern_type, timeout_s=timeout_s, progress=progress
        )
        return counts_table(table)

    async def _count_by(
        self,
        query: QueryText,
        by: str | Sequence[str],
        *,
        exhaustive: bool,
        pattern_type: str,
        timeout_s: float | None,
        progress: ProgressChoice,
    ) -> tuple[SearchRun, Any]:
        columns = (by,) if isinstance(by, str) else tuple(by)
        countable = (*_COUNTABLE, SERVICE.name) if self.services else _COUNTABLE
        unknown = [column for column in columns if column not in countable]
        if unknown or not columns:
            meant = [_OTHER_NAMES[column] for column in unknown if column in _OTHER_NAMES]
            hint = f"; did you mean {' and '.join(meant)}?" if meant else ""
            raise ValueError(
                f"can't count by {', '.join(unknown) or 'no column'}{hint or ';'} choose from {', '.join(countable)}"
            )
        if len(set(columns)) < len(columns):
            raise ValueError(f"can't count by a column twice: {', '.join(columns)}")

        run = self._counting_run(query, exhaustive=exhaustive, pattern_type=pattern_type, timeout_s=timeout_s)
        return run, await self._count(run, columns, progress)

    def _counting_run(
        self, query: QueryText, *, exhaustive: bool, pattern_type: str, timeout_s: float | None
    ) -> SearchRun:
        # A count is of all matches: the default limit of a search is for people who read them.
        text = everything(query_text(query), pattern_type)
        return self._run(text, exhaustive=exhaustive, pattern_type=pattern_type, timeout_s=timeout_s)

    async def _count(self, run: SearchRun, by: tuple[str, ...], progress: ProgressChoice) -> Any:
        from sourcelight.display.frames.aggregates import MatchCounter

        counter = MatchCounter(by)
        table: Any = None

        async def add(event: MatchBatch) -> None:
            counter.add(event.batch)

        async def work() -> None:
            nonlocal table
            request = run.request

            # Engines count all matches. A query with a timeout or a limit stops early, so its matches are counted as
            # they arrive.
            if request.timeout_s is None and not is_bounded(request.query, request.pattern_type, request.version):
                table = await await_phase(run, run.backend.count(request, by))

            if table is None:
                await consume(run, add)
            else:
                metadata = table.schema.metadata or {}
                repository_count = metadata.get(REPOSITORIES_COUNTED)
                run.state.set_count(
                    sum(table["matches"].to_pylist()),
                    None if repository_count is None else int(repository_count),
                    tuple(map(decode_skipped, json.loads(metadata.get(COUNT_SKIPPED, b"[]")))),
                )
                run.state.finish()

        await watch(run.state, work(), progress, client=self)
        if run.state.status not in {"complete", "partial"}:
            warn(IncompleteCountWarning("; ".join(run.state.reasons)))

        return counter.table() if table is None else table
