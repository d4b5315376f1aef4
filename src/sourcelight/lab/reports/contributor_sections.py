"""Sections of the contributor report: people, places and ownership."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sourcelight.lab.plots.charts import stacked_bars
from sourcelight.lab.reports.contributor_request import LEFT_OUT, ChangedLines, Owned, Request
from sourcelight.lab.reports.history import behind, churn_figure, told_apart
from sourcelight.lab.reports.model import Frame, LinkOf, ReportTable, Section, ThemedFigure
from sourcelight.lab.reports.other_files import WRITTEN
from sourcelight.lab.reports.people import APART, CO_AUTHORS, JOINED

if TYPE_CHECKING:
    from sourcelight.client import Client

_CHURN_COLUMNS = ["additions", "deletions", "changes", "commits", "authors"]
_OWNERS_SHOWN = 15
_FIVE = 5
_BOTS_COUNTED = (
    "Programs, by their name or address, that wrote one of these commits or that a trailer names. Columns as for "
    "contributors."
)

_PEOPLE_COLUMNS = [
    "author", "author_email", "commits", "merges", "co_authored", "additions", "deletions", "files", "first_date",
    "last_date",
]  # fmt: skip


def people_section(people: Frame | None, commits: Frame, which: Request, link: LinkOf) -> Section:
    """Who wrote commits, who is named beside, and bots."""
    if people is None:
        return Section("People", "")
    bot = people["bot"].fillna(value=False).astype("bool")
    wrote = people["commits"] > 0
    joining = JOINED if which.join_addresses else APART
    counted = (
        "A row is a person with a commit in the time. commits are those written, merges included; co_authored further "
        "ones whose trailers name the person; lines and files those of commits written that are no merges. " + joining
    )
    left_out = LEFT_OUT[which.other_files].removeprefix(", ")
    tables = []
    for name, heading, chosen, what, without in (
        ("contributors", "Contributors", wrote & ~bot, counted, "bots, and co-authors without a commit."),
        ("co_authors", "Co-authors without a commit", ~wrote & ~bot, CO_AUTHORS, "bots."),
        ("bots", "Bots", bot, _BOTS_COUNTED, "people."),
    ):
        frame = people.loc[chosen, _PEOPLE_COLUMNS].reset_index(drop=True)
        if name == "co_authors":
            frame = frame[["author", "author_email", "co_authored", "first_date", "last_date"]]
            frame = frame.sort_values("co_authored", ascending=False, kind="stable").reset_index(drop=True)
        if name == "contributors" or len(frame):
            without = f"{without.rstrip('.')}{', ' if left_out else ''}{left_out}."  # noqa: PLW2901 - the same, with more
            source = "" if name == "co_authors" else "commits"
            keys = () if name == "co_authors" else ("author", "author_email")
            tables.append(ReportTable(name, heading, frame, what, without, source, keys, link=link))
    top = tables[0].frame.head(_OWNERS_SHOWN)
    labels, counts = told_apart(top), [float(count) for count in top["commits"]]
    figure = ThemedFigure(
        "contributors",
        "Commits by person",
        f"Bars of commits of the {len(labels)} people with the most.",
        lambda: stacked_bars(labels, {"commits": counts}, "commits"),
    )
    share = top["commits"].head(5).sum() / max(int((~commits["bot"]).sum()), 1)
    text = f"The five people with the most commits wrote {share:.0%} of those by people." if len(top) > _FIVE else ""
    return Section("People", text, tuple(tables), (figure,) if labels else ())


def places_section(code: Client, places: ChangedLines, which: Request, link: LinkOf) -> Section:
    """Changed lines by kind of file, by directory and by file."""
    tables, figures = [], []
    written = "Lines of source and documentation that commits added and removed, as git log --numstat -M counts them."
    counted = (
        written if which.table_kinds is not None else "Lines that commits added and removed, as git log --numstat -M."
    )
    left_out = f"merges{'' if which.table_kinds is None else LEFT_OUT['without']}."
    if places.kinds is not None and len(places.kinds):
        kinds = places.kinds[["repository", "file_kind", *_CHURN_COLUMNS]].reset_index(drop=True)
        about = "Lines of all changed files by kind, which git attributes, paths and generators' marks tell."
        tables.append(ReportTable("file_kinds", "Kinds of files", kinds, about, "merges."))
    files, others = places.files, None
    if files is not None and which.other_files == "apart":
        is_other = ~files["file_kind"].astype("str").isin(WRITTEN)
        files, others = _rows_of(files, ~is_other), _rows_of(files, is_other)
    for name, heading, frame, column, what in (
        ("directories", "Folders by changed lines", places.folders, "directory",
         f"{counted} src/ is a folder with all below it, src/* its own files alone, /* the files at the top."),
        ("files", "Files by changed lines", files, "path", f"{counted} A renamed file counts under its new name."),
        ("other_files", "Vendored, generated and lock files", others, "path", "Lines that commits added and removed."),
    ):  # fmt: skip
        if frame is None or not len(frame):
            continue
        kind = ["file_kind"] if name == "other_files" else []
        shown = frame[["repository", column, *kind, *_CHURN_COLUMNS]].reset_index(drop=True)
        keys = ("repository", column)
        without = "merges." if name == "other_files" else left_out
        lead_on = behind(code, frame) if places.behind is None else places.behind(shown, column)
        tables.append(ReportTable(name, heading, shown, what, without, "", keys, behind=lead_on, link=link))
        if name != "other_files":
            figures.append(churn_figure(name, heading, shown, column))
    return Section("Places", "Where in the repositories the work was.", tuple(tables), tuple(figures))


def _rows_of(frame: Frame, chosen: Frame) -> Frame:
    rows = frame[chosen].reset_index(drop=True)
    rows.attrs = dict(frame.attrs)
    return rows


def ownership_sections(code: Client, owned: list[Owned], which: Request, link: LinkOf) -> list[Section]:
    """Who owns the lines of the newest commit, and how few people own more than half."""
    if not owned:
        return []
    import pandas as pd

    left_out = "" if which.table_kinds is None else LEFT_OUT["without"]
    lines = pd.concat([frame for _, frame, _ in owned], ignore_index=True)
    columns = ["repository", "author", "author_email", "lines", "share", "oldest_date", "newest_date", "bot", "exact"]
    tables = [
        ReportTable(
            "ownership",
            "Current line ownership",
            lines[columns],
            "Lines of text of the newest commit, by the author of the commit that brought each, as git blame has it.",
            f"binary files, and missing contents{left_out}.",
            "",
            ("repository", "author", "author_email"),
            behind=None if which.paths else _behind_each(code, [frame for _, frame, _ in owned]),
            hidden=_hidden(lines),
            link=link,
        )
    ]
    factors = [factor for _, _, factor in owned if factor is not None]
    if factors:
        frame = pd.concat(factors, ignore_index=True)
        tables.append(
            ReportTable(
                "bus_factor",
                "Bus factor by directory",
                frame,
                "Fewest people with more than half of the lines of the newest commit. / is the whole repository, /* "
                "the files at the top.",
                f"bots{left_out}.",
                hidden=_hidden(frame),
            )
        )
    people = lines.groupby(["author", "author_email"], observed=True)["lines"].sum().reset_index()
    top = people.sort_values("lines", ascending=False, kind="stable").head(_OWNERS_SHOWN)
    labels, values = told_apart(top), [float(count) for count in top["lines"]]
    figure = ThemedFigure(
        "ownership",
        "Current lines by author",
        f"Bars of lines of the {len(labels)} authors who own the most.",
        lambda: stacked_bars(labels, {"lines": values}, "lines"),
    )
    text = "Ownership is about the newest commit, whatever the dates above."
    return [Section("Ownership", text, tuple(tables), (figure,))]


def _hidden(frame: Frame) -> tuple[str, ...]:
    """``exact`` where most rows would be marked: a footnote says it of all of them."""
    return ("exact",) if len(frame) and (~frame["exact"]).mean() > 1 / 2 else ()


def _behind_each(code: Client, frames: list[Frame]) -> Callable[[int], Frame]:
    """The way from a row of frames one behind the other to its commits."""

    def find(row: int) -> Frame:
        for frame in frames:
            if row < len(frame):
                return code.commits_behind(frame, row, progress=False)
            row -= len(frame)
        raise IndexError(row)

    return find
