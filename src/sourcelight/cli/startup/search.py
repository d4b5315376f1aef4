"""Run a search and write its answer; `sourcelight.cli.search` has its command, options and help.

Imports no framework of commands, which takes longer than a search of a small repository.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sourcelight.cli.matches.notices import say_alerts, say_end, say_unsearched
from sourcelight.cli.matches.printer import MatchPrinter, wants_color
from sourcelight.cli.output import DONE, StatusLine, binary_output, open_output, print_table, say, say_client_warnings
from sourcelight.cli.startup.background_index import IndexTime, finish_index, index_time
from sourcelight.core.errors import NoRepositories, SearchFailed
from sourcelight.core.markup.counts import count_of

if TYPE_CHECKING:
    from sourcelight.client import Client
    from sourcelight.client.blocking_searches import BlockingSearches
    from sourcelight.core.wire.events import Alert
    from sourcelight.display.notebook.state import ProgressSnapshot


C = TypeVar("C", bound="BlockingSearches")

_COUNTABLE = ("repository", "language", "path")
"""Columns by which matches can be counted."""


def usage_error(message: str) -> Exception:
    """Return the framework's error for wrong usage, which `sourcelight.cli.app` prints."""
    import typer

    return typer.BadParameter(message)


def is_directory(text: str) -> bool:
    """Return whether a text that should be a query or a question is the path of a directory."""
    # A word may also be the name of a directory here; only a path with a separator is taken for one.
    return any(separator in text for separator in (os.sep, os.altsep) if separator) and Path(text).is_dir()


@dataclass(frozen=True, slots=True)
class SearchCommand:
    """The options of a search; empty values are options that are not given."""

    paths: tuple[str, ...] = ()
    url: str = ""
    output_format: str = ""
    output: str = ""
    pattern_type: str = "standard"
    count_by: str | None = None
    timeout_s: float | None = None
    worktree: bool = False
    spreadsheet: bool = False
    limit: int | None = None
    index: str = ""

    @property
    def address(self) -> str:
        """The address of the service: the requested one, else that of the environment; empty for PATH."""
        return self.url or ("" if self.paths else os.environ.get("SRC_ENDPOINT", ""))

    @property
    def effective_format(self) -> str:
        """The output format: the requested format, else by the file's extension, else a table.

        Raises
        ------
        typer.BadParameter
            The extension belongs to no format.
        """
        if self.output_format or not self.output:
            return self.output_format or "table"
        from sourcelight.display.frames.encoders import format_of

        try:
            return format_of(self.output, None)
        except ValueError as exc:
            raise usage_error(f"-o {self.output}: {exc}; or pass --format") from exc

    @property
    def columns(self) -> list[str]:
        """The columns to count by.

        Raises
        ------
        typer.BadParameter
            For a column that can't be counted by.
        """
        columns = [name.strip() for name in (self.count_by or "").split(",")]
        if not set(columns) <= set(_COUNTABLE) or len(set(columns)) != len(columns):
            raise usage_error(f"--count-by takes {', '.join(_COUNTABLE)}, separated by commas; got {self.count_by!r}")
        return columns

    @property
    def display(self) -> int:
        """The matches to write at most, as the client takes it; -1: all."""
        return -1 if self.limit is None else self.limit


def search(query: str, command: SearchCommand) -> int:
    """Search and write the answer; checks the options before it opens anything."""
    output_format = command.effective_format
    # Binary output on a terminal can change its state until it is reset.
    if output_format == "parquet" and not command.output and sys.stdout.isatty():
        raise usage_error("parquet is binary: name a file with -o, or redirect standard output")
    if command.spreadsheet and output_format != "csv":
        raise usage_error(f"--spreadsheet needs the format csv, got {output_format}")

    columns = [] if command.count_by is None else command.columns
    time = index_time(command.index)
    with _open_searches(query, command, time) as client:
        if columns:
            status = _count(client, query, columns=columns, output_format=output_format, command=command)
        elif output_format == "table":
            status = _print_matches(client, query, command)
        else:
            status = _export(client, query, output_format, command)
        finish_index(client, time)

    if status != DONE and not command.paths and is_directory(query):
        say(f"{query} is a directory: write QUERY before PATH")
    return status


def open_client(command: SearchCommand, *, background_index: bool = False) -> Client:
    """Return a client of the service or the repositories that the options name; of the latter, print the warnings."""
    import sourcelight as sl

    if command.address:
        return sl.connect(command.address)
    return _open_paths(command, functools.partial(sl.open, background_index=background_index))


def _open_paths(command: SearchCommand, open_: Callable[..., C]) -> C:
    line = StatusLine()
    try:
        client = open_(*(command.paths or (".",)), worktree=command.worktree, progress=_show_progress(line))
    finally:
        line.clear()

    say_client_warnings(client)
    return client


def _open_searches(query: str, command: SearchCommand, time: IndexTime) -> BlockingSearches:
    """Return a client for a query; if the query is a directory and PATH is none, say that they are swapped."""
    if command.address:
        return open_client(command)

    from sourcelight.client.factory import open_searches

    open_ = functools.partial(
        open_searches, index_on_demand=time is not IndexTime.WAIT, index_small=time is not IndexTime.NEVER
    )
    try:
        return _open_paths(command, open_)
    except NoRepositories as exc:
        if is_directory(query):
            raise usage_error(f"{query} is a directory: write QUERY before PATH") from exc
        raise


def _show_progress(line: StatusLine) -> Callable[[ProgressSnapshot], None]:
    """Return a function that shows snapshots of long work in a line."""
    return lambda snapshot: line.show(snapshot.text)


def _print_matches(client: BlockingSearches, query: str, command: SearchCommand) -> int:
    from sourcelight.core.batches import MatchBatch
    from sourcelight.display.notebook.state import SearchState

    state = SearchState(query, pattern_type=command.pattern_type, display=command.display)
    with open_output(command.output) as file:
        printer = MatchPrinter(file, use_color=not command.output and wants_color(sys.stdout))
        # On a terminal with matches, a status line would overwrite them.
        line = StatusLine()
        shows_matches = sys.stdout.isatty() and not command.output
        events = client.stream(
            query, pattern_type=command.pattern_type, limit=command.limit, timeout_s=command.timeout_s
        )
        try:
            for event in events:
                state.update(event)
                if isinstance(event, MatchBatch):
                    printer.write(event.batch)
                if not shows_matches:
                    line.show(state.snapshot().text)
        finally:
            line.clear()

    state.finish()
    # A limit with -n stops the rows, while the service counts on; its count is then the larger one.
    total = max(state.matches, state.progress[-1].match_count if state.progress else 0)
    say_alerts(state.alerts, state.reasons)
    status = say_end(
        command.output,
        command.limit,
        status=state.status,
        reasons=state.reasons,
        rows=printer.rows,
        matches=total,
    )
    if state.progress:
        say_unsearched(state.progress[-1].skipped, has_matches=total > 0)

    return status


def _export(client: BlockingSearches, query: str, output_format: str, command: SearchCommand) -> int:
    line = StatusLine()
    target: Any = command.output or binary_output()
    try:
        export = client.export(
            query,
            target,
            format=output_format,
            spreadsheet=command.spreadsheet,
            pattern_type=command.pattern_type,
            limit=command.limit,
            timeout_s=command.timeout_s,
            progress=_show_progress(line),
        )
    except BaseException:
        line.clear()
        _say_partial_file(client, command)
        raise

    line.clear()
    if export.status == "failed":
        raise SearchFailed("; ".join(export.reasons))

    say_alerts(export.alerts, export.reasons)
    return say_end(
        command.output,
        command.limit,
        status=export.status,
        reasons=export.reasons,
        rows=export.rows,
        matches=export.matches,
    )


def _say_partial_file(client: BlockingSearches, command: SearchCommand) -> None:
    export = client.last
    if command.output and export is not None and export.path:
        say(f"kept {count_of(export.rows, 'row')} in {export.path}")


def _count(
    client: BlockingSearches, query: str, *, columns: list[str], output_format: str, command: SearchCommand
) -> int:
    line = StatusLine()
    with warnings.catch_warnings(record=True) as caught:
        # Python shows a warning once per place by default, and each one here is a reason for an incomplete count.
        warnings.simplefilter("always")
        try:
            table = client.count_table(
                query,
                columns,
                pattern_type=command.pattern_type,
                timeout_s=command.timeout_s,
                progress=_show_progress(line),
            )
        finally:
            line.clear()

    matches = sum(table.column("matches").to_pylist())
    groups = table.num_rows
    if command.limit is not None and groups > command.limit:
        table = table.slice(0, command.limit)
        say(f"partial: {command.limit:,} of {groups:,} groups shown, limited by -n")

    if output_format == "table":
        with open_output(command.output) as file:
            print_table(table.column_names, [list(row.values()) for row in table.to_pylist()], file)
    else:
        from sourcelight.display.frames.export import write_frame

        write_frame(table, command.output or binary_output(), output_format, spreadsheet=command.spreadsheet)

    reasons = tuple(str(warning.message) for warning in caught)
    if not matches and not reasons:
        # A count has no alerts. A search without a match is as cheap, and gives the reason.
        say_alerts(_search_alerts(client, query, command), ())

    return say_end(
        command.output,
        command.limit,
        status="limited" if reasons else "complete",
        reasons=reasons,
        rows=table.num_rows,
        matches=matches,
    )


def _search_alerts(client: BlockingSearches, query: str, command: SearchCommand) -> list[Alert]:
    from sourcelight.core.wire.events import Alert

    events = client.stream(query, pattern_type=command.pattern_type, limit=0, timeout_s=command.timeout_s)
    return [event for event in events if isinstance(event, Alert)]
