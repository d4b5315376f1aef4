"""The contributor report: activity, changes and current line ownership."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING

from sourcelight.core.arguments import checks_arguments
from sourcelight.core.errors import ToolError, UnsupportedTool
from sourcelight.core.former_names import refuses_former_parameters
from sourcelight.core.markup import join_words
from sourcelight.core.notices import RuleSubject
from sourcelight.display.notebook import ProgressChoice
from sourcelight.lab.reports.answers import (
    call_if_supported,
    is_shallow,
    limit_to_changes,
    limited_notices,
    name_subject,
    notices_of,
    repositories_text,
    without_rules,
)
from sourcelight.lab.reports.files import add_authors, count_by_kinds, people_of
from sourcelight.lab.reports.history import PERIODS, Span, commits_frame, empty_metrics
from sourcelight.lab.reports.model import Frame, Section
from sourcelight.lab.reports.path_filter import OtherFiles, PathFilter, PathPatterns, check_other_files
from sourcelight.lab.reports.people import Turnover, doubtful, turnover_section, unify_names
from sourcelight.lab.reports.progress import ReportProgress
from sourcelight.lab.reports.report import Report
from sourcelight.lab.reports.sections import contributor_data
from sourcelight.lab.reports.sections.authorship import agents_section, review_section, time_section
from sourcelight.lab.reports.sections.contributor_introduction import OLD_DAYS, no_commits_text, write_introduction
from sourcelight.lab.reports.sections.contributor_metrics import metrics
from sourcelight.lab.reports.sections.contributors import ownership_sections, people_section, places_section
from sourcelight.lab.reports.sections.organizations import organizations_section, with_organizations
from sourcelight.lab.reports.text import date_text, links_of

if TYPE_CHECKING:
    from sourcelight.client import Client

# Notices that the report's own numbers and tables already express.
_OWN_RULES: tuple[RuleSubject, ...] = ("agent commits", "file kinds", "merges")
_STAGES = ("commits", "people", "folders", "files", "time before", "ownership", "identities")
"""Steps of the report that progress displays."""

_MAX_TITLE_NAMES = 3
"""Repositories that a title names."""


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
        tables of their own, ``with`` treats them like other files, ``without`` excludes them.
    only, exclude
        Directories and globs, as `files` of `Client.commit_search`: count only files in `only`, and none in
        `exclude`. Commits count if they change such a file, with the lines of these files; merges change none. A
        renamed file counts by its new name.
    ownership
        Whether to work out who owns the lines of today, which takes longest; no dates apply to it.
    title
        Heading of the report.
    progress
        As in `Client.search`: one bar for the whole report, with the current stage and the time of each stage.

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
    contributor_data.check_dates("contributors", after=after, before=before)
    paths = PathFilter("contributors", only, exclude)
    request = contributor_data.Request(repos, after, before, mailmap, join_addresses, other_files, paths)
    stages = tuple(name for name in _STAGES if ownership or name != "ownership")
    progress_bar = ReportProgress("Contributors", stages, report="contributors", draw=progress)
    with progress_bar:
        return _make(client, progress_bar, request, period, title, ownership=ownership)


@dataclass(frozen=True, slots=True)
class _Data:
    """Counted commits, the `names` of their repositories, and the answers of the client about them.

    `contributors` is as the service counts people; `people` are those of the counted files. A part that the service
    lacks is None, with a notice in `missing_parts`.
    """

    all_commits: Frame
    commits: Frame
    names: list[str]
    contributors: Frame | None
    people: Frame | None
    changed_lines: contributor_data.ChangedLines
    newest: datetime | None
    comparison: Turnover | None
    owners: list[contributor_data.Owned]
    sources: dict[str, Frame]
    missing_parts: list[str]


def _make(
    code: Client, stages: ReportProgress, request: contributor_data.Request, period: str, title: str, *, ownership: bool
) -> Report:
    """Ask for the data of a report, and write its sections."""
    all_commits = stages.ask("commits", code.commit_search, repos=request.repos, **request.dates)
    changes = counted_changes = None
    counted_commits = all_commits
    # Only a filter on paths needs the files of each commit, and a service sends a row for each of them.
    if request.paths and len(all_commits):
        changes = contributor_data.touched_files(code, stages, request)
        counted_changes = changes[changes["path"].map(request.paths)]
        counted_commits = limit_to_changes(all_commits, counted_changes)

    if not len(counted_commits):
        # Only now come the extra calls that find the nearest commits.
        reason = _reason(code, stages, request, all_commits, changes)
        return _empty_report(request, all_commits, counted_commits, period, title, reason)

    data = _read_data(code, stages, request, all_commits, counted_commits, counted_changes, period, ownership=ownership)
    notices = list(data.missing_parts)
    if not ownership:
        notices.append("Ownership was not requested.")
    if data.people is not None:
        notices += _doubtful_identities(code, stages, request, data.people)

    answers = _answers(data)
    sections = _sections(code, request, data, period)
    introduction = write_introduction(
        data.names,
        data.commits,
        data.people,
        data.changed_lines.files,
        data.comparison,
        data.newest,
        is_full_history=request.after is None,
        is_shallow=is_shallow(data.all_commits),
    )
    return Report(
        title=_title(title, data.names),
        parameters=_parameters(request, all_commits, data.names, data.newest),
        metrics=tuple(metrics(data.commits, data.people, data.changed_lines, data.owners, request, data.comparison)),
        sections=tuple(section for section in sections if section.tables or section.figures),
        sources=data.sources,
        notices=tuple(dict.fromkeys([*notices, *notices_of(answers)])),
        limits=tuple(dict.fromkeys([*data.missing_parts, *limited_notices(answers)])),
        lead=tuple(introduction),
    )


def _read_data(
    code: Client,
    stages: ReportProgress,
    request: contributor_data.Request,
    all_commits: Frame,
    counted_commits: Frame,
    counted_changes: Frame | None,
    period: str,
    *,
    ownership: bool,
) -> _Data:
    """Ask for everything that the sections need, in the order of the stages of its progress bar."""
    missing_parts: list[str] = []
    contributors_frame = _read_people(code, stages, request, missing_parts)
    if request.summary_kinds is not None and counted_changes is None:
        churn = partial(stages.ask, "folders", code.churn)
        counted_commits = count_by_kinds(counted_commits, churn, repos=request.repos, **request.dates)

    # The service has joined identities already; names in rows of commits follow it, so that tables agree.
    commits = commits_frame(counted_commits, period)
    commits = with_organizations(unify_names(commits, contributors_frame, join_addresses=request.join_addresses))
    people, sources = contributors_frame, {"commits": commits}
    if counted_changes is None:
        changed_lines = contributor_data.lines_by_place(code, stages, request, missing_parts)
    else:
        sources["changes"] = add_authors(counted_changes, commits)
        people = people_of(commits, sources["changes"], contributors_frame)
        changed_lines = contributor_data.lines_of_changes(sources["changes"], commits, request)

    newest = contributor_data.newest_date(code, stages, request)
    comparison = None
    if not is_shallow(all_commits):
        comparison = contributor_data.compare_with_earlier(code, stages, request, all_commits, commits, newest)
    if comparison is not None:
        sources["before"] = comparison.before

    names = _names(commits)
    owners = contributor_data.current_owners(code, stages, names, request, missing_parts) if ownership else []
    return _Data(
        all_commits=all_commits,
        commits=commits,
        names=names,
        contributors=contributors_frame,
        people=people,
        changed_lines=changed_lines,
        newest=newest,
        comparison=comparison,
        owners=owners,
        sources=sources,
        missing_parts=missing_parts,
    )


def _sections(code: Client, request: contributor_data.Request, data: _Data, period: str) -> list[Section]:
    links = links_of(code, _heads(data.all_commits))
    link = links.of_people(data.names[0] if len(data.names) == 1 else "")
    sections = [people_section(data.people, data.commits, request, link)]
    if data.comparison is not None:
        sections.append(turnover_section(data.comparison, link))

    span = _span(data.all_commits, data.newest)
    sections += [
        organizations_section(data.commits),
        agents_section(data.commits, period),
        review_section(data.commits),
        time_section(
            data.commits, period, span, is_full_history=request.after is None and not is_shallow(data.all_commits)
        ),
        places_section(code, data.changed_lines, request, links.of_files()),
    ]
    return sections + ownership_sections(code, data.owners, request, link)


def _empty_report(
    request: contributor_data.Request, all_commits: Frame, counted_commits: Frame, period: str, title: str, reason: str
) -> Report:
    """Return a report that has only the reason why it counts no commit."""
    names = _names(all_commits)
    no_rows = commits_frame(counted_commits, period)
    return Report(
        title=_title(title, names or request.names),
        parameters=_parameters(request, all_commits, names, None),
        metrics=empty_metrics(no_rows),
        sections=(),
        sources={"commits": no_rows},
        notices=tuple(notices_of([all_commits])),
        limits=tuple(limited_notices([all_commits])),
        lead=(reason,),
    )


def _read_people(
    code: Client, stages: ReportProgress, request: contributor_data.Request, missing_parts: list[str]
) -> Frame | None:
    """Read contributors, with the lines of the files that the summary counts; return None if the service lacks them."""
    ask = partial(stages.ask, "people", code.contributors, file_kinds=request.summary_kinds)
    return call_if_supported(lambda: ask(**request.people, **request.dates), "people", missing_parts)


def _answers(data: _Data) -> list[Frame]:
    """Return the answers whose notices the report shows, without notices that its own numbers already express."""
    frames = (data.all_commits, data.contributors, *data.changed_lines.answers)
    answers = [without_rules(frame, *_OWN_RULES) for frame in frames if frame is not None]
    for owned in data.owners:
        subject = "Ownership" if len(data.names) == 1 else f"Ownership of {owned.repository}"
        answers += name_subject(subject, [without_rules(owned.owners, *_OWN_RULES)])
    return answers


def _doubtful_identities(
    code: Client, stages: ReportProgress, request: contributor_data.Request, people: Frame
) -> list[str]:
    join_addresses = request.join_addresses
    return doubtful(code, stages, people, request.repos, request.mailmap, join_addresses=join_addresses)


def _names(commits: Frame) -> list[str]:
    return sorted(commits["repository"].astype("str").unique())


def _title(title: str, names: list[str]) -> str:
    if title or not names:
        return title or "Contributors"

    text = f"Contributors to {', '.join(names[:_MAX_TITLE_NAMES])}"
    return f"{text} and others" if len(names) > _MAX_TITLE_NAMES else text


def _parameters(
    request: contributor_data.Request, commits: Frame, names: list[str], newest: datetime | None
) -> tuple[tuple[str, str], ...]:
    """Return the scope of the report."""
    repositories = ", ".join(request.names) or "all"
    if names:
        repositories = repositories_text(names, commits.attrs.get("commits", {}))

    parameters = [
        ("repositories", repositories),
        ("after", _show(request.after) or "the beginning"),
        ("before", _show(request.before) or "now"),
    ]
    if newest is not None:
        parameters.append(("newest commit", date_text(newest)))
    return (*parameters, *request.paths.parameters)


def _show(value: str | date | None) -> str:
    return "" if value is None else str(value)


def _heads(all_commits: Frame) -> dict[str, str]:
    """Return the commit of each repository that was read; of several revisions, that of the first."""
    heads: dict[str, str] = {}
    for name, commits in all_commits.attrs.get("commits", {}).items():
        if commits:
            heads[name] = commits if isinstance(commits, str) else commits[0]
    return heads


def _span(commits: Frame, newest: datetime | None) -> Span:
    """Return the time that the report covers: until `before`, now, or the newest commit of old repositories."""
    now = datetime.now(UTC)
    end_times = [end for end in (contributor_data.date_bound(commits, "before"), now) if end is not None]
    # Without this, charts of a repository that was cloned once and never fetched would end in empty months.
    if newest is not None and (now - newest).days >= OLD_DAYS:
        end_times.append(newest)
    return Span(contributor_data.date_bound(commits, "after"), min(end_times))


def _reason(
    code: Client, stages: ReportProgress, request: contributor_data.Request, commits: Frame, changes: Frame | None
) -> str:
    """Return the reason for a report without commits."""
    if changes is not None:
        return request.paths.reason(sorted(changes["path"].astype("str").unique()))

    newest = contributor_data.newest_date(code, stages, request)
    if newest is None:
        return contributor_data.reason_without_history(code, request, commits)

    try:
        people = stages.ask("people", code.contributors, repos=request.repos)
        oldest = people["first_date"].min()
    except UnsupportedTool:
        oldest = stages.ask("commits", code.commit_search, repos=request.repos)["commit_date"].min()
    return no_commits_text(
        contributor_data.date_bound(commits, "after"), contributor_data.date_bound(commits, "before"), oldest, newest
    )
