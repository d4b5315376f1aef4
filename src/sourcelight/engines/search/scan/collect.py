"""Collect matches of several shards and repositories into record batches, in display order.

A record batch costs about the same for three rows as for three thousand, so matches of one scan step wait a moment for
those of the next. Rows of type ``content`` and ``path`` share a batch; a ``path`` row has no line.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array, arrow_array, runs
from sourcelight.core.batches.codecs.raw_matches import RawMatches
from sourcelight.engines.search.model import DocumentNumbers, FileNumbers, LineNumbers, SearchOptions
from sourcelight.engines.search.scan.chunks import chunks_of
from sourcelight.engines.search.scan.columns import (
    BatchSource,
    CollectedBatches,
    FileRows,
    file_columns,
    path_span_columns,
    raw_matches_of,
)
from sourcelight.engines.search.scan.evaluate import FileMatches
from sourcelight.engines.search.scan.line_columns import ROW_TYPES, LineValues, line_columns, row_types
from sourcelight.engines.search.scan.spans import NO_ROWS, MatchedLines, concatenate_lines, matched_lines

# Beyond this size a batch costs per row and not per batch, and its reader waits longer than it gains.
_MAX_BATCH_ROWS = 8192
_MAX_BATCH_BYTES = 1 << 20

_EMPTY = np.zeros(0, dtype=np.int64)


@dataclass(slots=True)
class _GroupedMatches:
    """A `FileMatches` with its lines grouped by file.

    `files` are all its files in display order. `content_index` numbers files with lines, -1 for a path match; content
    file *i* has the rows ``first_row[i]:first_row[i] + row_counts[i]`` of `lines`. Files of one document share rows.
    """

    files: FileNumbers
    content_index: Int64Array
    lines: MatchedLines | None
    row_document: DocumentNumbers
    documents: DocumentNumbers
    first_row: Int64Array
    row_counts: Int64Array
    text_bytes: int

    def match_counts(self) -> Int64Array:
        """Count the matches of each of `files`; 1 for a path match."""
        counts = np.ones(len(self.files), dtype=np.int64)
        if self.lines is not None:
            # Prefix sums: files of one document have the same rows, so the row ranges of files may repeat.
            cumulative = np.concatenate(([0], np.cumsum(self.lines.match_count)))
            in_content = self.content_index >= 0
            content_index = self.content_index[in_content]
            counts[in_content] = (
                cumulative[self.first_row[content_index] + self.row_counts[content_index]]
                - cumulative[self.first_row[content_index]]
            )

        return counts


class MatchCollector:
    """Collects matches of a source and makes batches; with `SearchOptions.in_path_order`, files in path order.

    In path order, files wait until all files before them are searched (`FileMatches.finished_up_to`). `released` counts
    the matches of the files that do not wait.
    """

    def __init__(self, source: BatchSource, options: SearchOptions) -> None:
        self._source = source
        self._options = options
        self._ready: list[tuple[_GroupedMatches, Int64Array]] = []
        self._pending: list[_GroupedMatches] = []

        # Parallel columns of the waiting files: file number, index of its group, its position there, its matches.
        self._pending_files = self._pending_group = self._pending_position = self._pending_matches = _EMPTY
        self.released = 0
        self.matches = self.files = 0
        self._rows = self._bytes = 0

    @property
    def has_batch(self) -> bool:
        """Whether there are matches for a batch."""
        return bool(self._ready)

    @property
    def is_full(self) -> bool:
        """Whether the next batch is large enough that waiting longer saves nothing."""
        return self._rows >= _MAX_BATCH_ROWS or self._bytes >= _MAX_BATCH_BYTES

    @property
    def text_bytes(self) -> int:
        """About how many bytes the lines have that wait for a batch; files with one content share them."""
        return self._bytes

    def text_bytes_in_files(self) -> int:
        """Return how many bytes the lines have that wait for a batch, once for each file that has them."""
        size = 0
        for group, selected in self._ready:
            if group.lines is None:
                continue
            # Prefix sums, as in `match_counts`.
            ends = np.concatenate(([0], np.cumsum(group.lines.line_end - group.lines.line_start)))
            content_index = group.content_index[selected]
            content_index = content_index[content_index >= 0]
            first_row = group.first_row[content_index]
            size += int((ends[first_row + group.row_counts[content_index]] - ends[first_row]).sum())
        return size

    def add(self, file_matches: FileMatches) -> int:
        """Add matches and return their number."""
        finished_up_to = file_matches.finished_up_to
        file_count = len(file_matches.content_files) + len(file_matches.path_files)
        if not file_count:
            self.release(finished_up_to)
            return 0

        group = self._group(file_matches)
        match_counts = group.match_counts()
        match_count = int(match_counts.sum())
        self.matches += match_count
        self.files += file_count
        all_files = np.arange(file_count)

        # Nothing waits, and no file before the last of these can still come: the group needs no sorting.
        if not self._options.in_path_order or (not self._pending and int(group.files[-1]) < finished_up_to):
            self._make_ready(group, all_files, match_count)
            return match_count

        self._pending.append(group)
        self._pending_files = np.concatenate((self._pending_files, group.files))
        self._pending_group = np.concatenate((self._pending_group, np.full(file_count, len(self._pending) - 1)))
        self._pending_position = np.concatenate((self._pending_position, all_files))
        self._pending_matches = np.concatenate((self._pending_matches, match_counts))
        self.release(finished_up_to)
        return match_count

    def last_needed(self, limit: int) -> int | None:
        """Return the file that completes the first `limit` matches in order, or None while there are fewer.

        Waiting files after it are dropped: they can't be among the first `limit` matches any more.
        """
        if self.released + int(self._pending_matches.sum()) < limit:
            return None

        order = np.argsort(self._pending_files, kind="stable")
        cumulative = self.released + np.cumsum(self._pending_matches[order])

        # The file that reaches the limit is needed too, hence + 1.
        selected = order[: int(cumulative.searchsorted(limit)) + 1]
        last_file = int(self._pending_files[selected[-1]]) if len(selected) else None
        dropped = np.delete(np.arange(len(order)), selected)
        self.matches -= int(self._pending_matches[dropped].sum())
        self.files -= len(dropped)

        # Groups without a needed file are dropped, which frees their arrays; the others get new numbers.
        groups, self._pending_group = np.unique(self._pending_group[selected], return_inverse=True)
        self._pending = [self._pending[index] for index in groups.tolist()]
        self._pending_files, self._pending_position = self._pending_files[selected], self._pending_position[selected]
        self._pending_matches = self._pending_matches[selected]
        return last_file

    def release_all(self) -> None:
        """Release all waiting files: no further file comes."""
        self.release(None)

    def release(self, finished_up_to: int | None) -> None:
        """Release the waiting files below `finished_up_to` (None: all of them), in order."""
        if not self._pending:
            return

        # Each batch adds a sorted run, but runs of different shards interleave.
        order = np.argsort(self._pending_files, kind="stable")
        files, group, position = self._pending_files[order], self._pending_group[order], self._pending_position[order]
        match_counts = self._pending_matches[order]
        end = len(files) if finished_up_to is None else int(files.searchsorted(finished_up_to))

        # Neighbors of one group are released together: each release is a slice, not a copy per file.
        boundaries = np.flatnonzero(group[1:end] != group[: max(end - 1, 0)]) + 1
        for selected in np.split(np.arange(end), boundaries):
            if len(selected):
                self._make_ready(
                    self._pending[int(group[selected[0]])], position[selected], int(match_counts[selected].sum())
                )

        self._pending_files, self._pending_group, self._pending_position = files[end:], group[end:], position[end:]
        self._pending_matches = match_counts[end:]
        if not len(self._pending_files):
            self._pending = []

    def _make_ready(self, group: _GroupedMatches, selected: Int64Array, match_count: int) -> None:
        if len(selected):
            self.released += match_count
            self._ready.append((group, selected))
            # The share of the files is an estimate. `is_full` needs no exact size, and files share rows.
            fraction = len(selected) / len(group.files)
            self._rows += len(selected) if group.lines is None else max(len(selected), int(len(group.lines) * fraction))
            self._bytes += int(group.text_bytes * fraction)

    def _group(self, matches: FileMatches) -> _GroupedMatches:
        if not self._options.lines:
            return _path_matches(FileNumbers(np.sort(np.concatenate((matches.content_files, matches.path_files)))))
        if not len(matches.content_files):
            return _path_matches(matches.path_files)

        corpus = self._source.corpus
        rows = matched_lines(corpus, matches.spans)
        row_document = corpus.documents_of(rows.line_start)
        documents = matches.documents

        # Rows ascend by line, so the rows of a document are one run; the documents may come in any order.
        first_row = row_document.searchsorted(documents)
        row_counts = row_document.searchsorted(documents, side="right") - first_row
        files = matches.content_files
        content = np.arange(len(files))
        if len(matches.path_files):
            all_files = np.concatenate((files, matches.path_files))
            content = np.concatenate((content, np.full(len(matches.path_files), -1)))
            order = np.argsort(all_files, kind="stable")
            # Files with content and files matched by path alone arrive separately and are shown in one order.
            files, content = FileNumbers(all_files[order]), content[order]

        text_bytes = int((rows.line_end - rows.line_start).sum())
        return _GroupedMatches(files, content, rows, row_document, documents, first_row, row_counts, text_bytes)

    def take_batch(self) -> CollectedBatches:
        """Return the collected rows as a batch, and empty the collector."""
        ready, self._ready = self._ready, []
        matches, files = self.matches, self.files

        # Raw matches have no chunks, so a search with chunks gets record batches.
        # Estimates are enough: a few more rows of either kind cost no more than the choice of the other.
        is_raw = self._rows <= self._options.raw_rows and not self._options.chunk_matches
        self.matches = self.files = self._rows = self._bytes = 0
        if not ready:
            return CollectedBatches((), matches, files)

        group, selected = _join_ready(ready)
        if is_raw:
            return CollectedBatches((self._raw_matches(group, selected),), matches, files)

        return CollectedBatches((self._record_batch(group, selected),), matches, files)

    def _record_batch(self, group: _GroupedMatches, selected: Int64Array | None) -> Any:
        """Make a record batch of the selected files of a group."""
        import pyarrow as pa

        selected_files, has_lines, row_counts, content_index, order = _select_rows(group, selected)
        lines = self._lines(group, content_index, order)
        files = FileRows(self._source, selected_files, row_counts)
        if lines is not None:
            # 0 is a row with a line, 1 a path match. None spares the column in the common case.
            row_type = None if has_lines.all() else np.repeat(~has_lines, row_counts).astype(np.int8)
            columns = file_columns(files, *row_types(row_type))
            columns |= line_columns(lines, None if row_type is None else row_type == 0)
        else:
            columns = file_columns(files, ROW_TYPES[1:], None)
            columns["match_count"] = arrow_array(np.ones(len(files.files), dtype=np.int32))

        columns |= path_span_columns(files)
        return pa.RecordBatch.from_pydict(columns)

    def _raw_matches(self, group: _GroupedMatches, selected: Int64Array | None) -> RawMatches:
        """Return the selected files of a group as raw arrays; their columns are made on demand."""
        files, in_content, row_counts, _, order = _select_rows(group, selected)
        lines = NO_ROWS if group.lines is None else group.lines
        if order is not None:
            lines = lines.reorder(order)
        file_rows = FileRows(self._source, files, row_counts)
        return raw_matches_of(file_rows, in_content, lines, lambda: self._record_batch(group, selected))

    def _lines(self, group: _GroupedMatches, content_index: Int64Array, order: Int64Array | None) -> LineValues | None:
        """Return the lines of some files with content, in an order (None: unchanged), or None without any."""
        if group.lines is None or not len(content_index):
            return None

        corpus = self._source.corpus
        in_order = group.lines if order is None else group.lines.reorder(order)
        lines = LineValues.of(corpus, in_order, group.row_document if order is None else group.row_document[order])
        if self._options.chunk_matches:
            file = np.repeat(np.arange(len(content_index)), group.row_counts[content_index])
            line = group.lines.line if order is None else LineNumbers(group.lines.line[order])
            limits = (self._options.context_lines, self._options.max_line_len)
            lines.chunks = chunks_of(corpus, line, file, group.documents[content_index], *limits)

        return lines


def _select_rows(
    group: _GroupedMatches, selected: Int64Array | None
) -> tuple[FileNumbers, BoolArray, Int64Array, Int64Array, Int64Array | None]:
    """Select files of a group; None: all of them, unchanged.

    Returns the files, which of them have lines, the row count of each, the content files, and the order of their rows
    in the group, None if that is the order they are in.
    """
    files, content = (
        (group.files, group.content_index)
        if selected is None
        else (FileNumbers(group.files[selected]), group.content_index[selected])
    )
    in_content = content >= 0
    if group.lines is None:
        return files, in_content, np.ones(len(files), dtype=np.int64), _EMPTY, None

    content_index = content if in_content.all() else content[in_content]
    row_counts = all_row_counts = group.row_counts[content_index]
    if len(content_index) != len(content):
        # A path match is one row without a line.
        all_row_counts = np.ones(len(content), dtype=np.int64)
        all_row_counts[in_content] = row_counts

    row_order = runs(group.first_row[content_index], row_counts)
    # Shared documents repeat rows, and a selection or another file order permutes them. Only rows that are already in
    # place need no copy.
    in_order = len(row_order) == len(group.lines) and bool((row_order[1:] > row_order[:-1]).all())
    return files, in_content, all_row_counts, content_index, None if in_order else row_order


def _join_ready(ready: list[tuple[_GroupedMatches, Int64Array]]) -> tuple[_GroupedMatches, Int64Array | None]:
    """Join all groups that are ready, and return the files to show in order; None for all of them unchanged."""
    if len(ready) == 1:
        group, selected = ready[0]
        return group, None if len(selected) == len(group.files) else selected

    # Groups are compared by identity: a group released in several steps is joined once.
    groups: list[_GroupedMatches] = list({id(group): group for group, _ in ready}.values())
    index_by_id = {id(group): index for index, group in enumerate(groups)}
    first_file = _offsets([len(group.files) for group in groups])
    selected = np.concatenate([selected + first_file[index_by_id[id(group)]] for group, selected in ready])
    files = FileNumbers(np.concatenate([group.files for group in groups]))
    if all(group.lines is None for group in groups):
        return _path_matches(files), selected

    # Content files and rows of a group are numbered after the groups before it; -1 stays -1.
    first_content = _offsets([len(group.first_row) for group in groups])
    content_index = [
        np.where(group.content_index < 0, -1, group.content_index + offset)
        for group, offset in zip(groups, first_content, strict=True)
    ]
    line_offsets = _offsets([0 if group.lines is None else len(group.lines) for group in groups])
    first_row = [group.first_row + offset for group, offset in zip(groups, line_offsets, strict=True)]
    merged = _GroupedMatches(
        files,
        np.concatenate(content_index),
        concatenate_lines([group.lines for group in groups if group.lines is not None]),
        DocumentNumbers(np.concatenate([group.row_document for group in groups])),
        DocumentNumbers(np.concatenate([group.documents for group in groups])),
        np.concatenate(first_row),
        np.concatenate([group.row_counts for group in groups]),
        sum(group.text_bytes for group in groups),
    )
    return merged, selected


def _offsets(sizes: list[int]) -> list[int]:
    return [0, *accumulate(sizes)][:-1]


def _path_matches(files: FileNumbers) -> _GroupedMatches:
    no_documents = DocumentNumbers(_EMPTY)
    return _GroupedMatches(files, np.full(len(files), -1), None, no_documents, no_documents, _EMPTY, _EMPTY, 0)
