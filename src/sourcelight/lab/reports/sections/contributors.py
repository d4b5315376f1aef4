"""The sections of the contributor report about people, places and line ownership."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from sourcelight.core.markup import count_of
from sourcelight.lab.reports.answers import drill_down_of
from sourcelight.lab.reports.files import is_written
from sourcelight.lab.reports.history import churn_figure, people_figure
from sourcelight.lab.reports.model import Figure, Frame, LinkOf, ReportTable, Section
from sourcelight.lab.reports.people import APART, CO_AUTHORS, JOINED
from sourcelight.lab.reports.sections.contributor_data import LEFT_OUT, ChangedLines, Owned, Request
from sourcelight.lab.reports.sections.contributor_introduction import TOP_PEOPLE
from sourcelight.lab.reports.text import share_text

if TYPE_CHECKING:
    from sourcelight.client import Client


_CHURN_COLUMNS = ["additions", "deletions", "changes", "commits", "authors"]
"""Numbers of each row of changes."""

_MAX_BARS = 15
"""Maximum people of a chart."""

_CONTRIBUTORS_COUNTED = (
    "One row per person with a commit in the period. commits counts the commits of the person, including merges; "
    "co_authored counts other commits whose trailers name the person; lines and files exclude merges."
)
_WRITTEN_LINES_COUNTED = (
    "Lines that commits added and removed, as git log --numstat -M counts them, without vendored, generated and lock "
    "files."
)
_BOTS_COUNTED = (
    "Programs, by their name or address, that wrote one of these commits or that a trailer names. Columns as for "
    "contributors."
)

_PEOPLE_COLUMNS = [
    "author", "author_email", "commits", "merges", "co_authored", "additions", "deletions", "files", "first_date",
    "last_date",
]  # fmt: skip

_CO_AUTHOR_COLUMNS = ["author", "author_email", "co_authored", "first_date", "last_date"]
"""Columns of people without a commit: the others count a person's own commits, and would be 0 in every row."""


def people_section(people: Frame | None, commits: Frame, request: Request, link: LinkOf) -> Section:
    """Return the section of authors, co-authors and bots."""
    if people is None:
        return Section("People", "")

    is_bot = people["bot"].fillna(value=False).astype("bool")
    has_commits = people["commits"] > 0
    # The kinds of files that are left out, behind what each table excludes.
    without = LEFT_OUT[request.other_files]
    joining = JOINED if request.join_addresses else APART
    contributors = ReportTable(
        name="contributors",
        title="Contributors",
        frame=people.loc[has_commits & ~is_bot, _PEOPLE_COLUMNS].reset_index(drop=True),
        counts=f"{_CONTRIBUTORS_COUNTED} {joining}",
        excludes=f"bots, and co-authors without a commit{without}.",
        source="commits",
        keys=("author", "author_email"),
        link=link,
    )
    co_authors = ReportTable(
        name="co_authors",
        title="Co-authors without a commit",
        frame=people.loc[~has_commits & ~is_bot, _CO_AUTHOR_COLUMNS]
        .sort_values("co_authored", ascending=False, kind="stable")
        .reset_index(drop=True),
        counts=CO_AUTHORS,
        excludes=f"bots{without}.",
        link=link,
    )
    bots_counted = _BOTS_COUNTED
    trailer_bots = int((is_bot & ~has_commits).sum())
    if trailer_bots:
        bots_counted += (
            f" Only trailers name {count_of(trailer_bots, 'bot')} of this table: the number of bots in the summary "
            "counts bots with a commit."
        )

    bots = replace(
        contributors,
        name="bots",
        title="Bots",
        frame=people.loc[is_bot, _PEOPLE_COLUMNS].reset_index(drop=True),
        counts=bots_counted,
        excludes=f"people{without}.",
    )
    top = contributors.frame.head(_MAX_BARS)
    description = f"Bars of commits of the {len(top)} people with the most."
    figure = people_figure("contributors", "Commits by person", description, top, "commits")
    figures = (figure,) if len(top) else ()
    return Section(
        title="People", text=_concentration_text(top, commits), tables=(contributors, co_authors, bots), figures=figures
    )


def _concentration_text(top: Frame, commits: Frame) -> str:
    """Return the share of the people with the most commits; empty if there are no others."""
    if len(top) <= TOP_PEOPLE:
        return ""

    # Of commits by people: with bots in the denominator, busy bots would make a team look evenly spread.
    commits_by_people = max(int((~commits["bot"]).sum()), 1)
    share = top["commits"].head(TOP_PEOPLE).sum() / commits_by_people
    return f"The five people with the most commits wrote {share_text(share)} of those by people."


def places_section(code: Client, changed_lines: ChangedLines, request: Request, link: LinkOf) -> Section:
    """Return changed lines by kind of file, by directory and by file."""
    counts = "Lines that commits added and removed, as git log --numstat -M."
    if request.table_kinds is not None:
        counts = _WRITTEN_LINES_COUNTED

    tables: list[ReportTable] = []
    if changed_lines.kinds is not None:
        tables.append(_kinds_table(changed_lines.kinds))

    files, other_files = changed_lines.files, None
    if files is not None and request.other_files == "apart":
        # Apart, or one vendored update would hide the work on everything else.
        is_authored = is_written(files)
        files, other_files = _rows_of(files, is_authored), _rows_of(files, ~is_authored)

    def make_table(name: str, title: str, frame: Frame, columns: list[str], counts: str, excludes: str) -> ReportTable:
        rows = frame[["repository", *columns, *_CHURN_COLUMNS]].reset_index(drop=True)
        commits_behind = drill_down_of(code, frame)
        if changed_lines.drill_down is not None:
            commits_behind = changed_lines.drill_down(rows, columns[0])
        return ReportTable(
            name=name,
            title=title,
            frame=rows,
            counts=counts,
            excludes=excludes,
            keys=("repository", columns[0]),
            behind=commits_behind,
            link=link,
        )

    excludes = f"merges{_other_kinds(request)}."
    figures: list[Figure] = []
    if changed_lines.folders is not None:
        title = "Directories by changed lines"
        counts_text = (
            f"{counts} src/ is a directory with everything below it, src/* only its own files, /* the files at the top."
        )
        table = make_table("directories", title, changed_lines.folders, ["directory"], counts_text, excludes)
        tables.append(table)
        if len(table.frame):
            figures.append(churn_figure("directories", title, table.frame, "directory"))

    if files is not None:
        title = "Files by changed lines"
        counts_text = f"{counts} A renamed file counts under its new name."
        table = make_table("files", title, files, ["path"], counts_text, excludes)
        tables.append(table)
        if len(table.frame):
            figures.append(churn_figure("files", title, table.frame, "path"))

    if other_files is not None:
        title = "Vendored, generated and lock files"
        counts_text = "Lines that commits added and removed."
        tables.append(make_table("other_files", title, other_files, ["path", "file_kind"], counts_text, "merges."))

    return Section(
        title="Places",
        text="Directories and files with the most changes.",
        tables=tuple(tables),
        figures=tuple(figures),
    )


def _kinds_table(kinds: Frame) -> ReportTable:
    return ReportTable(
        name="file_kinds",
        title="Kinds of files",
        frame=kinds[["repository", "file_kind", *_CHURN_COLUMNS]].reset_index(drop=True),
        counts="Lines of all changed files, by kind. Git attributes, paths and generators' marks decide the kind; "
        "source is everything else: code, data and prose.",
        excludes="merges.",
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

    frames = [owned.owners for owned in owners]
    lines = pd.concat(frames, ignore_index=True)
    # Readers see only the first rows, so these must not all be of the first repository.
    lines = lines.sort_values("lines", ascending=False, kind="stable", ignore_index=True)
    behind = None if request.paths else _commits_behind(code, frames)
    people = lines.groupby(["author", "author_email"], observed=True)["lines"].sum().reset_index()
    top = people.sort_values("lines", ascending=False, kind="stable").head(_MAX_BARS)
    description = f"Bars of lines of the {len(top)} authors who own the most."
    figure = people_figure("ownership", "Current lines by author", description, top, "lines")
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

    factors = [owned.bus_factors for owned in owners if owned.bus_factors is not None]
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
    is_mostly_marked = len(frame) > 0 and (~frame["exact"]).mean() > 1 / 2
    return ("exact",) if is_mostly_marked else ()


def _commits_behind(code: Client, frames: list[Frame]) -> Callable[[int], Frame]:
    """Return a function from a row of concatenated frames to its commits."""

    def find(row: int) -> Frame:
        for frame in frames:
            if row < len(frame):
                return code.drill_down(frame, row, progress=False)
            row -= len(frame)
        raise IndexError(row)

    return find
