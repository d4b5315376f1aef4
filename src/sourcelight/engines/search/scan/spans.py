"""Exact spans of patterns in the text of a corpus, and the lines that they touch.

All offsets are bytes of the corpus: each shard has a range of its own (`Corpus.byte_base`). One row is one matched
line, not one match: a row per match would copy a minified one-line file once for each of its matches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array, pairs, runs, unique_sorted
from sourcelight.core.cancellation import Stopped, check_stopped
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.core.patterns.texts import owners_holding
from sourcelight.engines.search.model import DocumentNumbers, LineNumbers, UnitNumbers
from sourcelight.engines.search.scan.corpus import Corpus

_NO_OFFSETS = np.zeros(0, dtype=np.int64)

_UNITS_PER_CHECK = 512
"""Units, usually of 16 KiB, that are read between two checks for a stop."""

_FIRST_PROBE_UNITS, _PROBE_GROWTH = 64, 4
"""Units in which a first match is searched for at once, and how many times more are taken next."""

_NO_ROWS: Int64Array = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans sorted by start, without overlaps; `line` is the line where each starts, None if it wasn't needed.

    Only spans of structures may be nested, the outer one first.
    """

    start: Int64Array
    end: Int64Array
    line: LineNumbers | None = None

    def __len__(self) -> int:
        return len(self.start)

    def filter(self, mask: BoolArray) -> Spans:
        """Return the spans under the mask."""
        if mask.all():
            return self
        return Spans(self.start[mask], self.end[mask], None if self.line is None else LineNumbers(self.line[mask]))

    def slice(self, start: int, end: int) -> Spans:
        """Return the spans numbered `start` up to `end`."""
        selected = slice(start, end)
        return Spans(
            self.start[selected], self.end[selected], None if self.line is None else LineNumbers(self.line[selected])
        )


NO_SPANS = Spans(_NO_OFFSETS, _NO_OFFSETS)


def unit_ranges(corpus: Corpus, units: UnitNumbers) -> Int64Array:
    """Return the byte ranges of units as rows of (start, end); units that touch are one range."""
    # A range costs a scan call about 0.1 us, so neighbors are joined; gaps are never scanned with them.
    starts, ends = corpus.unit_start[units], corpus.unit_end[units]
    if len(units) > 1:
        is_gap = starts[1:] != ends[:-1]
        if not is_gap.all():
            starts = starts[np.concatenate(([True], is_gap))]
            ends = ends[np.concatenate((is_gap, [True]))]
    return pairs(starts, ends)


def find_spans(corpus: Corpus, pattern: CompiledPattern, units: UnitNumbers, stopped: Stopped) -> Spans:
    """Find the exact spans of a pattern in units; a pattern that can cross lines is matched in their whole documents.

    Raises `ScanStopped` when `stopped` returns True.
    """
    if not len(units):
        return NO_SPANS
    if pattern.multi_line:
        return _find_in_documents(corpus, pattern, DocumentNumbers(unique_sorted(corpus.unit_doc[units])), stopped)

    ranges = unit_ranges(corpus, units)
    # A literal's spans follow from its starts. Everything else takes two steps: a scan of blocks of lines finds the
    # matching lines, then RE2 finds the spans in copies of those lines. Most lines are read only in the first step.
    starts = pattern.starts(corpus.buffers, ranges, stopped)
    if starts is not None:
        return Spans(starts, starts + len(pattern.literal or pattern.lowered)) if len(starts) else NO_SPANS

    # A few texts are found without RE2. An occurrence that begins inside another match doesn't count.
    texts = pattern.text_spans(corpus.buffers, ranges, stopped)
    if texts is not None:
        start, end = texts
        is_kept = non_overlapping(start, end)
        return Spans(start[is_kept], end[is_kept]) if len(start) else NO_SPANS

    offsets = pattern.lines(corpus.buffers, ranges, stopped)
    if not len(offsets):
        return NO_SPANS

    # `lines` may report a line twice, or one without a match.
    lines = LineNumbers(unique_sorted(corpus.lines_of(offsets)))
    line_start, line_end = corpus.line_bounds(lines)

    # The lines are copied with their newlines into one text, so `sizes` gives their bounds.
    data = corpus.data(line_start, line_end + 1)
    sizes = line_end - line_start + 1
    ends = np.cumsum(sizes)

    # `row` is an index into `lines`; start and end are bytes within the line.
    row, start, end = pattern.spans(data, ends - sizes, ends - 1, stopped)
    base = line_start[row]
    return Spans(base + start, base + end, LineNumbers(lines[row]))


def documents_holding(
    corpus: Corpus, pattern: CompiledPattern, units: UnitNumbers, stopped: Stopped
) -> DocumentNumbers:
    """Return the documents of units in which a pattern matches, ascending; raises `ScanStopped`."""
    text = pattern.literal or pattern.lowered
    # Bytes alone distinguish case if no other character folds to a letter of the text.
    if not text or pattern.multi_line or (pattern.literal is None and pattern.needs_fold_check):
        return DocumentNumbers(unique_sorted(corpus.documents_of(find_spans(corpus, pattern, units, stopped).start)))

    # Units are not joined: after its first match, the rest of a document isn't read. A common word under a NOT has
    # thousands of matches, and only its documents matter.
    ranges = pairs(corpus.unit_start[units], corpus.unit_end[units])
    fold_case = pattern.literal is None
    documents = [_NO_OFFSETS]
    for first in range(0, len(units), _UNITS_PER_CHECK):
        check_stopped(stopped)
        portion = slice(first, first + _UNITS_PER_CHECK)
        owners = corpus.unit_doc[units[portion]]
        documents.append(owners_holding(corpus.buffers, text, ranges[portion], owners, fold_case=fold_case))

    return DocumentNumbers(unique_sorted(np.concatenate(documents)))


def holds_match(corpus: Corpus, pattern: CompiledPattern, units: UnitNumbers, stopped: Stopped) -> bool:
    """Return whether a pattern matches in units, which are read up to the first match; raises `ScanStopped`."""
    # Few at first: a common text is in one of them, and the rest is not read.
    start, size = 0, _FIRST_PROBE_UNITS
    while start < len(units):
        check_stopped(stopped)
        portion = UnitNumbers(units[start : start + size])
        if len(documents_holding(corpus, pattern, portion, stopped)):
            return True
        start, size = start + size, size * _PROBE_GROWTH
    return False


def _find_in_documents(corpus: Corpus, pattern: CompiledPattern, documents: DocumentNumbers, stopped: Stopped) -> Spans:
    tables: list[Int64Array] = []
    starts = corpus.doc_start[documents]
    ranges = pairs(starts, starts + corpus.doc_size[documents])

    # A match may cross any line, so this scan only rules documents out; the rest are read whole.
    offsets = pattern.lines(corpus.buffers, ranges, stopped)
    for document in unique_sorted(corpus.documents_of(offsets)).tolist():
        check_stopped(stopped)
        tables.append(pattern.document_spans(corpus.text(document), stopped) + int(corpus.doc_start[document]))

    if not tables:
        return NO_SPANS

    table = np.concatenate(tables)
    return Spans(table[:, 0], table[:, 1])


def merge_spans(spans_by_pattern: list[Spans], *, nested: bool = False) -> Spans:
    """Merge the spans of several patterns, sorted and without overlaps; the longest of those with one start stays.

    With `nested`, keep all distinct spans: structures are nodes of a tree.
    """
    spans_by_pattern = [spans for spans in spans_by_pattern if len(spans)]
    if len(spans_by_pattern) < 2:
        return spans_by_pattern[0] if spans_by_pattern else NO_SPANS

    start = np.concatenate([spans.start for spans in spans_by_pattern])
    end = np.concatenate([spans.end for spans in spans_by_pattern])

    # lexsort sorts by its last key first: by start, and the longest span first where starts are equal.
    order = np.lexsort((-end, start))
    if nested:
        start, end = start[order], end[order]
        is_new = np.concatenate(([True], (start[1:] != start[:-1]) | (end[1:] != end[:-1])))
        return Spans(start[is_new], end[is_new])

    selected = order[non_overlapping(start[order], end[order])]
    return Spans(start[selected], end[selected])


def concatenate_spans(batches: list[Spans]) -> Spans:
    """Concatenate spans of batches that follow one another."""
    if len(batches) == 1:
        return batches[0]

    lines = [spans.line for spans in batches if spans.line is not None]
    return Spans(
        np.concatenate([spans.start for spans in batches]),
        np.concatenate([spans.end for spans in batches]),
        LineNumbers(np.concatenate(lines)) if len(lines) == len(batches) else None,
    )


def non_overlapping(start: Int64Array, end: Int64Array) -> BoolArray:
    """Return which spans a walk from the left keeps; spans are sorted by start, longest first."""
    keep = np.ones(len(start), dtype=np.bool_)
    max_end = np.maximum.accumulate(end)
    overlaps = np.concatenate(([False], start[1:] < max_end[:-1]))
    if not overlaps.any():
        return keep

    # A group starts at a span that begins after all earlier spans have ended. Overlaps are rare and never leave their
    # group, so the Python loop below visits only groups that have one.
    heads = np.flatnonzero(~overlaps)
    group_bounds = np.append(heads, len(start))
    for group in np.unique(np.searchsorted(heads, np.flatnonzero(overlaps), side="right") - 1).tolist():
        last_end = -1
        for index in range(int(group_bounds[group]), int(group_bounds[group + 1])):
            if start[index] < last_end:
                keep[index] = False
            else:
                last_end = end[index]

    return keep


@dataclass(frozen=True, slots=True)
class MatchedLines:
    """Matched lines, ascending.

    `line` is the line number in the corpus, `line_start` and `line_end` its bytes without the newline. Row *i* has the
    spans ``first_span[i]:first_span[i + 1]`` of `span_start` and `span_end`, in bytes from the start of the line.
    `match_count` counts the matches that start in the row; a match over several lines has a span in each of them.
    """

    line: LineNumbers
    line_start: Int64Array
    line_end: Int64Array
    first_span: Int64Array
    span_start: Int64Array
    span_end: Int64Array
    match_count: Int64Array

    def __len__(self) -> int:
        return len(self.line)

    def reorder(self, order: Int64Array) -> MatchedLines:
        """Return the rows `order`, in that order."""
        counts = np.diff(self.first_span)[order]
        # Spans move with their rows.
        spans = runs(self.first_span[:-1][order], counts)
        return MatchedLines(
            LineNumbers(self.line[order]),
            self.line_start[order],
            self.line_end[order],
            np.concatenate(([0], np.cumsum(counts))),
            self.span_start[spans],
            self.span_end[spans],
            self.match_count[order],
        )


NO_ROWS = MatchedLines(
    LineNumbers(_NO_ROWS), _NO_ROWS, _NO_ROWS, np.zeros(1, dtype=np.int64), _NO_ROWS, _NO_ROWS, _NO_ROWS
)


def matched_lines(corpus: Corpus, spans: Spans) -> MatchedLines:
    """Group spans by line; a span that crosses a line's end is split over the lines that follow."""
    line = corpus.lines_of(spans.start) if spans.line is None else spans.line
    first_span, lines = _group_by_line(line)
    line_start, line_end = corpus.line_bounds(lines)
    counts = first_span[1:] - first_span[:-1]
    is_single = len(lines) == len(line)

    # With + 1: a span may contain the newline that ends its line without crossing into the next line.
    if (spans.end > (line_end if is_single else line_end.repeat(counts)) + 1).any():
        return _split_at_lines(corpus, spans, line)

    base = line_start if is_single else line_start.repeat(counts)
    return MatchedLines(lines, line_start, line_end, first_span, spans.start - base, spans.end - base, counts)


def _group_by_line(line: LineNumbers) -> tuple[Int64Array, LineNumbers]:
    """Return the index of the first span of each line, followed by the number of spans, and the distinct lines."""
    is_first = np.empty(len(line), dtype=np.bool_)
    is_first[:1] = True
    np.not_equal(line[1:], line[:-1], out=is_first[1:])
    first = np.concatenate((is_first.nonzero()[0], [len(line)]))
    return first, LineNumbers(line[first[:-1]])


def _split_at_lines(corpus: Corpus, spans: Spans, line: LineNumbers) -> MatchedLines:
    # Each span becomes one piece per line that it touches: `span` is the span of a piece, and `line_step` the number of
    # lines between the span's first line and the piece. Pieces with step 0 are the matches that start in their line.
    # Look-ups in the corpus need ascending offsets. Spans are sorted and don't overlap, so their ends and the lines of
    # their pieces ascend too. Nested structures are the exception: then both are sorted here.
    by_end = np.argsort(spans.end, kind="stable")
    last_line = np.empty(len(spans), dtype=np.int64)
    last_line[by_end] = corpus.lines_of(spans.end[by_end] - 1)
    line_counts = last_line - line + 1
    span = np.repeat(np.arange(len(spans)), line_counts)
    line_step = np.arange(len(span)) - np.repeat(np.cumsum(line_counts) - line_counts, line_counts)
    line = LineNumbers(line[span] + line_step)
    if (line[1:] < line[:-1]).any():
        # Stable: in a line, pieces that continue from above come first, and the outer ones before the inner ones.
        by_line = np.argsort(line, kind="stable")
        span, line_step, line = span[by_line], line_step[by_line], LineNumbers(line[by_line])

    line_start, line_end = corpus.line_bounds(line)
    start = np.maximum(spans.start[span], line_start) - line_start

    # A piece that continues in the next line includes the newline.
    end = np.minimum(spans.end[span], line_end + 1) - line_start
    first_span, lines = _group_by_line(line)
    first_of_line = first_span[:-1]

    # `reduceat` gives a wrong sum for an empty group, but no group is empty.
    count = np.add.reduceat((line_step == 0).astype(np.int64), first_of_line)
    return MatchedLines(lines, line_start[first_of_line], line_end[first_of_line], first_span, start, end, count)


def concatenate_lines(batches: list[MatchedLines]) -> MatchedLines:
    """Concatenate matched lines of batches that follow one another."""
    if len(batches) == 1:
        return batches[0]

    # `first_span` has one entry more than lines, and starts at 0 in each batch; counts can be joined, offsets can't.
    span_counts = np.concatenate([np.diff(lines.first_span) for lines in batches])
    return MatchedLines(
        LineNumbers(np.concatenate([lines.line for lines in batches])),
        np.concatenate([lines.line_start for lines in batches]),
        np.concatenate([lines.line_end for lines in batches]),
        np.concatenate(([0], np.cumsum(span_counts))),
        np.concatenate([lines.span_start for lines in batches]),
        np.concatenate([lines.span_end for lines in batches]),
        np.concatenate([lines.match_count for lines in batches]),
    )
