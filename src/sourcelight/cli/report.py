"""`report contributors` and `report changes`: a report as a file.

The reports, written where the options say.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from sourcelight.cli.output import DONE, say
from sourcelight.cli.search import SearchCommand, opened

if TYPE_CHECKING:
    from sourcelight.client import Client
    from sourcelight.lab.reports import Report


report_app = typer.Typer(
    help="Make reports of who changed what, and when.", rich_markup_mode=None, no_args_is_help=True
)

Paths = Annotated[
    Optional[list[Path]],  # noqa: UP045 - typer of the oldest supported release reads this form
    typer.Argument(metavar="PATH", help="Folders with repositories.  [default: the current one]", show_default=False),
]
Url = Annotated[
    Optional[str],  # noqa: UP045 - see Paths
    typer.Option(help="Ask this service; the token comes from SRC_ACCESS_TOKEN."),
]
Output = Annotated[
    Path, typer.Option("-o", "--output", help="File to write: .html, .md or .pdf (needs a Chromium); a folder: tables.")
]


_PATTERN = "Folder or glob; may be repeated."
Only = Annotated[
    Optional[list[str]],  # noqa: UP045 - see Paths
    typer.Option(metavar="PATTERN", help=f"Count only files in this. {_PATTERN}", show_default=False),
]
Exclude = Annotated[
    Optional[list[str]],  # noqa: UP045 - see Paths
    typer.Option(metavar="PATTERN", help=f"Count no file in this. {_PATTERN}", show_default=False),
]


class TableFormat(StrEnum):
    """How tables are written."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"


Tables = Annotated[TableFormat, typer.Option("--tables", help="How tables are written into a folder.")]


class OtherFiles(StrEnum):
    """What becomes of vendored, generated and lock files."""

    APART = "apart"
    WITH = "with"
    WITHOUT = "without"


Others = Annotated[
    OtherFiles,
    typer.Option("--other-files", help="Vendored, generated and lock files: apart, counted with all, left out."),
]


class PeriodOption(StrEnum):
    """What activity is shown by."""

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
        typer.Option(help="Name of a repository; may be repeated.  [default: all]"),
    ] = None,
    since: Annotated[str, typer.Option(help="Commits after this date, such as 2024-01-01 or '6 months ago'.")] = "",
    until: Annotated[str, typer.Option(help="Commits before this date.")] = "",
    by: Annotated[PeriodOption, typer.Option(help="What activity is shown by.")] = PeriodOption.MONTH,
    only: Only = None,
    exclude: Exclude = None,
    other_files: Others = OtherFiles.APART,
    join_addresses: Annotated[bool, typer.Option(help="Count identities with one address as one person.")] = True,
    ownership: Annotated[bool, typer.Option(help="Work out who owns the lines of today.")] = True,
    tables: Tables = TableFormat.CSV,
    url: Url = None,
) -> int:
    """Report on who changed what, when, and who owns what is there today."""
    wanted = {
        "since": since or None,
        "until": until or None,
        "by": by.value,
        "only": list(only or ()),
        "exclude": list(exclude or ()),
        "other_files": other_files.value,
        "join_addresses": join_addresses,
        "ownership": ownership,
    }
    return write_contributors(tuple(paths or ()), url, output, tables.value, list(repo or ()) or None, wanted)


@report_app.command()
def changes(
    base: Annotated[str, typer.Argument(help="The older branch, tag or commit.")],
    head: Annotated[str, typer.Argument(help="The newer branch, tag or commit.")],
    paths: Paths = None,
    *,
    repo: Annotated[
        Optional[str],  # noqa: UP045 - see Paths
        typer.Option(help="Name of the repository.  [default: the only one below PATH]"),
    ] = None,
    only: Only = None,
    exclude: Exclude = None,
    other_files: Others = OtherFiles.APART,
    output: Output = Path("changes.html"),
    tables: Tables = TableFormat.CSV,
    url: Url = None,
) -> int:
    """Report on what HEAD has that BASE has not: commits, people, files."""
    wanted = {"only": list(only or ()), "exclude": list(exclude or ()), "other_files": other_files.value}
    return write_changes(tuple(paths or ()), url, output, tables.value, repo, (base, head), wanted)


_FORMS = (".html", ".md", ".pdf")


def write_contributors(
    paths: tuple[Path, ...],
    url: str | None,
    output: Path,
    tables: str,
    repos: list[str] | None,
    wanted: Mapping[str, Any],
) -> int:
    """Make and write the contributor report."""
    from sourcelight.lab import reports

    _check(output)
    with opened(SearchCommand(paths=_texts(paths), url=url or "")) as client:
        return _write(reports.contributors(client, repos, **wanted), output, tables)


def write_changes(
    paths: tuple[Path, ...],
    url: str | None,
    output: Path,
    tables: str,
    repo: str | None,
    between: tuple[str, str],
    wanted: Mapping[str, Any],
) -> int:
    """Make and write the change report."""
    from sourcelight.lab import reports

    _check(output)
    with opened(SearchCommand(paths=_texts(paths), url=url or "")) as client:
        return _write(reports.changes(client, repo or _only(client), *between, **wanted), output, tables)


def _texts(paths: tuple[Path, ...]) -> tuple[str, ...]:
    return tuple(str(path) for path in paths)


def _check(output: Path) -> None:
    if output.suffix and output.suffix.lower() not in _FORMS and not output.is_dir():
        raise typer.BadParameter(f"-o {output}: choose a file that ends in {', '.join(_FORMS)}, or a folder for tables")


def _only(client: Client) -> str:
    names = client.repositories()["repository"].tolist()
    if len(names) != 1:
        raise typer.BadParameter(f"--repo: there are {len(names):,} repositories; name one, such as {names[0]}")
    return str(names[0])


def _write(report: Report, output: Path, tables: str) -> int:
    form = output.suffix.lower()
    if output.is_dir() or not form:
        for path in report.save_tables(output, tables):
            say(f"wrote {path}")
    else:
        {".html": report.to_html, ".md": report.to_markdown, ".pdf": report.to_pdf}[form](output)
        say(f"wrote {output}")
    if not report.sections:
        say(*report.lead)
    for notice in report.notices:
        say(notice)
    return DONE
