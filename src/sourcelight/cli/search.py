"""`search`: matches or counts, printed as they are found or written to a file.

`ask`: a question about the code, answered with citations; of repositories on this machine or of a service.

`query explain`: what a query means over some repositories.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer

from sourcelight.cli.output import (
    DONE,
    FAILED,
    NO_MATCH,
    MatchPrinter,
    StatusLine,
    print_table,
    say,
    tell,
    wants_colour,
)
from sourcelight.core.completeness import DISPLAY_ASKS
from sourcelight.core.errors import SearchFailed
from sourcelight.core.markup import visible

if TYPE_CHECKING:
    from sourcelight.client import Client
    from sourcelight.core.wire.events import Alert
    from sourcelight.display.notebook.state import ProgressSnapshot


_COUNTABLE = ("repository", "language", "path")


@dataclass(frozen=True, slots=True)
class SearchCommand:
    """What the options say; empty: not given."""

    paths: tuple[str, ...] = ()
    url: str = ""
    form: str = ""
    output: str = ""
    pattern_type: str = "standard"
    count_by: str | None = None
    timeout_s: float | None = None
    worktree: bool = False
    spreadsheet: bool = False
    limit: int | None = None

    @property
    def written_as(self) -> str:
        """The format to write: the one asked for, else that of the file's ending, else a table.

        Raises
        ------
        typer.BadParameter
            For an ending that tells no format.
        """
        if self.form or not self.output:
            return self.form or "table"
        from sourcelight.display.frames.export import format_of

        try:
            return format_of(self.output, None)
        except ValueError as fault:
            raise typer.BadParameter(f"-o {self.output}: {fault}; or say it with --format") from fault

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
            raise typer.BadParameter(f"--count-by {self.count_by}: choose among {', '.join(_COUNTABLE)}")
        return columns


def search(query: str, asked: SearchCommand) -> int:
    """Search and write the answer; what can be wrong with the options is found before anything is opened."""
    form = asked.written_as
    if form == "parquet" and not asked.output and sys.stdout.isatty():
        raise typer.BadParameter("parquet is binary: give a file with -o, or send standard output somewhere")
    if asked.spreadsheet and form != "csv":
        raise typer.BadParameter(f"--spreadsheet is for CSV, and the answer is written as {form}")
    if asked.count_by is not None:
        columns = asked.columns
        with opened(asked) as client:
            return _count(client, query, columns, form, asked)
    with opened(asked) as client:
        return _table(client, query, asked) if form == "table" else _export(client, query, form, asked)


def opened(asked: SearchCommand) -> Client:
    """A client of the repositories or the service that the options name."""
    import sourcelight as sl

    url = asked.url or ("" if asked.paths else os.environ.get("SRC_ENDPOINT", ""))
    if url:
        return sl.connect(url)
    line = StatusLine()
    try:
        return sl.open(*(asked.paths or (".",)), worktree=asked.worktree, prepare=False, progress=_shown(line))
    finally:
        line.clear()


def _shown(line: StatusLine) -> Callable[[ProgressSnapshot], None]:
    return lambda snapshot: line.show(snapshot.text)


def _table(client: Client, query: str, asked: SearchCommand) -> int:
    from sourcelight.core.batches import MatchBatch
    from sourcelight.display.notebook.state import SearchState

    state = SearchState(query, pattern_type=asked.pattern_type, display=_display(asked))
    with _opened(asked.output) as file:
        printer = MatchPrinter(file, colour=not asked.output and wants_colour(sys.stdout))
        # Where matches are read as they come, a status line would stand in their way.
        line = StatusLine()
        quiet = sys.stdout.isatty() and not asked.output
        events = client.stream(
            query, pattern_type=asked.pattern_type, display=_display(asked), timeout_s=asked.timeout_s
        )
        try:
            for event in events:
                state.update(event)
                if isinstance(event, MatchBatch):
                    printer.write(event.batch)
                if not quiet:
                    line.show(state.snapshot().text)
        finally:
            line.clear()
    state.finish()
    total = max(state.matches, state.progress[-1].match_count if state.progress else 0)
    _tell_alerts(state.alerts, state.reasons)
    return _outcome(asked, state.status, state.reasons, printer.rows, total)


def _export(client: Client, query: str, form: str, asked: SearchCommand) -> int:
    line = StatusLine()
    target: Any = asked.output or _binary_target()
    try:
        export = client.search_to(
            target,
            query,
            format=form,
            spreadsheet=asked.spreadsheet,
            pattern_type=asked.pattern_type,
            display=_display(asked),
            timeout_s=asked.timeout_s,
            progress=_shown(line),
        )
    except BaseException:
        line.clear()
        _tell_partial(client, asked)
        raise
    line.clear()
    if export.status == "failed":
        raise SearchFailed("; ".join(export.reasons))
    _tell_alerts(export.alerts, export.reasons)
    return _outcome(asked, export.status, export.reasons, export.rows, export.matches)


def _tell_alerts(alerts: Iterable[Alert], reasons: Iterable[str]) -> None:
    """What the reader must know of an answer, and the queries to try instead; faults stand among the reasons."""
    said = " ".join(reasons)
    for alert in alerts:
        text = ": ".join(part for part in (alert.title, alert.description) if part)
        if text and text not in said:
            say(text)
        for proposal in alert.proposed_queries:
            say(f"try: {proposal.query}" + (f"  ({proposal.description})" if proposal.description else ""))


def _alerts(client: Client, query: str, asked: SearchCommand) -> list[Alert]:
    from sourcelight.core.wire.events import Alert

    events = client.stream(query, pattern_type=asked.pattern_type, display=0, timeout_s=asked.timeout_s)
    return [event for event in events if isinstance(event, Alert)]


def _tell_partial(client: Client, asked: SearchCommand) -> None:
    export = client.last_export
    if asked.output and export is not None and export.path:
        say(f"{export.rows:,} rows that had arrived are kept in {export.path}")


def _count(client: Client, query: str, columns: list[str], form: str, asked: SearchCommand) -> int:
    line = StatusLine()
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        frame = client.count(
            query, columns, pattern_type=asked.pattern_type, timeout_s=asked.timeout_s, progress=_shown(line)
        )
    line.clear()
    matches = int(frame["matches"].sum())
    groups = len(frame)
    if asked.limit is not None and groups > asked.limit:
        frame = frame.head(asked.limit)
        say(f"partial: {asked.limit:,} of {groups:,} groups shown, as -n asks")
    if form == "table":
        with _opened(asked.output) as file:
            print_table(list(frame.columns), frame.itertuples(index=False), file)
    else:
        from sourcelight.display.frames.export import write_frame

        write_frame(frame, asked.output or _binary_target(), form, spreadsheet=asked.spreadsheet)
    reasons = tuple(str(warning.message) for warning in noted)
    if not matches and not reasons:
        # A count has no alerts. A search without a match is as cheap, and says why there is none.
        _tell_alerts(_alerts(client, query, asked), ())
    return _outcome(asked, "limited" if reasons else "complete", reasons, len(frame), matches)


def _display(asked: SearchCommand) -> int:
    return -1 if asked.limit is None else asked.limit


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _outcome(asked: SearchCommand, status: str, reasons: tuple[str, ...], rows: int, matches: int) -> int:
    """Say on standard error how an answer ended; give the exit status."""
    if status != "complete":
        said = "; ".join(reasons)
        say(f"{status}: {said.replace(DISPLAY_ASKS, 'as -n asks') if asked.limit is not None else said}")
    if asked.output:
        say(f"wrote {_rows(rows)} to {asked.output}")
    if matches:
        return DONE
    if status not in {"complete", "partial"}:
        say("no match in the part that was searched")
        return FAILED
    say("no match")
    return NO_MATCH


class _Visible(io.RawIOBase):
    """A terminal on which no text of a repository acts: what is not seen is shown. Files get bytes as they are."""

    def __init__(self, terminal: IO[str]) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """Show bytes in UTF-8, or text."""
        text = data if isinstance(data, str) else self._decoder.decode(bytes(data))
        self._terminal.write(visible(text))
        return len(data)

    def flush(self) -> None:
        """Show what waits."""
        self._terminal.flush()


def _binary_target() -> Any:
    return _Visible(sys.stdout) if sys.stdout.isatty() else sys.stdout.buffer


class _Standard:
    """Standard output in a ``with`` that leaves it open."""

    def __enter__(self) -> IO[str]:
        return sys.stdout

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()


def _opened(path: str) -> Any:
    from sourcelight.display.frames.export import check_folder

    if path:
        check_folder(Path(path))
    return open(path, "w", encoding="utf-8") if path else _Standard()  # noqa: PTH123 - used in a with


def ask(
    question: str, paths: Sequence[str], *, url: str | None, repos: Sequence[str], revision: str | None, worktree: bool
) -> int:
    """Print the answer as Markdown; one that cites nothing and counts nothing has the status of no match."""
    import sourcelight as sl

    place = url or ("" if paths else os.environ.get("SRC_ENDPOINT", ""))
    client = sl.connect(place) if place else sl.open(*(paths or ["."]), worktree=worktree)
    with client:
        answer = client.deepsearch(question, repos=list(repos) or None, revision=revision)
        for notice in answer.notices:
            say(notice)
        tell(answer.to_markdown().rstrip("\n"))
        if place and answer.url:
            say(f"conversation: {answer.url}")
    if answer.status != "complete":
        return FAILED
    if not len(answer.citations) and not answer.tables:
        say("no answer")
        return NO_MATCH
    return DONE


def explain(query: str, asked: SearchCommand) -> int:
    """Print what `query` means over what `asked` names."""
    with opened(asked) as client:
        tell(client.explain(query, pattern_type=asked.pattern_type).text)
    return DONE
