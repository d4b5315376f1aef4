"""The matching lines of a file on the page of a search; for a notebook, lines of its cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sourcelight.core.cells import is_jupyter
from sourcelight.core.cells.json_lines import context_lines, has_json_line, row_line
from sourcelight.core.cells.reading import anchor_of
from sourcelight.core.markup import escape
from sourcelight.core.markup.highlighting import highlight_code, line_tokens

MAX_CHUNKS, MAX_CHARS = 5, 400
"""Pieces of text of a file, and characters of a line."""

_MAX_CHUNK_LINES = 60
_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _ChunkLine:
    """A line on the page: its number in the file, its text with spans, and the row that matches it."""

    number: int
    text: str
    starts: Sequence[int] = ()
    ends: Sequence[int] = ()
    row: _Row | None = None


def line_table(rows: Sequence[_Row], address: str) -> str:
    """Return HTML of the matching lines of a file with the lines around; empty without any.

    Parameters
    ----------
    rows
        Rows of matches, one for each line.
    address
        Address of the file.
    """
    chunks: dict[tuple[int, str], list[_Row]] = {}
    for row in rows:
        start, text = row.get("chunk_start_line") or row["line_number"], row.get("chunk") or row.get("line") or ""
        # A notebook may be a single line: then all its cells are chunks with the same line number.
        chunks.setdefault((start, text), []).append(row)

    parts: list[str] = []
    for (start, text), chunk_rows in list(chunks.items())[:MAX_CHUNKS]:
        parts += _chunk_rows(chunk_rows, _lines(chunk_rows, start, text), address)
        parts.append("<tr class=gap><td></td><td></td></tr>")

    if not parts:
        return ""

    table = f'<div class="scroll"><table class="lines"><tbody>{"".join(parts[:-1])}</tbody></table></div>'
    return table + remaining_text(len(chunks) - MAX_CHUNKS)


def remaining_text(count: int) -> str:
    """Return HTML about how much more a result has; empty for nothing."""
    return f'<p class="quiet more">{count:,} more in this result.</p>' if count > 0 else ""


def _lines(rows: Sequence[_Row], start: int, text: str) -> list[_ChunkLine]:
    """Return the lines of a chunk.

    Of a notebook's JSON, these are the lines that hold text of a cell, each as that text.
    """
    row_of_line = {row["line_number"]: row for row in rows}
    numbered = list(enumerate(text.split("\n")[:_MAX_CHUNK_LINES], start))
    is_json = any(map(has_json_line, rows))
    texts = dict(context_lines(numbered)) if is_json else dict(numbered)
    lines = []
    for number, line in numbered:
        row = row_of_line.get(number)
        if row is not None and has_json_line(row):
            lines.append(_ChunkLine(number, *row_line({**row, "line": line}), row))
        elif row is not None:
            lines.append(
                _ChunkLine(number=number, text=line, starts=row.get("start") or (), ends=row.get("end") or (), row=row)
            )
        elif number in texts:
            lines.append(_ChunkLine(number, texts[number]))

    return lines


def _chunk_rows(rows: Sequence[_Row], lines: Sequence[_ChunkLine], address: str) -> Iterator[str]:
    """Yield the rows of a chunk, in a notebook under the heading of each cell, with the numbers of its lines."""
    # Lines before the first match have no row of their own; they belong to the cell of that match.
    cell_row = next((line.row for line in lines if line.row is not None and line.row.get("cell")), None)
    cell_rows: list[_Row | None] = []
    for line in lines:
        if line.row is not None and line.row.get("cell"):
            cell_row = line.row
        cell_rows.append(cell_row)

    position = 0
    for location, group in groupby(cell_rows, key=_cell_of):
        size = len(list(group))
        of_group = slice(position, position + size)
        position += size
        if location is not None:
            heading = f"Cell {location[0]} ({escape(location[1])})"
            yield f'<tr class="cell"><td></td><th scope="rowgroup">{heading}</th></tr>'

        texts = [line.text[:MAX_CHARS] for line in lines[of_group]]
        tokens = line_tokens(texts, _language(cell_rows[of_group.start] or rows[0]))
        for line, row, text, line_token in zip(lines[of_group], cell_rows[of_group], texts, tokens, strict=True):
            number, target = line.number, f"{escape(address)}?L{line.number}"
            if row is not None and location is not None and is_jupyter(str(row["path"])):
                # The page of a Jupyter notebook counts lines per cell, the page of a text notebook per file.
                number = row["cell_line"] + line.number - row["line_number"]
                target += f"#{escape(anchor_of(*location, number))}"

            class_attribute = " class=hit" if line.row is not None else ""
            yield (
                f'<tr{class_attribute}><td><a href="{target}">{number}</a></td>'
                f"<td>{highlight_code(text, line_token, line.starts, line.ends)}</td></tr>"
            )


def _cell_of(row: _Row | None) -> tuple[int, str] | None:
    return None if row is None else (row["cell"], str(row["cell_kind"]))


def _language(row: _Row) -> str:
    """Return the language of a line; empty unless it is code."""
    if row.get("cell_kind") not in {None, "code"}:
        return ""
    return str(row.get("cell_language") or row.get("language") or "")
