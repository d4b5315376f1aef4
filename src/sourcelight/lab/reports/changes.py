"""The change report: commits, files and people between two revisions of a repository."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from sourcelight.core.arguments import checks_arguments
from sourcelight.core.errors import ToolError
from sourcelight.core.former_names import refuses_former_parameters
from sourcelight.core.markup import count_of, join_words
from sourcelight.display.notebook import ProgressChoice
from sourcelight.lab.reports.answers import call_if_supported, is_shallow, limited_notices, notices_of, without_rules
from sourcelight.lab.reports.history import PERIODS, commits_frame, empty_metrics, fitting_period
from sourcelight.lab.reports.model import Frame
from sourcelight.lab.reports.path_filter import OtherFiles, PathFilter, PathPatterns, check_other_files
from sourcelight.lab.reports.people import keys_of, unify_names
from sourcelight.lab.reports.progress import ReportProgress
from sourcelight.lab.reports.report import Report
from sourcelight.lab.reports.sections import change_data
from sourcelight.lab.reports.sections.change_summary import Ends, metrics, no_commits_text, write_introduction
from sourcelight.lab.reports.sections.changed_files import files_section
from sourcelight.lab.reports.sections.changelog import Change, merged_changes
from sourcelight.lab.reports.sections.changes import (
    changelog,
    infos_of,
    log_section,
    people_section,
    symbols_section,
    time_section,
)
from sourcelight.lab.reports.text import date_text, links_of

if TYPE_CHECKING:
    from sourcelight.client import Client

_STAGES = ("files", "commits", "earlier people", "last commits of files", "public symbols")
"""Steps of the report that progress displays."""


@refuses_former_parameters
@checks_arguments
def changes(
    client: Client,
    repo: str,
    base: str,
    head: str,
    *,
    period: str = "",
    only: PathPatterns = None,
    exclude: PathPatterns = None,
    other_files: OtherFiles = "apart",
    title: str = "",
    progress: ProgressChoice = None,
) -> Report:
    """Report on what `head` has that `base` has not: commits, people, files.

    Parameters
    ----------
    client
        Client for the repository, of this machine or of a service.
    repo
        Name of the repository.
    base, head
        The older and the newer branch, tag or commit. Files are compared as ``git diff base head`` does; commits are
        those behind `head` and not behind `base`.
    period
        ``day``, ``week``, ``month``, ``quarter`` or ``year``: the length of the bars of activity; empty: what
        fits the time.
    only, exclude
        Directories and globs, as `files` of `Client.commit_search`: count only files in `only`, and none in
        `exclude`. Commits count if they change such a file, with the lines of these files; merges change none.
    other_files
        Vendored, generated and lock files: ``apart`` (the default) counts them in the summary and gives them a table of
        their own, ``with`` treats them like other files, ``without`` excludes them.
    title
        Heading of the report.
    progress
        As in `Client.search`: one bar for the whole report, with the current stage and the time of each stage.

    Returns
    -------
    Report
        Its tables: changelog, api, file_kinds, files, other_files, directories, endings, people, new_people, log,
        activity and clock. `Report.drill_down` gives the commits behind a number. If nothing differs, `Report.lead` has
        the reason.

    Raises
    ------
    ToolError
        For an invalid period, and for `only` and `exclude` if a service doesn't list files of commits.
    RepositoryNotFound, RevisionNotFound
        The repository or the revision doesn't exist, or isn't visible.
    """
    if period and period not in PERIODS:
        raise ToolError(
            f"period must be {join_words(list(PERIODS), 'or')}, got {period!r}", tool="changes", argument="period"
        )

    check_other_files("changes", other_files)
    request = change_data.ChangeRequest(repo, base, head, PathFilter("changes", only, exclude), other_files)
    stages = ReportProgress("Changes", _STAGES, report="changes", draw=progress)
    with stages:
        return _make(client, stages, request=request, requested_period=period, title=title)


def _make(
    code: Client, stages: ReportProgress, *, request: change_data.ChangeRequest, requested_period: str, title: str
) -> Report:
    """Ask for the data of a report, and write its sections; without a `requested_period`, bars fit the time."""
    data = change_data.read_data(code, stages, request)
    parameters = (
        ("repository", request.repo),
        ("base", _revision_text(request.base, data.base_commit, data.base_date)),
        ("head", _revision_text(request.head, data.head_commit, data.head_date)),
        *request.paths.parameters,
    )
    title = title or f"Changes in {request.repo} from {request.base} to {request.head}"
    if not len(data.commits) and not len(data.diffs):
        return _empty_report(request, data, by=requested_period, title=title, parameters=parameters)

    missing_parts: list[str] = []
    period = requested_period or fitting_period(data.commits)
    commits = unify_names(commits_frame(data.commits, period), None, join_addresses=True)
    earlier = change_data.earlier_people(code, stages, request)
    is_cut = is_shallow(earlier)
    before = None if is_cut else change_data.commits_before(code, stages, request, data)
    files = call_if_supported(
        lambda: change_data.with_last_changes(code, stages, request, data.diffs), "last commits of files", missing_parts
    )
    api = call_if_supported(lambda: change_data.api_changes(code, stages, request), "public symbols", missing_parts)

    links = links_of(code, {request.repo: data.head_commit})
    log, changelog_part = changelog(_merged_changes(request, data, commits), data.between, commits, links)
    people, people_part = people_section(commits, None if is_cut else keys_of(earlier), links.of_people(request.repo))
    sections = [changelog_part]
    if api is not None:
        sections.append(symbols_section(api, links.of_symbols(request.repo, data.base_commit)))

    shown_files = data.diffs if files is None else files
    sections.append(files_section(code, request.repo, request.head, shown_files, links.of_files(request.repo)))
    sections += [people_part, log_section(commits, links.of_commits())]
    if len(commits):
        sections.append(time_section(commits, period, data.base_date))

    sources = {"commits": commits, "changes": data.diffs}
    if before is not None:
        sources["before"] = before

    # The table of public symbols has its own rule.
    answers = [*data.answers, None if api is None else without_rules(api, "languages")]
    ends = _ends(request, data)
    return Report(
        title=title,
        parameters=parameters,
        metrics=tuple(metrics(data.diffs, commits, people, log, before)),
        sections=tuple(section for section in sections if section.tables or section.figures or section.lists),
        sources=sources,
        notices=_unique([*missing_parts, *_rules(request, data), *notices_of([*answers, before])]),
        limits=_unique([*missing_parts, *limited_notices([*answers, earlier, before])]),
        lead=tuple(write_introduction(ends, data.diffs, commits, people, log, api, before)),
    )


def _empty_report(
    request: change_data.ChangeRequest,
    data: change_data.ChangeData,
    *,
    by: str,
    title: str,
    parameters: tuple[tuple[str, str], ...],
) -> Report:
    """Return a report that has only the reason why nothing differs."""
    commits = commits_frame(data.commits, by or "month")
    return Report(
        title=title,
        parameters=parameters,
        metrics=empty_metrics(commits),
        sections=(),
        sources={"commits": commits, "changes": data.diffs},
        notices=_unique([*_rules(request, data), *notices_of(data.answers)]),
        limits=tuple(limited_notices(data.answers)),
        lead=(_reason(request, data),),
    )


def _rules(request: change_data.ChangeRequest, data: change_data.ChangeData) -> list[str]:
    """Return how this report counts, where that depends on its revisions and arguments."""
    rules = []
    if data.undone:
        only_base = f"reachable from {request.base} but not from {request.head}"
        if data.undone == 1:
            rules.append(f"1 commit is {only_base}; its changes show as undone.")
        else:
            rules.append(f"{count_of(data.undone, 'commit')} are {only_base}; their changes show as undone.")

    if request.other_files == "without":
        rules.append("Vendored, generated and lock files are left out, but no commits.")

    return rules


def _merged_changes(request: change_data.ChangeRequest, data: change_data.ChangeData, commits: Frame) -> list[Change]:
    """Return the merged changes that have a commit of the report."""
    merged = merged_changes(infos_of(data.between), [data.head_commit])
    if not request.paths:
        return merged

    counted_ids = set(commits["commit"])
    return [change for change in merged if not counted_ids.isdisjoint(change.members)]


def _unique(notices: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(notices))


def _ends(request: change_data.ChangeRequest, data: change_data.ChangeData) -> Ends:
    return Ends(request.base, request.head, data.base_date, data.head_date, data.undone)


def _revision_text(revision: str, commit: str, date: datetime | None) -> str:
    """Return a revision with its commit and the day of it: ``v2.0 (1f2e3d4c5b6a, 2026-03-01)``."""
    details = filter(None, (commit[:12], date_text(date)))
    return f"{revision} ({', '.join(details)})"


def _reason(request: change_data.ChangeRequest, data: change_data.ChangeData) -> str:
    """Return the reason for an empty report."""
    if data.base_commit and data.base_commit == data.head_commit:
        return f"Nothing differs: {request.base} and {request.head} are the same commit."
    if request.paths and (len(data.all_diffs) or len(data.between)):
        return request.paths.reason(data.all_diffs["path"].astype("str").tolist())
    if data.undone:
        return no_commits_text(_ends(request, data))
    return f"Nothing differs between {request.base} and {request.head}."
