"""The change report: commits, files and people between two revisions of a repository."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import MINYEAR
from functools import partial
from typing import TYPE_CHECKING, Any

from sourcelight.core.arguments import checks_arguments
from sourcelight.core.errors import RevisionNotFound, ToolError, UnsupportedTool
from sourcelight.core.former_names import refuses_former_parameters
from sourcelight.core.markup import count_of, join_words
from sourcelight.display.notebook import ProgressChoice
from sourcelight.lab.reports.files import (
    AUTHORED,
    OtherFiles,
    PathFilter,
    PathPatterns,
    add_file_kinds,
    changed_files,
    check_other_files,
    count_by_kinds,
    is_written,
)
from sourcelight.lab.reports.history import (
    PERIODS,
    Span,
    activity,
    call_if_supported,
    change_sizes,
    clock,
    commits_frame,
    empty_metrics,
    fitting_period,
    limit_to_changes,
    limited_notices,
    notices_of,
    without_rules,
)
from sourcelight.lab.reports.model import Frame, LinkOf, ReportTable, Section
from sourcelight.lab.reports.people import keys_of, unify_names
from sourcelight.lab.reports.progress import ReportProgress
from sourcelight.lab.reports.report import Report
from sourcelight.lab.reports.sections.changelog import merged_changes
from sourcelight.lab.reports.sections.changes import (
    Ends,
    changelog,
    files_section,
    infos_of,
    lead,
    log_section,
    metrics,
    nothing,
    people_section,
)
from sourcelight.lab.reports.text import date_text, links_of

if TYPE_CHECKING:
    from sourcelight.client import Client

_API_ORDER = ("removed", "changed", "moved", "added")
_API_EXCLUDES = "tests, examples, internal modules, and languages other than Go, Java, Python and TypeScript."

_STAGES = ("files", "commits", "earlier people", "last commits of files", "public symbols")


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
        their own, ``with`` does not tell them apart, ``without`` counts no line and no file of them.
    title
        Heading of the report.
    progress
        As in `Client.search`: one bar for the whole report, with what it is doing and how long each stage took.

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
    paths = PathFilter("changes", only, exclude)
    stages = ReportProgress("Changes", _STAGES, report="changes", draw=progress)
    with stages:
        return _make(client, stages, repo, base, head, period, paths, other_files, title)


@dataclass(frozen=True, slots=True)
class _Between:
    """Commits behind head and not behind base; how many it is the other way round; all frames that were read."""

    commits: Frame
    undone: int
    read: list[Frame]


def _make(
    code: Client, stages: ReportProgress, repo: str, base: str, head: str, by: str, paths: PathFilter,
    other_files: OtherFiles, title: str,
) -> Report:  # fmt: skip
    all_diffs = stages.ask("files", code.compare_revisions, repo, base, head)
    commit_of = {name: str(all_diffs.attrs.get(name, "")) for name in ("base", "head")}
    between = _between(code, stages, repo, base, head, commit_of["base"])
    base_date = _date_of(code, stages, repo, commit_of["base"])
    parameters = (
        ("repository", repo),
        ("base", _end(base, commit_of["base"], base_date)),
        ("head", _end(head, commit_of["head"], _own_date(between.commits, commit_of["head"], code, stages, repo))),
        *paths.parameters,
    )
    title = title or f"Changes in {repo} from {base} to {head}"
    notices = []
    if between.undone:
        notices.append(
            f"{count_of(between.undone, 'commit')} {'is' if between.undone == 1 else 'are'} behind {base} and not "
            f"behind {head}; {'its' if between.undone == 1 else 'their'} changes show as undone."
        )
    diffs, commits_in_scope = all_diffs, between.commits
    kinds: dict[str, Any] = {"file_kinds": list(AUTHORED)} if other_files == "without" else {}
    if paths:
        diffs = _with_attrs(all_diffs[all_diffs["path"].map(paths)].reset_index(drop=True), all_diffs)
        commits_in_scope = _narrow(
            partial(stages.ask, "commits", code.churn, **kinds), repo, head, commits_in_scope, paths
        )
    if other_files != "with" and len(diffs):
        diffs = add_file_kinds(diffs, partial(stages.ask, "files", code.churn), repo, base, head)
    if other_files == "without":
        notices.append("Vendored, generated and lock files are left out; commits are all.")
    if other_files == "without" and len(diffs):
        authored_diffs = diffs[is_written(diffs)].drop(columns="file_kind")
        diffs = _with_attrs(authored_diffs.reset_index(drop=True), diffs)
        if not paths and len(commits_in_scope):
            churn = partial(stages.ask, "commits", code.churn)
            commits_in_scope = count_by_kinds(commits_in_scope, churn, repos=[repo], revisions=[head, f"^{base}"])
    # The notices of these frames become those of the report, each once. That head does not contain base is the report's
    # own notice, with the number of commits.
    read_frames = [without_rules(diffs, "comparison"), *between.read]
    if not len(commits_in_scope) and not len(diffs):
        reason = _reason(base, head, commit_of, between, paths, all_diffs)
        all_notices = tuple(dict.fromkeys((*notices, *notices_of(read_frames))))
        no_rows = commits_frame(commits_in_scope, by or "month")
        sources = {"commits": no_rows, "changes": diffs}
        return Report(
            title,
            parameters,
            empty_metrics(no_rows),
            (),
            sources,
            all_notices,
            tuple(limited_notices(read_frames)),
            (reason,),
        )
    earlier = _earlier_people(code, stages, repo, base)
    before = _before(code, stages, repo, base, base_date, commits_in_scope)
    if before is not None and paths:
        before = _narrow(partial(stages.ask, "earlier people", code.churn, **kinds), repo, base, before, paths)
    period = by or fitting_period(commits_in_scope)
    commits = unify_names(commits_frame(commits_in_scope, period), None, join_addresses=True)
    links = links_of(code, {repo: commit_of["head"]})
    people, section = people_section(commits, keys_of(earlier), links.of_people(repo))
    merged_list = [
        change
        for change in merged_changes(infos_of(between.commits), [commit_of["head"]])
        if not paths or set(change.members) & set(commits["commit"])
    ]
    log, draft = changelog(merged_list, between.commits, commits, links)
    missing_parts: list[str] = []
    files = call_if_supported(
        lambda: _with_last(code, stages, repo, head, diffs), "last commits of files", missing_parts
    )
    api = _api_changes(code, stages, (repo, base, head), paths, missing_parts, read_frames)
    sections = [
        draft,
        *([] if api is None else [_api_section(api, links.of_symbols(repo, commit_of["base"]))]),
        files_section(code, repo, head, diffs if files is None else files, links.of_files(repo)),
        section,
        log_section(commits, links.of_commits()),
    ]
    if len(commits):
        table, figure = activity(commits, period, _span(commits, base_date))
        hours, clock_figure = clock(commits)
        sections.append(
            Section(
                "Time", "When the commits were made.", (table, hours), (figure, clock_figure, change_sizes(commits))
            )
        )
    sources = {"commits": commits, "changes": diffs} | ({} if before is None else {"before": before})
    return Report(
        title,
        parameters,
        tuple(metrics(diffs, commits, people, log, before)),
        tuple(part for part in sections if part.tables or part.figures or part.lists),
        sources,
        tuple(dict.fromkeys([*missing_parts, *notices, *notices_of([*read_frames, before])])),
        tuple(dict.fromkeys([*missing_parts, *limited_notices([*read_frames, earlier, before])])),
        tuple(lead(Ends(base, head, base_date, between.undone), diffs, commits, people, log, before)),
    )


def _api_changes(
    code: Client, stages: ReportProgress, revisions: tuple[str, str, str], paths: PathFilter, missing: list[str],
    read_frames: list[Frame],
) -> Frame | None:  # fmt: skip
    """Return the changes of public symbols in the counted files; None if the service has no such table."""
    api = call_if_supported(
        lambda: stages.ask("public symbols", code.api_changes, *revisions), "public symbols", missing
    )
    if api is None:
        return None
    # The table has its own rule.
    read_frames.append(without_rules(api, "languages"))
    if not paths or not len(api):
        return api
    # A removed symbol has its old path only.
    either_path = api["path"].astype("object").fillna(api["old_path"].astype("object"))
    return _with_attrs(api[either_path.map(paths).astype("bool")].reset_index(drop=True), api)


def _end(revision: str, commit: str, date: Any) -> str:
    """Return a revision with its commit and the day of it."""
    return f"{revision} ({', '.join(filter(None, (commit[:12], date_text(date))))})"


def _with_attrs(frame: Frame, source: Frame) -> Frame:
    frame.attrs = dict(source.attrs)
    return frame


def _between(code: Client, stages: ReportProgress, repo: str, base: str, head: str, oldest: str) -> _Between:
    """Return commits between two revisions.

    A service that does not know of revisions that don't count (or passes over them: then `oldest`, the base, is among
    the commits) is asked for both histories.
    """
    ask = partial(stages.ask, "commits", code.commit_search, repos=[repo])
    try:
        # Exclusions need one service that understands them; without it, both histories are read and subtracted.
        newer, older = ask(revisions=[head, f"^{base}"]), ask(revisions=[base, f"^{head}"])
    except (ToolError, RevisionNotFound):
        newer = older = None
    if newer is None or older is None or oldest in set(newer["commit"].astype("str")):
        newer, older = ask(revisions=[head]), ask(revisions=[base])
    newer_ids, older_ids = newer["commit"].astype("str"), older["commit"].astype("str")
    between = newer[~newer_ids.isin(set(older_ids))].reset_index(drop=True)
    return _Between(_with_attrs(between, newer), int((~older_ids.isin(set(newer_ids))).sum()), [newer, older])


def _own_date(commits: Frame, commit: str, code: Client, stages: ReportProgress, repo: str) -> Any:
    dates = commits.loc[commits["commit"].astype("str") == commit, "commit_date"]
    return dates.iloc[0] if len(dates) else _date_of(code, stages, repo, commit)


def _date_of(code: Client, stages: ReportProgress, repo: str, commit: str) -> Any:
    """Return the committer date of a commit; None if it is not among the newest behind itself, by wrong clocks."""
    newest = stages.ask("commits", code.commit_search, repos=[repo], revisions=[commit], limit=50) if commit else None
    if newest is None:
        return None
    dates = newest.loc[newest["commit"].astype("str") == commit, "commit_date"]
    return dates.iloc[0] if len(dates) else None


def _earlier_people(code: Client, stages: ReportProgress, repo: str, base: str) -> Frame:
    """Return people with commits reachable from base: a row per person, or per commit if the service has only these."""
    try:
        people = stages.ask("earlier people", code.contributors, repos=[repo], revisions=[base])
    except UnsupportedTool:
        return stages.ask("earlier people", code.commit_search, repos=[repo], revisions=[base])
    return people[people["commits"] > 0]


def _before(code: Client, stages: ReportProgress, repo: str, base: str, started: Any, commits: Frame) -> Frame | None:
    """Return commits of a period before base, as long as the one from base to the newest commit; None without one."""
    newest = commits["commit_date"].max() if len(commits) else None
    if started is None or newest is None or not newest > started:
        return None
    after = started - (newest - started)
    if after.year < MINYEAR:  # a clock was broken
        return None
    after = after.to_pydatetime()
    return stages.ask("earlier people", code.commit_search, repos=[repo], revisions=[base], after=after)


def _narrow(ask: Callable[..., Frame], repo: str, revision: str, commits: Frame, paths: PathFilter) -> Frame:
    """Return commits that change files that count, with the lines of these files."""
    changed = changed_files("changes", ask, [repo], [revision])
    return limit_to_changes(commits, changed[changed["path"].map(paths)])


def _reason(base: str, head: str, commit_of: dict[str, str], between: _Between, paths: PathFilter, diffs: Frame) -> str:
    """Return the reason for an empty report."""
    if commit_of["base"] and commit_of["base"] == commit_of["head"]:
        return f"Nothing differs: {base} and {head} are the same commit."
    if paths and (len(diffs) or len(between.commits)):
        return paths.reason(diffs["path"].astype("str").tolist())
    if between.undone:
        return nothing(Ends(base, head, None, between.undone))
    return f"Nothing differs between {base} and {head}."


def _span(commits: Frame, started: Any) -> Span:
    """Return the time between the two revisions; commits of branches may be older than base."""
    oldest, newest = commits["commit_date"].min(), commits["commit_date"].max()
    return Span(min(oldest, started) if started is not None else None, newest)


def _with_last(code: Client, stages: ReportProgress, repo: str, head: str, diffs: Frame) -> Frame:
    """Return changed files with the commit that changed each last."""
    present = diffs.loc[diffs["status"].astype("str") != "deleted", "path"].tolist()
    last = stages.ask("last commits of files", code.last_changes, repo, present, head) if present else None
    frame = diffs.copy()
    frame.attrs = dict(diffs.attrs)
    if last is not None:
        columns = last[["path", "author", "commit_date", "subject"]].rename(
            columns={"author": "last_author", "commit_date": "last_date", "subject": "last_subject"}
        )
        columns["path"] = columns["path"].astype("str")
        frame = _with_attrs(frame.merge(columns, on="path", how="left"), diffs)
    return frame


def _api_section(api: Frame, link: LinkOf) -> Section:
    """Public symbols that differ; what breaks callers comes first."""
    if not len(api):
        return Section("Public symbols", "")
    columns = ["status", "kind", "module", "symbol", "signature", "old_signature", "path", "line_number", "old_path",
               "old_line_number", "language"]  # fmt: skip
    order = api["status"].astype("str").map({name: index for index, name in enumerate(_API_ORDER)})
    rows = api.assign(_order=order).sort_values(["_order", "module", "symbol"], kind="stable")[columns]
    counts = api["status"].astype("str").value_counts()
    text = join_words([f"{int(counts[name]):,} {name}" for name in _API_ORDER if name in counts])
    table = ReportTable(
        "api", "Public symbols that differ", rows.reset_index(drop=True),
        "Public definitions that base and head declare differently, by the rules of each language; signatures are "
        "compared as texts.",
        _API_EXCLUDES, "", ("module", "symbol", "status"), max_rows=40, link=link,
    )  # fmt: skip
    return Section("Public symbols", f"{text[:1].upper()}{text[1:]}.", (table,))
