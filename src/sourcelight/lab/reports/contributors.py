"""The contributor report: activity, changes and current line ownership."""

from __future__ import annotations

from collections.abc import Callable
from datetime import MINYEAR, UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from sourcelight.core.errors import SourcelightError, ToolError, UnsupportedTool
from sourcelight.core.former_names import refuses_former_parameters
from sourcelight.core.markup import join_words
from sourcelight.display.notebook import ProgressChoice
from sourcelight.lab.reports.by_path import bus_factor_of, churn_of, owners_of, people_of, top_directory, with_authors
from sourcelight.lab.reports.contributor_request import LEFT_OUT, ChangedLines, Owned, Request, check_dates
from sourcelight.lab.reports.contributor_sections import ownership_sections, people_section, places_section
from sourcelight.lab.reports.contributor_summary import OLD_DAYS, lead, nothing
from sourcelight.lab.reports.history import (
    PERIODS,
    Span,
    about,
    activity,
    change_sizes,
    clock,
    commits_frame,
    limited,
    line_metrics,
    narrowed,
    no_commits,
    offered,
    repositories_text,
    said,
    without_notices,
)
from sourcelight.lab.reports.links import links_of
from sourcelight.lab.reports.model import Frame, Metric, Section
from sourcelight.lab.reports.organizations import organizations_section, with_organizations
from sourcelight.lab.reports.other_files import OtherFiles, check_other_files, sized_by_kinds
from sourcelight.lab.reports.paths import PathFilter, PathPatterns, changed_files
from sourcelight.lab.reports.people import doubtful, one_name_each, people_metrics
from sourcelight.lab.reports.progress import ReportProgress
from sourcelight.lab.reports.report import Report
from sourcelight.lab.reports.turnover import YEAR_DAYS, Turnover, keys_of, turnover, turnover_section
from sourcelight.lab.reports.wording import day

if TYPE_CHECKING:
    from sourcelight.client import Client

_FILES_COUNTED = {"apart": "all changed files", "with": "all changed files", "without": "source and documentation"}
_PATHS_COUNTED = {
    False: "Distinct paths of all changes, both names of renamed files, as git log --name-only --no-renames has them.",
    True: "Distinct paths of the changes that count, renamed files under their new names.",
}
# The numbers and tables say these themselves.
_SAID = ("Merges are ", "Only files of these kinds")
_STAGES = ("commits", "people", "folders", "files", "time before", "ownership", "identities")


@refuses_former_parameters
def contributors(  # noqa: PLR0913 - what a reader can ask, each by its name
    client: Client,
    repos: str | list[str] | None = None,
    *,
    after: str | date | None = None,
    before: str | date | None = None,
    period: str = "month",
    mailmap: str | list[str] | None = None,
    join_addresses: bool = True,
    other_files: OtherFiles = "apart",
    only: PathPatterns = None,
    exclude: PathPatterns = None,
    ownership: bool = True,
    title: str = "",
    progress: ProgressChoice = None,
) -> Report:
    """Report on who contributed to repositories.

    Parameters
    ----------
    client
        Client for the repositories, of this machine or of a service.
    repos
        Names of repositories; None: all that can be searched.
    after, before
        Bounds of the committer date, both exclusive: ``2024-01-01``, ``6 months ago``, or a Python date.
    period
        ``day``, ``week``, ``month``, ``quarter`` or ``year``: the length of the bars of activity.
    mailmap
        Lines that join identities, such as the accepted ones of `Client.identity_suggestions`.
    join_addresses
        Whether identities with one address are one person, as in `Client.contributors`.
    other_files
        Vendored, generated and lock files: ``apart`` (the default) counts their lines in the summary and gives them
        tables of their own, ``with`` does not tell them apart, ``without`` counts no line and no file of them.
    only, exclude
        Folders and globs, as `files` of `Client.commit_search`: count only files in one of `only`, and none in one of
        `exclude`. Commits count if they change such a file, with the lines of these files; merges change none. A
        renamed file counts by its new name.
    ownership
        Whether to work out who owns the lines of today, which takes longest; no dates apply to it.
    title
        Heading of the report.
    progress
        As in `Client.search`: one bar for the whole report, with what it is doing and how long each stage took.

    Returns
    -------
    Report
        Its tables: contributors, co_authors, bots, joined, left, organizations, activity, clock, file_kinds,
        directories, files, other_files, and, with `ownership`, ownership and bus_factor. Each number leads to its
        commits by `Report.drill_down`. What a service can't tell is in `notices`; `lead` says why a report is empty.

    Raises
    ------
    ToolError
        For a period or `other_files` that is none, for dates that can't be read, and for `only` and `exclude` where a
        service does not tell the files of commits.
    RepositoryNotFound
        For a repository that is not there.
    """
    if period not in PERIODS:
        raise ToolError(
            f"period must be {join_words(list(PERIODS), 'or')}, got {period!r}", tool="contributors", argument="period"
        )
    check_other_files("contributors", other_files)
    check_dates("contributors", after=after, before=before)
    paths = PathFilter("contributors", only, exclude)
    which = Request(repos, after, before, mailmap, join_addresses, other_files, paths)
    stages = ReportProgress(
        "Contributors", tuple(name for name in _STAGES if ownership or name != "ownership"), draw=progress
    )
    with stages:
        return _made(client, stages, which, period, title, ownership=ownership)


def _made(code: Client, stages: ReportProgress, which: Request, by: str, title: str, *, ownership: bool) -> Report:
    notices: list[str] = []
    found = stages.ask("commits", code.commit_search, repos=which.repos, **which.dates)
    changes = _touched(code, stages, which) if which.paths and len(found) else None
    counted = found if changes is None else narrowed(found, changes[changes["path"].map(which.paths)])
    if not len(counted):
        reason = _reason(code, stages, which, found, changes)
        names = _names(found)
        none = commits_frame(counted, by)
        return Report(
            _title(title, names),
            _asked(which, found, names, None),
            no_commits(none),
            (),
            {"commits": none},
            tuple(said([found])),
            tuple(limited([found])),
            (reason,),
        )
    known = offered(
        lambda: stages.ask("people", code.contributors, file_kinds=which.summary_kinds, **which.people, **which.dates),
        "people",
        notices,
    )
    sized = (
        counted
        if which.summary_kinds is None or changes is not None
        else sized_by_kinds(counted, partial(stages.ask, "folders", code.churn), repos=which.repos, **which.dates)
    )
    commits = one_name_each(commits_frame(sized, by), known, join_addresses=which.join_addresses)
    commits = with_organizations(commits)
    names = _names(commits)
    people, sources = known, {"commits": commits}
    if changes is None:
        places = _places(code, stages, which, notices)
    else:
        sources["changes"] = with_authors(changes[changes["path"].map(which.paths)], commits)
        people = people_of(commits, sources["changes"], known)
        places = _places_of(sources["changes"], commits, which)
    newest = _newest(code, stages, which)
    compared = _compared(code, stages, which, found, commits, newest)
    links = links_of(code, _heads(found))
    one = names[0] if len(names) == 1 else ""
    sections = [people_section(people, commits, which, links.of_people(one))]
    if compared is not None:
        sections.append(turnover_section(compared, links.of_people(one)))
        sources["before"] = compared.before
    sections += [
        organizations_section(commits),
        _when(commits, by, _span(found, newest)),
        places_section(code, places, which, links.of_files()),
    ]
    owned = _owned(code, stages, names, which, notices) if ownership else []
    sections += ownership_sections(code, owned, which, links.of_people(one))
    answers = [without_notices(f, _SAID) for f in (found, known, *places.answers) if f is not None]
    answers += about("Ownership", [without_notices(frame, _SAID) for _, frame, _ in owned])
    limits = [*notices, *limited(answers)]
    if not ownership:
        notices.append("Ownership was not asked for.")
    if people is not None:
        notices += doubtful(code, stages, people, which.repos, which.mailmap, join_addresses=which.join_addresses)
    return Report(
        _title(title, names),
        _asked(which, found, names, newest),
        tuple(_summary(commits, people, places, owned, which, compared)),
        tuple(section for section in sections if section.tables or section.figures),
        sources,
        tuple(dict.fromkeys([*notices, *said(answers)])),
        tuple(dict.fromkeys(limits)),
        tuple(lead(names, commits, people, places.files, compared, newest, whole=which.after is None)),
    )


def _names(commits: Frame) -> list[str]:
    return sorted(commits["repository"].astype("str").unique())


def _title(title: str, names: list[str]) -> str:
    return (
        title or f"Contributors to {', '.join(names[:3]) or 'no repository'}{' and others' if len(names) > 3 else ''}"
    )


def _asked(which: Request, found: Frame, names: list[str], newest: Any) -> tuple[tuple[str, str], ...]:
    """The scope of the report."""
    repositories = repositories_text(names, found.attrs.get("commits", {})) if names else _wanted(which)
    return (
        ("repositories", repositories),
        ("after", _shown(which.after) or "the beginning"),
        ("before", _shown(which.before) or "now"),
        *((("newest commit", day(newest)),) if newest is not None else ()),
        *which.paths.parameters,
    )


def _wanted(which: Request) -> str:
    return ", ".join([which.repos] if isinstance(which.repos, str) else which.repos or ["all"])


def _shown(value: str | date | None) -> str:
    return "" if value is None else str(value)


def _heads(found: Frame) -> dict[str, str]:
    """The commit of each repository that was read."""
    told = found.attrs.get("commits", {})
    return {name: commits if isinstance(commits, str) else commits[0] for name, commits in told.items() if commits}


def _instant(frame: Frame, name: str) -> Any:
    """A bound of the time as the service understood it; None for none."""
    import pandas as pd

    text = frame.attrs.get(name)
    return pd.Timestamp(text) if text else None


def _newest(code: Client, stages: ReportProgress, which: Request) -> Any:
    """The date of the newest commit of all time; None where there is none."""
    newest = stages.ask("time before", code.commit_search, repos=which.repos, limit=1)
    return newest["commit_date"].iloc[0] if len(newest) else None


def _span(found: Frame, newest: Any) -> Span:
    """The time that is known: up to `until`, or now, or, where the repositories are old, their newest commit."""
    now = datetime.now(UTC)
    ends = [end for end in (_instant(found, "before"), now) if end is not None]
    if newest is not None and (now - newest).days >= OLD_DAYS:
        ends.append(newest)
    return Span(_instant(found, "after"), min(ends))


def _reason(code: Client, stages: ReportProgress, which: Request, found: Frame, changes: Frame | None) -> str:
    """Why there is no commit to report on."""
    if changes is not None:
        return which.paths.reason(sorted(changes["path"].astype("str").unique()))
    newest = _newest(code, stages, which)
    oldest = None
    if newest is not None:
        try:
            people = stages.ask("people", code.contributors, repos=which.repos)
            oldest = people["first_date"].min()
        except UnsupportedTool:
            oldest = stages.ask("commits", code.commit_search, repos=which.repos)["commit_date"].min()
    known = _wanted(which) if which.repos else "" if not len(code.repositories()) else "None of the repositories"
    return nothing(_instant(found, "after"), _instant(found, "before"), oldest, newest, known)


def _touched(code: Client, stages: ReportProgress, which: Request) -> Frame:
    """The files that each commit of the time changed."""
    churn = partial(stages.ask, "commits", code.churn, file_kinds=which.summary_kinds)
    return changed_files("contributors", churn, which.repos, None, **which.dates)


def _compared(
    code: Client, stages: ReportProgress, which: Request, found: Frame, commits: Frame, newest: Any
) -> Turnover | None:
    """The people of the time against those of as long a time before; of all history, its last year.

    None where nothing can be before.
    """
    start = _instant(found, "after")
    if start is None:
        end = commits["commit_date"].max()
        start = end - timedelta(days=YEAR_DAYS)
        earlier = commits[commits["commit_date"] <= start]
        if not len(earlier):
            return None
        before = earlier[earlier["commit_date"] > start - timedelta(days=YEAR_DAYS)]
        return turnover(commits[commits["commit_date"] > start], before, keys_of(earlier), start, end)
    end = min(time for time in (_instant(found, "before"), newest, datetime.now(UTC)) if time is not None)
    if (start - (end - start)).year < MINYEAR:  # a clock was broken
        return None
    times = {"after": (start - (end - start)).to_pydatetime(), "before": (start + timedelta(seconds=1)).to_pydatetime()}
    before = stages.ask("time before", code.commit_search, repos=which.repos, **times)
    if which.paths and len(before):
        churn = partial(stages.ask, "time before", code.churn, file_kinds=which.summary_kinds)
        changes = changed_files("contributors", churn, which.repos, None, **times)
        before = narrowed(before, changes[changes["path"].map(which.paths)])
    try:
        known = stages.ask("time before", code.contributors, before=times["before"], **which.people)
        known = known[known["commits"] > 0]
    except UnsupportedTool:
        known = stages.ask("time before", code.commit_search, repos=which.repos, before=times["before"])
    before = one_name_each(before, known, join_addresses=which.join_addresses)
    return turnover(commits, before, keys_of(known), start, end)


def _when(commits: Frame, by: str, span: Span) -> Section:
    table, figure = activity(commits, by, span)
    hours, card = clock(commits)
    return Section("Time", "When commits were made.", (table, hours), (figure, card, change_sizes(commits)))


def _places_of(changes: Frame, commits: Frame, which: Request) -> ChangedLines:
    """Changed lines by kind, directory and file, of the changes that count."""
    written = (
        changes if which.table_kinds is None else changes[changes["file_kind"].astype("str").isin(which.table_kinds)]
    )

    def behind(frame: Frame, column: str) -> Callable[[int], Frame]:
        def find(row: int) -> Frame:
            values = changes["path"].map(top_directory) if column == "directory" else changes["path"]
            place = frame.iloc[row]
            own = changes[(values == place[column]) & (changes["repository"] == place["repository"])]
            return commits[commits["commit"].astype("str").isin(set(own["commit"]))].reset_index(drop=True)

        return find

    return ChangedLines(
        churn_of(changes, "file_kind") if which.other_files == "apart" else None,
        churn_of(written, "directory", top_directory),
        churn_of(changes, "path"),
        behind,
    )


def _places(code: Client, stages: ReportProgress, which: Request, notices: list[str]) -> ChangedLines:
    def churn(stage: str, *by: str, kinds: list[str] | None = None, what: str = "") -> Frame | None:
        return offered(
            lambda: stages.ask(
                stage, code.churn, by=["repository", *by], file_kinds=kinds, **which.people, **which.dates
            ),
            what or stage,
            notices,
        )

    kinds = churn("folders", "file_kind", what="kinds of files") if which.other_files == "apart" else None
    return ChangedLines(
        kinds,
        churn("folders", "directory", kinds=which.table_kinds),
        churn("files", "path", "file_kind", kinds=which.summary_kinds),
    )


def _summary(
    commits: Frame,
    people: Frame | None,
    places: ChangedLines,
    owned: list[Owned],
    which: Request,
    compared: Turnover | None,
) -> list[Metric]:
    human = commits[~commits["bot"]]
    paths = None if places.files is None else sum(places.files.attrs["changed_paths"].values())
    numbers = [
        Metric(
            "commits", len(commits), "Commits in the time, merges included, as git rev-list --count.", "", "commits"
        ),
        *people_metrics(people, join_addresses=which.join_addresses),
        Metric("commits by people", len(human), "Commits whose author is no bot.", "bots.", "commits", {"bot": False}),
        Metric(
            "merges", int(commits["merge"].sum()), "Commits with two or more parents.", "", "commits", {"merge": True}
        ),
        *line_metrics(commits, f"Lines of {_FILES_COUNTED[which.other_files]}, as git log --numstat -M counts them."),
        Metric(
            "files changed",
            paths,
            _PATHS_COUNTED[bool(which.paths)],
            f"merges{LEFT_OUT[which.other_files]}.",
        ),
        Metric(
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
        left_out = f"bots{'' if which.table_kinds is None else LEFT_OUT['without']}."
        numbers.append(Metric("bus factor", int(factor["bus_factor"]), counted, left_out))
    if compared is not None:
        whole = which.after is None
        then = f"the {YEAR_DAYS} days before the last {YEAR_DAYS}" if whole else "as long a time before"
        time = f"the {YEAR_DAYS} days before the newest commit" if whole else "the time"
        numbers += [
            Metric("commits before", len(compared.before), f"Commits in {then}.", "", "before"),
            Metric("joined", len(compared.joined), f"Authors of a commit in {time} with none before.", "bots."),
            Metric("left", len(compared.left), f"Authors of a commit in {then} with none since.", "bots."),
        ]
    return numbers


def _owned(code: Client, stages: ReportProgress, names: list[str], which: Request, notices: list[str]) -> list[Owned]:
    found: list[Owned] = []
    for name in names:
        before = len(notices)
        try:
            found_here = _owned_here(code, stages, name, which, notices)
        except SourcelightError as fault:
            notices.append(f"Ownership of {name} could not be worked out: {fault}")
            continue
        if found_here is None:
            del notices[before + 1 :]
            return []
        found.append(found_here)
    return found


def _owned_here(code: Client, stages: ReportProgress, name: str, which: Request, notices: list[str]) -> Owned | None:
    """Who owns the lines of one repository; None where the service can't tell."""
    options: dict[str, Any] = {
        "mailmap": which.mailmap, "join_addresses": which.join_addresses, "file_kinds": which.table_kinds
    }  # fmt: skip
    ask = partial(stages.ask, "ownership")
    if which.paths:
        files = offered(lambda: ask(code.ownership, name, by="file", **options), "ownership", notices)
        if files is None:
            return None
        counted = files[files["path"].astype("str").map(which.paths)]
        return name, owners_of(counted), bus_factor_of(counted)
    owned = offered(lambda: ask(code.ownership, name, **options), "ownership", notices)
    if owned is None:
        return None
    return name, owned, offered(lambda: ask(code.bus_factor, name, **options), "bus factor", notices)
