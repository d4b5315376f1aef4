"""Print matches on a terminal: a heading for each file or commit, its matched lines below it.

Colors appear only on a terminal, and only when NO_COLOR is not set. Names and lines come from repositories, so control
characters in them are printed as visible symbols.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from typing import IO, TYPE_CHECKING, NamedTuple

from sourcelight.core.markup import visible

if TYPE_CHECKING:
    import pyarrow as pa

_HEADING_COLOR, _NUMBER_COLOR, _MATCH_COLOR, _RESET = "\x1b[35m", "\x1b[32m", "\x1b[1;31m", "\x1b[0m"
_COMMIT_CHARS = 12
"""Digits of a commit that are printed: enough to be unique in a large repository."""

_NUMBER_WIDTH = 7
_INDENT = " " * (_NUMBER_WIDTH + 2)
"""Before the further lines of a match, so that they begin below its first line: the number and two spaces."""


class _Row(NamedTuple):
    """The printed columns of a match; a column that a batch lacks is None."""

    type: str | None
    repository: str | None
    revision: str | None
    path: str | None
    line_number: int | None
    line: str | None
    start: Sequence[int] | None
    end: Sequence[int] | None
    name_start: Sequence[int] | None
    name_end: Sequence[int] | None
    commit: str | None
    author: str | None
    commit_date: datetime | None


def wants_color(stream: IO[str]) -> bool:
    """Return whether to highlight on `stream`."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class MatchPrinter:
    """Prints record batches: a heading for each file or commit, its matched lines below with their numbers.

    Parameters
    ----------
    stream
        Where to print.
    use_color
        Whether to highlight.
    """

    def __init__(self, stream: IO[str], *, use_color: bool) -> None:
        self._stream = stream
        self._use_color = use_color
        self._heading = ""
        self.rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Print the rows of a batch with any subset of the match columns."""
        nulls = [None] * batch.num_rows
        columns = []
        for name in _Row._fields:
            index = batch.schema.get_field_index(name)
            columns.append(nulls if index < 0 else batch.column(index).to_pylist())

        lines: list[str] = []
        for values in zip(*columns, strict=True):
            row = _Row(*values)
            heading = self._heading_of(row)
            if heading != self._heading:
                self._heading = heading
                lines.append(f"{heading}\n")
            if row.type != "repo" and row.line is not None:
                lines.append(self._line_of(row, row.line))

        self.rows += batch.num_rows
        self._stream.write("".join(lines))
        self._stream.flush()

    def _heading_of(self, row: _Row) -> str:
        """Return the place of a match: a repository, a file, or a commit and the file in it."""
        target = _name(f"{row.repository}@{row.revision}" if row.revision else str(row.repository))
        if row.type == "repo":
            return self._highlight(target, row.name_start, row.name_end)

        # The path is the match.
        if row.line is None:
            return f"{visible(target)}  {self._highlight(_name(str(row.path)), row.name_start, row.name_end)}"

        parts = [target]
        if row.type in {"commit", "diff"}:
            parts += _commit_parts(row)
        parts.append(_name(row.path or ""))
        text = "  ".join(part for part in parts if part)
        return self._color(visible(text), _HEADING_COLOR)

    def _line_of(self, row: _Row, line: str) -> str:
        number = "" if row.line_number is None else str(row.line_number)
        text = self._highlight(line.removesuffix("\r"), row.start, row.end).replace("\n", "\n" + _INDENT)
        return f"{self._color(number.rjust(_NUMBER_WIDTH), _NUMBER_COLOR)}  {text}\n"

    def _highlight(self, text: str, starts: Sequence[int] | None, ends: Sequence[int] | None) -> str:
        if not self._use_color or not starts or not ends:
            return visible(text)

        parts = []
        position = 0
        for span_start, span_end in zip(starts, ends, strict=True):
            start, end = max(span_start, position), min(span_end, len(text))
            if start < end:
                parts += [visible(text[position:start]), _MATCH_COLOR, visible(text[start:end]), _RESET]
                position = end

        return "".join(parts) + visible(text[position:])

    def _color(self, text: str, color: str) -> str:
        return f"{color}{text}{_RESET}" if self._use_color else text


def _name(text: str) -> str:
    """Return a name on one line; the symbol for a line end takes one character too, which keeps spans right."""
    return text.replace("\n", "\u240a")


def _commit_parts(row: _Row) -> list[str]:
    """Return the short id, day and author of a commit; empty texts for what isn't known."""
    day = "" if row.commit_date is None else f"{row.commit_date:%Y-%m-%d}"
    return [(row.commit or "")[:_COMMIT_CHARS], day, _name(row.author or "")]
