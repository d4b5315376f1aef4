"""Reports as Markdown with all text escaped, and as PDF printed by Chromium."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sourcelight.core.errors import MissingExtra, SourcelightError
from sourcelight.core.markup import link, literal, literal_line, one_line
from sourcelight.lab.plots.figure import write_figure
from sourcelight.lab.reports.model import (
    Figure,
    Footnotes,
    Item,
    Listing,
    Metric,
    ReportContent,
    ReportTable,
    excludes_note,
    incomplete_text,
)
from sourcelight.lab.reports.text import MAX_CHARS, format_cell, heading, is_number, row_count_text, shown_rows

# Characters that `quote` leaves in an address in angle brackets; none of them can end it, or a cell of a table.
_IN_ADDRESSES = ":/?#@!$&'*+,;=%-._~"

_BROWSER_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")

_BROWSER_PATHS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)

_PRINT_TIMEOUT_S = 120.0
_MAX_MESSAGE_CHARS = 400


def document(report: ReportContent, figures: Mapping[str, str] | None) -> str:
    """Return the document; `figures` has links to pictures by figure name. None: the text describes the figures."""
    notes = Footnotes(report)
    lines = [f"# {_text(report.title)}", ""]
    if report.lead:
        lines += [*(f"- {_line(sentence)}" for sentence in report.lead), ""]

    missing_text = incomplete_text(report, notes)
    if missing_text:
        lines += [f"**{_text(missing_text)}**", ""]

    lines += [f"- {_line(name)}: {_text(text)}" for name, text in report.parameters]
    if report.metrics:
        lines += ["", *_metrics(report.metrics, notes)]

    for section in report.sections:
        lines += ["", f"## {_text(section.title)}"]
        if section.text:
            lines += ["", _line(section.text)]
        for listing in section.lists:
            lines += ["", *_list(listing)]
        for figure in section.figures:
            lines += ["", _figure(figure, figures)]
        for table in section.tables:
            lines += ["", *_table(table, notes)]

    if notes.texts:
        lines += ["", "## Notes", "", *(f"{number}. {_line(text)}" for number, text in enumerate(notes.texts, 1))]

    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """Return Markdown that shows a text verbatim within a line, as in a heading or a cell."""
    return literal(one_line(text, MAX_CHARS * 4))


def _line(text: str) -> str:
    """Return Markdown that shows a text verbatim from the start of a line, as in a paragraph or an item of a list."""
    return literal_line(one_line(text, MAX_CHARS * 4))


def _mark(notes: Footnotes, excludes: str) -> str:
    """Return the mark of the footnote that says what a number excludes; empty if it excludes nothing."""
    number = notes.number(excludes_note(excludes))
    return f" \\[{number}\\]" if number else ""


def _metrics(metrics: Sequence[Metric], notes: Footnotes) -> list[str]:
    lines = ["| number | value | counts |", "| --- | ---: | --- |"]
    for metric in metrics:
        value = "not known" if metric.value is None else format_cell(metric.value, metric.name)
        name = f"{_text(metric.name)}{_mark(notes, metric.excludes)}"
        lines.append(f"| {name} | {_text(value)} | {_text(metric.counts)} |")
    return lines


def _list(listing: Listing) -> list[str]:
    lines = [f"### {_text(listing.title)} ({len(listing.items):,})", ""]
    lines += map(_item, listing.items[: listing.max_items])
    remaining = len(listing.items) - listing.max_items
    if remaining > 0:
        lines.append(f"- and {remaining:,} more")
    return lines


def _item(item: Item) -> str:
    text = f"- {_line(item.text)}"
    if item.detail:
        text += f" ({_with_link(_text(item.detail), item.url)})"
    return text


def _with_link(text: str, url: str) -> str:
    """Return a link with this text if `url` is an address of the web, else the text."""
    if not url or not link("", url):
        return text
    return f"[{text}](<{quote(url, safe=_IN_ADDRESSES)}>)"


def save_figures(report: ReportContent, path: str | os.PathLike[str]) -> dict[str, str]:
    """Write the figures as PNG into a directory next to `path`, and return their relative addresses by name."""
    target = Path(path)
    folder = target.with_name(f"{target.stem}_figures")
    links = {}
    for section in report.sections:
        for figure in section.figures:
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / f"{figure.name}.png").open("wb") as file:
                write_figure(figure.draw(), file, "png")
            links[figure.name] = f"{quote(folder.name)}/{quote(figure.name)}.png"

    return links


def _figure(figure: Figure, links: Mapping[str, str] | None) -> str:
    if links is None:
        return f"*{_text(figure.title)}*: {_text(figure.description)}"
    return f"![{_text(figure.description)}]({links[figure.name]})"


def _table(table: ReportTable, notes: Footnotes) -> list[str]:
    mark = _mark(notes, table.excludes)
    if not len(table.frame):
        return [_line(f"{table.title}: no rows. {table.counts}") + mark]
    if not table.max_rows:
        # The rows are in the frames of the report alone.
        return [_line(f"Table {table.name}: {table.counts} {row_count_text(table)}") + mark]

    columns, rows = shown_rows(table)
    lines = [
        f"### {_text(table.title)}{mark}",
        "",
        _line(f"{table.counts} {row_count_text(table)}".strip()),
        "",
        _row(_text(heading(column)) for column in columns),
        _row(_alignment(rows, column) for column in columns),
    ]
    return lines + [_row(_cell(table, row, column) for column in columns) for row in rows]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _alignment(rows: Sequence[Mapping[str, Any]], column: str) -> str:
    """Return the line below the heading of a column: numbers are aligned to the right."""
    return "---:" if any(is_number(row[column]) for row in rows) else "---"


def _cell(table: ReportTable, row: Mapping[str, Any], column: str) -> str:
    text = _text(format_cell(row[column], column))
    if text and table.link is not None:
        return _with_link(text, table.link(column, row))
    return text


def find_browser() -> str | None:
    """Return the path of an installed Chromium, or None if there is none."""
    for name in _BROWSER_NAMES:
        path = shutil.which(name)
        if path is not None:
            return path

    for path in _BROWSER_PATHS:
        if Path(path).exists():
            return path

    return None


def print_page(html: str, path: str | os.PathLike[str]) -> str:
    """Print a page that needs no network, and return the path of the PDF.

    Raises
    ------
    MissingExtra
        No Chromium is installed.
    SourcelightError
        Chromium wrote no file; the message has the end of its output.
    """
    browser = find_browser()
    if browser is None:
        raise MissingExtra("chromium", f"to_pdf() (looked for {', '.join(_BROWSER_NAMES)} on PATH)")

    target = Path(path).absolute()
    with tempfile.TemporaryDirectory(prefix="sourcelight-") as folder:
        source, temporary = Path(folder) / "report.html", Path(folder) / "report.pdf"
        source.write_text(html, encoding="utf-8")
        command = [
            browser,
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-pdf-header-footer",
            f"--user-data-dir={Path(folder) / 'profile'}",
            f"--print-to-pdf={temporary}",
            source.as_uri(),
        ]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            # Chromium refuses to run as root with its sandbox; the page runs nothing.
            command.insert(1, "--no-sandbox")

        try:
            run = subprocess.run(command, capture_output=True, timeout=_PRINT_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired as exc:
            raise SourcelightError(
                f"{browser} wrote no PDF within {_PRINT_TIMEOUT_S:.0f} s; retry, or write HTML instead"
            ) from exc

        if not temporary.exists():
            message = run.stderr.decode("utf-8", "replace").strip()[-_MAX_MESSAGE_CHARS:]
            raise SourcelightError(f"{browser} wrote no PDF (status {run.returncode}): {message}")

        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name}.part")
        shutil.copyfile(temporary, beside)
        beside.replace(target)

    return str(target)
