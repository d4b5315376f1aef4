"""Find a text in a few units, and collect a few matched lines, one by one.

`scan.collect` groups any number of spans by line, document and file, with a fixed number of calls of numpy. For a few
spans, a loop with binary searches takes a third of the time, and runs a tenth of the code.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import stringzilla

from sourcelight.core.batches.codecs.few_matches import FewMatches, FewRow
from sourcelight.core.batches.codecs.raw_matches import RawMatches, RepositoryRevision
from sourcelight.core.patterns import lower_ascii
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.core.patterns.texts import may_match_hazard
from sourcelight.engines.search.model import FileNumbers, UnitNumbers
from sourcelight.engines.search.scan.columns import file_values, line_values
from sourcelight.engines.search.scan.corpus import Corpus, FileSelection
from sourcelight.engines.search.scan.paths import PathSpans
from sourcelight.engines.search.scan.spans import NO_ROWS, Spans

MAX_SPANS = 256
"""Spans from which on arrays take less time: 0.8 ms for collecting, counting and writing them, in either way."""

MAX_UNITS = 512
"""Units from which on ranges of many shards are joined and read by one call: with few, each call takes longer."""

_MAX_STARTS = 2048
"""Occurrences from which on a text is common, and found by comparing all bytes."""

_MAX_ROWS = 2 * MAX_SPANS
"""Rows of all files: those with one content have equal rows."""

_MAX_TEXT_BYTES = 1 << 18
"""Bytes of all rows, so that they are one event of the stream. A line of data may have hundreds of thousands."""

_MAX_COUNTED_LENGTH = 1 << 12
"""Code points of a line beyond ASCII that are counted once more for each of its spans."""


class _Tables:
    """Tables of a corpus as objects that `bisect` reads: it takes a number from an array in a tenth of numpy's time."""

    def __init__(self, corpus: Corpus) -> None:
        self.byte_base = corpus.byte_base.tolist()
        self.line_base = corpus.line_base.tolist()
        self.file_base = corpus.file_base.tolist()
        self.document_ends = np.append(corpus.doc_start[1:], self.byte_base[-1]).data
        self.unit_start, self.unit_end = corpus.unit_start.data, corpus.unit_end.data
        self.doc_start, self.doc_line = corpus.doc_start.data, corpus.doc_line.data
        self.last_lines = np.append(corpus.doc_line[1:], self.line_base[-1]).data
        self.newlines = [shard.newlines for shard in corpus.shards]
        self.ends = [newlines.unchecked.data for newlines in self.newlines]
        # Columns of lines are arrays.
        self.has_columns_of_lines = bool(line_values(corpus, NO_ROWS))


def _tables_of(corpus: Corpus) -> _Tables:
    return corpus.remember("few lines", lambda: _Tables(corpus))


class _FewLines:
    """The matched lines of a document, as the wire has them; their spans; and their bytes."""

    __slots__ = ("rows", "spans", "text_bytes")

    def __init__(self) -> None:
        self.rows: list[FewRow] = []
        self.spans = self.text_bytes = 0


def few_spans(corpus: Corpus, pattern: CompiledPattern, units: UnitNumbers) -> Spans | None:
    """Return the spans of a plain text in at most `MAX_UNITS` units, one after another; None for other patterns.

    None also where contents are checked when they are read, for a text with many occurrences, and where only RE2 can
    tell whether a letter beyond ASCII is a variant of one in the text.
    """
    text = pattern.literal or pattern.lowered
    if not text or pattern.multi_line or len(units) > MAX_UNITS or not corpus.buffers.is_complete:
        return None

    tables = _tables_of(corpus)
    width, folds, has_hazards = len(text), pattern.literal is None, pattern.needs_fold_check
    unit_start, unit_end = tables.unit_start, tables.unit_end
    starts: list[int] = []
    add = starts.append
    shard_end = base = -1
    for unit in units.tolist():
        start = unit_start[unit]
        if start >= shard_end:
            shard_index = bisect_right(tables.byte_base, start) - 1
            base, shard_end = tables.byte_base[shard_index], tables.byte_base[shard_index + 1]
            view = corpus.buffers.views[shard_index]
            find = stringzilla.Str(view).find
            first = base
        # A unit holds whole lines, so that no text begins in one and ends in another.
        position, end = start - base, unit_end[unit] - base
        if folds:
            lowered = lower_ascii(view[position:end])
            if has_hazards and may_match_hazard(lowered, text):
                return None
            find, first, position, end = stringzilla.Str(lowered).find, start, 0, len(lowered)
        position = find(text, position, end)
        while position >= 0:
            add(position + first)
            position = find(text, position + width, end)
        if len(starts) > _MAX_STARTS:
            return None

    offsets = np.array(starts, dtype=np.int64)
    return Spans(offsets, offsets + width)


def few_matches(
    corpus: Corpus,
    selection: FileSelection,
    spans: Spans,
    path_spans: PathSpans,
    locations: Sequence[RepositoryRevision],
    make_raw: Callable[[], RawMatches],
) -> FewMatches | None:
    """Return the matches of at most `MAX_SPANS` spans in selected files, and in their paths.

    None if anything about them is unusual: a line that isn't Unicode, a span over several lines, much text, a matching
    path beyond ASCII. The blocks of the spans have been checked.
    """
    lists = corpus.made_path_lists
    tables = _tables_of(corpus)
    if lists is None or tables.has_columns_of_lines:
        return None
    lines_by_document = _lines_by_document(corpus, tables, spans)
    names = _names(selection, path_spans, lists.paths) if path_spans.has_matches else {}
    if lines_by_document is None or names is None:
        return None

    lines_by_file: dict[int, _FewLines] = {}
    first_position, files = selection.first_position, selection.files
    for document, lines in lines_by_document.items():
        # One document may be the content of several files.
        for file in files[first_position[document] : first_position[document + 1]].tolist():
            lines_by_file[file] = lines

    if len(lines_by_file) > len(lines_by_document):
        row_count = text_bytes = 0
        for lines in lines_by_file.values():
            row_count += len(lines.rows)
            text_bytes += lines.text_bytes
        if row_count > _MAX_ROWS or text_bytes > _MAX_TEXT_BYTES:
            return None

    numbers = sorted({*lines_by_file, *names})
    if not numbers:
        return None
    no_lines = _FewLines()
    lines_of_files = [lines_by_file.get(number, no_lines) for number in numbers]
    file_base = tables.file_base
    return FewMatches(
        locations=locations,
        location_index=[bisect_right(file_base, number) - 1 for number in numbers],
        file_values=file_values(corpus, FileNumbers(np.array(numbers, dtype=np.int64))),
        paths=[lists.paths[number] for number in numbers],
        path_json=[lists.json[number] for number in numbers],
        file_numbers=numbers,
        names={index: names[number] for index, number in enumerate(numbers) if number in names} if names else {},
        rows=[lines.rows for lines in lines_of_files],
        # A file without lines matches by its path, once.
        counts=[lines.spans or 1 for lines in lines_of_files],
        make_raw=make_raw,
    )


def _names(
    selection: FileSelection, spans: PathSpans, paths: Sequence[bytes]
) -> dict[int, list[tuple[int, int]]] | None:
    """Return the spans in the path of each selected file that has any; None for a path beyond ASCII, or many."""
    if len(spans.file) > _MAX_ROWS:
        return None
    names: dict[int, list[tuple[int, int]]] = {}
    mask = selection.mask
    for number, start, end in zip(spans.file.tolist(), spans.start.tolist(), spans.end.tolist(), strict=True):
        if mask is not None and not mask[number]:
            continue
        if not paths[number].isascii():
            return None
        names.setdefault(number, []).append((start, end))
    return names


def _lines_by_document(corpus: Corpus, tables: _Tables, spans: Spans) -> Mapping[int, _FewLines] | None:
    """Return the matched lines of each document; None if a line or a span is unusual."""
    by_document: dict[int, _FewLines] = {}
    text_bytes = 0
    shard_end = document_end = line_start = line_end = -1
    for offset, offset_end in zip(spans.start.tolist(), spans.end.tolist(), strict=True):
        if offset >= document_end:
            if offset >= shard_end:
                shard_index = bisect_right(tables.byte_base, offset) - 1
                base, shard_end = tables.byte_base[shard_index], tables.byte_base[shard_index + 1]
                line_base, ends = tables.line_base[shard_index], tables.ends[shard_index]
                content = corpus.buffers.views[shard_index]
                # Elsewhere, newlines are checked when they are read.
                if not tables.newlines[shard_index].is_complete:
                    return None
            document = bisect_right(tables.doc_start, offset) - 1
            document_end = tables.document_ends[document]
            # Line i ends with newline i + 1: a shard begins with one that ends no line.
            newline = first_line = tables.doc_line[document] - line_base
            last_newline = min(tables.last_lines[document] - line_base, len(ends))
            line_end = -1
            lines = by_document[document] = _FewLines()
            rows = lines.rows

        start, end = offset - base, offset_end - base
        if start >= line_end:
            newline = bisect_left(ends, start, newline, last_newline)
            line_start, line_end = ends[newline - 1] + 1, ends[newline]
            text_bytes += line_end - line_start
            if text_bytes > _MAX_TEXT_BYTES:
                return None
            try:
                text = str(content[line_start:line_end], "utf-8")
            except UnicodeDecodeError:
                return None
            is_ascii = len(text) == line_end - line_start
            # Code points are counted for each span from the start of its line.
            if not is_ascii and len(text) > _MAX_COUNTED_LENGTH:
                return None
            pairs: list[tuple[int, int]] = []
            rows.append({"line": text, "lineNumber": newline - 1 - first_line, "offsetAndLengths": pairs})
            lines.text_bytes += line_end - line_start

        if not start < end <= line_end:
            return None
        lines.spans += 1
        if is_ascii:
            pairs.append((start - line_start, end - start))
        else:
            # A text of whole code points begins and ends between two of them.
            pairs.append((len(str(content[line_start:start], "utf-8")), len(str(content[start:end], "utf-8"))))

    return by_document
