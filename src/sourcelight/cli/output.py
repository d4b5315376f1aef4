"""Write to a terminal: tables and lines of an answer, a status line, messages, and errors as exit statuses.

An answer is on standard output, everything else on standard error.

Text of repositories and services is made harmless: control characters and characters that reorder text are printed as
visible symbols. Matches are printed by `sourcelight.cli.matches.printer`.

Exit statuses are like grep's: 0 done, 1 no match, 2 error or wrong usage, 130 interrupted.
"""

from __future__ import annotations

import codecs
import io
import os
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO

from sourcelight.core.errors import BadParameter, ConfigurationError, QueryError, SourcelightError
from sourcelight.core.markup import one_line, visible
from sourcelight.core.markup.counts import count_of, join_lines

if TYPE_CHECKING:
    from sourcelight.client.blocking_searches import BlockingSearches
    from sourcelight.repos import Catalog

DONE, NO_MATCH, FAILED, INTERRUPTED = 0, 1, 2, 130
"""Exit statuses, which are like those of grep."""

USAGE = FAILED
"""Wrong usage has the status of an error, so that a script can take 1 for "no match"."""

_MAX_CELL_CHARS = 200
"""Characters of a cell: names and messages come from repositories, and may be of any length."""

_MAX_CLIENT_WARNINGS = 5
"""Warnings about repositories before the rows of a search: a home directory may have hundreds of clones of one name."""

_PAINT_INTERVAL_S = 0.1
"""Ten paintings a second look continuous; more cost time on a slow terminal."""

_MIN_STATUS_CHARS = 10
"""Characters of the status line on a terminal that is narrower, or says that it has no width."""

_ERASE_LINE = "\r\x1b[K"
"""Return to the start of the line, and clear it up to its end (ECMA-48, erase in line)."""

_OPTION_OF_PARAMETER = {
    "Open with worktree=True": "Pass --worktree",
    " or pass token=": "",
    "join_addresses=False": "--no-join-addresses",
    "join_addresses is False": "--no-join-addresses",
    "`exact=True` proves it": "in Python, `ownership(exact=True)` proves it",
    "exact=True proves it": "in Python, ownership(exact=True) proves it",
    "identity_suggestions() lists them, and mailmap= joins those whose mailmap_line you pass": (
        "in Python, identity_suggestions() lists them, with lines for a .mailmap that join them"
    ),
}
"""Parts of messages that name parameters of the library, and their equivalents in a terminal."""


def print_table(heads: Sequence[str], rows: Iterable[Sequence[object]], stream: IO[str] | None = None) -> None:
    """Print columns under their heads: numbers to the right, text to the left."""
    records = list(rows)
    columns: list[list[str]] = []
    for index, head in enumerate(heads):
        values = [record[index] for record in records]
        texts = [head, *map(_format_cell, values)]
        width = max(map(len, texts))
        is_number = bool(values) and all(isinstance(value, int | float) for value in values)
        columns.append([text.rjust(width) if is_number else text.ljust(width) for text in texts])

    output = sys.stdout if stream is None else stream
    for cells in zip(*columns, strict=True):
        output.write("  ".join(cells).rstrip() + "\n")

    output.flush()


def format_time(seconds: float) -> str:
    """Return a time in UTC, such as ``2026-03-02T09:05:40Z``, of seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _format_cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return one_line(str(value), _MAX_CELL_CHARS)


class StatusLine:
    """One line on standard error that repaints itself, at most ten times a second; silent without a terminal."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream.isatty()
        self._painted_at = 0.0
        self._is_visible = False

    def show(self, text: str) -> None:
        """Paint `text`, unless the last painting is less than 100 ms old."""
        now_s = time.monotonic()
        if self._is_terminal and now_s - self._painted_at >= _PAINT_INTERVAL_S:
            self._painted_at, self._is_visible = now_s, True
            # One column stays free: a line that wraps couldn't be erased by returning to its start.
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"{_ERASE_LINE}{one_line(text, max(width, _MIN_STATUS_CHARS))}")
            self._stream.flush()

    def clear(self) -> None:
        """Erase the line, before something else is printed."""
        if self._is_visible:
            self._is_visible = False
            self._stream.write(_ERASE_LINE)
            self._stream.flush()


class _VisibleOutput(io.RawIOBase):
    """A terminal that shows control characters of a repository instead of obeying them; files get the raw bytes."""

    def __init__(self, terminal: IO[str]) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Show bytes in UTF-8, or text."""
        text = data if isinstance(data, str) else self._decoder.decode(bytes(data))
        self._terminal.write(visible(text))
        return len(data)

    def flush(self) -> None:
        """Flush the terminal."""
        self._terminal.flush()


def binary_output() -> Any:
    """Return standard output for bytes."""
    return _VisibleOutput(sys.stdout) if sys.stdout.isatty() else sys.stdout.buffer


class _StandardOutput:
    """Standard output in a ``with`` statement that leaves it open."""

    def __enter__(self) -> IO[str]:
        return sys.stdout

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()


def open_output(path: str) -> Any:
    """Open a file to write text, or standard output for an empty path; for a ``with`` statement."""
    if not path:
        return _StandardOutput()
    from sourcelight.display.frames.export import check_directory

    check_directory(Path(path))
    return open(path, "w", encoding="utf-8")  # noqa: PTH123 - used in a with


def for_terminals(text: str) -> str:
    """Return a message of the library with the options of commands instead of parameters of Python."""
    for parameter, option in _OPTION_OF_PARAMETER.items():
        text = text.replace(parameter, option)
    return text


def say(message: str) -> None:
    """Print one line on standard error, control characters made visible, with options for parameters of Python."""
    sys.stderr.write(f"sourcelight: {join_lines(visible(for_terminals(message)))}\n")
    sys.stderr.flush()


def print_line(message: str) -> None:
    """Print a line of the answer on standard output, control characters made visible."""
    sys.stdout.write(f"{visible(message)}\n")


def say_warnings(catalog: Catalog) -> None:
    """Print the warnings of a catalog and the directories that it skipped, with the reasons."""
    for warning in catalog.warnings:
        say(warning)
    for skipped in catalog.skipped:
        say(f"{skipped.path}: {skipped.message}")


def say_client_warnings(client: BlockingSearches) -> None:
    """Print what differs between PATH and what is searched: a directory inside a work tree, a HEAD without a branch."""
    from sourcelight.backends.embedded import EmbeddedBackend

    if isinstance(client.backend, EmbeddedBackend):
        catalog = client.backend.engine.catalog
        # `sourcelight.open` warns of unread settings.
        messages = [warning for warning in catalog.warnings if warning not in catalog.unread_settings]
        for message in messages[:_MAX_CLIENT_WARNINGS]:
            say(message)
        hidden_count = len(messages) - _MAX_CLIENT_WARNINGS
        if hidden_count > 0:
            say(f"{count_of(hidden_count, 'more warning')} about repositories; `sourcelight repos` prints all")


def exit_status(command: Callable[[], object]) -> int:  # noqa: PLR0911 - one for each outcome
    """Run a command and return its exit status; an error is one line on standard error, never a traceback."""
    try:
        with _say_python_warnings():
            status = command()
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return DONE
    except SystemExit as exc:
        # The framework turns a BrokenPipeError into SystemExit.
        if not isinstance(exc.__context__, BrokenPipeError):
            raise
        _discard_output()
        return DONE
    except (ConfigurationError, BadParameter) as exc:
        say(str(exc))
        return USAGE
    except SourcelightError as exc:
        message = str(exc)
        if isinstance(exc, QueryError) and exc.hint not in message:
            message += f": {exc.hint}"
        say(message)
        return FAILED
    except OSError as exc:
        name = f"{exc.filename}: " if exc.filename else ""
        say(f"{name}{exc.strerror or exc}")
        return FAILED
    except Exception as exc:
        if os.environ.get("SOURCELIGHT_TRACEBACK"):
            raise
        say(f"internal error: {type(exc).__name__}: {exc} (set SOURCELIGHT_TRACEBACK=1 for a traceback)")
        return FAILED

    if status == INTERRUPTED:
        say("interrupted")

    return status if isinstance(status, int) else DONE


@contextmanager
def _say_python_warnings() -> Iterator[None]:
    """Print warnings of the library like other messages, without the line of code that a script would get."""
    show = warnings.showwarning

    def say_warning(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, UserWarning):
            say(str(message))
        else:
            show(message, category, filename, lineno, file, line)

    warnings.showwarning = say_warning
    try:
        yield
    finally:
        warnings.showwarning = show


def _discard_output() -> None:
    # The interpreter flushes standard output at exit, which would fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
