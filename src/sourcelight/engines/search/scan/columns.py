"""Columns that locate rows (repository, revision, commit, path, language, spans in paths), and raw matches.

Columns are dictionaries of Arrow: a text that many rows share is stored once, with an int32 code per row. Raw matches
are what a row is made of, in arrays by file and by line, for a reader who needs no record batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import (
    AnyArray,
    BoolArray,
    Int64Array,
    arrow_array,
    arrow_strings,
    distinct,
    runs,
    to_numpy,
)
from sourcelight.core.batches.codecs import raw_matches
from sourcelight.core.batches.codecs.raw_matches import RawMatches
from sourcelight.core.batches.codecs.wire_columns import CodedValues
from sourcelight.core.batches.schema import FILE_KEYS, arrow_type
from sourcelight.engines.search.model import DocumentNumbers, FileNumbers, Target
from sourcelight.engines.search.scan.corpus import LONG_LINE_BYTES, Corpus
from sourcelight.engines.search.scan.evaluate import CorpusSearch
from sourcelight.engines.search.scan.spans import MatchedLines, non_overlapping
from sourcelight.engines.search.scan.text import arrow_binary, code_points, take_slices, text_column

_MAX_SLICED_PATHS = 32
"""Paths up to which Python slices are faster than an Arrow kernel."""


@dataclass(frozen=True, slots=True)
class CollectedBatches:
    """Batches, and how many matches and files they have."""

    batches: tuple[Any, ...] = ()
    matches: int = 0
    files: int = 0


NO_BATCHES = CollectedBatches()


@dataclass(frozen=True, slots=True)
class PathSpanTable:
    """Spans in paths by file, start and end, sorted and without overlaps.

    Starts and ends are bytes, or code points where it is said.
    """

    file: Int64Array
    start: Int64Array
    end: Int64Array

    def take(self, order: Int64Array) -> PathSpanTable:
        """Return the spans at some positions, in their order."""
        return PathSpanTable(self.file[order], self.start[order], self.end[order])


@dataclass
class BatchSource:
    """Source of rows: a corpus, the targets and commits of its members, and a search of it.

    Without a search, rows match by their paths only in `term_spans`, which are as `path_spans`.
    """

    corpus: Corpus
    search: CorpusSearch | None
    targets: Sequence[Target]
    commits: Sequence[str]
    locations: Sequence[raw_matches.RepositoryRevision]
    term_spans: PathSpanTable | None = None
    _path_spans: PathSpanTable | None = field(init=False, default=None)
    _has_path_spans: bool = field(init=False, default=False)

    @property
    def path_spans(self) -> PathSpanTable | None:
        """All spans in paths, in bytes; None without any."""
        if self.search is None:
            return self.term_spans

        if not self._has_path_spans:
            self._path_spans = self._find_path_spans(self.search)
            self._has_path_spans = True
        return self._path_spans

    def _find_path_spans(self, search: CorpusSearch) -> PathSpanTable | None:
        spans_by_term = []
        for term_index, spans in enumerate(search.path_spans):
            # A term below a NOT is not visible: its spans show nothing.
            if spans is not None and term_index in search.prepared.visible and len(spans.file):
                spans_by_term.append(spans)

        if not spans_by_term:
            return None

        united = PathSpanTable(
            file=np.concatenate([spans.file for spans in spans_by_term]),
            start=np.concatenate([spans.start for spans in spans_by_term]),
            end=np.concatenate([spans.end for spans in spans_by_term]),
        )
        if len(spans_by_term) == 1:
            return united

        # Shifted to the text of all paths, spans of different files can't overlap: one pass handles all files.
        # Within a file they are sorted by start, the longest first, as `non_overlapping` needs.
        ordered = united.take(np.lexsort((-united.end, united.start, united.file)))
        base = self.corpus.paths.starts[ordered.file]
        return ordered.take(np.flatnonzero(non_overlapping(base + ordered.start, base + ordered.end)))


@dataclass(frozen=True, slots=True)
class FileRows:
    """Files of one source, and the row count of each."""

    source: BatchSource
    files: FileNumbers
    row_counts: Int64Array


def file_columns(rows: FileRows, row_types: Sequence[str], row_type: NDArray[np.int8] | None) -> dict[str, Any]:
    """Make the columns that locate rows; `row_type` indexes `row_types` for each row, None: the first for all."""
    import pyarrow as pa

    count = int(rows.row_counts.sum())
    if row_type is None:
        row_type = np.zeros(count, dtype=np.int8)

    columns: dict[str, Any] = {"type": pa.DictionaryArray.from_arrays(arrow_array(row_type), arrow_strings(row_types))}
    corpus = rows.source.corpus
    paths = text_column(_path_bytes(corpus, rows.files)).strings
    path_of_row = np.repeat(np.arange(len(rows.files), dtype=np.int32), rows.row_counts)
    members = corpus.member_of(rows.files)
    if (members == members[0]).all():
        # As in most batches: every code is 0, and no path occurs twice.
        columns |= _member_columns(rows.source, members[:1], np.zeros(count, np.int32))
    else:
        used_members, member_of_file = _distinct_codes(members, len(corpus.members))
        member_of_row = np.repeat(member_of_file.astype(np.int32), rows.row_counts)
        columns |= _member_columns(rows.source, used_members, member_of_row)
        encoded = paths.dictionary_encode()
        if len(encoded.dictionary) < len(paths):
            paths = encoded.dictionary
            path_of_row = to_numpy(encoded.indices)[path_of_row]

    columns["path"] = pa.DictionaryArray.from_arrays(arrow_array(path_of_row), paths)
    # The schema has the types, so a new column only needs its values here.
    types = {column.name: column.type for column, _ in FILE_KEYS}
    for name, values in file_values(corpus, rows.files).items():
        columns[name] = _file_column(types[name], values, rows.row_counts)

    return columns


def _member_columns(source: BatchSource, members: AnyArray, member_of_row: NDArray[np.int32]) -> dict[str, Any]:
    """Make the columns of repositories; `member_of_row` is the index of each row's member among `members`."""
    names: list[str] = []
    revisions: list[str] = []
    commits: list[str] = []
    ids: list[int] = []
    for member in members.tolist():
        target = source.targets[member]
        names.append(target.repository.info.name)
        revisions.append(target.revision)
        commits.append(source.commits[member])
        ids.append(target.repository.info.id)

    return {
        "repository": _text_column(names, member_of_row),
        "revision": _text_column(revisions, member_of_row),
        "commit": _text_column(commits, member_of_row),
        "repository_id": arrow_array(np.array(ids, dtype=np.int64)[member_of_row]),
    }


def _text_column(texts: Sequence[str], index_of_row: NDArray[np.int32]) -> Any:
    """Make a column with one code per distinct text: readers compare codes, not texts."""
    import pyarrow as pa

    code_of_text: dict[str, int] = {}
    codes = [code_of_text.setdefault(text, len(code_of_text)) for text in texts]
    code_of_row = index_of_row
    if len(code_of_text) < len(texts):
        code_of_row = np.array(codes, dtype=np.int32)[index_of_row]
    return pa.DictionaryArray.from_arrays(arrow_array(code_of_row), arrow_strings(list(code_of_text)))


def file_values(corpus: Corpus, files: FileNumbers) -> dict[str, CodedValues]:
    """Return the values of the columns of `FILE_KEYS` for some files; empty text and None are null."""
    return {"language": (corpus.language_names, corpus.language[files])}


def line_values(corpus: Corpus, lines: MatchedLines) -> dict[str, Any]:  # noqa: ARG001 - no column needs them yet
    """Return the columns of `LINE_KEYS`, as arrays of Arrow, for some lines.

    Empty: spans of cells are made only for rows of notebooks, see `cells.rows`.
    """
    return {}


def path_span_columns(rows: FileRows) -> dict[str, Any]:
    """Make the columns of spans in paths, in code points; each row of a file repeats them."""
    import pyarrow as pa

    spans = rows.source.path_spans
    # A row without a span in its path has an empty list, no null.
    offsets = np.zeros(int(rows.row_counts.sum()) + 1, dtype=np.int32)
    starts = ends = np.zeros(0, dtype=np.int64)
    if spans is not None:
        # Files ascend in the table, so the spans of a file are one run; the files of rows may come in any order.
        first_span = spans.file.searchsorted(rows.files)
        span_counts = spans.file.searchsorted(rows.files, side="right") - first_span
        if span_counts.any():
            spans = _in_code_points(rows, spans)
            first_span = np.repeat(first_span, rows.row_counts)
            span_counts = np.repeat(span_counts, rows.row_counts)
            np.cumsum(span_counts, out=offsets[1:])

            # One index array for all spans: file after file, each repeated for every row of the file.
            order = runs(first_span, span_counts)
            starts = spans.start[order]
            ends = spans.end[order]

    offset_column = arrow_array(offsets)
    return {
        "name_start": pa.ListArray.from_arrays(offset_column, arrow_array(starts.astype(np.int32))),
        "name_end": pa.ListArray.from_arrays(offset_column, arrow_array(ends.astype(np.int32))),
    }


def _in_code_points(rows: FileRows, spans: PathSpanTable) -> PathSpanTable:
    """Convert spans in paths from bytes to code points, for the paths of these rows."""
    corpus = rows.source.corpus
    if not corpus.paths.is_non_ascii[rows.files].any():
        return spans

    # Spans cover the whole corpus, but only the paths of these rows are decoded.
    files = FileNumbers(distinct(rows.files))
    selected = np.flatnonzero(np.isin(spans.file, files))
    texts = text_column(_path_bytes(corpus, files))
    text_index = files.searchsorted(spans.file[selected])
    start = spans.start.copy()
    start[selected] = code_points(texts, text_index, spans.start[selected])
    end = spans.end.copy()
    end[selected] = code_points(texts, text_index, spans.end[selected])
    return PathSpanTable(spans.file, start, end)


def _distinct_codes(codes: AnyArray, size: int) -> tuple[Int64Array, AnyArray]:
    """Return the codes that occur, ascending, and for each entry its index among them."""
    # Codes are below `size`, so a mask gives the distinct ones without the sort of `np.unique`.
    is_used = np.zeros(size, dtype=np.bool_)
    is_used[codes] = True
    distinct_codes = is_used.nonzero()[0]
    index_of_code = np.zeros(size, dtype=np.int64)
    index_of_code[distinct_codes] = np.arange(len(distinct_codes))
    return distinct_codes, index_of_code[codes]


def _file_column(kind: str, coded: CodedValues, lengths: Int64Array) -> Any:
    """Make a column of type `kind`: the value of each file in each of its rows."""
    import pyarrow as pa

    values, codes_of_files = coded
    codes_in_use, index_of_file = _distinct_codes(codes_of_files, len(values))

    # Members with different aliases for a language have an entry each, with one name: one code per value.
    code_of_value: dict[Any, int] = {}
    new_codes = [code_of_value.setdefault(values[code], len(code_of_value)) for code in codes_in_use.tolist()]

    # A file has one value, and a row of each of its lines repeats it.
    codes = np.repeat(np.array(new_codes, np.int32)[index_of_file], lengths)
    is_known = np.array([value is not None and value != "" for value in code_of_value])
    valid = None if is_known.all() else is_known[codes]
    indices = arrow_array(codes, valid)
    if kind == "dict32":
        return pa.DictionaryArray.from_arrays(indices, arrow_strings(list(code_of_value)))

    return pa.array(list(code_of_value), arrow_type(kind)).take(indices)


def _path_bytes(corpus: Corpus, files: FileNumbers) -> Any:
    """Return the paths of files as an Arrow binary array."""
    import pyarrow as pa

    text = corpus.raw_paths
    starts = corpus.paths.starts[files]
    ends = corpus.paths.ends[files]
    # `take_slices` needs ascending pieces.
    if len(files) > _MAX_SLICED_PATHS and bool((files[1:] > files[:-1]).all()):
        return take_slices(pa.py_buffer(text), starts, ends)

    view = memoryview(text)
    data = b"".join([view[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])
    return arrow_binary(ends - starts, data)


def raw_matches_of(
    rows: FileRows, in_content: BoolArray, lines: MatchedLines, documents: DocumentNumbers, make: Callable[[], Any]
) -> RawMatches:
    """Make raw matches of files.

    Parameters
    ----------
    rows, in_content
        The files, and which of them have lines.
    lines, documents
        Their lines, and the document of each.
    make
        Makes the columns of a record batch on demand.
    """
    corpus = rows.source.corpus
    files = rows.files
    paths, path_json = _paths_of(corpus, files)
    return RawMatches(
        locations=rows.source.locations,
        in_content=in_content,
        location_index=corpus.member_of(files),
        file_values=file_values(corpus, files),
        paths=paths,
        path_json=path_json,
        file_numbers=files,
        names=_path_spans(rows),
        lengths=rows.row_counts,
        numbers=lines.line - corpus.doc_line[documents] + 1,
        offsets=lines.line_start - corpus.doc_start[documents],
        line_values=line_values(corpus, lines),
        sizes=lines.line_end - lines.line_start,
        counts=lines.first_span[1:] - lines.first_span[:-1],
        matches=lines.match_count,
        starts=lines.span_start,
        ends=lines.span_end,
        # With the newlines: `raw_matches` splits the text at them.
        data=bytes(line_bytes(corpus, lines.line_start, lines.line_end + 1)),
        make=make,
    )


def _paths_of(corpus: Corpus, files: FileNumbers) -> tuple[Sequence[bytes], Sequence[bytes] | None]:
    """Return the paths of files, and their JSON texts if the corpus has them."""
    # Lists first: `raw_paths` of several members is a copy of all their paths, which is made on first use.
    lists = corpus.path_lists
    if lists is not None:
        numbers = files.tolist()
        return [lists.paths[number] for number in numbers], [lists.json[number] for number in numbers]

    # Without lists, the JSON of each path is made where it is written.

    view = memoryview(corpus.raw_paths)
    starts = corpus.paths.starts[files].tolist()
    ends = corpus.paths.ends[files].tolist()
    return [bytes(view[start:end]) for start, end in zip(starts, ends, strict=True)], None


def _path_spans(rows: FileRows) -> dict[int, list[tuple[int, int]]]:
    """Return the spans in the path of each file that has any, in code points."""
    spans = rows.source.path_spans
    if spans is None:
        return {}

    first_span = spans.file.searchsorted(rows.files)
    end_span = spans.file.searchsorted(rows.files, side="right")
    files_with_spans = (end_span > first_span).nonzero()[0].tolist()
    if not files_with_spans:
        return {}

    spans = _in_code_points(rows, spans)
    by_file = {}
    for file in files_with_spans:
        of_file = slice(first_span[file], end_span[file])
        by_file[file] = list(zip(spans.start[of_file].tolist(), spans.end[of_file].tolist(), strict=True))
    return by_file


def line_bytes(corpus: Corpus, starts: Int64Array, ends: Int64Array) -> Any:
    """Return the bytes of lines one after another; lines may repeat and come in any order."""
    if bool((starts[1:] > starts[:-1]).all()):
        return corpus.data(starts, ends)
    if int((ends - starts).sum()) > LONG_LINE_BYTES * len(starts):
        return b"".join(corpus.buffers.slices(np.stack((starts, ends), axis=1)))

    # Files that share a document repeat its lines. Each line is copied once, in the order of the shards, and then
    # repeated.
    distinct_starts, row_index = np.unique(starts, return_inverse=True)
    distinct_ends = np.empty(len(distinct_starts), dtype=np.int64)
    distinct_ends[row_index] = ends
    lines = arrow_binary(distinct_ends - distinct_starts, corpus.data(distinct_starts, distinct_ends))
    repeated = lines.take(arrow_array(row_index.astype(np.int32)))
    # Buffer 2 of an Arrow binary array is its data, None when all lines are empty.
    return repeated.buffers()[2] or b""
