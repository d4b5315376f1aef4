"""Changed lines that match, with their spans, and the order in which a batch has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import Int64Array, distinct
from sourcelight.core.batches import arrow_type
from sourcelight.core.cancellation import Stopped
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import ChangeNumbers, CommitNumbers, RowNumbers
from sourcelight.engines.history.search import tables
from sourcelight.engines.history.search.find import DiffMatches
from sourcelight.engines.history.search.tables import Column


@dataclass(frozen=True, slots=True)
class MatchedRows:
    """Changed lines with at least one span, and their spans.

    Attributes
    ----------
    rows, changes
        The lines, and the change of each.
    counts
        Number of spans of each row.
    lines, line_of_row
        Distinct texts as bytes with their newlines, and the position of each row's text in them.
    starts, ends, spans_of_row
        Lists of the starts and of the ends of spans in characters, and the position of each row's list in both.
    """

    rows: RowNumbers
    changes: ChangeNumbers
    counts: Int64Array
    lines: Column
    line_of_row: Column
    starts: Column
    ends: Column
    spans_of_row: Column

    @classmethod
    def find(
        cls, history: History, rows: RowNumbers, changes: ChangeNumbers, matches: DiffMatches, stopped: Stopped
    ) -> MatchedRows:
        """Find the spans of some rows, and drop rows without one, as of an empty match: they have nothing to show."""
        lines, line_of_row = tables.distinct_lines(history, rows)
        if matches.spans is None:
            # By distinct text: a line that a hundred commits add is searched once.
            starts, ends = tables.line_spans(lines, matches.patterns, stopped)
            spans_of_row = line_of_row
        else:
            # Structures are places in a file: the same text elsewhere holds none, or another part of one.
            spans = [matches.spans[row] for row in rows.tolist()]
            starts, ends = tables.spans_to_columns(lines.take(line_of_row), spans)
            spans_of_row = pa.array(np.arange(len(rows), dtype=np.int32))

        # A row may be selected without a span, as for an empty match: it has nothing to show.
        counts = np.diff(tables.int32_of(starts.offsets))[tables.int32_of(spans_of_row)]
        with_match = np.flatnonzero(counts)
        selected = pa.array(with_match)
        return cls(
            rows=RowNumbers(rows[with_match]),
            changes=ChangeNumbers(changes[with_match]),
            counts=counts[with_match],
            lines=lines,
            line_of_row=line_of_row.take(selected),
            starts=starts,
            ends=ends,
            spans_of_row=spans_of_row.take(selected),
        )

    def first_byte(self, row: int) -> int:
        """Return the byte offset of the first span of a row in its line."""
        line = self.lines[self.line_of_row[row].as_py()].as_py().decode("utf-8", "surrogateescape")
        start = self.starts[self.spans_of_row[row].as_py()][0].as_py()
        return len(line[:start].encode("utf-8", "surrogateescape"))


@dataclass(frozen=True, slots=True)
class RowOrder:
    """The order of a batch: its rows of matches, and one row for each commit without any, by commit.

    Attributes
    ----------
    commit_of_row
        Position in the batch of the commit of each row of matches.
    commits
        Position of the commit of each row of the batch.
    order
        The row of matches for each row of the batch. Rows without a match have the numbers after all rows of matches.
    rows
        The same, with null for rows without a match.
    empty_count
        Number of the rows without a match.
    """

    commit_of_row: Int64Array
    commits: Int64Array
    order: Int64Array
    rows: Column
    empty_count: int

    @classmethod
    def by_commit(cls, history: History, commits: CommitNumbers, changes: ChangeNumbers) -> RowOrder:
        """Order rows, whose changes are given, as `commits` are ordered."""
        # `commits` is newest first, so it is sorted by number to be searched.
        by_number = np.argsort(commits, kind="stable")
        of_commit = history.changes.commit[changes].astype(np.int64)
        commit_of_row = by_number[np.searchsorted(commits[by_number], of_commit)]
        without_match = np.setdiff1d(np.arange(len(commits)), distinct(commit_of_row))
        all_commits = np.concatenate((commit_of_row, without_match))

        # Stable, so that the rows of a commit keep the order of its changes.
        order = np.argsort(all_commits, kind="stable")
        # Null for rows without a match, so that one `take` fills a column in the final order.
        row_or_null = pa.concat_arrays(
            [pa.array(np.arange(len(changes), dtype=np.int32)), pa.nulls(len(without_match), pa.int32())]
        )
        return cls(
            commit_of_row=commit_of_row,
            commits=all_commits[order],
            order=order,
            rows=row_or_null.take(pa.array(order)),
            empty_count=len(without_match),
        )

    def arrange(self, values: Column) -> Column:
        """Bring values of the rows of matches into the order, with null for the rows without."""
        return values.take(self.rows)

    def arrange_spans(self, spans: Column) -> Column:
        """Bring spans of the rows of matches into the order, with no span for the rows without."""
        no_spans = pa.array([[]] * self.empty_count, arrow_type("list"))
        return pa.concat_arrays([spans, no_spans]).take(pa.array(self.order))
