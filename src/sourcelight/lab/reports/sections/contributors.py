"""The sections and the summary of the contributor report."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sourcelight.core.markup import count_of
from sourcelight.lab.plots.charts import stacked_bars
from sourcelight.lab.reports.answers import drill_down_of
from sourcelight.lab.reports.files import AUTHORED
from sourcelight.lab.reports.history import churn_figure, distinct_names
from sourcelight.lab.reports.html import ThemedFigure
from sourcelight.lab.reports.model import Frame, LinkOf, ReportTable, Section
from sourcelight.lab.reports.people import APART, CO_AUTHORS, JOINED
from sourcelight.lab.reports.sections.contributor_data import LEFT_OUT, ChangedLines, Owned, Request
from sourcelight.lab.reports.sections.contributor_introduction import TOP_PEOPLE
from sourcelight.lab.reports.text import (
    share_text,
)

if TYPE_CHECKING:
    from sourcelight.client import Client


_CHURN_COLUMNS = ["additions", "deletions", "changes", "commits", "authors"]

_MAX_BARS = 15
"""Maximum people of a chart."""

_BOTS_COUNTED = (
    "Programs, by their name or address, that wrote one of these commits or that a trailer names. Columns as for "
    "contributors."
)

_PEOPLE_COLUMNS = [
    "author", "author_email", "commits", "merges", "co_authored", "additions", "deletions", "files", "first_date",
    "last_date",
]  # fmt: skip


def people_section(people: Frame | None, commits: Frame, request: Request, link: LinkOf) -> Section:
    """Return the section of authors, co-authors and bots."""
    if people is None:
        return Section("People", "")

    bot = people["bot"].fillna(value=False).astype("bool")
    has_commits = people["commits"] > 0
    joining = JOINED if request.join_addresses else APART
    counts_text = (
        "One row per person with a commit in the period. commits counts the commits of the person, including merges; "
        "co_authored counts other commits whose trailers name the person; lines and files exclude merges. " + joining
    )
    other_kinds = LEFT_OUT[request.other_files].removeprefix(", ")
    trailer_bots = int((bot & ~has_commits).sum())
    bots_counted = _BOTS_COUNTED
    if trailer_bots:
        bots_counted += (
            f" Only trailers name {count_of(trailer_bots, 'bot')} of this table: the number of bots in the summary "
            "counts bots with a commit."
        )

    tables = []
    for name, heading, mask, table_counts, table_excludes in (
        ("contributors", "Contributors", has_commits & ~bot, counts_text, "bots, and co-authors without a commit."),
        ("co_authors", "Co-authors without a commit", ~has_commits & ~bot, CO_AUTHORS, "bots."),
        ("bots", "Bots", bot, bots_counted, "people."),
    ):
        frame = people.loc[mask, _PEOPLE_COLUMNS].reset_index(drop=True)
        if name == "co_authors":
            # The other columns count a person's own commits, and would be 0 in every row.
            frame = frame[["author", "author_email", "co_authored", "first_date", "last_date"]]
            frame = frame.sort_values("co_authored", ascending=False, kind="stable").reset_index(drop=True)
        table_excludes = f"{table_excludes.rstrip('.')}{', ' if other_kinds else ''}{other_kinds}."  # noqa: PLW2901 - the same, with more
        source = "" if name == "co_authors" else "commits"
        keys = () if name == "co_authors" else ("author", "author_email")
        tables.append(
            ReportTable(
                name=name,
                title=heading,
                frame=frame,
                counts=table_counts,
                excludes=table_excludes,
                source=source,
                keys=keys,
                link=link,
            )
        )

    top = tables[0].frame.head(_MAX_BARS)
    labels, counts = distinct_names(top), [float(count) for count in top["commits"]]
    figure = ThemedFigure(
        name="contributors",
        title="Commits by person",
        description=f"Bars of commits of the {len(labels)} people with the most.",
        draw=lambda: stacked_bars(labels, {"commits": counts}, "commits"),
    )

    # Of commits by people: with bots in the denominator, busy bots would make a team look evenly spread.
    share = top["commits"].head(TOP_PEOPLE).sum() / max(int((~commits["bot"]).sum()), 1)
    if len(top) > TOP_PEOPLE:
        text = f"The five people with the most commits wrote {share_text(share)} of those by people."
    else:
        text = ""
    return Section(title="People", text=text, tables=tuple(tables), figures=(figure,) if labels else ())


def places_section(code: Client, changed_lines: ChangedLines, request: Request, link: LinkOf) -> Section:
    """Return changed lines by kind of file, by directory and by file."""
    tables, figures = [], []
    source_counts = (
        "Lines that commits added and removed, as git log --numstat -M counts them, without vendored, generated and "
        "lock files."
    )
    if request.table_kinds is not None:
        counts = source_counts
    else:
        counts = "Lines that commits added and removed, as git log --numstat -M."
    excludes = f"merges{'' if request.table_kinds is None else LEFT_OUT['without']}."

    if changed_lines.kinds is not None:
        kinds = changed_lines.kinds[["repository", "file_kind", *_CHURN_COLUMNS]].reset_index(drop=True)
        about = (
            "Lines of all changed files, by kind. Git attributes, paths and generators' marks decide the kind; source "
            "is everything else: code, data and prose."
        )
        tables.append(
            ReportTable(name="file_kinds", title="Kinds of files", frame=kinds, counts=about, excludes="merges.")
        )

    files, other_files = changed_lines.files, None
    if files is not None and request.other_files == "apart":
        # Apart, or one vendored update would hide the work on everything else.
        is_other = ~files["file_kind"].astype("str").isin(AUTHORED)
        files, other_files = _rows_of(files, ~is_other), _rows_of(files, is_other)

    for name, heading, frame, column, table_counts in (
        ("directories", "Directories by changed lines", changed_lines.folders, "directory",
         f"{counts} src/ is a directory with everything below it, src/* only its own files, /* the files at the top."),
        ("files", "Files by changed lines", files, "path", f"{counts} A renamed file counts under its new name."),
        ("other_files", "Vendored, generated and lock files", other_files, "path",
         "Lines that commits added and removed."),
    ):  # fmt: skip
        if frame is None:
            continue

        kind_columns = ["file_kind"] if name == "other_files" else []
        rows = frame[["repository", column, *kind_columns, *_CHURN_COLUMNS]].reset_index(drop=True)
        keys = ("repository", column)
        table_excludes = "merges." if name == "other_files" else excludes
        if changed_lines.drill_down is None:
            commits_of = drill_down_of(code, frame)
        else:
            commits_of = changed_lines.drill_down(rows, column)
        tables.append(
            ReportTable(
                name=name,
                title=heading,
                frame=rows,
                counts=table_counts,
                excludes=table_excludes,
                source="",
                keys=keys,
                behind=commits_of,
                link=link,
            )
        )
        if name != "other_files" and len(rows):
            figures.append(churn_figure(name, heading, rows, column))

    return Section(
        title="Places",
        text="Directories and files with the most changes.",
        tables=tuple(tables),
        figures=tuple(figures),
    )


def _rows_of(frame: Frame, mask: Frame) -> Frame:
    rows = frame[mask].reset_index(drop=True)
    rows.attrs = dict(frame.attrs)
    return rows


def ownership_sections(code: Client, owners: list[Owned], request: Request, link: LinkOf) -> list[Section]:
    """Return the sections of line ownership at the newest commit, and of the bus factor."""
    if not owners:
        return []

    import pandas as pd

    lines = pd.concat([frame for _, frame, _ in owners], ignore_index=True)
    # Readers see only the first rows, so these must not all be of the first repository.
    lines = lines.sort_values("lines", ascending=False, kind="stable", ignore_index=True)
    behind = None if request.paths else _commits_behind(code, [frame for _, frame, _ in owners])
    people = lines.groupby(["author", "author_email"], observed=True)["lines"].sum().reset_index()
    top = people.sort_values("lines", ascending=False, kind="stable").head(_MAX_BARS)
    labels, values = distinct_names(top), [float(count) for count in top["lines"]]
    figure = ThemedFigure(
        name="ownership",
        title="Current lines by author",
        description=f"Bars of lines of the {len(labels)} authors who own the most.",
        draw=lambda: stacked_bars(labels, {"lines": values}, "lines"),
    )
    text = "Ownership refers to the newest commit, regardless of the dates above."
    tables = (_ownership_table(lines, request, link, behind), *_bus_factor_tables(owners, request))
    return [Section(title="Ownership", text=text, tables=tables, figures=(figure,))]


def _ownership_table(
    lines: Frame, request: Request, link: LinkOf, behind: Callable[[int], Frame] | None
) -> ReportTable:
    columns = ["repository", "author", "author_email", "lines", "share", "oldest_date", "newest_date", "bot", "exact"]
    return ReportTable(
        name="ownership",
        title="Current line ownership",
        frame=lines[columns],
        counts="Lines of text in the newest commit, by the author of the commit that introduced each, as in git blame.",
        excludes=f"binary files, and missing contents{_other_kinds(request)}.",
        source="",
        keys=("repository", "author", "author_email"),
        behind=behind,
        hidden=_hidden_columns(lines),
        link=link,
    )


def _bus_factor_tables(owners: list[Owned], request: Request) -> list[ReportTable]:
    """Return the table of bus factors; no table if the service has none."""
    import pandas as pd

    factors = [factor for _, _, factor in owners if factor is not None]
    if not factors:
        return []

    frame = pd.concat(factors, ignore_index=True)
    counts = (
        "Fewest people with more than half of the lines of the newest commit. / is the whole repository, /* the files "
        "at the top."
    )
    excludes = f"bots{_other_kinds(request)}."
    hidden = _hidden_columns(frame)
    return [
        ReportTable(
            name="bus_factor",
            title="Bus factor by directory",
            frame=frame,
            counts=counts,
            excludes=excludes,
            hidden=hidden,
        )
    ]


def _other_kinds(request: Request) -> str:
    """Return the kinds of files that tables exclude, for the end of a list."""
    return "" if request.table_kinds is None else LEFT_OUT["without"]


def _hidden_columns(frame: Frame) -> tuple[str, ...]:
    """Return ``exact`` if it would mark more than half of the rows: then a footnote is enough for all."""
    return ("exact",) if len(frame) and (~frame["exact"]).mean() > 1 / 2 else ()


def _commits_behind(code: Client, frames: list[Frame]) -> Callable[[int], Frame]:
    """Return a function from a row of concatenated frames to its commits."""

    def find(row: int) -> Frame:
        for frame in frames:
            if row < len(frame):
                return code.drill_down(frame, row, progress=False)
            row -= len(frame)
        raise IndexError(row)

    return find
