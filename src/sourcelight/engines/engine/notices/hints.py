"""What to say when a search finds nothing although it looked everywhere: a likely reason, and queries that do find."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from sourcelight.core.errors import QueryError
from sourcelight.core.query import Query
from sourcelight.core.query.narrowing import without
from sourcelight.core.wire.events import Alert, ProposedQuery
from sourcelight.engines.engine.notices import advice as advices
from sourcelight.engines.engine.notices.advice import Advice, advise

MOST_PROPOSED = 3
TRY_S = 0.3
"""Seconds that one proposed query may take to show that it finds something."""
LONGEST = 2_000
"""Characters of a query that is read once more for advice: longer ones take a while, and were made by a program."""

_SHOWN = frozenset({
    *("quotes", "regexp-as-text", "filter-as-text", "contradiction", "dash", "operator-as-text", "never"),
    *("predicate-as-regexp", "account"),
})  # fmt: skip


def nothing_found(query: Query, finds: Callable[[str], bool]) -> Alert | None:
    """An alert for a query without results; None when there is nothing to say.

    Only queries of which `finds` is true are proposed.
    """
    if len(query.text) > LONGEST:
        return None
    found = advise(query)
    reasons = [advice for advice in found if advice.kind in _SHOWN]
    said = [sentence(advice) for advice in reasons]
    proposed = []
    for text, why in _candidates(query, found):
        if finds(text):
            proposed.append(ProposedQuery(text, why))
        if len(proposed) == MOST_PROPOSED:
            break
    if not said and not proposed:
        return None
    return Alert(
        title="No results",
        description="\n".join(said) or "Nothing was found as the query is written; a variant of it finds something.",
        kind="info",
        proposed_queries=tuple(proposed),
    )


def without_effect(query: Query) -> Alert | None:
    """An alert for filters that change nothing where they stand; None when there are none."""
    if len(query.text) > LONGEST:
        return None
    found = dict.fromkeys(advice for part in query.plan for advice in advices.without_effect(part))
    found |= dict.fromkeys(advices.cut_short(query))
    if not found:
        return None
    return Alert("A filter has no effect", "\n".join(map(sentence, found)), "warning")


def sentence(advice: Advice) -> str:
    """An advice as a sentence, or a question."""
    return f"{advice.message[:1].upper()}{advice.message[1:]}; {advice.fix}{'' if advice.fix.endswith('?') else '.'}"


def _candidates(query: Query, found: Sequence[Advice]) -> Iterator[tuple[str, str]]:
    seen = {query.text}
    for text, why in _variants(query, found):
        if text and text not in seen:
            seen.add(text)
            yield text, why


def _variants(query: Query, found: Sequence[Advice]) -> Iterator[tuple[str, str]]:
    if any(alternative.case_sensitive() for alternative in query.plan):
        yield _without(query, {"case"}), "without regard to case"
    meanings = {
        "quotes": "with quotes around a phrase",
        "regexp-as-text": "as a regular expression",
        "filter-as-text": "with the filter that may be meant",
        "contradiction": "with either language",
        "keyword": "with all words anywhere in the file",
    }
    for advice in found:
        if advice.query and advice.kind in meanings:
            yield advice.query, meanings[advice.kind]
    contradicting = any(advice.kind == "contradiction" and advice.query for advice in found)
    if "(" not in query.text and len(query.plan) == 1 and query.plan[0].pattern is not None and not contradicting:
        bare = _without(query, {"file", "lang"})
        if bare != query.text.strip():
            yield bare, "in all files"


def _without(query: Query, names: Collection[str]) -> str:
    """The query without its filters on some fields; empty when no text says so."""
    try:
        return without(query, names)
    except QueryError:
        return ""
