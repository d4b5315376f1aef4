"""The reports, written where the options say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sourcelight.cli.outcomes import DONE, say
from sourcelight.cli.searching import Asked, opened

if TYPE_CHECKING:
    from sourcelight.client import Client
    from sourcelight.lab.reports import Report

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
    with opened(Asked(paths=_texts(paths), url=url or "")) as client:
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
    with opened(Asked(paths=_texts(paths), url=url or "")) as client:
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
