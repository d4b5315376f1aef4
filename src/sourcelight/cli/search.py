"""`search` and `explain`: matches or counts, and the meaning of a query."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Optional

import typer

from sourcelight.cli.options import Paths, PatternType, PatternTypeOption, Query, ServiceUrl, Worktree, path_texts
from sourcelight.cli.output import DONE, print_line
from sourcelight.cli.startup.background_index import IndexTime
from sourcelight.cli.startup.search import SearchCommand, open_client, search


class OutputFormat(StrEnum):
    """Output formats of a search."""

    TABLE = "table"
    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


def search_command(  # noqa: PLR0913 - the options of a command
    query: Query,
    paths: Paths = None,
    *,
    url: ServiceUrl = None,
    output_format: Annotated[
        Optional[OutputFormat],  # noqa: UP045 - see options
        typer.Option("--format", help="Output format.  [default: by the extension of FILE, else table]"),
    ] = None,
    output: Annotated[
        Optional[Path],  # noqa: UP045 - see options
        typer.Option("-o", "--output", metavar="FILE", help="Write to FILE, in constant memory; - is standard output."),
    ] = None,
    pattern_type: PatternTypeOption = PatternType.STANDARD,
    count_by: Annotated[
        Optional[str],  # noqa: UP045 - see options
        typer.Option(
            "--count-by",
            metavar="COLUMNS",
            help="Print counts grouped by these comma-separated columns: repository, language, path.",
        ),
    ] = None,
    spreadsheet: Annotated[
        bool,
        typer.Option(
            "--spreadsheet", help="With CSV, put an apostrophe before text that a spreadsheet would run as a formula."
        ),
    ] = False,
    timeout: Annotated[
        Optional[float],  # noqa: UP045 - see options
        typer.Option(
            min=0.001,
            metavar="SECONDS",
            help="Timeout of the search, in seconds.  [default: none; a service has its own]",
        ),
    ] = None,
    limit: Annotated[
        Optional[int],  # noqa: UP045 - see options
        typer.Option(
            "-n", "--limit", min=1, metavar="NUMBER", help="Write at most this many matches; still counts all."
        ),
    ] = None,
    worktree: Worktree = False,
    index: Annotated[
        Optional[IndexTime],  # noqa: UP045 - see options
        typer.Option(
            "--index",
            help="Build a missing index after the answer: in the background, while the command waits, or never."
            "  [env: SOURCELIGHT_INDEX; default: background on a terminal, else wait]",
        ),
    ] = None,
) -> int:
    """Search and write matches as they arrive.

    Searches PATH, else the service of --url or SRC_ENDPOINT, else the current directory. Reports an incomplete
    result on standard error. Exits with status 1 if nothing matches.
    """
    check_source(paths, url)
    return search(
        query,
        SearchCommand(
            paths=path_texts(paths),
            url=url or "",
            output_format=output_format.value if output_format else "",
            output="" if output is None or str(output) == "-" else str(output),
            pattern_type=pattern_type.value,
            count_by=count_by,
            timeout_s=timeout,
            worktree=worktree,
            spreadsheet=spreadsheet,
            limit=limit,
            index=index.value if index else "",
        ),
    )


def explain_command(
    query: Query,
    paths: Paths = None,
    *,
    url: ServiceUrl = None,
    pattern_type: PatternTypeOption = PatternType.STANDARD,
    worktree: Worktree = False,
) -> int:
    """Explain a query and its likely mistakes.

    Prints the tree of the query, the effect of each filter and what the index rules out. Uses PATH, else the service of
    --url or SRC_ENDPOINT, else the current directory. Other services provide no figures, so only the tree is shown.
    Runs no search.
    """
    check_source(paths, url)
    command = SearchCommand(paths=path_texts(paths), url=url or "", pattern_type=pattern_type.value, worktree=worktree)
    with open_client(command) as client:
        print_line(client.explain(query, pattern_type=command.pattern_type).text)
    return DONE


def check_source(paths: object, url: str | None) -> None:
    """Raise `typer.BadParameter` for both directories and a service."""
    if paths and url:
        raise typer.BadParameter("pass PATH or --url, not both")
