"""Collect matches of several shards and repositories into record batches, in display order.

A record batch costs about the same for three rows as for three thousand, so matches of one scan step wait a moment for
those of the next. Rows of type ``content`` and ``path`` share a batch; a ``path`` row has no line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

_MAX_BATCH_ROWS = 8192
"""Rows beyond which a batch costs per row and not per batch, and its reader waits longer than it gains."""

_MAX_BATCH_BYTES = 1 << 20
"""Bytes of lines beyond which the same holds."""

_EMPTY = np.zeros(0, dtype=np.int64)


@dataclass(slots=True)
class _GroupedMatches:
    """A `FileMatches` with its lines grouped by file.

    A content file is a file with matching lines. Files of one document share rows.

    Attributes
    ----------
    files
        All files, in display order.
    content_index
        Index of each of `files` among the content files, -1 for a file that matches by its path alone.
    lines
        The rows: matching lines of all content files. None without any.
    row_document
        Document of each row.
    documents, first_row, row_counts
        For each content file its document, its first row, and the number of its rows.
    text_bytes
        Bytes of all rows.
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
            first_row = self.first_row[content_index]
            end_row = first_row + self.row_counts[content_index]
            counts[in_content] = cumulative[end_row] - cumulative[first_row]

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
        self._pending_files = self._pending_files[selected]
        self._pending_position = self._pending_position[selected]
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
        files = self._pending_files[order]
        group = self._pending_group[order]
        position = self._pending_position[order]
        match_counts = self._pending_matches[order]
        end = len(files)
        if finished_up_to is not None:
            end = int(files.searchsorted(finished_up_to))

        # Neighbors of one group are released together: each release is a slice, not a copy per file.
        boundaries = (group[1:end] != group[: max(end - 1, 0)]).nonzero()[0] + 1
        for selected in np.split(np.arange(end), boundaries):
            if len(selected):
                pending = self._pending[int(group[selected[0]])]
                self._make_ready(pending, position[selected], int(match_counts[selected].sum()))

        self._pending_files = files[end:]
        self._pending_group = group[end:]
        self._pending_position = position[end:]
        self._pending_matches = match_counts[end:]
        if not len(self._pending_files):
            self._pending = []

    def _make_ready(self, group: _GroupedMatches, selected: Int64Array, match_count: int) -> None:
        if len(selected):
            self.released += match_count
            self._ready.append((group, selected))
            # The share of the files is an estimate. `is_full` needs no exact size, and files share rows.
            fraction = len(selected) / len(group.files)
            rows = 0 if group.lines is None else int(len(group.lines) * fraction)
            self._rows += max(len(selected), rows)
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
        return _GroupedMatches(
            files=files,
            content_index=content,
            lines=rows,
            row_document=row_document,
            documents=documents,
            first_row=first_row,
            row_counts=row_counts,
            text_bytes=text_bytes,
        )

    def take_batch(self) -> CollectedBatches:
        """Return the collected rows as a batch, and empty the collector."""
        ready = self._ready
        matches = self.matches
        files = self.files

        # Raw matches have no chunks, so a search with chunks gets record batches.
        # Estimates are enough: a few more rows of either kind cost no more than the choice of the other.
        is_raw = self._rows <= self._options.raw_rows and not self._options.chunk_matches
        self._ready = []
        self.matches = self.files = self._rows = self._bytes = 0
        if not ready:
            return CollectedBatches((), matches, files)

        group, selected = _join_ready(ready)
        batch = self._raw_matches(group, selected) if is_raw else self._record_batch(group, selected)
        return CollectedBatches((batch,), matches, files)

    def _record_batch(self, group: _GroupedMatches, selected: Int64Array | None) -> Any:
        """Make a record batch of the selected files of a group."""
        import pyarrow as pa

        rows = _select_rows(group, selected)
        lines = self._lines(group, rows)
        files = FileRows(self._source, rows.files, rows.row_counts)
        if lines is not None:
            # 0 is a row with a line, 1 a path match. None spares the column in the common case.
            row_type: NDArray[np.int8] | None = None
            if not rows.in_content.all():
                row_type = np.repeat(~rows.in_content, rows.row_counts).astype(np.int8)
            columns = file_columns(files, *row_types(row_type))
            columns |= line_columns(lines, None if row_type is None else row_type == 0)
        else:
            columns = file_columns(files, ROW_TYPES[1:], None)
            columns["match_count"] = arrow_array(np.ones(len(files.files), dtype=np.int32))

        # Each row of a file repeats the spans in its path, so that a row says alone where its file matches.
        columns |= path_span_columns(files)
        return pa.RecordBatch.from_pydict(columns)

    def _raw_matches(self, group: _GroupedMatches, selected: Int64Array | None) -> RawMatches:
        """Return the selected files of a group as raw arrays; their columns are made on demand."""
        rows = _select_rows(group, selected)
        # Raw matches have their lines by file, as the group has them unless files share documents or are left out.
        lines, documents = NO_ROWS if group.lines is None else group.lines, group.row_document
        if rows.order is not None:
            lines, documents = lines.reorder(rows.order), DocumentNumbers(documents[rows.order])
        file_rows = FileRows(self._source, rows.files, rows.row_counts)
        return raw_matches_of(file_rows, rows.in_content, lines, documents, lambda: self._record_batch(group, selected))

    def _lines(self, group: _GroupedMatches, rows: _SelectedRows) -> LineValues | None:
        """Return the lines of the selected files, or None without any."""
        if group.lines is None or not len(rows.content_index):
            return None

        corpus = self._source.corpus
        matched = group.lines
        row_document: Int64Array = group.row_document
        if rows.order is not None:
            matched = matched.reorder(rows.order)
            row_document = row_document[rows.order]

        lines = LineValues.of(corpus, matched, row_document)
        if self._options.chunk_matches:
            file = np.repeat(np.arange(len(rows.content_index)), group.row_counts[rows.content_index])
            lines.chunks = chunks_of(
                corpus,
                LineNumbers(matched.line),
                file,
                group.documents[rows.content_index],
                context_lines=self._options.context_lines,
                max_line_len=self._options.max_line_len,
            )

        return lines


@dataclass(frozen=True, slots=True)
class _SelectedRows:
    """Files of a group, and their rows.

    Attributes
    ----------
    files
        The files, in display order.
    in_content
        Which of them have lines.
    row_counts
        Number of rows of each; 1 for a file that matches by its path alone.
    content_index
        The files with lines: their indexes among the content files of the group.
    order
        The order of their rows in the group; None if that is the order they are in.
    """

    files: FileNumbers
    in_content: BoolArray
    row_counts: Int64Array
    content_index: Int64Array = field(default_factory=lambda: _EMPTY)
    order: Int64Array | None = None


def _select_rows(group: _GroupedMatches, selected: Int64Array | None) -> _SelectedRows:
    """Select files of a group; None: all of them, unchanged."""
    files = group.files
    content = group.content_index
    if selected is not None:
        files = FileNumbers(files[selected])
        content = content[selected]

    in_content = content >= 0
    if group.lines is None:
        return _SelectedRows(files, in_content, np.ones(len(files), dtype=np.int64))

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
    return _SelectedRows(files, in_content, all_row_counts, content_index, None if in_order else row_order)


def _join_ready(ready: list[tuple[_GroupedMatches, Int64Array]]) -> tuple[_GroupedMatches, Int64Array | None]:
    """Join all groups that are ready, and return the files to show in order; None for all of them unchanged."""
    if len(ready) == 1:
        group, selected = ready[0]
        if len(selected) == len(group.files):
            return group, None
        return group, selected

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
    line_offsets = _offsets([0 if group.lines is None else len(group.lines) for group in groups])
    content_index: list[Int64Array] = []
    first_row: list[Int64Array] = []
    for group, content_offset, line_offset in zip(groups, first_content, line_offsets, strict=True):
        content_index.append(np.where(group.content_index < 0, -1, group.content_index + content_offset))
        first_row.append(group.first_row + line_offset)

    merged = _GroupedMatches(
        files=files,
        content_index=np.concatenate(content_index),
        lines=concatenate_lines([group.lines for group in groups if group.lines is not None]),
        row_document=DocumentNumbers(np.concatenate([group.row_document for group in groups])),
        documents=DocumentNumbers(np.concatenate([group.documents for group in groups])),
        first_row=np.concatenate(first_row),
        row_counts=np.concatenate([group.row_counts for group in groups]),
        text_bytes=sum(group.text_bytes for group in groups),
    )
    return merged, selected


def _offsets(sizes: list[int]) -> list[int]:
    return [0, *accumulate(sizes)][:-1]


def _path_matches(files: FileNumbers) -> _GroupedMatches:
    return _GroupedMatches(
        files=files,
        content_index=np.full(len(files), -1),
        lines=None,
        row_document=DocumentNumbers(_EMPTY),
        documents=DocumentNumbers(_EMPTY),
        first_row=_EMPTY,
        row_counts=_EMPTY,
        text_bytes=0,
    )
