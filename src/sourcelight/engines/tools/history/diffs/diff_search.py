"""`diff_search`: added and removed lines that match.

Each process searches the histories of its repositories and returns the lines of as many commits as an answer shows;
these are combined, and the newest commits of all repositories are taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute

from sourcelight.core.arrays import Int64Array, mask_of
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.patterns import CompiledPattern
from sourcelight.core.tools.commits import DIFF_SEARCH, DiffSearchArguments
from sourcelight.engines.history.model import ChangeNumbers, CommitNumbers, RowNumbers
from sourcelight.engines.history.search import tables as change_tables
from sourcelight.engines.history.search.find import DiffMatches, find_diffs
from sourcelight.engines.history.search.query import CommitFilter, DiffQuery, PatternTerm, Side
from sourcelight.engines.history.search.trailer_columns import agent_column
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler, PartialResult, Split
from sourcelight.engines.tools.history import tables as columns
from sourcelight.engines.tools.history.diffs.hunks import render_diffs, served_results
from sourcelight.engines.tools.history.diffs.items import DIFF_ITEMS
from sourcelight.engines.tools.history.filters import any_of, dates_of, files_of, pattern_of
from sourcelight.engines.tools.history.histories import OpenedHistory, open_histories, revisions_of
from sourcelight.engines.tools.history.newest_commits import limit_of, newest

DEFAULT_COUNT = 20
"""Commits of an answer without a limit."""

_SLICE_ROWS = 500_000
"""Rows of the table that are made at once: their texts take about 100 bytes each."""


@dataclass(frozen=True, slots=True)
class _DiffMatches:
    """Changed lines of a repository's newest commits.

    Attributes
    ----------
    rows
        The lines, as the table ``diff_lines``.
    commits, stamps
        Ids and committer times (seconds) of the commits, newest first; no ids without a limit, which needs none.
    total
        Number of all commits with a match.
    results
        Served alone: an object for each commit, with the hunks of its files that have matches.
    """

    rows: Any
    commits: list[str]
    stamps: Int64Array
    total: int
    results: list[Any]


@dataclass(frozen=True, slots=True)
class _SearchedHistory:
    """A history, its matches, and the matching commits of the requested revisions, newest first."""

    snapshot: OpenedHistory
    matches: DiffMatches
    commits: CommitNumbers

    def times(self, limit: int | None) -> Int64Array:
        """Return the committer times of the newest matching commits, in seconds."""
        times: Int64Array = self.snapshot.history.commits.commit_time[self.commits[:limit]]
        return times


@dataclass(frozen=True, slots=True)
class _ChangedLines:
    """Rows of a history, and the change of each."""

    rows: RowNumbers
    changes: ChangeNumbers


def _gather_diffs(arguments: DiffSearchArguments, context: ToolContext) -> PartialResult:
    after, before, echoed = dates_of(DIFF_SEARCH.name, arguments.after, arguments.before)
    pattern = pattern_of(
        DIFF_SEARCH.name, "pattern", arguments.pattern, regexp=bool(arguments.use_regex), one_line=True
    )
    query = _query(arguments, pattern, after, before)
    histories = open_histories(DIFF_SEARCH.name, context, arguments.repos, *revisions_of(arguments.revisions))
    searched = [_search(snapshot, query, context) for snapshot in histories.selections]
    limit = limit_of(arguments.limit, context, DEFAULT_COUNT)
    counts = newest([history.times(limit) for history in searched], limit)
    results: dict[str, _DiffMatches] = {}
    for history, count in zip(searched, counts, strict=True):
        snapshot = history.snapshot
        commits = CommitNumbers(history.commits[:count])
        changed_lines = _lines_of_commits(history, commits)
        match = _DiffMatches(
            rows=_diff_lines(snapshot, changed_lines, history.matches.patterns),
            commits=[] if limit is None else columns.oids(snapshot.history, commits),
            stamps=snapshot.history.commits.commit_time[commits],
            total=len(history.commits),
            results=[],
        )
        if context.served:
            match.results.extend(served_results(snapshot, changed_lines.changes, pattern, query.sides))

        results[snapshot.name] = match

    return histories.to_partial_result(results, echoed)


def _search(snapshot: OpenedHistory, query: DiffQuery, context: ToolContext) -> _SearchedHistory:
    with context.watch_scan() as stopped:
        matches = find_diffs(snapshot.history, query, stopped)
    return _SearchedHistory(snapshot, matches, CommitNumbers(matches.commits[snapshot.mask[matches.commits]]))


def _query(
    arguments: DiffSearchArguments, pattern: CompiledPattern, after: int | None, before: int | None
) -> DiffQuery:
    regexp = bool(arguments.use_regex)
    # Both or neither asks for all changed lines.
    sides: tuple[Side, ...] = ("added", "removed")
    if bool(arguments.added) != bool(arguments.removed):
        sides = ("added",) if arguments.added else ("removed",)

    authors = list(arguments.authors or ())
    if arguments.author:
        authors.append(arguments.author)

    return DiffQuery(
        commits=CommitFilter(
            authors=any_of(DIFF_SEARCH.name, "authors", authors, regexp=regexp, one_line=True),
            after=after,
            before=before,
        ),
        files=files_of(DIFF_SEARCH.name, arguments.files, regexp=regexp),
        tree=PatternTerm(pattern),
        sides=sides,
        changes="count" if arguments.changes == "count" else "lines",
    )


def _lines_of_commits(history: _SearchedHistory, commits: CommitNumbers) -> _ChangedLines:
    """Return the matching rows of some commits, and the change of each."""
    stored = history.snapshot.history
    matches = history.matches
    is_shown = mask_of(commits, len(stored.commits))
    mask = is_shown[stored.changes.commit[matches.row_changes]]
    return _ChangedLines(RowNumbers(matches.rows[mask]), ChangeNumbers(matches.row_changes[mask]))


def _diff_lines(snapshot: OpenedHistory, lines: _ChangedLines, patterns: tuple[CompiledPattern, ...]) -> Any:
    """Return the table ``diff_lines``, made in batches that bound the memory."""
    batches = []
    for start in range(0, len(lines.rows), _SLICE_ROWS):
        batch = slice(start, start + _SLICE_ROWS)
        rows = RowNumbers(lines.rows[batch])
        changes = ChangeNumbers(lines.changes[batch])
        batches.append(diff_rows(snapshot, rows, changes, patterns))
    return columns.join("diff_lines", batches)


def _combine_diffs(arguments: DiffSearchArguments, context: ToolContext, part: PartialResult) -> ToolResult:
    matches: list[_DiffMatches] = list(part.results.values())
    counts = newest([match.stamps for match in matches], limit_of(arguments.limit, context, DEFAULT_COUNT))
    newest_matches = [_first(match, count) for match, count in zip(matches, counts, strict=True)]
    shown_count = sum(counts)
    total = sum(match.total for match in matches)
    notices = list(part.notices)
    if shown_count < total:
        notices.append(
            f"Only the newest {shown_count:,} of {total:,} commits are shown; ask for more or narrow the search."
        )

    attributes: dict[str, Any] = {
        "pattern": arguments.pattern,
        "repositories": part.names,
        "total": total,
        **part.dates,
    }
    if context.served:
        attributes["results"] = list(chain.from_iterable(match.results for match in newest_matches))

    return ToolResult(
        columns="diff_lines",
        table=columns.join("diff_lines", [match.rows for match in newest_matches]),
        attributes=attributes,
        complete=part.complete and shown_count == total,
        notices=tuple(notices),
    )


def _first(match: _DiffMatches, count: int) -> _DiffMatches:
    """Return the matches of the first `count` commits."""
    if count == len(match.stamps):
        return match
    commits = set(match.commits[:count])
    of_rows = match.rows.column("commit").cast(pa.string())
    mask = pa.compute.is_in(of_rows, value_set=pa.array(sorted(commits), pa.string()))
    results = [result for result in match.results if result["oid"] in commits]
    return replace(match, rows=columns.compact(match.rows.filter(mask)), results=results)


def diff_rows(
    selection: OpenedHistory, rows: RowNumbers, changes: ChangeNumbers, patterns: tuple[CompiledPattern, ...]
) -> Any:
    """Return rows of the table ``diff_lines`` for rows of one history, `changes` being the change of each."""
    batch = change_tables.line_batch(selection.history, rows, changes, patterns)
    values = dict(zip(batch.schema.names, batch.columns, strict=True))
    values["agent"] = agent_column(selection.history, selection.history.changes.commit[changes])
    return columns.table("diff_lines", values, len(rows))


DIFF_SEARCH_HANDLER = Handler(DIFF_SEARCH, Split(_gather_diffs, _combine_diffs), render_diffs, DIFF_ITEMS)
HANDLERS: tuple[Handler[Any], ...] = (DIFF_SEARCH_HANDLER,)
