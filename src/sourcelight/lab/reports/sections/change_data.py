"""The data of the change report: its request, and the tables that it reads from a client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import MINYEAR
from functools import partial
from typing import TYPE_CHECKING, Any

from sourcelight.core.errors import RevisionNotFound, ToolError, UnsupportedTool
from sourcelight.core.markup import join_words
from sourcelight.lab.reports.answers import limit_to_changes, without_rules
from sourcelight.lab.reports.files import AUTHORED, add_file_kinds, changed_files, count_by_kinds, is_written
from sourcelight.lab.reports.model import Frame
from sourcelight.lab.reports.path_filter import OtherFiles, PathFilter
from sourcelight.lab.reports.people import is_past
from sourcelight.lab.reports.progress import ReportProgress

if TYPE_CHECKING:
    from sourcelight.client import Client


API_ORDER = ("removed", "changed", "moved", "added")
"""States of public symbols; what breaks callers comes first."""


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """Parameters of a change report that its calls need."""

    repo: str
    base: str
    head: str
    paths: PathFilter
    other_files: OtherFiles

    @property
    def file_kinds(self) -> dict[str, Any]:
        """Arguments of calls that count only some kinds of files."""
        return {"file_kinds": list(AUTHORED)} if self.other_files == "without" else {}


@dataclass(frozen=True, slots=True)
class ChangeData:
    """Commits and files that differ: all of them, and the part that the report counts.

    `undone` is the number of commits that only base has. Of `answers`, the report shows the notices.
    """

    base_commit: str
    head_commit: str
    base_date: Any
    head_date: Any
    undone: int
    between: Frame
    commits: Frame
    all_diffs: Frame
    diffs: Frame
    answers: Sequence[Frame]


def read_data(code: Client, stages: ReportProgress, request: ChangeRequest) -> ChangeData:
    """Read the commits and files that differ between the two revisions."""
    all_diffs = stages.ask("files", code.compare_revisions, request.repo, request.base, request.head)
    base_commit, head_commit = (str(all_diffs.attrs.get(name, "")) for name in ("base", "head"))
    newer, older = _both_sides(code, stages, request, base_commit)
    newer_ids, older_ids = newer["commit"].astype("str"), older["commit"].astype("str")
    between = _with_attrs(newer[~newer_ids.isin(set(older_ids))].reset_index(drop=True), newer)
    diffs = _counted_diffs(code, stages, request, all_diffs)
    return ChangeData(
        base_commit=base_commit,
        head_commit=head_commit,
        base_date=_date_of(code, stages, request.repo, base_commit),
        head_date=_date_in(between, head_commit) or _date_of(code, stages, request.repo, head_commit),
        undone=int((~older_ids.isin(set(newer_ids))).sum()),
        between=between,
        commits=_counted_commits(code, stages, request, between, has_files=bool(len(all_diffs))),
        all_diffs=all_diffs,
        diffs=diffs,
        # The report has its own notice, with a number of commits, for a head that does not contain base.
        answers=(without_rules(diffs, "comparison"), newer, older),
    )


def _both_sides(code: Client, stages: ReportProgress, request: ChangeRequest, base_commit: str) -> tuple[Frame, Frame]:
    """Return commits that only head has, and commits that only base has; or the whole histories of both.

    A service may refuse excluded revisions, or ignore them: then `base_commit` is among the commits of head.
    """
    ask = partial(stages.ask, "commits", code.commit_search, repos=[request.repo])
    base, head = request.base, request.head
    try:
        # Exclusions need a service that understands them; else, both histories are read and subtracted.
        newer, older = ask(revisions=[head, f"^{base}"]), ask(revisions=[base, f"^{head}"])
    except (ToolError, RevisionNotFound):
        return ask(revisions=[head]), ask(revisions=[base])

    if base_commit in set(newer["commit"].astype("str")):
        return ask(revisions=[head]), ask(revisions=[base])

    return newer, older


def _counted_diffs(code: Client, stages: ReportProgress, request: ChangeRequest, all_diffs: Frame) -> Frame:
    """Return the files that the report counts, with the kind of each unless the request ignores kinds."""
    diffs = all_diffs
    if request.paths:
        diffs = _with_attrs(diffs[diffs["path"].map(request.paths)].reset_index(drop=True), all_diffs)

    if request.other_files == "with" or not len(diffs):
        return diffs

    churn = partial(stages.ask, "files", code.churn)
    diffs = add_file_kinds(diffs, churn, request.repo, request.base, request.head)
    if request.other_files == "without":
        authored_diffs = diffs[is_written(diffs)].drop(columns="file_kind")
        diffs = _with_attrs(authored_diffs.reset_index(drop=True), diffs)

    return diffs


def _counted_commits(
    code: Client, stages: ReportProgress, request: ChangeRequest, between: Frame, *, has_files: bool
) -> Frame:
    """Return the commits that the report counts, with the lines of files that it counts."""
    churn = partial(stages.ask, "commits", code.churn)
    if request.paths:
        return _narrow(partial(churn, **request.file_kinds), request, request.head, between)
    if request.other_files == "without" and has_files and len(between):
        return count_by_kinds(between, churn, repos=[request.repo], revisions=[request.head, f"^{request.base}"])
    return between


def _narrow(churn: Callable[..., Frame], request: ChangeRequest, revision: str, commits: Frame) -> Frame:
    """Return commits that change files of the request, with the lines of these files."""
    changed = changed_files("changes", churn, [request.repo], [revision])
    return limit_to_changes(commits, changed[changed["path"].map(request.paths)])


def _with_attrs(frame: Frame, source: Frame) -> Frame:
    frame.attrs = dict(source.attrs)
    return frame


def _date_in(commits: Frame, commit: str) -> Any:
    """Return the committer date of a commit, or None if it is not among these commits."""
    dates = commits.loc[commits["commit"].astype("str") == commit, "commit_date"]
    return dates.iloc[0] if len(dates) else None


def _date_of(code: Client, stages: ReportProgress, repo: str, commit: str) -> Any:
    """Return the committer date of a commit, or None if it is not among the newest of its history, by wrong clocks."""
    if not commit:
        return None
    return _date_in(stages.ask("commits", code.commit_search, repos=[repo], revisions=[commit], limit=50), commit)


def earlier_people(code: Client, stages: ReportProgress, request: ChangeRequest) -> Frame:
    """Return people with commits reachable from base: a row per person, or per commit if the service has only these."""
    ask = partial(stages.ask, "earlier people")
    try:
        people = ask(code.contributors, repos=[request.repo], revisions=[request.base])
    except UnsupportedTool:
        return ask(code.commit_search, repos=[request.repo], revisions=[request.base])
    return people[people["commits"] > 0]


def commits_before(code: Client, stages: ReportProgress, request: ChangeRequest, data: ChangeData) -> Frame | None:
    """Return counted commits of a period before base, as long as the one from base to the newest commit.

    None without such a period, or with a date in the future. If base has commits that head lacks, the others are no
    work since base: those of a major version, over years, would be compared with the day between two releases.
    """
    newest = data.commits["commit_date"].max() if is_past(data.commits).all() else None
    if data.undone or data.base_date is None or newest is None or not newest > data.base_date:
        return None

    after = data.base_date - (newest - data.base_date)
    if after.year < MINYEAR:  # a clock was broken
        return None

    ask = partial(stages.ask, "earlier people")
    before = ask(code.commit_search, repos=[request.repo], revisions=[request.base], after=after.to_pydatetime())
    # By wrong clocks, base may have commits that are dated after it.
    before = _with_attrs(before[before["commit_date"] <= data.base_date].reset_index(drop=True), before)
    if not request.paths:
        return before

    return _narrow(partial(ask, code.churn, **request.file_kinds), request, request.base, before)


def with_last_changes(code: Client, stages: ReportProgress, request: ChangeRequest, diffs: Frame) -> Frame:
    """Return changed files with the commit that changed each last."""
    # `last_changes` takes paths of head, which lacks deleted files.
    present = diffs.loc[diffs["status"].astype("str") != "deleted", "path"].tolist()
    if not present:
        return _with_attrs(diffs.copy(), diffs)

    last = stages.ask("last commits of files", code.last_changes, request.repo, present, request.head)
    columns = last[["path", "author", "commit_date", "subject"]].rename(
        columns={"author": "last_author", "commit_date": "last_date", "subject": "last_subject"}
    )
    columns["path"] = columns["path"].astype("str")
    return _with_attrs(diffs.merge(columns, on="path", how="left"), diffs)


def api_changes(code: Client, stages: ReportProgress, request: ChangeRequest) -> Frame:
    """Return the changes of public symbols in the counted files."""
    api = stages.ask("public symbols", code.api_changes, request.repo, request.base, request.head)
    if not request.paths or not len(api):
        return api
    # A removed symbol has its old path only.
    either_path = api["path"].astype("object").fillna(api["old_path"].astype("object"))
    return _with_attrs(api[either_path.map(request.paths).astype("bool")].reset_index(drop=True), api)


def count_symbols(api: Frame) -> str:
    """Return how many public symbols are in each state: ``2 removed and 5 added``."""
    counts = api["status"].astype("str").value_counts()
    return join_words([f"{int(counts[state]):,} {state}" for state in API_ORDER if state in counts])
