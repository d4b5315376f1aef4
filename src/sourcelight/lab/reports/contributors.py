"""The contributor report: who changed what, when, and who owns what is there today."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

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
from sourcelight.lab.reports.report import Report
from sourcelight.lab.reports.stages import Stages

if TYPE_CHECKING:
    from sourcelight.client import Client

_OWNERS_SHOWN = 15
_STAGES = ("commits", "people", "folders", "files", "ownership", "identities")


def contributors(
    code: Client,
    repos: str | list[str] | None = None,
    *,
    since: str | date | None = None,
    until: str | date | None = None,
    by: str = "month",
    mailmap: str | list[str] | None = None,
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
    ownership
        Whether to work out who owns the lines of today, which takes longest; no dates apply to it.
    title
        Heading of the report.
    progress
        As in `Client.search`: one bar for the whole report, with what it is doing and how long each stage took.

    Returns
    -------
    Report
        Its tables: contributors, bots, activity, clock, directories, files, and, with `ownership`, ownership and
        bus_factor. Each number leads to its commits by `Report.drill`. What a service can't tell is in `notices`.

    Raises
    ------
    CallError
        For a period that is none, and for dates that can't be read.
    RepositoryNotFound
        For a repository that is not there.
    """
    if by not in PERIODS:
        raise CallError(f"by is {by!r}; it is one of {', '.join(PERIODS)}", call="contributors", argument="by")
    stages = Stages("Contributors", tuple(name for name in _STAGES if ownership or name != "ownership"), draw=progress)
    with stages:
        return _made(code, stages, repos, since, until, by, mailmap, title, ownership=ownership)


def _made(
    code: Client,
    stages: Stages,
    repos: str | list[str] | None,
    since: str | date | None,
    until: str | date | None,
    by: str,
    mailmap: str | list[str] | None,
    title: str,
    *,
    ownership: bool,
) -> Report:
    notices: list[str] = []
    found = stages.ask("commits", code.commit_search, repos=repos, after=since, before=until)
    commits = commits_frame(found, by)
    people = offered(
        lambda: stages.ask("people", code.contributors, repos=repos, mailmap=mailmap, after=since, before=until),
        "people",
        notices,
    )
    if mailmap is not None and people is not None:
        commits = _joined(commits, people)
    folders = offered(
        lambda: stages.ask(
            "folders", code.churn, repos=repos, by=["repository", "directory"], after=since, before=until
        ),
        "folders",
        notices,
    )
    files = offered(
        lambda: stages.ask("files", code.churn, repos=repos, by=["repository", "path"], after=since, before=until),
        "files",
        notices,
    )
    names = sorted(commits["repository"].astype("str").unique())
    sections = [_people(people, commits), _when(commits, by)]
    sections += _where(code, folders, files)
    owned = _owned(code, stages, names, notices) if ownership else []
    sections += _ownership(code, owned)
    answers = [found, people, folders, files, *(frame for _, frame, _ in owned)]
    limits = [*notices, *limited(answers)]
    if not ownership:
        notices.append("Ownership was not asked for.")
    notices += _doubtful(code, stages, repos, mailmap)
    asked = (
        (
            "repositories",
            repositories_text(names, found.attrs.get("commits", {})) if names else "none with such commits",
        ),
        ("since", _shown(since) or "the beginning"),
        ("until", _shown(until) or "now"),
    )
    return Report(
        title or f"Contributors to {', '.join(names[:3]) or 'no repository'}{' and others' if len(names) > 3 else ''}",
        asked,
        tuple(_summary(commits, people, files, owned)),
        tuple(section for section in sections if section.tables or section.figures),
        {"commits": commits},
        tuple(dict.fromkeys([*notices, *said(answers)])),
        tuple(dict.fromkeys(limits)),
    )


def _doubtful(
    code: Client, stages: Stages, repos: str | list[str] | None, mailmap: str | list[str] | None
) -> list[str]:
    """Say how many identities may be one person; joining them is the reader's decision."""
    suggested = offered(
        lambda: stages.ask("identities", code.identity_suggestions, repos=repos, mailmap=mailmap), "", []
    )
    if suggested is None or not len(suggested):
        return []
    people = suggested["group"].nunique()
    notice = (
        f"{len(suggested):,} identities may be {people:,} people: identity_suggestions() lists them, and mailmap= "
        "joins those whose mailmap_line is passed."
    )
    return [notice]


def _shown(value: str | date | None) -> str:
    return "" if value is None else str(value)


def _joined(commits: Frame, people: Frame) -> Frame:
    """Commits under the names that the given mailmap has for their authors."""
    aliases = people.attrs.get("aliases", {})
    proper = {alias: name for name, others in aliases.items() for alias in others}
    commits["person"] = commits["person"].map(lambda person: proper.get(person, person))
    commits["author"] = commits["person"].str.rpartition(" <")[0]
    commits["author_email"] = commits["person"].str.rpartition(" <")[2].str.removesuffix(">")
    return commits


def _summary(commits: Frame, people: Frame | None, files: Frame | None, owned: list[_Owned]) -> list[Number]:
    human = commits[~commits["bot"]]
    writers = None if people is None else int((~people["bot"].fillna(value=False).astype("bool")).sum())
    numbers = [
        Number("commits", len(commits), "Commits in the time, merges included.", "", "commits"),
        Number("people", writers, "Authors as the mailmap has them.", "Bots.", "commits", {"bot": False}),
        Number("commits by people", len(human), "Commits whose author is no bot.", "", "commits", {"bot": False}),
        Number(
            "merges", int(commits["merge"].sum()), "Commits with two or more parents.", "", "commits", {"merge": True}
        ),
        *line_numbers(commits, "Lines of all changed files, as git log --numstat counts them."),
        Number("files changed", None if files is None else len(files), "Paths that a commit changed.", "Merges."),
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
        numbers.append(
            Number(
                "bus factor", int(factor["bus_factor"]), "Fewest authors who own more than half of the lines.", "Bots."
            )
        )
    return numbers


def _people(people: Frame | None, commits: Frame) -> Section:
    if people is None:
        return Section("People", "")
    bot = people["bot"].fillna(value=False).astype("bool")
    columns = [
        "author",
        "author_email",
        "commits",
        "merges",
        "co_authored",
        "additions",
        "deletions",
        "files",
        "first_date",
        "last_date",
    ]
    counted = (
        "Commits written, merges included, and lines of those that are no merges; co_authored counts further ones."
    )
    tables = []
    for name, heading, chosen in (("contributors", "Contributors", ~bot), ("bots", "Bots", bot)):
        frame = people.loc[chosen, columns].reset_index(drop=True)
        if name == "contributors" or len(frame):
            left_out = "Bots, which have a table of their own." if name == "contributors" else "People."
            tables.append(Table(name, heading, frame, counted, left_out, "commits", ("author", "author_email")))
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


def _where(code: Client, folders: Frame | None, files: Frame | None) -> list[Section]:
    tables, figures = [], []
    for name, heading, frame, column in (
        ("directories", "Folders by changed lines", folders, "directory"),
        ("files", "Files by changed lines", files, "path"),
    ):
        if frame is None or not len(frame):
            continue
        columns = ["repository", column, "additions", "deletions", "changes", "commits", "authors"]
        shown = frame[columns].reset_index(drop=True)
        tables.append(
            Table(
                name,
                heading,
                shown,
                "Lines that commits added and removed.",
                "Merges.",
                "",
                ("repository", column),
                behind=behind(code, frame),
            )
        )
        figures.append(churn_figure(name, heading, shown, column))
    return [Section("Places", "Where in the repositories the work was.", tuple(tables), tuple(figures))]


_Owned = tuple[str, "Frame", "Frame | None"]


def _owned(code: Client, stages: Stages, names: list[str], notices: list[str]) -> list[_Owned]:
    found: list[_Owned] = []
    for name in names:
        before = len(notices)
        try:
            owned = offered(lambda name=name: stages.ask("ownership", code.ownership, name), "ownership", notices)  # type: ignore[misc]
            factor = offered(lambda name=name: stages.ask("ownership", code.bus_factor, name), "bus factor", notices)  # type: ignore[misc]
        except SourcelightError as fault:
            notices.append(f"Ownership of {name} could not be worked out: {fault}")
            continue
        if owned is None:
            del notices[before + 1 :]
            return []
        found.append((name, owned, factor))
    return found


def _ownership(code: Client, owned: list[_Owned]) -> list[Section]:
    if not owned:
        return []
    import pandas as pd

    lines = pd.concat([frame for _, frame, _ in owned], ignore_index=True)
    columns = ["repository", "author", "author_email", "lines", "share", "oldest_date", "newest_date", "bot", "exact"]
    tables = [
        Table(
            "ownership",
            "Who owns the lines of today",
            lines[columns],
            "Lines of text at the commits named above, by the author of the commit that brought each as it is.",
            "Binary files, and files whose content is missing; rows with exact: no may differ from git blame.",
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
                "Fewest authors with more than half of the lines.",
                "Bots.",
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
