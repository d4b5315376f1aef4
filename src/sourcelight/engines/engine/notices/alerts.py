"""What a reader must know of a search as a whole: at most one alert, the most urgent one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from sourcelight.core.wire.events import Alert, Done, Progress, ProposedQuery
from sourcelight.engines.engine import limits
from sourcelight.engines.engine.notices.advice import unknown_predicates
from sourcelight.engines.engine.notices.hints import sentence

_MOST_LISTED = 10
_TIMEOUT = re.compile(r"(?i)(?<![^\s(])timeout:[^\s()]*\s*")


def timed_out(query: str, late: Sequence[str], allowed_s: float | None) -> Alert:
    """Time passed before anything was found."""
    longer = limits.longer_timeout(allowed_s)
    # The field may stand once only.
    rest = _TIMEOUT.sub("", query).strip()
    where = f"Nothing was found in {len(late)} repositories that were not searched to their end."
    return Alert(
        title="Timed out while searching",
        description=where if late else "There was not even time to read the query: it is very long.",
        kind="warning",
        proposed_queries=(ProposedQuery(f"timeout:{longer} {rest}", "query with longer timeout"),),
    )


def late_to_read(query: str, allowed_s: float, taken_s: float) -> Iterator[Alert | Progress | Done]:
    """All events of a search whose time was over before its query was read."""
    yield Progress(done=True, match_count=0, duration_ms=round(taken_s * 1000))
    yield timed_out(query, (), allowed_s)
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


def no_repositories(query: str, *, forks: bool, archived: bool, context: str) -> Alert:
    """No repository passes the filters."""
    proposals = []
    if forks:
        proposals.append(ProposedQuery(f"{query} fork:yes", "include forked repositories"))
    if archived:
        proposals.append(ProposedQuery(f"{query} archived:yes", "include archived repositories"))
    title = f"No repositories found for your query within the context {context}" if context else "No repositories found"
    said = ["No repository passes the filters of this query.", *map(sentence, unknown_predicates(query))]
    return Alert(title, "\n".join(said), "warning", tuple(proposals))


def _listed(reasons: Mapping[str, str]) -> str:
    lines = [f"- `{name}`: {why}" for name, why in sorted(reasons.items())[:_MOST_LISTED]]
    return "\n".join(lines + (["- ..."] if len(reasons) > _MOST_LISTED else []))
