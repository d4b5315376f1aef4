"""Notices of a search: hints when nothing matches, and at most one alert, the most urgent."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sourcelight.core.errors import QueryError
from sourcelight.core.explanation import Advice
from sourcelight.core.markup import capitalize, count_of
from sourcelight.core.query import Query
from sourcelight.core.query.fields import FILE_FIELDS
from sourcelight.core.query.narrowing import replace_filter, without_filters
from sourcelight.core.query.shapes import has_stand_in
from sourcelight.core.wire.events import Alert, Done, Progress, ProposedQuery
from sourcelight.engines.execution import protocol
from sourcelight.engines.execution.advice import proposals as advices
from sourcelight.engines.execution.advice.proposals import advise, at_other_line_borders, unknown_predicates

_MAX_LISTED = 10
"""Names that a notice lists."""

MAX_PROPOSED = 3
"""Queries that are proposed for one without a match."""

IGNORING_CASE = "ignoring case"
"""Difference of the variant that may only match if the search itself matches in any case."""

TRY_S = 0.3
"""Seconds that one proposed query may take to show that it finds something."""

MAX_CHARACTERS = 2_000
"""Maximum characters of a query that is parsed again for advice: longer ones are slow, and made by a program."""

SHOWN = frozenset({
    *("quotes", "regexp-as-text", "filter-as-text", "contradiction", "dash", "operator-as-text", "never"),
    *("unclosed-as-text", "doubled-backslash", "predicate-as-regexp", "account", "unknown-value"),
})  # fmt: skip
_READ_AS_TEXT = {
    # That `()` is text is what its writer means, nearly always.
    "unclosed-as-text": "A parenthesis is read as text",
    "doubled-backslash": "Two backslashes are read as one",
}
"""Titles of notices about a query of which a part is read as text, by the kind of advice."""


def nothing_found(
    query: Query, finds: Callable[[str], bool], in_any_case: Callable[[], bool] = lambda: True
) -> Alert | None:
    """Return an alert for a query without results, or None.

    Only queries for which `finds` returns true are proposed. For a case-sensitive query, `in_any_case` is called
    first: it costs less than writing, parsing and planning the query without ``case:``.
    """
    if len(query.text) > MAX_CHARACTERS:
        return None

    advices_found = advise(query)
    messages = reasons_of(advices_found)

    # A proposal must be true: each one is run, with a short time limit, before it is displayed.
    proposed = []
    for text, explanation in candidates(query, advices_found, in_any_case):
        if finds(text):
            proposed.append(ProposedQuery(text, explanation))
        if len(proposed) == MAX_PROPOSED:
            break

    return nothing_found_alert(messages, proposed)


def nothing_found_alert(messages: Sequence[str], proposed: Sequence[ProposedQuery]) -> Alert | None:
    """Return the alert of a search without a match from its reasons and from queries with matches; None for none."""
    if not messages and not proposed:
        return None

    return Alert(
        title="No results",
        description="\n".join(messages) or "No matches for this query. A similar query has matches.",
        kind="info",
        proposed_queries=tuple(proposed),
    )


@dataclass(frozen=True, slots=True)
class ShapeAdvice:
    """Advice of `nothing_found` for all queries of a shape.

    Attributes
    ----------
    messages
        Why a query finds nothing.
    variants
        Queries that may have matches, with stand-ins for words, and their difference.
    """

    messages: tuple[str, ...]
    variants: tuple[tuple[str, str], ...]


def advice_of_shape(shape: Query) -> ShapeAdvice | None:
    """Return the advice for a query of a shape without a match; None if it depends on words.

    Words of a shape are letters, digits and underscores, which alone need no advice.
    """
    advices_found = advise(shape)
    messages = reasons_of(advices_found)
    if any(map(has_stand_in, messages)):
        return None
    return ShapeAdvice(tuple(messages), tuple(candidates(shape, advices_found, lambda: True)))


def advice_of(
    query: Query, cached: list[Alert | None] | None, finds: Callable[[str], bool], in_any_case: Callable[[], bool]
) -> Alert | None:
    """Return the alert of `nothing_found` from a cache of at most one alert, or add it there; None: no cache."""
    if cached:
        return cached[0]

    # Variants of the query are tried within `TRY_S`. The answer is cached with the plan only if none was cut off by
    # that.
    started_s = time.monotonic()
    alert = nothing_found(query, finds, in_any_case)
    if cached is not None and time.monotonic() - started_s < TRY_S:
        # No variant timed out, so no other notice covers these repositories.
        cached.append(alert)

    return alert


def reasons_of(advices_found: Iterable[Advice]) -> list[str]:
    """Return why a query finds nothing, a sentence each."""
    reasons = [advice for advice in advices_found if advice.kind in SHOWN]
    if any(advice.kind == "unknown-value" for advice in reasons):
        # The unknown kind of result is the reason that no kind is left.
        reasons = [advice for advice in reasons if advice.message != advices.NO_KIND]
    return [sentence(advice) for advice in reasons]


def without_effect(query: Query) -> Alert | None:
    """Return an alert for filters without an effect, or None."""
    if len(query.text) > MAX_CHARACTERS:
        return None
    advices_found = dict.fromkeys(advice for part in query.plan for advice in advices.without_effect(part))
    advices_found |= dict.fromkeys(advices.cut_short(query))
    if not advices_found:
        return None
    return Alert("A filter has no effect", "\n".join(map(sentence, advices_found)), "warning")


def read_as_text(query: Query) -> Alert | None:
    """Return an alert for unclosed parentheses and doubled backslashes of regular expressions, or None."""
    if len(query.text) > MAX_CHARACTERS:
        return None
    readings = dict.fromkeys(advice for advice in advices.read_as_text(query) if advice.kind in _READ_AS_TEXT)
    if not readings:
        return None
    title = _READ_AS_TEXT[next(iter(readings)).kind]
    return Alert(title, "\n".join(map(sentence, readings)), "info")


def sentence(advice: Advice) -> str:
    """Return an advice as a sentence, or a question."""
    return f"{capitalize(advice.message)}; {advice.fix}{'' if advice.fix.endswith('?') else '.'}"


def candidates(query: Query, advices: Sequence[Advice], in_any_case: Callable[[], bool]) -> Iterator[tuple[str, str]]:
    """Yield variants of a query that may have matches, each with a description of the difference."""
    seen = {query.text}
    for text, explanation in _variants(query, advices, in_any_case):
        if text and text not in seen:
            seen.add(text)
            yield text, explanation


def _variants(query: Query, advices: Sequence[Advice], in_any_case: Callable[[], bool]) -> Iterator[tuple[str, str]]:
    # First, because it changes the query least; the caller stops at `MAX_PROPOSED`.
    if any(alternative.case_sensitive() for alternative in query.plan) and in_any_case():
        yield _without(query, {"case"}), IGNORING_CASE

    meanings = {
        "quotes": "with quotes around a phrase",
        "regexp-as-text": "as a regular expression",
        "filter-as-text": "with the filter that may be meant",
        "unknown-value": "with the value that may be meant",
        "contradiction": "with either language",
        "keyword": "with all words anywhere in the file",
    }
    for advice in advices:
        if advice.query and advice.kind in meanings:
            yield advice.query, meanings[advice.kind]

    yield from at_other_line_borders(query)

    # Two languages that exclude each other are the reason of the empty result, and they go when all filters go.
    contradicting = any(advice.kind == "contradiction" and advice.query for advice in advices)
    # A variant is made by removing filters from the text, which is safe only without groups and alternatives.
    if "(" not in query.text and len(query.plan) == 1 and query.plan[0].pattern is not None and not contradicting:
        bare = _without(query, FILE_FIELDS)
        if bare != query.text.strip():
            yield bare, "in all files"


def _without(query: Query, names: Collection[str]) -> str:
    """Return the query without its filters on some fields; empty if it can't be written without them."""
    try:
        return without_filters(query, names)
    except QueryError:
        return ""


def timed_out(query: Query | None, late_repositories: Sequence[str], allowed_s: float | None) -> Alert:
    """Return the alert for a time limit that passed without a match; `query` is None if it wasn't parsed in time."""
    longer = protocol.longer_timeout(allowed_s)
    proposals = _proposals(query, (("timeout", longer, "query with longer timeout"),)) if query is not None else ()
    unread = f"The query is very long, and the time limit passed before it was parsed. Add timeout:{longer} to it."
    subject = f"{count_of(len(late_repositories), 'repository')} timed out without a match."
    return Alert(
        title="Timed out while searching",
        description=subject if late_repositories else unread,
        kind="warning",
        proposed_queries=proposals,
    )


def late_to_read(allowed_s: float, taken_s: float) -> Iterator[Alert | Progress | Done]:
    """Yield all events of a search whose time limit passed before its query was parsed."""
    yield Progress(done=True, match_count=0, duration_ms=round(taken_s * 1000))
    yield timed_out(None, (), allowed_s)
    yield Done()


def invalid_revisions(reasons: Mapping[str, str]) -> Alert:
    """Return the alert for texts after ``@`` or ``rev:`` that can't be revisions."""
    items = _list_reasons(reasons)
    return Alert("Invalid revision syntax", f"These revisions were not searched:\n{items}", "warning")


def unsearchable_alert(reasons: Mapping[str, str]) -> Alert:
    """Return the alert for requested repositories or revisions that were skipped."""
    title = "Some repositories could not be searched"
    return Alert(title, f"Requested, but not searched:\n{_list_reasons(reasons)}", "warning")


def absent_attributes(names: Collection[str]) -> Alert:
    """Return the alert for filters on attributes that no repository has."""
    subject = " or ".join(sorted(names))
    return Alert(
        f"No repository has {subject}",
        f"The query asks for {subject} of repositories, and no repository here has any. Set them in `repos.toml`.",
        "warning",
    )


def no_repositories(query: Query, *, forks: bool, archived: bool, context: str) -> Alert:
    """Return the alert for filters that no repository passes."""
    proposals = []
    if forks:
        proposals.append(("fork", "yes", "include forked repositories"))

    if archived:
        proposals.append(("archived", "yes", "include archived repositories"))

    title = f"No repositories found for your query within the context {context}" if context else "No repositories found"
    messages = ["No repository passes the filters of this query.", *map(sentence, unknown_predicates(query.text))]
    return Alert(title, "\n".join(messages), "warning", _proposals(query, proposals))


def _proposals(query: Query, candidates: Iterable[tuple[str, str, str]]) -> tuple[ProposedQuery, ...]:
    """Return variants of the query with one filter each, given as name, value and title; skips unwritable values."""
    proposals = []
    for name, value, title in candidates:
        with suppress(QueryError):
            proposals.append(ProposedQuery(replace_filter(query, name, value), title))
    return tuple(proposals)


def _list_reasons(reasons: Mapping[str, str]) -> str:
    lines = [f"- `{name}`: {reason}" for name, reason in sorted(reasons.items())[:_MAX_LISTED]]
    return "\n".join(lines + (["- ..."] if len(reasons) > _MAX_LISTED else []))
