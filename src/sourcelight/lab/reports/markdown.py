"""A report as Markdown: text that shows literally whatever a repository put into it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from sourcelight.core.markup import one_line
from sourcelight.lab.reports.cells import LONGEST, heading, how_many, is_number, shown_rows, written
from sourcelight.lab.reports.figures import saved
from sourcelight.lab.reports.model import Figure, Table

if TYPE_CHECKING:
    from sourcelight.lab.reports.report import Report

# What Markdown gives a meaning anywhere in a line; a dollar sign starts a formula in notebooks, and `<` a tag.
_ACTIVE = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$&:@])")


def literal(text: str) -> str:
    """Text that Markdown shows as it stands, on one line."""
    return _ACTIVE.sub(r"\\\1", one_line(text, LONGEST * 4)).replace("\\:", "&#58;").replace("\\@", "&#64;")


def document(report: Report, figures: Mapping[str, str] | None) -> str:
    """The document; `figures` are links to pictures by name of the figure, None: they are described in words."""
    lines = [f"# {literal(report.title)}", ""]
    lines += [f"- {literal(name)}: {literal(text)}" for name, text in report.asked]
    lines += ["", "| number | value | counted | left out |", "| --- | ---: | --- | --- |"]
    for number in report.numbers:
        value = "not known" if number.value is None else written(number.value, number.name)
        lines.append(
            f"| {literal(number.name)} | {literal(value)} | {literal(number.counted)} | {literal(number.left_out)} |"
        )
    if report.notices:
        lines += ["", "**To know when reading**", "", *(f"- {literal(notice)}" for notice in report.notices)]
    for section in report.sections:
        lines += ["", f"## {literal(section.title)}"]
        if section.text:
            lines += ["", literal(section.text)]
        for figure in section.figures:
            lines += ["", _figure(figure, figures)]
        for table in section.tables:
            lines += ["", *_table(table)]
    return "\n".join(lines) + "\n"


def save_figures(report: Report, path: str | os.PathLike[str]) -> dict[str, str]:
    """Write the figures as PNG into a folder beside `path`; gives their relative addresses by name."""
    target = Path(path)
    folder = target.with_name(f"{target.stem}_figures")
    links = {}
    for section in report.sections:
        for figure in section.figures:
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / f"{figure.name}.png").open("wb") as file:
                saved(figure.draw(), file, "png")
            links[figure.name] = f"{quote(folder.name)}/{quote(figure.name)}.png"
    return links


def _figure(figure: Figure, links: Mapping[str, str] | None) -> str:
    if links is None:
        return f"*{literal(figure.title)}*: {literal(figure.description)}"
    return f"![{literal(figure.description)}]({links[figure.name]})"


def _table(table: Table) -> list[str]:
    columns, rows = shown_rows(table.frame, table.shown)
    rule = ["---:" if any(is_number(row[c]) for row in rows) else "---" for c in columns]
    left_out = f" Left out: {table.left_out}" if table.left_out else ""
    above = [f"### {literal(table.title)}", "", literal(f"{table.counted}{left_out} {how_many(table)}".strip())]
    if not rows:
        return above
    return [
        *above,
        "",
        f"| {' | '.join(literal(heading(c)) for c in columns)} |",
        f"| {' | '.join(rule)} |",
        *(f"| {' | '.join(literal(written(row[c], c)) for c in columns)} |" for row in rows),
    ]
