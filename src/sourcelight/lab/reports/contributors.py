"""The contributor report: activity, changes and current line ownership."""

from __future__ import annotations

from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from sourcelight.core.arguments import checks_arguments
from sourcelight.core.errors import ToolError, UnsupportedTool
from sourcelight.core.former_names import refuses_former_parameters
from sourcelight.core.markup import join_words
from sourcelight.core.notices import RuleSubject
from sourcelight.display.notebook import ProgressChoice
from sourcelight.lab.reports.files import (
    OtherFiles,
    PathFilter,
    PathPatterns,
    add_authors,
    check_other_files,
    count_by_kinds,
    people_of,
)
from sourcelight.lab.reports.history import (
    PERIODS,
    Span,
    call_if_supported,
    commits_frame,
    empty_metrics,
    limit_to_changes,
    limited_notices,
    line_metrics,
    name_subject,
    notices_of,
    repositories_text,
    without_rules,
)
from sourcelight.lab.reports.model import Frame, Metric
from sourcelight.lab.reports.people import (
    YEAR_DAYS,
    Turnover,
    doubtful,
    people_metrics,
    turnover_section,
    unify_names,
)
from sourcelight.lab.reports.progress import ReportProgress
from sourcelight.lab.reports.report import Report
from sourcelight.lab.reports.sections.authorship import (
    agent_metrics,
    agents_section,
    review_section,
    time_section,
)
from sourcelight.lab.reports.sections.contributor_data import (
    LEFT_OUT,
    ChangedLines,
    Owned,
    Request,
    check_dates,
    compare_with_earlier,
    current_owners,
    date_bound,
    lines_by_place,
    lines_of_changes,
    newest_date,
    touched_files,
)
from sourcelight.lab.reports.sections.contributors import (
    OLD_DAYS,
    lead,
    nothing,
    ownership_sections,
    people_section,
    places_section,
)
from sourcelight.lab.reports.sections.organizations import organizations_section, with_organizations
from sourcelight.lab.reports.text import date_text, links_of

if TYPE_CHECKING:
    from sourcelight.client import Client

_FILES_COUNTED = {
    "apart": "all changed files",
    "with": "all changed files",
    "without": "changed files but vendored, generated and lock files",
}
_PATHS_COUNTED = {
    False: "Distinct paths of all changes, both names of renamed files, as git log --name-only --no-renames has them.",
    True: "Distinct paths of the changes that count, renamed files under their new names.",
}
# Notices that the report's own numbers and tables already express.
_SAID: tuple[RuleSubject, ...] = ("agent commits", "file kinds", "merges")
_STAGES = ("commits", "people", "folders", "files", "time before", "ownership", "identities")


@refuses_former_parameters
@checks_arguments
def contributors(  # noqa: PLR0913 - its parameters, each by name
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
        Directories and globs, as `files` of `Client.commit_search`: count only files in `only`, and none in
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
        Its tables: contributors, co_authors, bots, joined, left, organizations, agents and agent_activity (where a
        commit names a coding assistant), reviewers, integrators, activity, clock, time_zones, retention (without
        `after`), file_kinds, directories, files, other_files, and, with `ownership`, ownership and bus_factor. Each
        number leads to its commits by `Report.drill_down`. Values that a service can't provide are in `notices`; `lead`
        has the reason of an empty report.

    Raises
    ------
    ToolError
        For an invalid period, `other_files` or date, and for `only` and `exclude` if a service doesn't list the files
        of commits.
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
    request = Request(repos, after, before, mailmap, join_addresses, other_files, paths)
    stages = tuple(name for name in _STAGES if ownership or name != "ownership")
    progress_bar = ReportProgress("Contributors", stages, report="contributors", draw=progress)
    with progress_bar:
        return _make(client, progress_bar, request, period, title, ownership=ownership)


def _make(code: Client, stages: ReportProgress, request: Request, by: str, title: str, *, ownership: bool) -> Report:
    notices: list[str] = []
    all_commits = stages.ask("commits", code.commit_search, repos=request.repos, **request.dates)
    # Only a filter on paths needs the files of each commit, and a service sends a row for each of them.
    changes = touched_files(code, stages, request) if request.paths and len(all_commits) else None
    counted_commits = (
        all_commits if changes is None else limit_to_changes(all_commits, changes[changes["path"].map(request.paths)])
    )
    if not len(counted_commits):
        # Only now come the extra calls that find the nearest commits.
        reason = _reason(code, stages, request, all_commits, changes)
        names = _names(all_commits)
        no_rows = commits_frame(counted_commits, by)
        return Report(
            _title(title, names),
            _parameters(request, all_commits, names, None),
            empty_metrics(no_rows),
            (),
            {"commits": no_rows},
            tuple(notices_of([all_commits])),
            tuple(limited_notices([all_commits])),
            (reason,),
        )
    contributors_frame = call_if_supported(
        lambda: stages.ask(
            "people", code.contributors, file_kinds=request.summary_kinds, **request.people, **request.dates
        ),
        "people",
        notices,
    )
    sized_commits = (
        counted_commits
        if request.summary_kinds is None or changes is not None
        else count_by_kinds(
            counted_commits, partial(stages.ask, "folders", code.churn), repos=request.repos, **request.dates
        )
    )
    # The service has joined identities already; names in rows of commits follow it, so that tables agree.
    commits = unify_names(commits_frame(sized_commits, by), contributors_frame, join_addresses=request.join_addresses)
    commits = with_organizations(commits)
    names = _names(commits)
    people, sources = contributors_frame, {"commits": commits}
    if changes is None:
        changed_lines = lines_by_place(code, stages, request, notices)
    else:
        sources["changes"] = add_authors(changes[changes["path"].map(request.paths)], commits)
        people = people_of(commits, sources["changes"], contributors_frame)
        changed_lines = lines_of_changes(sources["changes"], commits, request)
    newest = newest_date(code, stages, request)
    comparison = compare_with_earlier(code, stages, request, all_commits, commits, newest)
    links = links_of(code, _heads(all_commits))
    only_repository = names[0] if len(names) == 1 else ""
    sections = [people_section(people, commits, request, links.of_people(only_repository))]
    if comparison is not None:
        sections.append(turnover_section(comparison, links.of_people(only_repository)))
        sources["before"] = comparison.before
    sections += [
        organizations_section(commits),
        agents_section(commits, by),
        review_section(commits),
        time_section(commits, by, _span(all_commits, newest), is_full_history=request.after is None),
        places_section(code, changed_lines, request, links.of_files()),
    ]
    owners = current_owners(code, stages, names, request, notices) if ownership else []
    sections += ownership_sections(code, owners, request, links.of_people(only_repository))
    answers = [
        without_rules(f, *_SAID) for f in (all_commits, contributors_frame, *changed_lines.answers) if f is not None
    ]
    for name, owners_frame, _ in owners:
        subject = "Ownership" if len(names) == 1 else f"Ownership of {name}"
        answers += name_subject(subject, [without_rules(owners_frame, *_SAID)])
    # Collected before the next notice: a part that was not requested doesn't limit the report.
    limits = [*notices, *limited_notices(answers)]
    if not ownership:
        notices.append("Ownership was not requested.")
    if people is not None:
        notices += doubtful(code, stages, people, request.repos, request.mailmap, join_addresses=request.join_addresses)
    return Report(
        _title(title, names),
        _parameters(request, all_commits, names, newest),
        tuple(_summary(commits, people, changed_lines, owners, request, comparison)),
        tuple(section for section in sections if section.tables or section.figures),
        sources,
        tuple(dict.fromkeys([*notices, *notices_of(answers)])),
        tuple(dict.fromkeys(limits)),
        tuple(
            lead(names, commits, people, changed_lines.files, comparison, newest, is_full_history=request.after is None)
        ),
    )


def _names(commits: Frame) -> list[str]:
    return sorted(commits["repository"].astype("str").unique())


def _title(title: str, names: list[str]) -> str:
    return (
        title or f"Contributors to {', '.join(names[:3]) or 'no repository'}{' and others' if len(names) > 3 else ''}"
    )


def _parameters(request: Request, commits: Frame, names: list[str], newest: Any) -> tuple[tuple[str, str], ...]:
    """Return the scope of the report."""
    repositories = repositories_text(names, commits.attrs.get("commits", {})) if names else _repositories_text(request)
    return (
        ("repositories", repositories),
        ("after", _show(request.after) or "the beginning"),
        ("before", _show(request.before) or "now"),
        *((("newest commit", date_text(newest)),) if newest is not None else ()),
        *request.paths.parameters,
    )


def _repositories_text(request: Request) -> str:
    return ", ".join([request.repos] if isinstance(request.repos, str) else request.repos or ["all"])


def _show(value: str | date | None) -> str:
    return "" if value is None else str(value)


def _heads(all_commits: Frame) -> dict[str, str]:
    """Return the commit of each repository that was read."""
    commits_by_name = all_commits.attrs.get("commits", {})
    return {
        name: commits if isinstance(commits, str) else commits[0]
        for name, commits in commits_by_name.items()
        if commits
    }


def _span(commits: Frame, newest: Any) -> Span:
    """Return the time that the report covers: until `before`, now, or the newest commit of old repositories."""
    now = datetime.now(UTC)
    end_times = [end for end in (date_bound(commits, "before"), now) if end is not None]
    # Without this, charts of a repository that was cloned once and never fetched would end in empty months.
    if newest is not None and (now - newest).days >= OLD_DAYS:
        end_times.append(newest)
    return Span(date_bound(commits, "after"), min(end_times))


def _reason(code: Client, stages: ReportProgress, request: Request, commits: Frame, changes: Frame | None) -> str:
    """Return the reason for a report without commits."""
    if changes is not None:
        return request.paths.reason(sorted(changes["path"].astype("str").unique()))
    newest = newest_date(code, stages, request)
    oldest = None
    if newest is not None:
        try:
            people = stages.ask("people", code.contributors, repos=request.repos)
            oldest = people["first_date"].min()
        except UnsupportedTool:
            oldest = stages.ask("commits", code.commit_search, repos=request.repos)["commit_date"].min()
    repositories = (
        _repositories_text(request)
        if request.repos
        else ""
        if not len(code.list_repos(progress=False))
        else "None of the repositories"
    )
    return nothing(date_bound(commits, "after"), date_bound(commits, "before"), oldest, newest, repositories)


def _summary(
    commits: Frame,
    people: Frame | None,
    changed_lines: ChangedLines,
    owners: list[Owned],
    request: Request,
    comparison: Turnover | None,
) -> list[Metric]:
    human_commits = commits[~commits["bot"]]
    paths = None if changed_lines.files is None else sum(changed_lines.files.attrs["changed_paths"].values())
    numbers = [
        Metric(
            "commits", len(commits), "Commits in the period, including merges, as git rev-list --count.", "", "commits"
        ),
        *people_metrics(people, join_addresses=request.join_addresses),
        Metric(
            "commits by people",
            len(human_commits),
            "Commits whose author is not a bot.",
            "bots.",
            "commits",
            {"bot": False},
        ),
        Metric(
            "merges", int(commits["merge"].sum()), "Commits with two or more parents.", "", "commits", {"merge": True}
        ),
        *agent_metrics(commits),
        *line_metrics(commits, f"Lines of {_FILES_COUNTED[request.other_files]}, as git log --numstat -M counts them."),
        Metric(
            "files changed",
            paths,
            _PATHS_COUNTED[bool(request.paths)],
            f"merges{LEFT_OUT[request.other_files]}.",
        ),
        Metric(
            "days with commits",
            int(commits["commit_date"].dt.date.nunique()),
            "Days by committer date, UTC.",
            "",
            "commits",
        ),
    ]
    if len(owners) == 1 and owners[0][2] is not None and len(owners[0][2]):
        factor = owners[0][2].iloc[0]
        counts_text = "Fewest people who own more than half of the lines of the newest commit."
        left_out = f"bots{'' if request.table_kinds is None else LEFT_OUT['without']}."
        numbers.append(Metric("bus factor", int(factor["bus_factor"]), counts_text, left_out))
    if comparison is not None:
        is_full_history = request.after is None
        earlier_span = (
            f"the {YEAR_DAYS} days before the last {YEAR_DAYS}"
            if is_full_history
            else "a period of the same length before"
        )
        span = f"the {YEAR_DAYS} days before the newest commit" if is_full_history else "the period"
        numbers += [
            Metric("commits before", len(comparison.before), f"Commits in {earlier_span}.", "", "before"),
            Metric("joined", len(comparison.joiners), f"Authors of a commit in {span} with none before.", "bots."),
            Metric("left", len(comparison.leavers), f"Authors of a commit in {earlier_span} with none since.", "bots."),
        ]
    return numbers
