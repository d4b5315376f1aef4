"""The data of the contributor report: its request, and the tables that it reads from a client."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import MINYEAR, UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sourcelight.core.errors import SourcelightError, ToolError, UnsupportedTool
from sourcelight.core.query.dates import parse_date
from sourcelight.lab.reports.answers import call_if_supported, is_shallow, limit_to_changes, limited_notices
from sourcelight.lab.reports.files import AUTHORED, bus_factor_of, changed_files, churn_of, owners_of, top_directory
from sourcelight.lab.reports.model import Frame
from sourcelight.lab.reports.path_filter import OtherFiles, PathFilter
from sourcelight.lab.reports.people import YEAR_DAYS, Turnover, is_past, keys_of, turnover, unify_names
from sourcelight.lab.reports.progress import ReportProgress

if TYPE_CHECKING:
    from sourcelight.client import Client

LEFT_OUT = {"apart": "", "with": "", "without": ", vendored, generated and lock files"}


class Owned(NamedTuple):
    """Owners of the lines of a repository, and its bus factors; None if the service has none."""

    repository: str
    owners: Frame
    bus_factors: Frame | None


def check_dates(call: str, **dates: str | date | None) -> None:
    """Refuse invalid dates, under the names that the caller gave them.

    Raises
    ------
    ToolError
        For the first that is none.
    """
    for name, value in dates.items():
        if isinstance(value, str) and value:
            try:
                parse_date(value, datetime.now(UTC))
            except ValueError as error:
                raise ToolError(f"{call}: {name}: {error}", tool=call, argument=name) from error


@dataclass(frozen=True, slots=True)
class Request:
    """Parameters of a contributor report that its calls need."""

    repos: str | list[str] | None
    after: str | date | None
    before: str | date | None
    mailmap: str | list[str] | None
    join_addresses: bool
    other_files: OtherFiles
    paths: PathFilter

    @property
    def names(self) -> list[str]:
        """Names of the requested repositories; empty for all."""
        return [self.repos] if isinstance(self.repos, str) else list(self.repos or ())

    @property
    def people(self) -> dict[str, Any]:
        """Arguments of calls that count people."""
        return {"repos": self.repos, "mailmap": self.mailmap, "join_addresses": self.join_addresses}

    @property
    def dates(self) -> dict[str, Any]:
        """Arguments of calls that have dates."""
        return {"after": self.after, "before": self.before}

    @property
    def table_kinds(self) -> list[str] | None:
        """Kinds of files of the main tables; None: all."""
        return None if self.other_files == "with" else list(AUTHORED)

    @property
    def summary_kinds(self) -> list[str] | None:
        """Kinds of files of the summary; None: all."""
        return self.table_kinds if self.other_files == "without" else None


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """Changed lines by kind of file, by directory and by file; None if the service lacks them.

    `drill_down` leads from a row of such a frame, by a column of it, to its commits; None: the frame itself has it.
    """

    kinds: Frame | None
    folders: Frame | None
    files: Frame | None
    drill_down: Callable[[Frame, str], Callable[[int], Frame]] | None = None

    @property
    def answers(self) -> list[Frame | None]:
        """All of them."""
        return [self.kinds, self.folders, self.files]


def date_bound(frame: Frame, name: str) -> Any:
    """Return a bound of the time as the service understood it, or None for none."""
    import pandas as pd

    text = frame.attrs.get(name)
    return pd.Timestamp(text) if text else None


def newest_date(code: Client, stages: ReportProgress, request: Request) -> Any:
    """Return the date of the newest commit of all time, or None if there is none."""
    newest = stages.ask("time before", code.commit_search, repos=request.repos, limit=1)
    return newest["commit_date"].iloc[0] if len(newest) else None


def reason_without_history(code: Client, request: Request, commits: Frame) -> str:
    """Return the reason for a report without any commit, of whatever date: there is none, or none could be read."""
    unread = limited_notices([commits])
    if unread:
        return f"No commit could be read. {unread[0]}"
    if request.repos:
        verb = "has" if len(request.names) == 1 else "have"
        return f"{', '.join(request.names)} {verb} no commit."
    if not len(code.list_repos(progress=False)):
        return "No repository can be searched."
    return "No repository has a commit."


def touched_files(code: Client, stages: ReportProgress, request: Request) -> Frame:
    """Return the files that each commit of the time changed."""
    churn = partial(stages.ask, "commits", code.churn, file_kinds=request.summary_kinds)
    return changed_files("contributors", churn, request.repos, None, **request.dates)


def compare_with_earlier(
    code: Client, stages: ReportProgress, request: Request, all_commits: Frame, commits: Frame, newest: Any
) -> Turnover | None:
    """Compare the people of the period with the people of an equally long period before; of all history, its last year.

    Commits with dates in the future count in neither, because a wrong clock would move both. None where nothing can be
    before.
    """
    commits = commits[is_past(commits)]
    if not len(commits):
        return None
    start = date_bound(all_commits, "after")
    if start is None:
        end = commits["commit_date"].max()
        start = end - timedelta(days=YEAR_DAYS)
        earlier = commits[commits["commit_date"] <= start]
        if not len(earlier):
            return None
        before = earlier[earlier["commit_date"] > start - timedelta(days=YEAR_DAYS)]
        return turnover(commits[commits["commit_date"] > start], before, keys_of(earlier), start, end)

    end = min(time for time in (date_bound(all_commits, "before"), newest, datetime.now(UTC)) if time is not None)
    if (start - (end - start)).year < MINYEAR:  # a clock was broken
        return None

    # Both bounds are exclusive: without the second, a commit at `start` would be in neither time.
    times = {"after": (start - (end - start)).to_pydatetime(), "before": (start + timedelta(seconds=1)).to_pydatetime()}
    before = stages.ask("time before", code.commit_search, repos=request.repos, **times)
    if request.paths and len(before):
        churn = partial(stages.ask, "time before", code.churn, file_kinds=request.summary_kinds)
        changes = changed_files("contributors", churn, request.repos, None, **times)
        before = limit_to_changes(before, changes[changes["path"].map(request.paths)])

    try:
        earlier_people = stages.ask("time before", code.contributors, before=times["before"], **request.people)
        earlier_people = earlier_people[earlier_people["commits"] > 0]
    except UnsupportedTool:
        # Every service has commits, and these name their authors.
        earlier_people = stages.ask("time before", code.commit_search, repos=request.repos, before=times["before"])

    before = unify_names(before, earlier_people, join_addresses=request.join_addresses)
    return turnover(commits, before, keys_of(earlier_people), start, end)


def lines_of_changes(changes: Frame, commits: Frame, request: Request) -> ChangedLines:
    """Return changed lines by kind, directory and file, of the changes that count."""
    if request.table_kinds is None:
        table_changes = changes
    else:
        table_changes = changes[changes["file_kind"].astype("str").isin(request.table_kinds)]

    def behind(frame: Frame, column: str) -> Callable[[int], Frame]:
        def find(row: int) -> Frame:
            values = changes["path"].map(top_directory) if column == "directory" else changes["path"]
            row_values = frame.iloc[row]
            row_changes = changes[(values == row_values[column]) & (changes["repository"] == row_values["repository"])]
            return commits[commits["commit"].astype("str").isin(set(row_changes["commit"]))].reset_index(drop=True)

        return find

    return ChangedLines(
        kinds=churn_of(changes, "file_kind") if request.other_files == "apart" else None,
        folders=churn_of(table_changes, "directory", top_directory),
        files=churn_of(changes, "path"),
        drill_down=behind,
    )


def lines_by_place(code: Client, stages: ReportProgress, request: Request, notices: list[str]) -> ChangedLines:
    """Read changed lines by kind of file, by directory and by file, as far as the service provides them."""

    def churn(stage: str, *by: str, kinds: list[str] | None = None, subject: str = "") -> Frame | None:
        return call_if_supported(
            lambda: stages.ask(
                stage, code.churn, by=["repository", *by], file_kinds=kinds, **request.people, **request.dates
            ),
            subject or stage,
            notices,
        )

    kinds = churn("folders", "file_kind", subject="kinds of files") if request.other_files == "apart" else None
    return ChangedLines(
        kinds,
        churn("folders", "directory", kinds=request.table_kinds),
        churn("files", "path", "file_kind", kinds=request.summary_kinds),
    )


def current_owners(
    code: Client, stages: ReportProgress, names: list[str], request: Request, notices: list[str]
) -> list[Owned]:
    """Read who owns the current lines of each repository; empty if the service can't provide it."""
    owners: list[Owned] = []
    for name in names:
        notice_count = len(notices)
        try:
            repository_owners = _owners_of_repository(code, stages, name=name, request=request, notices=notices)
        except SourcelightError as exc:
            notices.append(f"The ownership of {name} can't be determined: {exc}")
            continue

        if repository_owners is None:
            # One notice is enough: the service lacks it for every repository.
            del notices[notice_count + 1 :]
            return []

        owners.append(repository_owners)

    return owners


def _refuse_shallow(owners: Frame) -> None:
    """Raise `ToolError` for a shallow clone: its oldest commits would own all lines that are older than they are."""
    if is_shallow(owners):
        raise ToolError("it is a shallow clone, which lacks the commits that wrote older lines")


def _owners_of_repository(
    code: Client, stages: ReportProgress, *, name: str, request: Request, notices: list[str]
) -> Owned | None:
    """Return the owners of the lines of one repository, or None if the service has no ownership."""
    options: dict[str, Any] = {
        "mailmap": request.mailmap, "join_addresses": request.join_addresses, "file_kinds": request.table_kinds
    }  # fmt: skip
    ask = partial(stages.ask, "ownership")
    if request.paths:
        files = call_if_supported(lambda: ask(code.ownership, name, by="file", **options), "ownership", notices)
        if files is None:
            return None
        _refuse_shallow(files)
        counted_files = files[files["path"].astype("str").map(request.paths)]
        return Owned(name, owners_of(counted_files), bus_factor_of(counted_files))

    owners = call_if_supported(lambda: ask(code.ownership, name, **options), "ownership", notices)
    if owners is None:
        return None
    _refuse_shallow(owners)

    bus_factors = call_if_supported(lambda: ask(code.bus_factor, name, **options), "bus factor", notices)
    return Owned(name, owners, bus_factors)
