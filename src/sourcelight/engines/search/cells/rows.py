"""Cells of matching lines: record batches of lines of notebooks, and their columns in a search of files."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sourcelight.core.batches.codecs.raw_matches import RawMatches
from sourcelight.core.batches.rows import MatchRows
from sourcelight.core.batches.schema import arrow_type, batch_of_rows
from sourcelight.core.cells import CellDocument, CellPlace, CellText, has_cells
from sourcelight.core.code_points import spans_in_text
from sourcelight.engines.search.cells.evaluate import CellMatches, Spans
from sourcelight.engines.search.model import SearchOptions, Target
from sourcelight.engines.search.scan.chunks import truncate_line

_CHUNK_COLUMNS = ("chunk", "chunk_start_line", "chunk_offset", "truncated")

_RAW_ENDINGS = (b".ipynb", b".qmd", b".rmd")

CellsOf: TypeAlias = Callable[[str, str, str], CellDocument | None]
"""Returns the cells of a file by repository, revision and path; None for a file without cells."""


@dataclass(frozen=True, slots=True)
class FileOfRows:
    """Location and columns of a file: the values of rows for a match without a line."""

    target: Target
    commit: str
    path: str
    values: Mapping[str, Any]


def record_batch(matching_files: Iterable[tuple[FileOfRows, CellMatches]], options: SearchOptions) -> Any | None:
    """Return the rows of files with matching cells, or None for no rows.

    A match without a span, and any without `SearchOptions.lines`, is a row of type ``path``.
    """
    rows: list[dict[str, Any]] = []
    for file, matches in matching_files:
        location = {
            "repository": file.target.repository.info.name,
            "repository_id": file.target.repository.info.id,
            "revision": file.target.revision,
            "commit": file.commit,
            "path": file.path,
            "name_start": [],
            "name_end": [],
            **file.values,
        }
        if not options.lines or not matches.texts:
            rows.append(location | {"type": "path", "match_count": 1})
            continue

        for text, spans in matches.texts:
            rows += (location | row for row in _rows_of_text(text, spans, options))

    return batch_of_rows(rows) if rows else None


def _rows_of_text(text: CellText, spans: Spans, options: SearchOptions) -> Iterator[dict[str, Any]]:
    by_line = _spans_by_line(text, spans)
    chunks = _chunks(text, sorted(by_line), options) if options.chunk_matches else {}
    for number, (line_spans, match_count) in by_line.items():
        line = text.line(number)
        text_line = line.decode("utf-8", "replace")
        text_spans = spans_in_text(line, line_spans)

        # A span that continues in the next line ends after the newline, which is one more than the line has.
        ends = [
            len(text_line) + 1 if byte_end > len(line) else end
            for (_, byte_end), (_, end) in zip(line_spans, text_spans, strict=True)
        ]
        yield {
            "type": "content",
            "language": text.language or None,
            "line_number": text.file_lines[number],
            "line": text_line,
            "start": [start for start, _ in text_spans],
            "end": ends,
            "match_count": match_count,
            "byte_start": [start for start, _ in line_spans],
            "byte_end": [end for _, end in line_spans],
            "line_offset": text.file_offset(number),
            "cell": text.cell,
            "cell_kind": text.kind,
            "cell_line": number + 1,
        } | chunks.get(number, {})


def _spans_by_line(text: CellText, spans: Spans) -> dict[int, tuple[Spans, int]]:
    """Return for each line with a part of a match these parts, in bytes, and how many matches begin there."""
    by_line: dict[int, tuple[Spans, int]] = {}
    starts = text.line_starts
    for start, end in spans:
        first = bisect.bisect_right(starts, start) - 1
        number = first
        while number < len(starts) and (number == first or starts[number] < end):
            line_spans, match_count = by_line.get(number, ([], 0))
            # To the newline, and over it.
            line_end = starts[number + 1] if number + 1 < len(starts) else len(text.text)
            line_spans.append((max(start, starts[number]) - starts[number], min(end, line_end) - starts[number]))
            by_line[number] = line_spans, match_count + (number == first)
            number += 1

    return by_line


def _chunks(text: CellText, numbers: Sequence[int], options: SearchOptions) -> dict[int, dict[str, Any]]:
    """Return the chunk columns of matched lines.

    A chunk has lines that follow one another in the file as well as in the cell, so that each has a number. Where a
    notebook has its cells on one line, a chunk is the matched line alone.
    """
    groups: list[tuple[int, int, list[int]]] = []
    for number in numbers:
        first = last = number
        while first > max(0, number - options.context_lines) and _is_next(text, first - 1):
            first -= 1
        while last < min(len(text.line_starts) - 1, number + options.context_lines) and _is_next(text, last):
            last += 1
        if groups and first <= groups[-1][1] + 1 and (first <= groups[-1][1] or _is_next(text, first - 1)):
            groups[-1] = groups[-1][0], max(last, groups[-1][1]), [*groups[-1][2], number]
        else:
            groups.append((first, last, [number]))

    chunks: dict[int, dict[str, Any]] = {}
    for first, last, members in groups:
        lines = [text.line(number) for number in range(first, last + 1)]
        limit = options.max_line_len
        truncated = [truncate_line(line, limit) for line in lines] if limit > 0 else lines
        values = (
            b"\n".join(truncated).decode("utf-8", "replace"),
            text.file_lines[first],
            text.file_offset(first),
            truncated != lines,
        )
        chunks |= {number: dict(zip(_CHUNK_COLUMNS, values, strict=True)) for number in members}

    return chunks


def _is_next(text: CellText, number: int) -> bool:
    """Return whether the line after `number` is the next one in the file, too."""
    return text.file_lines[number + 1] == text.file_lines[number] + 1


def have_notebooks(paths: Iterable[bytes]) -> bool:
    """Return whether one of these paths has the name of a notebook, of any content."""
    return any(path[-6:].lower().endswith(_RAW_ENDINGS) for path in paths)


def add_cells(batch: Any, cells_of: CellsOf) -> Any:
    """Return a batch with the columns of cells where lines of notebooks matched.

    The cell is that of the first match of a line that is in the source or the output of one. A batch without notebooks
    is returned as it is.
    """
    import pyarrow as pa

    if isinstance(batch, RawMatches):
        if not have_notebooks(batch.paths):
            return batch
        batch = batch.batch

    rows = MatchRows(batch)
    if "line_offset" not in rows or "cell" in rows or not len(rows):
        return batch

    paths = rows.column("path")
    if not any(has_cells(path or "") for path in paths.dictionary.to_pylist()):
        return batch

    entries: list[CellPlace | tuple[None, None, None, None]] = [(None, None, None, None)] * len(rows)
    counts, byte_starts = rows.lists("byte_start")
    ends = counts.cumsum().tolist()
    offsets = rows.numbers("line_offset").tolist()
    for first, last in rows.files():
        path = rows.text("path", first)
        if not has_cells(path) or rows.text("type", first) not in {"content", "symbol"}:
            continue

        cells = cells_of(rows.text("repository", first), rows.text("revision", first), path)
        if cells is None:
            continue

        for row in range(first, last):
            starts = byte_starts[ends[row] - int(counts[row]) : ends[row]].tolist()
            positions = (cells.place_at(offsets[row] + start) for start in starts)
            entries[row] = next(filter(None, positions), entries[row])

    if all(entry[0] is None for entry in entries):
        return batch

    for name, kind, values in zip(
        ("cell", "cell_kind", "cell_line", "cell_language"),
        ("int32", "dict8", "int32", "dict32"),
        zip(*entries, strict=True),
        strict=True,
    ):
        batch = batch.append_column(pa.field(name, arrow_type(kind)), pa.array(values, arrow_type(kind)))

    return batch
