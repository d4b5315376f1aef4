"""`contributors` and `churn` of a service, computed from its commits.

Services have no tools for them, but `commit_search` returns every commit with its author and size. Groupings that need
the files of each commit can't be computed from that, and raise `UnsupportedTool`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sourcelight.backends.remote.mcp.history import calls as history
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches.persons import Pair, display_pair, pair_text, parse_pair, person_key
from sourcelight.core.batches.results import ToolResult, tie_key
from sourcelight.core.errors import ToolError, UnsupportedTool
from sourcelight.core.notices import MERGES_COUNTED, MERGES_LEFT_OUT, Rule
from sourcelight.core.tools.catalog import table_of_rows
from sourcelight.core.tools.files import UNPARSED

_PERIODS = {"day": 0, "week": 0, "month": 1, "quarter": 3, "year": 12}
"""Months of a period; 0 for those that are counted in days."""

_PASSED_ON = ("repos", "revisions", "after", "before")
"""Arguments of an analysis that select the commits it is computed from."""

_CO_AUTHORS = "Co-authors are named as the trailers have them, without the mailmap of the repository."
_NO_FILES = "Commits alone don't say which files a person changed."
_APART = Rule("Each name and address counts as a separate person: join_addresses is False.", "people")
_JOINED = (
    "People with several names and one address ({count:,}) count once, under the name with the most "
    "commits; pass join_addresses=False to separate the names."
)


@dataclass(slots=True)
class _Sum:
    """Sums of one group."""

    commits: int = 0
    merges: int = 0
    co_authored: int = 0
    additions: int = 0
    deletions: int = 0
    changes: int = 0
    agent_commits: int = 0
    bot: bool | None = None
    authors: set[Pair] = field(default_factory=set)
    first: datetime | None = None
    last: datetime | None = None

    def extend(self, moment: datetime) -> None:
        """Extend the period of the group to a commit."""
        self.first = moment if self.first is None else min(self.first, moment)
        self.last = moment if self.last is None else max(self.last, moment)


@dataclass(frozen=True, slots=True)
class _GroupKey:
    """The key of a row; None for columns that it isn't grouped by."""

    repository: str | None
    period: tuple[datetime, datetime] | None
    author: Pair | None

    @property
    def start(self) -> float:
        """Start of the period in seconds since 1970; 0 without a period."""
        return self.period[0].timestamp() if self.period else 0.0

    def columns(self) -> dict[str, Any]:
        """Return the values of the columns of a table."""
        start, end = self.period or (None, None)
        name, email = self.author or (None, None)
        return {
            "repository": self.repository,
            "period": start,
            "period_end": end,
            "author": name,
            "author_email": email,
        }


async def _contributors(request: ToolRequest) -> ToolResult:
    by = _grouping(request, (), ("repository",))
    commits = await _commits(request)
    people = _People(request, commits)
    sums = _contributions(commits, by, people)
    says_agents = _says_agents(commits)

    def rank(key: _GroupKey) -> tuple[Any, ...]:
        return key.start, bool(sums[key].bot), -sums[key].commits, tie_key(key.columns())

    rows = []
    for key in sorted(sums, key=rank):
        group = sums[key]
        columns = {
            "commits": group.commits,
            "merges": group.merges,
            "co_authored": group.co_authored,
            "additions": group.additions,
            "deletions": group.deletions,
            "first_date": group.first,
            "last_date": group.last,
            "bot": group.bot,
            "agent_commits": group.agent_commits if says_agents else None,
        }
        rows.append({**key.columns(), **columns})

    messages = (*commits.notices, MERGES_COUNTED, *people.notices, _CO_AUTHORS, _NO_FILES)
    return _answer("contributors", rows, commits=commits, messages=messages, people=people)


def _contributions(commits: ToolResult, by: tuple[str, ...], people: _People) -> dict[_GroupKey, _Sum]:
    """Add up the commits of each author, and those that name a co-author."""
    sums: dict[_GroupKey, _Sum] = {}
    for row in commits.table.to_pylist():
        moment, writer = row["commit_date"], people.person(row["author"], row["author_email"])
        group = sums.setdefault(_key(row, by, writer), _Sum())
        group.extend(moment)
        group.commits += 1
        group.agent_commits += bool(row["agent"])
        group.merges += len(row["parents"]) > 1
        group.additions += row["additions"] or 0
        group.deletions += row["deletions"] or 0
        group.bot = people.bots.get(writer, row["bot"])

        for helper in people.co_authors(row["co_authors"]):
            person = people.person(*helper)
            # Squashed commits may name their author as a co-author, too.
            if person != writer:
                helper_group = sums.setdefault(_key(row, by, person), _Sum())
                helper_group.extend(moment)
                helper_group.co_authored += 1

    return sums


async def _churn(request: ToolRequest) -> ToolResult:
    by = _grouping(request, ("directory",), ("repository", "author"))
    commits = await _commits(request)
    sums: dict[_GroupKey, _Sum] = {}
    people = _People(request, commits)
    for row in commits.table.to_pylist():
        # Merges and empty commits change no files, and don't count in churn.
        if row["files"]:
            writer = people.person(row["author"], row["author_email"])
            group = sums.setdefault(_key(row, by, writer if "author" in by else None), _Sum())
            group.commits += 1
            group.agent_commits += bool(row["agent"])
            group.changes += row["files"]
            group.additions += row["additions"] or 0
            group.deletions += row["deletions"] or 0
            group.authors.add(writer)

    says_agents = _says_agents(commits)

    def rank(key: _GroupKey) -> tuple[Any, ...]:
        return key.start, -(sums[key].additions + sums[key].deletions), tie_key(key.columns())

    rows = []
    for key in sorted(sums, key=rank):
        group = sums[key]
        columns = {
            "additions": group.additions,
            "deletions": group.deletions,
            "changes": group.changes,
            "commits": group.commits,
            "authors": len(group.authors),
            "agent_commits": group.agent_commits if says_agents else None,
        }
        rows.append({**key.columns(), **columns})

    messages = (*commits.notices, MERGES_LEFT_OUT)
    if "author" in by:
        messages += people.notices
    return _answer("churn", rows, commits=commits, messages=messages, people=people)


def _says_agents(commits: ToolResult) -> bool:
    """Return whether the service reports the coding assistants that commits name."""
    return bool(commits.table.column("agent").null_count < len(commits.table))


async def _commits(request: ToolRequest) -> ToolResult:
    """Return all commits of the analysis, with their sizes."""
    if request.arguments.get("mailmap"):
        raise UnsupportedTool(
            f"{request.name}: a mailmap applies to repositories on this machine only", tool=request.name
        )

    if request.arguments.get("fileKinds"):
        raise UnsupportedTool(
            f"{request.name}: file_kinds needs the files of every commit, which a service doesn't list; open a clone "
            "with sourcelight.open",
            tool=request.name,
            argument="file_kinds",
        )

    arguments = {name: request.arguments[name] for name in _PASSED_ON if request.arguments.get(name)}
    search = replace(request, name="commit_search", arguments={"repos": [], **arguments})
    commits = await history.ANSWERS["commit_search"](search)
    if commits.columns == UNPARSED:
        raise UnsupportedTool(f"{request.name}: the text of commit_search can't be parsed", tool=request.name)

    for name in ("files", "additions", "parents", "commit_date"):
        column = commits.table.column(name)
        # If all values are null, this service doesn't send them. Their sum would be 0: wrong, but plausible.
        if len(column) and column.null_count == len(column):
            raise UnsupportedTool(f"{request.name}: this service doesn't list the {name} of commits", tool=request.name)

    return commits


def _grouping(request: ToolRequest, usual: tuple[str, ...], accepted: tuple[str, ...]) -> tuple[str, ...]:
    by = request.arguments.get("by") or usual
    by = (by,) if isinstance(by, str) else tuple(by)
    unsupported = [name for name in by if name not in accepted and name not in _PERIODS]
    if unsupported:
        raise UnsupportedTool(
            f"{request.name} by {unsupported[0]} needs the files of every commit, which a service doesn't list; use "
            f"{', '.join((*accepted, *_PERIODS))}, or open a clone on this machine with sourcelight.open",
            tool=request.name,
            argument="by",
            accepted=(*accepted, *_PERIODS),
        )

    if sum(name in _PERIODS for name in by) > 1:
        raise ToolError(f"{request.name}: by has two periods; pass one of them", tool=request.name, argument="by")

    return by


def _key(row: Mapping[str, Any], by: tuple[str, ...], author: Pair | None) -> _GroupKey:
    period = next((name for name in by if name in _PERIODS), None)
    return _GroupKey(
        repository=row["repository"] if "repository" in by else None,
        period=None if period is None else _period(row["commit_date"], period),
        author=author,
    )


def _period(moment: datetime, period: str) -> tuple[datetime, datetime]:
    """Return start and end of the period that contains a moment, in UTC; a week starts on Monday."""
    day = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "day":
        return day, day + timedelta(days=1)
    if period == "week":
        monday = day - timedelta(days=day.weekday())
        return monday, monday + timedelta(days=7)

    months = _PERIODS[period]
    # Months are numbered from year 0, so quarters and years begin at multiples of their length.
    first = (day.year * 12 + day.month - 1) // months * months
    return _month(first), _month(first + months)


def _month(number: int) -> datetime:
    return datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC)


class _People:
    """People of commits: identities with one address are one person, under the name with the most commits."""

    def __init__(self, request: ToolRequest, commits: ToolResult) -> None:
        self._joins_addresses = request.arguments.get("joinAddresses", True) is not False
        # How often each spelling of a person's name and address occurs.
        spellings: dict[Pair, Counter[Pair]] = {}
        bot_marks: dict[Pair, bool] = {}
        columns = (commits.table.column(name).to_pylist() for name in ("author", "author_email", "bot"))
        for name, email, bot in zip(*columns, strict=True):
            spellings.setdefault(self._key(name, email), Counter())[name, email] += 1
            bot_marks[name, email] = bot

        self._display_names = {key: display_pair(counts) for key, counts in spellings.items()}
        self.bots = {pair: bot_marks[pair] for pair in self._display_names.values()}
        self.aliases: dict[str, list[str]] = {}
        for key, counts in spellings.items():
            if len(counts) > 1:
                display_name = self._display_names[key]
                other_names = [pair for pair in sorted(counts) if pair != display_name]
                self.aliases[pair_text(display_name)] = [pair_text(pair) for pair in (display_name, *other_names)]

        self.notices: tuple[str, ...] = ()
        if not self._joins_addresses:
            self.notices = (_APART,)
        elif self.aliases:
            self.notices = (Rule(_JOINED.format(count=len(self.aliases)), "people"),)

    def _key(self, name: str, email: str) -> Pair:
        return person_key(name, email) if self._joins_addresses else (name, email)

    def person(self, name: str, email: str) -> Pair:
        """Return the name and address that identify a person."""
        # Co-authors may have no commits of their own, and are added under the name of their first trailer.
        return self._display_names.setdefault(self._key(name, email), (name, email))

    def co_authors(self, texts: list[str]) -> Iterator[Pair]:
        """Yield the distinct people of trailers."""
        yield from dict.fromkeys(self.person(*parse_pair(text)) for text in texts)


def _answer(
    columns: str, rows: list[dict[str, Any]], *, commits: ToolResult, messages: tuple[str, ...], people: _People
) -> ToolResult:
    info = dict(commits.attributes)
    if people.aliases:
        info["aliases"] = people.aliases
    return ToolResult(
        columns=columns,
        table=table_of_rows(columns, rows),
        attributes=info,
        complete=commits.complete,
        notices=messages,
    )


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {"contributors": _contributors, "churn": _churn}
