"""The change report: commits, files and people between two revisions of a repository."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sourcelight.core.arguments import checks_arguments
from sourcelight.core.errors import ToolError
from sourcelight.core.former_names import refuses_former_parameters
from sourcelight.core.markup import count_of, join_words
from sourcelight.display.notebook import ProgressChoice
from sourcelight.lab.reports.answers import call_if_supported, limited_notices, notices_of, without_rules
from sourcelight.lab.reports.files import OtherFiles, PathFilter, PathPatterns, check_other_files
from sourcelight.lab.reports.history import (
    PERIODS,
    Span,
    activity,
    change_sizes,
    clock,
    commits_frame,
    empty_metrics,
    fitting_period,
)
from sourcelight.lab.reports.model import Frame, LinkOf, ReportTable, Section
from sourcelight.lab.reports.people import keys_of, unify_names
from sourcelight.lab.reports.progress import ReportProgress
from sourcelight.lab.reports.report import Report
from sourcelight.lab.reports.sections.change_data import (
    ChangeData,
    ChangeRequest,
    api_changes,
    commits_before,
    earlier_people,
    read_data,
    with_last_changes,
)
from sourcelight.lab.reports.sections.change_summary import (
    API_ORDER,
    Ends,
    metrics,
    no_commits_text,
    write_introduction,
)
from sourcelight.lab.reports.sections.changed_files import files_section
from sourcelight.lab.reports.sections.changelog import Change, merged_changes
from sourcelight.lab.reports.sections.changes import changelog, infos_of, log_section, people_section
from sourcelight.lab.reports.text import date_text, links_of

if TYPE_CHECKING:
    from sourcelight.client import Client

_API_EXCLUDES = "tests, examples, internal modules, and languages other than Go, Java, Python and TypeScript."

_STAGES = ("files", "commits", "earlier people", "last commits of files", "public symbols")

_WITHOUT_CLASSES = frozenset({"C", "Go", "Rust"})
"""Languages whose named types, such as a Go function type, are of the kind ``class`` in tables of symbols."""


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
    request = ChangeRequest(repo, base, head, PathFilter("changes", only, exclude), other_files)
    stages = ReportProgress("Changes", _STAGES, report="changes", draw=progress)
    with stages:
        return _make(client, stages, request, period, title)


def _make(code: Client, stages: ReportProgress, request: ChangeRequest, by: str, title: str) -> Report:
    data = read_data(code, stages, request)
    parameters = (
        ("repository", request.repo),
        ("base", _end(request.base, data.base_commit, data.base_date)),
        ("head", _end(request.head, data.head_commit, data.head_date)),
        *request.paths.parameters,
    )
    title = title or f"Changes in {request.repo} from {request.base} to {request.head}"
    if not len(data.commits) and not len(data.diffs):
        return _empty_report(request, data, by, title, parameters)

    period = by or fitting_period(data.commits)
    commits = unify_names(commits_frame(data.commits, period), None, join_addresses=True)
    links = links_of(code, {request.repo: data.head_commit})
    earlier = earlier_people(code, stages, request)
    before = commits_before(code, stages, request, data)
    people, people_part = people_section(commits, keys_of(earlier), links.of_people(request.repo))
    log, draft = changelog(_merged_changes(request, data, commits), data.between, commits, links)
    missing_parts: list[str] = []
    files = call_if_supported(
        lambda: with_last_changes(code, stages, request, data.diffs), "last commits of files", missing_parts
    )
    api = call_if_supported(lambda: api_changes(code, stages, request), "public symbols", missing_parts)
    sections = [
        draft,
        *([] if api is None else [_api_section(api, links.of_symbols(request.repo, data.base_commit))]),
        files_section(
            code, request.repo, request.head, data.diffs if files is None else files, links.of_files(request.repo)
        ),
        people_part,
        log_section(commits, links.of_commits()),
        *([_time_section(commits, period, data.base_date)] if len(commits) else []),
    ]

    # The table of public symbols has its own rule.
    answers = [*data.answers, None if api is None else without_rules(api, "languages")]
    return Report(
        title=title,
        parameters=parameters,
        metrics=tuple(metrics(data.diffs, commits, people, log, before)),
        sections=tuple(section for section in sections if section.tables or section.figures or section.lists),
        sources={"commits": commits, "changes": data.diffs} | ({} if before is None else {"before": before}),
        notices=_unique([*missing_parts, *_rules(request, data), *notices_of([*answers, before])]),
        limits=_unique([*missing_parts, *limited_notices([*answers, earlier, before])]),
        lead=tuple(write_introduction(_ends(request, data), data.diffs, commits, people, log, api, before)),
    )


def _empty_report(
    request: ChangeRequest, data: ChangeData, by: str, title: str, parameters: tuple[tuple[str, str], ...]
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


def _rules(request: ChangeRequest, data: ChangeData) -> list[str]:
    """Return how this report counts, where that depends on its revisions and arguments."""
    rules = []
    if data.undone:
        are, their = ("is", "its") if data.undone == 1 else ("are", "their")
        rules.append(
            f"{count_of(data.undone, 'commit')} {are} reachable from {request.base} but not from {request.head}; "
            f"{their} changes show as undone."
        )

    if request.other_files == "without":
        rules.append("Vendored, generated and lock files are left out, but no commits.")

    return rules


def _merged_changes(request: ChangeRequest, data: ChangeData, commits: Frame) -> list[Change]:
    """Return the merged changes that have a commit of the report."""
    merged = merged_changes(infos_of(data.between), [data.head_commit])
    counted_ids = set(commits["commit"])
    return [change for change in merged if not request.paths or counted_ids & set(change.members)]


def _time_section(commits: Frame, period: str, base_date: Any) -> Section:
    """Return the section of activity and of hours."""
    table, figure = activity(commits, period, _span(commits, base_date))
    hours, clock_figure = clock(commits)
    figures = (figure, clock_figure, change_sizes(commits))
    return Section(
        title="Time", text="Commits over time, and by weekday and hour.", tables=(table, hours), figures=figures
    )


def _unique(notices: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(notices))


def _ends(request: ChangeRequest, data: ChangeData) -> Ends:
    return Ends(request.base, request.head, data.base_date, data.undone)


def _end(revision: str, commit: str, date: Any) -> str:
    """Return a revision with its commit and the day of it."""
    return f"{revision} ({', '.join(filter(None, (commit[:12], date_text(date))))})"


def _reason(request: ChangeRequest, data: ChangeData) -> str:
    """Return the reason for an empty report."""
    if data.base_commit and data.base_commit == data.head_commit:
        return f"Nothing differs: {request.base} and {request.head} are the same commit."
    if request.paths and (len(data.all_diffs) or len(data.between)):
        return request.paths.reason(data.all_diffs["path"].astype("str").tolist())
    if data.undone:
        return no_commits_text(_ends(request, data))
    return f"Nothing differs between {request.base} and {request.head}."


def _span(commits: Frame, started: Any) -> Span:
    """Return the time between the two revisions; commits of branches may be older than base."""
    oldest, newest = commits["commit_date"].min(), commits["commit_date"].max()
    return Span(min(oldest, started) if started is not None else None, newest)


def _api_section(api: Frame, link: LinkOf) -> Section:
    """Make the section of public symbols that differ; what breaks callers comes first."""
    if not len(api):
        return Section("Public symbols", "")

    columns = ["status", "kind", "module", "symbol", "signature", "old_signature", "path", "line_number", "old_path",
               "old_line_number", "language"]  # fmt: skip
    is_type = (api["kind"].astype("str") == "class") & api["language"].astype("str").isin(_WITHOUT_CLASSES)
    api = api.assign(kind=api["kind"].astype("str").mask(is_type, "type"))
    order = api["status"].astype("str").map({name: index for index, name in enumerate(API_ORDER)})
    rows = api.assign(_order=order).sort_values(["_order", "module", "symbol"], kind="stable")[columns]
    counts = api["status"].astype("str").value_counts()
    text = join_words([f"{int(counts[name]):,} {name}" for name in API_ORDER if name in counts])

    # The table is wide, and a language that is the same in all rows says nothing.
    hidden = ("language",) if api["language"].nunique() <= 1 else ()
    table = ReportTable(
        "api", "Public symbols that differ", rows.reset_index(drop=True),
        "Public definitions that base and head declare differently, by the rules of each language; signatures are "
        "compared as texts.",
        _API_EXCLUDES, "", ("module", "symbol", "status"), max_rows=40, hidden=hidden, link=link,
    )  # fmt: skip
    return Section("Public symbols", f"{text[:1].upper()}{text[1:]}.", (table,))
