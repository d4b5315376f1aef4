"""Commits and changed lines as rows of the ``matches`` table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches import RepositoryInfo, arrow_type
from sourcelight.core.cancellation import Stopped, never
from sourcelight.core.patterns import CompiledPattern
from sourcelight.core.patterns.ranges import disjoint_spans
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import ChangeNumbers, CommitNumbers, RowNumbers, RowPlaces
from sourcelight.engines.history.search import tables
from sourcelight.engines.history.search.commit_columns import batch_sizes, commit_columns
from sourcelight.engines.history.search.find import DiffMatches, removed_rows
from sourcelight.engines.history.search.line_cells import CellColumns
from sourcelight.engines.history.search.matched_rows import MatchedRows, RowOrder
from sourcelight.engines.history.search.previews import DiffPreviews
from sourcelight.engines.history.search.query import Tree, visible_patterns


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
) -> Iterator[Any]:
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
        lines: list[_MessageLine] = []
        for index, text in enumerate(messages.to_pylist()):
            lines += _message_lines(index, text, patterns)

        commit_of_row = np.array([line.commit_index for line in lines], np.int64)
        columns = commit_columns(history, repository_info, "commit", batch_commits, messages, commit_of_row)
        columns |= {
            "line_number": pa.array([line.number for line in lines], pa.int32()),
            "line": pa.array([line.text for line in lines], pa.string()),
            "start": pa.array([line.starts for line in lines], arrow_type("list")),
            "end": pa.array([line.ends for line in lines], arrow_type("list")),
            "match_count": pa.array([max(1, len(line.starts)) for line in lines], pa.int32()),
        }
        yield pa.record_batch(columns)


def _message_lines(commit_index: int, message: str, patterns: Sequence[CompiledPattern]) -> list[_MessageLine]:
    """Return the lines of a message with matches, or the first line of one without; each line once."""
    lines = message.split("\n")
    spans_by_line: dict[int, list[tuple[int, int]]] = {}
    for number, start, end in _line_spans(message.encode(), patterns):
        spans_by_line.setdefault(number, []).append((start, end))

    if not spans_by_line:
        return [_MessageLine(commit_index, 1, lines[0], [], [])]

    matching = []
    for number in sorted(spans_by_line):
        starts = [start for start, _ in spans_by_line[number]]
        ends = [end for _, end in spans_by_line[number]]
        matching.append(_MessageLine(commit_index, number + 1, lines[number], starts, ends))
    return matching


def _line_spans(message: bytes, patterns: Sequence[CompiledPattern]) -> Iterator[tuple[int, int, int]]:
    """Yield matches as index of a line, start and end; a match over several lines is a span in each.

    Spans of a pattern are byte offsets, columns count code points, so each is decoded from the start of its line.
    """
    spans = chain.from_iterable(pattern.find_document(message) for pattern in patterns)
    for span_start, span_end in disjoint_spans(spans):
        line_index = message.count(b"\n", 0, span_start)
        line_start = message.rfind(b"\n", 0, span_start) + 1
        for text in message[span_start:span_end].split(b"\n"):
            if text:
                start = len(message[line_start:span_start].decode("utf-8", "replace"))
                yield line_index, start, start + len(text.decode("utf-8", "replace"))
            line_index += 1
            span_start = line_start = span_start + len(text) + 1  # noqa: PLW2901 - continues in the next line


def diff_matches(
    history: History,
    repository_info: RepositoryInfo,
    matches: DiffMatches,
    stopped: Stopped = never,
    previews: DiffPreviews | None = None,
    cells: CellColumns | None = None,
) -> Iterator[Any]:
    """Yield batches of rows of type ``diff``, newest commit first.

    A row is a changed line with matches; a commit without any has one row, without path and line. `previews` adds the
    columns ``preview`` and ``preview_line``, `cells` those of lines in cells of notebooks.
    """
    rows, changes = matches.rows, matches.row_changes
    # Without a visible term there is nothing to show in a line: a row is of its commit.
    if not matches.patterns and not matches.spans:
        rows, changes = RowNumbers(rows[:0]), ChangeNumbers(changes[:0])

    rank = np.zeros(len(history.commits), np.int64)
    rank[matches.commits] = np.arange(len(matches.commits))
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

    def make(self, commits: CommitNumbers, rows: RowNumbers, changes: ChangeNumbers) -> Any:
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
    ) -> dict[str, Any]:
        # Previews take rows by commit; `positions` brings their answers back to the order of the matches.
        by_commit = np.argsort(order.commit_of_row, kind="stable")
        positions = np.empty(len(by_commit), np.int32)
        positions[by_commit] = np.arange(len(by_commit), dtype=np.int32)
        commit_of_row = order.commit_of_row[by_commit]
        columns = previews.columns(
            self.history, commits, lambda: self.matches.changes, commit_of_row, row_places.take(by_commit), self.stopped
        )
        return {
            "preview": columns["preview"].dictionary_encode().take(pa.array(order.commits)),
            "preview_line": order.arrange(columns["preview_line"].take(pa.array(positions))),
        }
