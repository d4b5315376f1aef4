"""What answers look like in a terminal: matches, tables, a status line.

All text of repositories and services is made harmless: control characters and those that reorder text are shown, not
obeyed. Colours are used only where standard output is a terminal and NO_COLOR is not set.

Exit statuses, as grep has them: 0 done, 1 no match, 2 failed or used wrongly, 130 interrupted.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import IO, Any

from sourcelight.core.markup import one_line, visible

_HEADING, _NUMBER, _MATCH, _PLAIN = "\x1b[35m", "\x1b[32m", "\x1b[1;31m", "\x1b[0m"


def wants_colour(stream: IO[str]) -> bool:
    """Whether to highlight on `stream`."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


_WANTED = (
    "type", "repository", "revision", "path", "line_number", "line", "start", "end", "name_start", "name_end",
    "commit", "author", "commit_date",
)  # fmt: skip


class MatchPrinter:
    """Prints record batches: a heading for each file or commit, its matched lines below with their numbers.

    Parameters
    ----------
    stream
        Where to print.
    colour
        Whether to highlight.
    """

    def __init__(self, stream: IO[str], *, colour: bool) -> None:
        self._stream = stream
        self._colour = colour
        self._heading = ""
        self.rows = 0

    def write(self, batch: Any) -> None:
        """Print the rows of a batch with any subset of the match columns."""
        names = batch.schema.names
        columns = {name: batch.column(names.index(name)).to_pylist() for name in _WANTED if name in names}
        nothing: list[Any] = [None] * batch.num_rows
        rows = zip(*(columns.get(name, nothing) for name in _WANTED), strict=True)
        out: list[str] = []
        for kind, repository, revision, path, number, line, start, end, name_start, name_end, *commit in rows:
            where = _name(f"{repository}@{revision}" if revision else str(repository))
            if kind == "repo":
                self._head(out, self._paint(where, name_start, name_end))
            elif line is None:
                self._head(out, f"{visible(where)}  {self._paint(_name(str(path)), name_start, name_end)}")
            else:
                parts = (where, _commit_label(*commit) if kind in {"commit", "diff"} else "", _name(path or ""))
                self._head(out, self._dyed(visible("  ".join(filter(None, parts))), _HEADING))
                label = f"{number:>7}" if number is not None else " " * 7
                text = self._paint(line.removesuffix("\r"), start, end).replace("\n", "\n" + " " * 9)
                out.append(f"{self._dyed(label, _NUMBER)}  {text}\n")
        self.rows += batch.num_rows
        self._stream.write("".join(out))
        self._stream.flush()

    def _head(self, out: list[str], heading: str) -> None:
        if heading != self._heading:
            self._heading = heading
            out.append(f"{heading}\n")

    def _paint(self, text: str, starts: Sequence[int] | None, ends: Sequence[int] | None) -> str:
        if not self._colour or not starts or not ends:
            return visible(text)
        parts = []
        at = 0
        for start, end in zip(starts, ends, strict=True):
            low, high = max(start, at), min(end, len(text))
            if low < high:
                parts += [visible(text[at:low]), _MATCH, visible(text[low:high]), _PLAIN]
                at = high
        return "".join(parts) + visible(text[at:])

    def _dyed(self, text: str, colour: str) -> str:
        return f"{colour}{text}{_PLAIN}" if self._colour else text


def print_table(heads: Sequence[str], rows: Iterable[Sequence[object]], stream: IO[str] | None = None) -> None:
    """Columns under their heads; numbers stand right, text left."""
    body = [["" if value is None else value for value in row] for row in rows]
    texts = [[_cell(value) for value in row] for row in body]
    widths = [max([len(head), *(len(row[i]) for row in texts)]) for i, head in enumerate(heads)]
    right = [bool(body) and all(isinstance(row[i], int | float) for row in body) for i in range(len(heads))]
    out = sys.stdout if stream is None else stream
    for line in ([str(head) for head in heads], *texts):
        cells = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True)]
        out.write("  ".join(cells).rstrip() + "\n")
    out.flush()


def _name(text: str) -> str:
    """A name on one line; a line end takes one place, as before, so that spans stay right."""
    return text.replace("\n", "\u240a")


def _commit_label(commit: str | None, author: str | None, date: datetime | None) -> str:
    """Short id, day and author of a commit, as far as the service says them."""
    parts = ((commit or "")[:12], f"{date:%Y-%m-%d}" if date else "", _name(author or ""))
    return "  ".join(filter(None, parts))


def _cell(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return one_line(str(value), 200)


class StatusLine:
    """One line on standard error that is painted over, at most ten times a second; silent where it is no terminal."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._on = self._stream.isatty()
        self._painted = 0.0
        self._shown = False

    def show(self, text: str) -> None:
        """Paint `text`, unless the last painting was less than 100 ms ago."""
        now = time.monotonic()
        if self._on and now - self._painted >= 0.1:
            self._painted, self._shown = now, True
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"\r\x1b[K{one_line(text, max(width, 10))}")
            self._stream.flush()

    def clear(self) -> None:
        """Wipe the line, before something else is printed."""
        if self._shown:
            self._shown = False
            self._stream.write("\r\x1b[K")
            self._stream.flush()


DONE, NO_MATCH, FAILED, INTERRUPTED = 0, 1, 2, 130
USAGE = FAILED
"""Wrong usage has the status of a failure, so that a script can take 1 for "it is not there"."""


def say(message: str) -> None:
    """One line on standard error, control characters made visible."""
    lines = [line.strip() for line in visible(message).splitlines() if line.strip()]
    sys.stderr.write(f"sourcelight: {'; '.join(lines)}\n")
    sys.stderr.flush()


def tell(message: str) -> None:
    """A line of the answer, on standard output."""
    sys.stdout.write(f"{message}\n")
