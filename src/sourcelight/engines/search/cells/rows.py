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

_CELL_COLUMNS = (("cell", "int32"), ("cell_kind", "dict8"), ("cell_line", "int32"), ("cell_language", "dict32"))
"""Columns of a position in a cell, in the order of `CellPlace`, and their types."""

_RAW_ENDINGS = (b".ipynb", b".qmd", b".rmd")
"""Endings of the names of notebooks."""

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
    chunks: Mapping[int, Mapping[str, Any]] = {}
    if options.chunk_matches:
        chunks = _chunk_columns(text, sorted(by_line), options)

    for number, (line_spans, match_count) in by_line.items():
        line = text.line(number)
        text_line = line.decode("utf-8", "replace")
        text_spans = spans_in_text(line, line_spans)

        ends: list[int] = []
        for (_, byte_end), (_, end) in zip(line_spans, text_spans, strict=True):
            # A span that continues in the next line ends after the newline, which is one more than the line has.
            ends.append(len(text_line) + 1 if byte_end > len(line) else end)

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
            **chunks.get(number, {}),
        }


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


@dataclass(slots=True)
class _Chunk:
    """Lines of a cell that are shown together: `first` to `last`, and those of them with a match."""

    first: int
    last: int
    matched: list[int]


def _chunk_columns(text: CellText, numbers: Sequence[int], options: SearchOptions) -> dict[int, Mapping[str, Any]]:
    """Return the chunk columns of matched lines, by the number of the line in the text."""
    columns: dict[int, Mapping[str, Any]] = {}
    for chunk in _chunks(text, numbers, options.context_lines):
        lines = [text.line(number) for number in range(chunk.first, chunk.last + 1)]
        visible = lines
        if options.max_line_len > 0:
            visible = [truncate_line(line, options.max_line_len) for line in lines]

        values = {
            "chunk": b"\n".join(visible).decode("utf-8", "replace"),
            "chunk_start_line": text.file_lines[chunk.first],
            "chunk_offset": text.file_offset(chunk.first),
            "truncated": visible != lines,
        }
        columns |= dict.fromkeys(chunk.matched, values)

    return columns


def _chunks(text: CellText, numbers: Sequence[int], context_lines: int) -> list[_Chunk]:
    """Return matched lines with their context; chunks that touch are one.

    A chunk has lines that follow one another in the file as well as in the cell, so that each has a number. Where a
    notebook has its cells on one line, a chunk is the matched line alone.
    """
    last_line = len(text.line_starts) - 1
    chunks: list[_Chunk] = []
    for number in numbers:
        first = last = number
        while first > max(0, number - context_lines) and _is_next(text, first - 1):
            first -= 1
        while last < min(last_line, number + context_lines) and _is_next(text, last):
            last += 1

        if chunks and _touches(text, chunks[-1], first):
            chunks[-1].last = max(last, chunks[-1].last)
            chunks[-1].matched.append(number)
        else:
            chunks.append(_Chunk(first, last, [number]))

    return chunks


def _touches(text: CellText, chunk: _Chunk, first: int) -> bool:
    """Return whether lines from `first` on are in a chunk, or follow it in the file."""
    if first <= chunk.last:
        return True
    return first == chunk.last + 1 and _is_next(text, chunk.last)


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

    positions = _cell_places(rows, cells_of)
    if not any(positions):
        return batch

    for index, (name, kind) in enumerate(_CELL_COLUMNS):
        values = [None if position is None else position[index] for position in positions]
        batch = batch.append_column(pa.field(name, arrow_type(kind)), pa.array(values, arrow_type(kind)))

    return batch


def _cell_places(rows: MatchRows, cells_of: CellsOf) -> list[CellPlace | None]:
    """Return for each row the place of its first match that is in a cell, or None."""
    positions: list[CellPlace | None] = [None] * len(rows)
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
            positions[row] = _first_place(cells, [offsets[row] + start for start in starts])

    return positions


def _first_place(cells: CellDocument, offsets: Iterable[int]) -> CellPlace | None:
    """Return the position in a cell of the first of some bytes of a file that has one."""
    for offset in offsets:
        position = cells.place_at(offset)
        if position is not None:
            return position
    return None
