"""`report contributors` and `report changes`: write a report to a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from sourcelight.cli.options import ServiceUrl, path_texts
from sourcelight.cli.output import DONE, for_terminals, say
from sourcelight.cli.startup.search import SearchCommand, open_client
from sourcelight.core.markup.counts import count_of

if TYPE_CHECKING:
    from sourcelight.client import Client
    from sourcelight.lab.reports import Report


report_app = typer.Typer(
    help="Write reports about contributors and changes.", rich_markup_mode=None, no_args_is_help=True
)

Paths = Annotated[
    Optional[list[Path]],  # noqa: UP045 - typer of the oldest supported release reads this form
    typer.Argument(
        metavar="PATH", help="Directories with repositories.  [default: the current directory]", show_default=False
    ),
]
Output = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="File to write: .html, .md or .pdf (needs Chromium); or a directory for the tables.",
    ),
]


_PATTERN = "A directory or glob; may be repeated."
Only = Annotated[
    Optional[list[str]],  # noqa: UP045 - see Paths
    typer.Option(metavar="PATTERN", help=f"Count only files that match. {_PATTERN}", show_default=False),
]
Exclude = Annotated[
    Optional[list[str]],  # noqa: UP045 - see Paths
    typer.Option(metavar="PATTERN", help=f"Exclude files that match. {_PATTERN}", show_default=False),
]

_FORMATS = (".html", ".md", ".pdf")
"""Suffixes of a file that a report is written to."""


class TableFormat(StrEnum):
    """Formats of tables."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"


Tables = Annotated[TableFormat, typer.Option("--tables", help="Format of tables in a directory.")]


class OtherFiles(StrEnum):
    """Ways to count vendored, generated and lock files."""

    APART = "apart"
    WITH = "with"
    WITHOUT = "without"


OtherFilesOption = Annotated[
    OtherFiles,
    typer.Option(
        "--other-files", help="Vendored, generated and lock files: list apart, count with the others, or leave out."
    ),
]


class PeriodOption(StrEnum):
    """The period of one bar of activity."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


@report_app.command()
def contributors(  # noqa: PLR0913 - the options of the command
    paths: Paths = None,
    *,
    output: Output = Path("contributors.html"),
    repo: Annotated[
        Optional[list[str]],  # noqa: UP045 - see Paths
        typer.Option(metavar="NAME", help="Name of a repository. May be repeated.  [default: all]"),
    ] = None,
    after: Annotated[
        str, typer.Option(metavar="DATE", help="Commits after this date, such as 2024-01-01 or '6 months ago'.")
    ] = "",
    before: Annotated[str, typer.Option(metavar="DATE", help="Commits before this date.")] = "",
    period: Annotated[PeriodOption, typer.Option(help="Period by which to show activity.")] = PeriodOption.MONTH,
    only: Only = None,
    exclude: Exclude = None,
    other_files: OtherFilesOption = OtherFiles.APART,
    join_addresses: Annotated[bool, typer.Option(help="Count identities with the same address as one person.")] = True,
    ownership: Annotated[bool, typer.Option(help="Include current line ownership.")] = True,
    tables: Tables = TableFormat.CSV,
    url: ServiceUrl = None,
) -> int:
    """Report on contributors.

    Covers activity, changes and current line ownership.
    """
    options = {
        "after": after or None,
        "before": before or None,
        "period": period.value,
        "only": list(only or ()),
        "exclude": list(exclude or ()),
        "other_files": other_files.value,
        "join_addresses": join_addresses,
        "ownership": ownership,
    }
    return write_contributors(path_texts(paths), url, output, tables.value, list(repo or ()) or None, options)


@report_app.command()
def changes(
    base: Annotated[str, typer.Argument(metavar="BASE", help="The older branch, tag or commit.")],
    head: Annotated[str, typer.Argument(metavar="HEAD", help="The newer branch, tag or commit.")],
    paths: Paths = None,
    *,
    repo: Annotated[
        Optional[str],  # noqa: UP045 - see Paths
        typer.Option(metavar="NAME", help="Name of the repository.  [default: the only one below PATH]"),
    ] = None,
    only: Only = None,
    exclude: Exclude = None,
    other_files: OtherFilesOption = OtherFiles.APART,
    output: Output = Path("changes.html"),
    tables: Tables = TableFormat.CSV,
    url: ServiceUrl = None,
) -> int:
    """Report on changes between two revisions.

    Covers the commits, people and files that HEAD has and BASE doesn't.
    """
    options = {"only": list(only or ()), "exclude": list(exclude or ()), "other_files": other_files.value}
    return write_changes(path_texts(paths), url, output, tables.value, repo, (base, head), options)


def write_contributors(
    paths: tuple[str, ...],
    url: str | None,
    output: Path,
    tables: str,
    repos: list[str] | None,
    options: Mapping[str, Any],
) -> int:
    """Create and write the contributor report."""
    from sourcelight.lab import reports

    _check_output(output)
    with open_client(SearchCommand(paths=paths, url=url or "")) as client:
        return _write(reports.contributors(client, repos, **options), output, tables)


def write_changes(
    paths: tuple[str, ...],
    url: str | None,
    output: Path,
    tables: str,
    repo: str | None,
    between: tuple[str, str],
    options: Mapping[str, Any],
) -> int:
    """Create and write the change report."""
    from sourcelight.lab import reports

    _check_output(output)
    with open_client(SearchCommand(paths=paths, url=url or "")) as client:
        return _write(reports.changes(client, repo or _only_repository(client), *between, **options), output, tables)


def _check_output(output: Path) -> None:
    if output.suffix and output.suffix.lower() not in _FORMATS and not output.is_dir():
        raise typer.BadParameter(
            f"-o {output}: name a file that ends in {', '.join(_FORMATS)}, or a directory for the tables"
        )


def _only_repository(client: Client) -> str:
    names = client.list_repos(progress=False)["repository"].tolist()
    if not names:
        raise typer.BadParameter("found no repository; name a directory that contains one")

    if len(names) > 1:
        raise typer.BadParameter(
            f"found {count_of(len(names), 'repository')}; name one with --repo, such as {names[0]}"
        )

    return str(names[0])


def _write(report: Report, output: Path, tables: str) -> int:
    suffix = output.suffix.lower()
    # Texts of a service may have escape sequences, which a terminal would run when they are printed below.
    report = replace(
        report, notices=tuple(map(for_terminals, report.notices)), limits=tuple(map(for_terminals, report.limits))
    )
    if output.is_dir() or not suffix:
        for path in report.save_tables(output, tables):
            say(f"wrote {path}")
    else:
        {".html": report.to_html, ".md": report.to_markdown, ".pdf": report.to_pdf}[suffix](output)
        say(f"wrote {output}")

    # The first sentence of an empty report gives the reason, which an unopened file would hide.
    if not report.sections:
        say(*report.lead)

    for notice in report.notices:
        say(notice)

    return DONE
