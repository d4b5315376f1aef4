"""Columns that locate rows (repository, revision, commit, path, language, spans in paths), and raw matches.

Columns are dictionaries of Arrow: a text that many rows share is stored once, with an int32 code per row.
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
from sourcelight.engines.search.model import FileNumbers, Target
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
    term_spans: tuple[Int64Array, Int64Array, Int64Array] | None = None
    _path_spans: tuple[Int64Array, Int64Array, Int64Array] | None = field(init=False, default=None)
    _has_path_spans: bool = field(init=False, default=False)

    @property
    def path_spans(self) -> tuple[Int64Array, Int64Array, Int64Array] | None:
        """All spans in paths, sorted, without overlaps: rows of file, start and end in bytes; None without any."""
        if self.search is None:
            return self.term_spans
        if not self._has_path_spans:
            self._path_spans, self._has_path_spans = self._find_path_spans(self.search), True
        return self._path_spans

    def _find_path_spans(self, search: CorpusSearch) -> tuple[Int64Array, Int64Array, Int64Array] | None:
        visible = search.prepared.visible
        spans_by_term = [
            spans
            for term_index, spans in enumerate(search.path_spans)
            if spans is not None and term_index in visible and len(spans.file)
        ]
        if not spans_by_term:
            return None

        file = np.concatenate([spans.file for spans in spans_by_term])
        start = np.concatenate([spans.start for spans in spans_by_term])
        end = np.concatenate([spans.end for spans in spans_by_term])
        if len(spans_by_term) > 1:
            # Shifted to the text of all paths, spans of different files can't overlap: one pass handles all files.
            # Within a file they are sorted by start, the longest first, as `non_overlapping` needs.
            base = self.corpus.paths.starts[file]
            order = np.lexsort((-end, start, file))
            selected = order[non_overlapping((base + start)[order], (base + end)[order])]
            file, start, end = file[selected], start[selected], end[selected]

        return file, start, end


@dataclass(frozen=True, slots=True)
class FileRows:
    """Files of one source, and the row count of each."""

    source: BatchSource
    files: FileNumbers
    row_counts: Int64Array


def file_columns(rows: FileRows, row_types: Sequence[str], row_type: NDArray[np.int8] | None) -> dict[str, Any]:
    """Make the columns that locate rows; `row_type` indexes `row_types` for each row, None: the first for all."""
    import pyarrow as pa

    lengths, source, corpus = rows.row_counts, rows.source, rows.source.corpus
    count = int(lengths.sum())
    codes = np.zeros(count, dtype=np.int8) if row_type is None else row_type
    columns: dict[str, Any] = {"type": pa.DictionaryArray.from_arrays(arrow_array(codes), arrow_strings(row_types))}
    members = corpus.member_of(rows.files)
    used_members, member_of_file = (
        (members[:1], None) if (members == members[0]).all() else _distinct_codes(members, len(corpus.members))
    )
    if member_of_file is None:
        member_of_row = np.zeros(count, np.int32)
    else:
        member_of_row = np.repeat(member_of_file.astype(np.int32), lengths)
    used_targets = [(source.targets[member], source.commits[member]) for member in used_members.tolist()]
    values = [(target.repository.info.name, target.revision, commit) for target, commit in used_targets]
    for position, name in enumerate(("repository", "revision", "commit")):
        # One code per distinct text: readers compare codes, not texts.
        numbers: dict[str, int] = {}
        member_codes = [numbers.setdefault(value[position], len(numbers)) for value in values]
        if len(numbers) == len(member_codes):
            code_of_row = member_of_row
        else:
            code_of_row = np.array(member_codes, dtype=np.int32)[member_of_row]
        columns[name] = pa.DictionaryArray.from_arrays(arrow_array(code_of_row), arrow_strings(list(numbers)))

    ids = np.array([target.repository.info.id for target, _ in used_targets], dtype=np.int64)
    columns["repository_id"] = arrow_array(ids[member_of_row])
    paths = text_column(_path_bytes(corpus, rows.files)).strings
    path_of_row = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    if member_of_file is not None:
        distinct = paths.dictionary_encode()  # one code per distinct path, also across repositories
        if len(distinct.dictionary) < len(paths):
            paths, path_of_row = distinct.dictionary, to_numpy(distinct.indices)[path_of_row]

    columns["path"] = pa.DictionaryArray.from_arrays(arrow_array(path_of_row), paths)
    # The schema has the types, so a new column only needs its values here.
    types = {column.name: column.type for column, _ in FILE_KEYS}
    return columns | {
        name: _file_column(types[name], values, lengths) for name, values in file_values(corpus, rows.files).items()
    }


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

    count = int(rows.row_counts.sum())
    spans = rows.source.path_spans
    offsets = np.zeros(count + 1, dtype=np.int32)
    starts = ends = np.zeros(0, dtype=np.int64)
    if spans is not None:
        file, start, end = spans
        # `file` ascends, so the spans of a file are one run; the files may come in any order.
        first_span = file.searchsorted(rows.files)
        span_counts = file.searchsorted(rows.files, side="right") - first_span
        if span_counts.any():
            if rows.source.corpus.paths.is_non_ascii[rows.files].any():
                start, end = path_spans_in_code_points(rows, spans)
            first_span, span_counts = np.repeat(first_span, rows.row_counts), np.repeat(span_counts, rows.row_counts)
            # One index array for all spans: file after file, each repeated for every row of the file.
            order = runs(first_span, span_counts)
            np.cumsum(span_counts, out=offsets[1:])
            starts, ends = start[order], end[order]

    offset_column = arrow_array(offsets)
    return {
        "name_start": pa.ListArray.from_arrays(offset_column, arrow_array(starts.astype(np.int32))),
        "name_end": pa.ListArray.from_arrays(offset_column, arrow_array(ends.astype(np.int32))),
    }


def path_spans_in_code_points(
    rows: FileRows, spans: tuple[Int64Array, Int64Array, Int64Array]
) -> tuple[Int64Array, Int64Array]:
    """Convert spans in paths from bytes to code points, for the paths of these rows."""
    # Spans cover the whole corpus, but only the paths of these rows are decoded.
    file, start, end = spans
    files = FileNumbers(distinct(rows.files))
    selected = np.flatnonzero(np.isin(file, files))
    texts = text_column(_path_bytes(rows.source.corpus, files))
    row = files.searchsorted(file[selected])
    start, end = start.copy(), end.copy()
    start[selected], end[selected] = (code_points(texts, row, byte_offsets[selected]) for byte_offsets in (start, end))
    return start, end


def _distinct_codes(codes: AnyArray, size: int) -> tuple[Int64Array, AnyArray]:
    """Return the codes that occur, ascending, and for each entry its index among them."""
    # Codes are below `size`, so a mask gives the distinct ones without the sort of `np.unique`.
    is_used = np.zeros(size, dtype=np.bool_)
    is_used[codes] = True
    distinct = np.flatnonzero(is_used)
    index_of_code = np.zeros(size, dtype=np.int64)
    index_of_code[distinct] = np.arange(len(distinct))
    return distinct, index_of_code[codes]


def _file_column(kind: str, coded: CodedValues, lengths: Int64Array) -> Any:
    """Make a column of type `kind`: the value of each file in each of its rows."""
    import pyarrow as pa

    values, codes_of_files = coded
    codes_in_use, index_of_file = _distinct_codes(codes_of_files, len(values))

    # Members with different aliases for a language have an entry each, with one name: one code per value.
    code_of_value: dict[Any, int] = {}
    new_codes = np.array(
        [code_of_value.setdefault(values[code], len(code_of_value)) for code in codes_in_use.tolist()], np.int32
    )

    # A file has one value, and a row of each of its lines repeats it.
    codes = np.repeat(new_codes[index_of_file], lengths)
    is_known = [value is not None and value != "" for value in code_of_value]
    indices = arrow_array(codes, valid=None if all(is_known) else np.array(is_known)[codes])
    if kind == "dict32":
        return pa.DictionaryArray.from_arrays(indices, arrow_strings(list(code_of_value)))

    return pa.array(list(code_of_value), arrow_type(kind)).take(indices)


def _path_bytes(corpus: Corpus, files: FileNumbers) -> Any:
    """Return the paths of files as an Arrow binary array."""
    import pyarrow as pa

    starts, ends, text = corpus.paths.starts[files], corpus.paths.ends[files], corpus.raw_paths
    # `take_slices` needs ascending pieces.
    if len(files) > _MAX_SLICED_PATHS and bool((files[1:] > files[:-1]).all()):
        return take_slices(pa.py_buffer(text), starts, ends)

    view = memoryview(text)
    data = b"".join([view[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])
    return arrow_binary(ends - starts, data)


def raw_matches_of(rows: FileRows, in_content: BoolArray, lines: MatchedLines, make: Callable[[], Any]) -> RawMatches:
    """Make raw matches of files; those `in_content` have the `lines`, and `make` makes their columns on demand."""
    corpus, files = rows.source.corpus, rows.files
    members = corpus.member_of(files)
    paths, path_json = _paths_of(corpus, files)
    line_start, line_end = lines.line_start, lines.line_end
    documents = corpus.documents_of(line_start)
    return RawMatches(
        locations=rows.source.locations,
        in_content=in_content,
        location_index=members,
        file_values=file_values(corpus, files),
        paths=paths,
        path_json=path_json,
        file_numbers=files,
        names=_path_spans(rows),
        lengths=rows.row_counts,
        numbers=lines.line - corpus.doc_line[documents] + 1,
        offsets=line_start - corpus.doc_start[documents],
        line_values=line_values(corpus, lines),
        sizes=line_end - line_start,
        counts=np.diff(lines.first_span),
        matches=lines.match_count,
        starts=lines.span_start,
        ends=lines.span_end,
        # With the newlines: `raw_matches` splits the text at them.
        data=bytes(line_bytes(corpus, line_start, line_end + 1)),
        make=make,
    )


def _paths_of(corpus: Corpus, files: FileNumbers) -> tuple[Sequence[bytes], Sequence[bytes] | None]:
    """Return the paths of files, and their JSON texts if the corpus has them."""
    # Lists first: `raw_paths` of several members is a copy of all their paths, which is made on first use.
    lists = corpus.path_lists
    if lists is not None:
        numbers = files.tolist()
        return [lists.paths[number] for number in numbers], [lists.json[number] for number in numbers]

    starts, ends, view = corpus.paths.starts[files], corpus.paths.ends[files], memoryview(corpus.raw_paths)
    return [bytes(view[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)], None


def _path_spans(rows: FileRows) -> dict[int, list[tuple[int, int]]]:
    """Return the spans in the path of each file that has any, in code points."""
    spans = rows.source.path_spans
    if spans is None:
        return {}

    file, start, end = spans
    first_span = file.searchsorted(rows.files)
    end_span = file.searchsorted(rows.files, side="right")
    files_with_spans = np.flatnonzero(end_span > first_span)
    if not len(files_with_spans):
        return {}

    if rows.source.corpus.paths.is_non_ascii[rows.files].any():
        start, end = path_spans_in_code_points(rows, spans)

    return {
        file_index: list(zip(start[first:last].tolist(), end[first:last].tolist(), strict=True))
        for file_index, first, last in zip(
            files_with_spans.tolist(),
            first_span[files_with_spans].tolist(),
            end_span[files_with_spans].tolist(),
            strict=True,
        )
    }


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
    return (
        arrow_binary(distinct_ends - distinct_starts, corpus.data(distinct_starts, distinct_ends))
        .take(arrow_array(row_index.astype(np.int32)))
        .buffers()[2]
        or b""
    )
