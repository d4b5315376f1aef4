"""Commits and changed lines as rows of the ``matches`` table.

Changed lines come with the spans of their matches. A batch has the changes of a commit in the order of the history.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import Int64Array, distinct
from sourcelight.core.batches import RepositoryInfo, arrow_type
from sourcelight.core.cancellation import Stopped, never
from sourcelight.core.code_points import points_in_text
from sourcelight.core.patterns import CompiledPattern
from sourcelight.core.patterns.ranges import disjoint_spans
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import ChangeNumbers, CommitNumbers, RowNumbers, RowPlaces
from sourcelight.engines.history.search import tables
from sourcelight.engines.history.search.commit_columns import MAX_BATCH_ROWS, batch_sizes, commit_columns
from sourcelight.engines.history.search.find import DiffMatches
from sourcelight.engines.history.search.line_cells import CellColumns
from sourcelight.engines.history.search.lines import removed_rows
from sourcelight.engines.history.search.order import rank_commits
from sourcelight.engines.history.search.previews import DiffPreviews
from sourcelight.engines.history.search.query import Tree, visible_patterns
from sourcelight.engines.history.search.tables import Batch, Column


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


@dataclass(frozen=True, slots=True)
class _MessageLine:
    """A line of a commit's message, with the characters of its matches."""

    commit_index: int
    number: int
    text: str
    starts: list[int]
    ends: list[int]


def commit_matches(
    history: History, repository_info: RepositoryInfo, commits: CommitNumbers, tree: Tree | None
) -> Iterator[Batch]:
    """Yield batches of rows of type ``commit``, in the given order.

    A row is a line of the message with matches; a commit without any has one row, for the first line.
    """
    patterns = visible_patterns(tree)
    start = 0
    for size in batch_sizes():
        if start >= len(commits):
            return

        batch_commits = CommitNumbers(commits[start : start + size])
        start += size
        messages = tables.message_texts(history, batch_commits)
        # Once for each commit: a message of 8 MiB may have millions of lines with matches, in thousands of batches.
        every_commit = np.arange(len(batch_commits))
        columns = commit_columns(history, repository_info, "commit", batch_commits, messages, every_commit)
        by_commit = pa.record_batch(columns)
        rows: list[_MessageLine] = []
        for row in _lines_of_messages(messages.to_pylist(), patterns):
            rows.append(row)
            if len(rows) == MAX_BATCH_ROWS:
                yield _message_batch(by_commit, rows)
                rows = []

        if rows:
            yield _message_batch(by_commit, rows)


def _message_batch(by_commit: Batch, rows: Sequence[_MessageLine]) -> Batch:
    """Return rows with the columns of their commits."""
    batch = by_commit.take(pa.array([row.commit_index for row in rows], pa.int64()))
    columns = dict(zip(batch.schema.names, batch.columns, strict=True)) | {
        "line_number": pa.array([row.number for row in rows], pa.int32()),
        "line": pa.array([row.text for row in rows], pa.string()),
        "start": pa.array([row.starts for row in rows], arrow_type("list")),
        "end": pa.array([row.ends for row in rows], arrow_type("list")),
        "match_count": pa.array([max(1, len(row.starts)) for row in rows], pa.int32()),
    }
    return pa.record_batch(columns)


def _lines_of_messages(messages: Sequence[str], patterns: Sequence[CompiledPattern]) -> Iterator[_MessageLine]:
    for index, message in enumerate(messages):
        yield from _message_lines(index, message, patterns)


def _message_lines(commit_index: int, message: str, patterns: Sequence[CompiledPattern]) -> Iterator[_MessageLine]:
    """Yield the lines of a message with matches, or the first line of one without; each line once."""
    data = message.encode()
    lines = data.split(b"\n")
    spans = chain.from_iterable(pattern.find_document(data) for pattern in patterns)
    has_match = False
    for number, offsets in _offsets_by_line(lines, spans):
        has_match = True
        # All of a line at once: it may match at each of its bytes.
        points = points_in_text(lines[number], offsets)
        yield _MessageLine(commit_index, number + 1, lines[number].decode(), points[::2], points[1::2])

    if not has_match:
        yield _MessageLine(commit_index, 1, lines[0].decode(), [], [])


def _offsets_by_line(lines: Sequence[bytes], spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, list[int]]]:
    """Yield the index of each line with matches, in order, and their starts and ends in turn, in bytes of the line.

    A match over several lines is a span in each that it covers a part of.
    """
    line_starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    current = 0
    offsets: list[int] = []
    for span_start, span_end in disjoint_spans(spans):
        number = bisect_right(line_starts, span_start) - 1
        while number < len(lines) and line_starts[number] < span_end:
            start = max(span_start - line_starts[number], 0)
            end = min(span_end - line_starts[number], len(lines[number]))
            if start < end:
                if offsets and number != current:
                    yield current, offsets
                    offsets = []
                current = number
                offsets += [start, end]
            number += 1

    if offsets:
        yield current, offsets


def diff_matches(
    history: History,
    repository_info: RepositoryInfo,
    matches: DiffMatches,
    stopped: Stopped = never,
    previews: DiffPreviews | None = None,
    cells: CellColumns | None = None,
) -> Iterator[Batch]:
    """Yield batches of rows of type ``diff``, newest commit first.

    A row is a changed line with matches; a commit without any has one row, without path and line. `previews` adds the
    columns ``preview`` and ``preview_line``, `cells` those of lines in cells of notebooks.
    """
    rows, changes = matches.rows, matches.row_changes
    # Without a visible term there is nothing to show in a line: a row is of its commit.
    if not matches.patterns and not matches.spans:
        rows, changes = RowNumbers(rows[:0]), ChangeNumbers(changes[:0])

    rank = rank_commits(history, matches.commits)
    counts = np.bincount(rank[history.changes.commit[changes]], minlength=len(matches.commits))

    # Rows are sorted by commit, so the rows of commits i to j are one slice: row_ends[i] to row_ends[j].
    row_ends = np.concatenate(([0], np.cumsum(counts)))
    # A commit without matching lines still takes one row of a batch.
    weights = np.concatenate(([0], np.cumsum(np.maximum(counts, 1))))
    batches = _DiffBatches(history, repository_info, matches, stopped, previews, cells)
    start = 0
    for size in batch_sizes():
        if start >= len(matches.commits):
            return

        end = min(int(np.searchsorted(weights, weights[start] + size)), len(matches.commits))
        row_range = slice(int(row_ends[start]), int(row_ends[end]))
        yield batches.make(
            CommitNumbers(matches.commits[start:end]), RowNumbers(rows[row_range]), ChangeNumbers(changes[row_range])
        )
        start = end


@dataclass(frozen=True, slots=True)
class _DiffBatches:
    """Makes the record batches of one search; parameters as those of `diff_matches`."""

    history: History
    repository_info: RepositoryInfo
    matches: DiffMatches
    stopped: Stopped
    previews: DiffPreviews | None
    cells: CellColumns | None

    def make(self, commits: CommitNumbers, rows: RowNumbers, changes: ChangeNumbers) -> Batch:
        """Return the batch of some commits, whose matching rows and their changes are given."""
        history = self.history
        matched = MatchedRows.find(history, rows, changes, self.matches, self.stopped)
        order = RowOrder.by_commit(history, commits, matched.changes)
        removed = removed_rows(history, matched.rows)
        row_places = RowPlaces(matched.changes, removed, tables.line_numbers(history, matched.rows, removed))
        # The row of a commit without a matching line counts as one match.
        counts = np.concatenate((matched.counts, np.ones(order.empty_count)))[order.order]
        sides = pa.array(np.where(removed, "removed", "added").tolist(), pa.string())
        lines = tables.as_text(tables.without_newlines(matched.lines)).take(matched.line_of_row)

        # One dictionary entry a commit: rows of the same commit share the message.
        messages = tables.message_texts(history, commits)
        columns = commit_columns(history, self.repository_info, "diff", commits, messages, order.commits)
        columns |= {
            "path": order.arrange(tables.paths(history, history.changes.path[matched.changes])),
            "line_number": order.arrange(pa.array(row_places.numbers.astype(np.int32))),
            "line": order.arrange(lines),
            "start": order.arrange_spans(matched.starts.take(matched.spans_of_row)),
            "end": order.arrange_spans(matched.ends.take(matched.spans_of_row)),
            "match_count": pa.array(counts.astype(np.int32)),
            "side": order.arrange(sides).dictionary_encode().cast(arrow_type("dict8")),
        }
        if self.cells is not None:
            for name, column in self.cells(history, row_places, matched.first_byte).items():
                columns[name] = order.arrange(column)

        if self.previews is not None:
            columns |= self._preview_columns(self.previews, commits, row_places, order)

        return pa.record_batch(columns)

    def _preview_columns(
        self, previews: DiffPreviews, commits: CommitNumbers, row_places: RowPlaces, order: RowOrder
    ) -> dict[str, Column]:
        # Previews take rows by commit; `positions` brings their answers back to the order of the matches.
        by_commit = np.argsort(order.commit_of_row, kind="stable")
        positions = np.empty(len(by_commit), np.int32)
        positions[by_commit] = np.arange(len(by_commit), dtype=np.int32)
        commit_of_row = order.commit_of_row[by_commit]
        columns = previews.columns(
            self.history, commits, lambda: self.matches.changes, commit_of_row, row_places.take(by_commit), self.stopped
        )
        return {
            "preview": columns.preview.dictionary_encode().take(pa.array(order.commits)),
            "preview_line": order.arrange(columns.preview_line.take(pa.array(positions))),
        }
