"""Join raw matches of several searches, and make their record batch without the index that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, chain
from typing import Any

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array, arrow_array, arrow_strings
from sourcelight.core.batches.codecs.raw_matches import RawMatches
from sourcelight.core.batches.codecs.wire_columns import CodedValues
from sourcelight.core.batches.columns import copy_column, dictionary, span_lists
from sourcelight.core.batches.schema import FILE_KEYS
from sourcelight.engines.search.scan.line_columns import ROW_TYPES, LineValues, line_columns, row_types
from sourcelight.engines.search.scan.text import take_slices, text_column


def record_batch(matches: RawMatches) -> Any:
    """Make the record batch of matches from their arrays alone; raw matches with columns of lines have their own.

    Dictionaries have the values in the order in which rows use them.
    """
    import pyarrow as pa

    # Every column of files is repeated by this one array; a path match has one row, as if it were a line.
    rows_of_file = np.repeat(np.arange(len(matches.paths)), matches.lengths)
    valid: BoolArray | None = None if matches.in_content.all() else matches.in_content[rows_of_file]
    has_lines = bool(len(matches.numbers))

    # The columns and their types equal the engine's, so that batches of both kinds can be concatenated.
    if has_lines:
        types, codes = row_types(None if valid is None else (~valid).astype(np.int8))
    else:
        types, codes = ROW_TYPES[1:], None

    if codes is None:
        codes = np.zeros(len(rows_of_file), dtype=np.int8)
    columns: dict[str, Any] = {"type": pa.DictionaryArray.from_arrays(arrow_array(codes), arrow_strings(types))}
    columns |= _location_columns(matches, rows_of_file)
    if has_lines:
        columns |= line_columns(_lines(matches), valid)
    else:
        columns["match_count"] = arrow_array(np.ones(len(rows_of_file), dtype=np.int32))

    names = [matches.names.get(file, ()) for file in range(len(matches.paths))]
    columns["name_start"], columns["name_end"] = span_lists(names, rows_of_file)
    return pa.RecordBatch.from_pydict(columns)


def join_matches(parts: Sequence[RawMatches]) -> RawMatches:
    """Return all files of several raw matches, one after another; none has columns of lines.

    Its record batch is made of its arrays, whatever that of each part would be made of.
    """
    # Numbers of files and locations continue across the parts. Spans need none, as they count from their own line.
    location_starts = _starts([len(part.locations) for part in parts])
    location_indices = [part.location_index + start for part, start in zip(parts, location_starts, strict=True)]
    file_values = {}
    for name in parts[0].file_values:
        file_values[name] = _join_values([part.file_values[name] for part in parts])

    union = replace(
        parts[0],
        locations=list(chain.from_iterable(part.locations for part in parts)),
        in_content=np.concatenate([part.in_content for part in parts]),
        location_index=np.concatenate(location_indices),
        file_values=file_values,
        paths=list(chain.from_iterable(part.paths for part in parts)),
        names=_join_names(parts),
        lengths=np.concatenate([part.lengths for part in parts]),
        numbers=np.concatenate([part.numbers for part in parts]),
        offsets=np.concatenate([part.offsets for part in parts]),
        sizes=np.concatenate([part.sizes for part in parts]),
        counts=np.concatenate([part.counts for part in parts]),
        matches=np.concatenate([part.matches for part in parts]),
        starts=np.concatenate([part.starts for part in parts]),
        ends=np.concatenate([part.ends for part in parts]),
        data=b"".join([part.data for part in parts]),
        # Not from the parts: their batches would have to be made, concatenated and given common dictionaries.
        make=lambda: record_batch(union),
        path_json=None,
        file_numbers=None,
    )
    return union


def _join_names(parts: Sequence[RawMatches]) -> dict[int, Sequence[tuple[int, int]]]:
    """Return the spans in names of files, by the number of the file among those of all parts."""
    names = {}
    file_starts = _starts([len(part.paths) for part in parts])
    for part, start in zip(parts, file_starts, strict=True):
        for file, spans in part.names.items():
            names[start + file] = spans
    return names


def _lines(matches: RawMatches) -> LineValues:
    # Each line is followed by its newline, which no text has.
    ends = np.cumsum(matches.sizes + 1) - 1
    # Arrow takes slices of bytes in one pass; the newlines between them are the slices that it leaves out.
    texts = text_column(take_slices(_buffer(matches.data), ends - matches.sizes, ends))
    return LineValues(
        texts=texts,
        numbers=matches.numbers,
        offsets=matches.offsets,
        span_counts=matches.counts,
        span_starts=matches.starts,
        span_ends=matches.ends,
        match_counts=matches.matches,
    )


def _buffer(data: bytes) -> Any:
    import pyarrow as pa

    return pa.py_buffer(data)


def _location_columns(matches: RawMatches, rows_of_file: Int64Array) -> dict[str, Any]:
    """Return the columns of the repository and the file of each row."""
    distinct_codes, codes = _in_order_of_use(matches.location_index)
    of_row = codes[rows_of_file]

    # Tuples by attribute: a query over a thousand repositories has as many locations, and three texts of each.
    names, ids, revisions, commits = zip(*[matches.locations[index] for index in distinct_codes], strict=True)
    columns: dict[str, Any] = {
        "repository": dictionary(names, of_row),
        "revision": dictionary(revisions, of_row),
        "commit": dictionary(commits, of_row),
        "repository_id": arrow_array(np.array(ids, dtype=np.int64)[of_row]),
        "path": dictionary([str(path, "utf-8", "replace") for path in matches.paths], rows_of_file),
    }
    for column, _ in FILE_KEYS:
        if column.name in matches.file_values:
            values, codes = matches.file_values[column.name]
            distinct_codes, codes = _in_order_of_use(codes)
            # An empty text isn't a value of a file on the wire, and null in a record batch.
            of_files = [None if values[code] == "" else values[code] for code in distinct_codes]
            columns[column.name] = copy_column(column, of_files, codes[rows_of_file])

    return columns


def _in_order_of_use(codes: Int64Array) -> tuple[list[int], Int64Array]:
    """Return the distinct codes in the order of their first use, and the index of each code among them."""
    # `np.unique` would sort the codes; a dict keeps the order of its keys, and the codes are few.
    index_of = {code: index for index, code in enumerate(dict.fromkeys(codes.tolist()))}
    indices = np.fromiter(map(index_of.__getitem__, codes.tolist()), np.int64, len(codes))
    return list(index_of), indices


def _join_values(parts: Sequence[CodedValues]) -> CodedValues:
    starts = _starts([len(values) for values, _ in parts])
    codes = np.concatenate([codes + start for (_, codes), start in zip(parts, starts, strict=True)])
    return list(chain.from_iterable(values for values, _ in parts)), codes


def _starts(sizes: Sequence[int]) -> list[int]:
    return [0, *accumulate(sizes)][:-1]
