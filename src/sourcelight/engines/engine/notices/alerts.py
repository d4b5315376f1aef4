"""What a reader must know of a search as a whole: at most one alert, the most urgent one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from sourcelight.core.errors import QueryError
from sourcelight.core.query import Query
from sourcelight.core.query.narrowing import replaced
from sourcelight.core.wire.events import Alert, Done, Progress, ProposedQuery
from sourcelight.engines.engine import limits
from sourcelight.engines.engine.notices.advice import unknown_predicates
from sourcelight.engines.engine.notices.hints import sentence

_MOST_LISTED = 10


def timed_out(query: Query | None, late: Sequence[str], allowed_s: float | None) -> Alert:
    """Time passed before anything was found; `query` is None when there was no time to read it."""
    longer = limits.longer_timeout(allowed_s)
    proposals = _proposals(query, (("timeout", longer, "query with longer timeout"),)) if query is not None else ()
    unread = f"There was no time to read the query: it is very long. Add timeout:{longer} to it."
    where = f"Nothing was found in {len(late)} repositories that were not searched to their end."
    return Alert(
        title="Timed out while searching",
        description=where if late else unread,
        kind="warning",
        proposed_queries=proposals,
    )


def late_to_read(allowed_s: float, taken_s: float) -> Iterator[Alert | Progress | Done]:
    """All events of a search whose time was over before its query was read."""
    yield Progress(done=True, match_count=0, duration_ms=round(taken_s * 1000))
    yield timed_out(None, (), allowed_s)
    yield Done()


def invalid_revisions(faults: Mapping[str, str]) -> Alert:
    """What stands behind an ``@`` or ``rev:`` can't be a revision."""
    listed = _listed(faults)
    return Alert("Invalid revision syntax", f"These revisions were not searched:\n{listed}", "warning")


def unsearchable(places: Mapping[str, str]) -> Alert:
    """Repositories, or revisions of them, that were asked for and left out."""
    title = "Some repositories could not be searched"
    return Alert(title, f"These were asked for and not searched:\n{_listed(places)}", "warning")


def absent_facts(names: Collection[str]) -> Alert:
    """The query asks for facts that nobody gave for any repository."""
    what = " or ".join(sorted(names))
    return Alert(
        f"No repository has {what}",
        f"The query asks for {what} of repositories, and none here has any. They are given in `repos.toml`.",
        "warning",
    )


def no_repositories(query: Query, *, forks: bool, archived: bool, context: str) -> Alert:
    """No repository passes the filters."""
    wanted = []
    if forks:
        wanted.append(("fork", "yes", "include forked repositories"))
    if archived:
        wanted.append(("archived", "yes", "include archived repositories"))
    title = f"No repositories found for your query within the context {context}" if context else "No repositories found"
    said = ["No repository passes the filters of this query.", *map(sentence, unknown_predicates(query.text))]
    return Alert(title, "\n".join(said), "warning", _proposals(query, wanted))


def _proposals(query: Query, wanted: Iterable[tuple[str, str, str]]) -> tuple[ProposedQuery, ...]:
    """The query with a filter, its value and what for, each; without those that no text says."""
    proposals = []
    for name, value, title in wanted:
        with suppress(QueryError):
            proposals.append(ProposedQuery(replaced(query, name, value), title))
    return tuple(proposals)


def _listed(reasons: Mapping[str, str]) -> str:
    lines = [f"- `{name}`: {why}" for name, why in sorted(reasons.items())[:_MOST_LISTED]]
    return "\n".join(lines + (["- ..."] if len(reasons) > _MOST_LISTED else []))
