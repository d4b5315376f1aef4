"""The contributor report: who changed what, when, and who owns what is there today."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from sourcelight.core.errors import CallError, SourcelightError
from sourcelight.display.notebook import ProgressChoice
from sourcelight.lab.reports.figures import bars
from sourcelight.lab.reports.history import (
    PERIODS,
    activity,
    behind,
    change_sizes,
    churn_figure,
    clock,
    commits_frame,
    limited,
    line_numbers,
    offered,
    repositories_text,
    said,
    told_apart,
)
from sourcelight.lab.reports.model import Figure, Frame, Number, Section, Table
from sourcelight.lab.reports.people import APART, BOTS, CO_AUTHORS, JOINED, doubtful, one_name_each, people_numbers
from sourcelight.lab.reports.report import Report
from sourcelight.lab.reports.stages import Stages

if TYPE_CHECKING:
    from sourcelight.client import Client

OtherFiles = Literal["apart", "with", "without"]

_OTHER_FILES = ("apart", "with", "without")
_WRITTEN = ("source", "documentation")
_LEFT_OUT = {"apart": "", "with": "", "without": ", vendored, generated and lock files"}
_FILES_COUNTED = {"apart": "all changed files", "with": "all changed files", "without": "source and documentation"}
_CHURN_COLUMNS = ["additions", "deletions", "changes", "commits", "authors"]
_OWNERS_SHOWN = 15
_STAGES = ("commits", "people", "folders", "files", "ownership", "identities")


def contributors(  # noqa: PLR0913 - what a reader can ask, each by its name
    code: Client,
    repos: str | list[str] | None = None,
    *,
    since: str | date | None = None,
    until: str | date | None = None,
    by: str = "month",
    mailmap: str | list[str] | None = None,
    join_addresses: bool = True,
    other_files: OtherFiles = "apart",
    ownership: bool = True,
    title: str = "",
    progress: ProgressChoice = None,
) -> Report:
    """Report on who contributed to repositories.

    Parameters
    ----------
    code
        Client that answers, of this machine or of a service.
    repos
        Names of repositories; None: all that can be searched.
    since, until
        Bounds of the committer date, both exclusive: ``2024-01-01``, ``6 months ago``, or a Python date.
    by
        ``day``, ``week``, ``month``, ``quarter`` or ``year``: what activity is shown by.
    mailmap
        Lines that join identities, such as the accepted ones of `Client.identity_suggestions`.
    join_addresses
        Whether identities with one address are one person, as in `Client.contributors`.
    other_files
        Vendored, generated and lock files: ``apart`` (the default) counts their lines in the summary and gives them
        tables of their own, ``with`` does not tell them apart, ``without`` counts no line and no file of them.
    ownership
        Whether to work out who owns the lines of today, which takes longest; no dates apply to it.
    title
        Heading of the report.
    progress
        As in `Client.search`: one bar for the whole report, with what it is doing and how long each stage took.

    Returns
    -------
    Report
        Its tables: contributors, co_authors, bots, activity, clock, file_kinds, directories, files, other_files, and,
        with `ownership`, ownership and bus_factor. Each number leads to its commits by `Report.drill`. What a service
        can't tell is in `notices`.

    Raises
    ------
    CallError
        For a period or `other_files` that is none, and for dates that can't be read.
    RepositoryNotFound
        For a repository that is not there.
    """
    if by not in PERIODS:
        raise CallError(f"by is {by!r}; it is one of {', '.join(PERIODS)}", call="contributors", argument="by")
    if other_files not in _OTHER_FILES:
        accepted = ", ".join(_OTHER_FILES)
        raise CallError(
            f"other_files is {other_files!r}; it is one of {accepted}", call="contributors", argument="other_files"
        )
    which = _Which(repos, since, until, mailmap, join_addresses, other_files)
    stages = Stages("Contributors", tuple(name for name in _STAGES if ownership or name != "ownership"), draw=progress)
    with stages:
        return _made(code, stages, which, by, title, ownership=ownership)


@dataclass(frozen=True, slots=True)
class _Which:
    """What a report is asked for, as far as its calls need it."""

    repos: str | list[str] | None
    since: str | date | None
    until: str | date | None
    mailmap: str | list[str] | None
    join_addresses: bool
    other_files: OtherFiles

    @property
    def people(self) -> dict[str, Any]:
        """Arguments of calls that count people."""
        return {"repos": self.repos, "mailmap": self.mailmap, "join_addresses": self.join_addresses}

    @property
    def dates(self) -> dict[str, Any]:
        """Arguments of calls that have dates."""
        return {"after": self.since, "before": self.until}

    @property
    def written(self) -> list[str] | None:
        """Kinds of files of the main tables; None: all."""
        return None if self.other_files == "with" else list(_WRITTEN)

    @property
    def counted(self) -> list[str] | None:
        """Kinds of files of the summary; None: all."""
        return self.written if self.other_files == "without" else None


def _made(code: Client, stages: Stages, which: _Which, by: str, title: str, *, ownership: bool) -> Report:
    notices: list[str] = []
    found = stages.ask("commits", code.commit_search, repos=which.repos, **which.dates)
    people = offered(
        lambda: stages.ask("people", code.contributors, file_kinds=which.counted, **which.people, **which.dates),
        "people",
        notices,
    )
    sized = found if which.counted is None else _of_kinds(found, stages, code, which)
    commits = one_name_each(commits_frame(sized, by), people, join_addresses=which.join_addresses)
    places = _places(code, stages, which, notices)
    names = sorted(commits["repository"].astype("str").unique())
    sections = [_people(people, commits, which), _when(commits, by), _where(code, places, which)]
    owned = _owned(code, stages, names, which, notices) if ownership else []
    sections += _ownership(code, owned, which)
    answers = [found, people, *places.answers, *(frame for _, frame, _ in owned)]
    limits = [*notices, *limited(answers)]
    if not ownership:
        notices.append("Ownership was not asked for.")
    if people is not None:
        notices += doubtful(code, stages, people, which.repos, which.mailmap, join_addresses=which.join_addresses)
    asked = (
        (
            "repositories",
            repositories_text(names, found.attrs.get("commits", {})) if names else "none with such commits",
        ),
        ("since", _shown(which.since) or "the beginning"),
        ("until", _shown(which.until) or "now"),
    )
    return Report(
        title or f"Contributors to {', '.join(names[:3]) or 'no repository'}{' and others' if len(names) > 3 else ''}",
        asked,
        tuple(_summary(commits, people, places, owned, which)),
        tuple(section for section in sections if section.tables or section.figures),
        {"commits": commits},
        tuple(dict.fromkeys([*notices, *said(answers)])),
        tuple(dict.fromkeys(limits)),
    )


@dataclass(frozen=True, slots=True)
class _Places:
    """Changed lines by kind of file, by folder and by file; None where a service can't tell."""

    kinds: Frame | None
    folders: Frame | None
    files: Frame | None

    @property
    def answers(self) -> list[Frame | None]:
        """All of them."""
        return [self.kinds, self.folders, self.files]


def _places(code: Client, stages: Stages, which: _Which, notices: list[str]) -> _Places:
    def churn(stage: str, *by: str, kinds: list[str] | None = None, what: str = "") -> Frame | None:
        return offered(
            lambda: stages.ask(
                stage, code.churn, by=["repository", *by], file_kinds=kinds, **which.people, **which.dates
            ),
            what or stage,
            notices,
        )

    kinds = churn("folders", "file_kind", what="kinds of files") if which.other_files == "apart" else None
    return _Places(
        kinds,
        churn("folders", "directory", kinds=which.written),
        churn("files", "path", "file_kind", kinds=which.counted),
    )


def _shown(value: str | date | None) -> str:
    return "" if value is None else str(value)


def _summary(commits: Frame, people: Frame | None, places: _Places, owned: list[_Owned], which: _Which) -> list[Number]:
    human = commits[~commits["bot"]]
    paths = None if places.files is None else sum(places.files.attrs["changed_paths"].values())
    numbers = [
        Number(
            "commits", len(commits), "Commits in the time, merges included, as git rev-list --count.", "", "commits"
        ),
        *people_numbers(people, join_addresses=which.join_addresses),
        Number("commits by people", len(human), "Commits whose author is no bot.", "Bots.", "commits", {"bot": False}),
        Number(
            "merges", int(commits["merge"].sum()), "Commits with two or more parents.", "", "commits", {"merge": True}
        ),
        *line_numbers(commits, f"Lines of {_FILES_COUNTED[which.other_files]}, as git log --numstat -M counts them."),
        Number(
            "files changed",
            paths,
            "Distinct paths of all changes, both names of renamed files, as git log --name-only --no-renames has them.",
            f"Merges{_LEFT_OUT[which.other_files]}.",
        ),
        Number(
            "days with commits",
            int(commits["commit_date"].dt.date.nunique()),
            "Days by committer date, UTC.",
            "",
            "commits",
        ),
    ]
    if len(owned) == 1 and owned[0][2] is not None and len(owned[0][2]):
        factor = owned[0][2].iloc[0]
        counted = "Fewest people who own more than half of the lines of the newest commit, whatever the time."
        left_out = f"Bots{'' if which.written is None else _LEFT_OUT['without']}."
        numbers.append(Number("bus factor", int(factor["bus_factor"]), counted, left_out))
    return numbers


def _of_kinds(commits: Frame, stages: Stages, code: Client, which: _Which) -> Frame:
    """Commits with the files and lines of the counted kinds alone."""
    sizes = stages.ask(
        "folders", code.churn, by=["repository", "commit"], file_kinds=which.counted, repos=which.repos,
        **which.dates,
    )  # fmt: skip
    keys = ["repository", "commit"]
    own = sizes[[*keys, "changes", "additions", "deletions"]].rename(columns={"changes": "files"})
    own = own.astype(dict.fromkeys(keys, "str")).set_index(keys)
    index = commits[keys].astype("str").apply(tuple, axis="columns").tolist()
    frame = commits.copy()
    frame.attrs = dict(commits.attrs)
    for column in own.columns:
        frame[column] = own[column].reindex(index).fillna(0).astype("Int64").to_numpy() if len(own) else 0
    return frame


_PEOPLE_COLUMNS = [
    "author", "author_email", "commits", "merges", "co_authored", "additions", "deletions", "files", "first_date",
    "last_date",
]  # fmt: skip


def _people(people: Frame | None, commits: Frame, which: _Which) -> Section:
    if people is None:
        return Section("People", "")
    bot = people["bot"].fillna(value=False).astype("bool")
    wrote = people["commits"] > 0
    joining = JOINED if which.join_addresses else APART
    counted = (
        "A row is a person with a commit in the time. commits are those written, merges included; co_authored further "
        "ones whose trailers name the person; lines and files those of commits written that are no merges. " + joining
    )
    left_out = _LEFT_OUT[which.other_files].removeprefix(", ").capitalize()
    tables = []
    for name, heading, chosen, what, without in (
        ("contributors", "Contributors", wrote & ~bot, counted, "Bots and co-authors without a commit."),
        ("co_authors", "Co-authors without a commit", ~wrote & ~bot, CO_AUTHORS, "Bots."),
        ("bots", "Bots", bot, f"{BOTS} Columns as for contributors.", "People."),
    ):
        frame = people.loc[chosen, _PEOPLE_COLUMNS].reset_index(drop=True)
        if name == "co_authors":
            frame = frame[["author", "author_email", "co_authored", "first_date", "last_date"]]
            frame = frame.sort_values("co_authored", ascending=False, kind="stable").reset_index(drop=True)
        if name == "contributors" or len(frame):
            without = f"{without} {left_out}{'.' if left_out else ''}".strip()  # noqa: PLW2901 - the same, with more
            source = "" if name == "co_authors" else "commits"
            keys = () if name == "co_authors" else ("author", "author_email")
            tables.append(Table(name, heading, frame, what, without, source, keys))
    top = tables[0].frame.head(_OWNERS_SHOWN)
    labels, counts = told_apart(top), [float(count) for count in top["commits"]]
    figure = Figure(
        "contributors",
        "Commits by person",
        f"Bars of commits of the {len(labels)} people with the most.",
        lambda: bars(labels, {"commits": counts}, "commits"),
    )
    share = top["commits"].head(5).sum() / max(len(commits), 1)
    text = f"The five people with the most commits wrote {share:.0%} of all." if len(top) else "Nobody committed."
    return Section("People", text, tuple(tables), (figure,) if labels else ())


def _when(commits: Frame, by: str) -> Section:
    if not len(commits):
        return Section("Time", "")
    table, figure = activity(commits, by)
    hours, card = clock(commits)
    return Section("Time", "When commits were made.", (table, hours), (figure, card, change_sizes(commits)))


def _where(code: Client, places: _Places, which: _Which) -> Section:
    tables, figures = [], []
    written = "Lines of source and documentation that commits added and removed, as git log --numstat -M counts them."
    counted = written if which.written is not None else "Lines that commits added and removed, as git log --numstat -M."
    left_out = f"Merges{'' if which.written is None else _LEFT_OUT['without']}."
    if places.kinds is not None and len(places.kinds):
        kinds = places.kinds[["repository", "file_kind", *_CHURN_COLUMNS]].reset_index(drop=True)
        about = "Lines of all changed files by kind, which git attributes, paths and generators' marks tell."
        tables.append(Table("file_kinds", "Kinds of files", kinds, about, "Merges."))
    files, others = places.files, None
    if files is not None and which.other_files == "apart":
        is_other = ~files["file_kind"].astype("str").isin(_WRITTEN)
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
        without = "Merges." if name == "other_files" else left_out
        tables.append(Table(name, heading, shown, what, without, "", keys, behind=behind(code, frame)))
        if name != "other_files":
            figures.append(churn_figure(name, heading, shown, column))
    return Section("Places", "Where in the repositories the work was.", tuple(tables), tuple(figures))


def _rows_of(frame: Frame, chosen: Frame) -> Frame:
    rows = frame[chosen].reset_index(drop=True)
    rows.attrs = dict(frame.attrs)
    return rows


_Owned = tuple[str, "Frame", "Frame | None"]


def _owned(code: Client, stages: Stages, names: list[str], which: _Which, notices: list[str]) -> list[_Owned]:
    found: list[_Owned] = []
    options = {"mailmap": which.mailmap, "join_addresses": which.join_addresses, "file_kinds": which.written}
    for name in names:
        before = len(notices)
        try:
            owned = offered(partial(stages.ask, "ownership", code.ownership, name, **options), "ownership", notices)
            factor = offered(partial(stages.ask, "ownership", code.bus_factor, name, **options), "bus factor", notices)
        except SourcelightError as fault:
            notices.append(f"Ownership of {name} could not be worked out: {fault}")
            continue
        if owned is None:
            del notices[before + 1 :]
            return []
        found.append((name, owned, factor))
    return found


def _ownership(code: Client, owned: list[_Owned], which: _Which) -> list[Section]:
    if not owned:
        return []
    import pandas as pd

    left_out = "" if which.written is None else _LEFT_OUT["without"]
    lines = pd.concat([frame for _, frame, _ in owned], ignore_index=True)
    columns = ["repository", "author", "author_email", "lines", "share", "oldest_date", "newest_date", "bot", "exact"]
    tables = [
        Table(
            "ownership",
            "Who owns the lines of today",
            lines[columns],
            "Lines of text of the newest commit, by the author of the commit that brought each, as git blame has it.",
            f"Binary files, and missing contents{left_out}. Rows with exact: no may differ from git blame.",
            "",
            ("repository", "author", "author_email"),
            behind=_behind_each(code, [frame for _, frame, _ in owned]),
        )
    ]
    factors = [factor for _, _, factor in owned if factor is not None]
    if factors:
        frame = pd.concat(factors, ignore_index=True)
        tables.append(
            Table(
                "bus_factor",
                "How many people hold each folder",
                frame,
                "Fewest people with more than half of the lines of the newest commit. / is the whole repository, /* "
                "the files at the top.",
                f"Bots{left_out}.",
            )
        )
    people = lines.groupby(["author", "author_email"], observed=True)["lines"].sum().reset_index()
    top = people.sort_values("lines", ascending=False, kind="stable").head(_OWNERS_SHOWN)
    labels, values = told_apart(top), [float(count) for count in top["lines"]]
    figure = Figure(
        "ownership",
        "Lines of today by author",
        f"Bars of lines of the {len(labels)} authors who own the most.",
        lambda: bars(labels, {"lines": values}, "lines"),
    )
    text = "Ownership is about the newest commit, whatever the dates above."
    return [Section("Ownership", text, tuple(tables), (figure,))]


def _behind_each(code: Client, frames: list[Frame]):  # type: ignore[no-untyped-def]  # noqa: ANN202 - see Table.behind
    def find(row: int) -> Frame:
        for frame in frames:
            if row < len(frame):
                return code.commits_behind(frame, row, progress=False)
            row -= len(frame)
        raise IndexError(row)

    return find
