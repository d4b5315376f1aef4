"""Completeness of answers, with the reasons: one rule for searches, counts, tools and reports.

============  =======================================================================================================
status        when
============  =======================================================================================================
complete      nothing that the caller asked for is missing. What a query leaves out by its own rules (forks, archived
              repositories), and files matched only by name (binary, above the size limit) are reported, and don't count
partial       the caller asked for a part: ``count:`` or ``display`` of a search, ``limit`` and its like of a call
limited       something requested is missing: a content that the clone does not have, a repository that can't
              be read, matches beyond a limit that the caller did not set, work that had no time
unparsed      a service answered a tool with text that this version can't parse, and the table has the text; or it
              answered a tool that this version doesn't know, and didn't say whether the answer has all results
interrupted   the caller stopped it
failed        a fault stopped it
============  =======================================================================================================

Of several that hold, the last in this table is the status. docs/results.md says the same for readers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from sourcelight.core.errors import QueryError
from sourcelight.core.query.parse import parse
from sourcelight.core.wire.events import Alert, Skipped

Status = Literal["complete", "partial", "limited", "unparsed", "interrupted", "failed"]

_LEFT_OUT = re.compile(
    r"""
    excluded-.*
    | repository-(fork|archived?|empty)
    | .*\b(binary|too-large)\b.*
    | worktree.*
    | document-lfs
    | name-only.*
    | structure-language
    | cells-paired
    """,
    re.VERBOSE,
)
"""Reasons of items left out by the query's own rules, or by the type of a file: the answer is complete without them."""

_TIMEOUT = re.compile(r"time(d)? ?-?out", re.IGNORECASE)
"""A timeout in the title of an alert: "Search timed out", "timeout", "time-out"."""

_UNSEARCHED = re.compile(
    r"could not be searched|invalid revision syntax|too many matching repositories|needs more memory|unable to process"
    r"|permissions syncing|ownership-search-error",
    re.IGNORECASE,
)
"""Titles and a kind of the alerts that other services send without a skipped item (wire reference 7.1)."""

_OF_REPOSITORIES = re.compile(r"([\d,]+) (?:forked|archived)")
"""A title without its noun, as the protocol has it: "1 forked", "1,204 archived"."""

_CODE = re.compile(r"[a-z]+(?:-[a-z]+)+")
"""A code of the protocol, such as ``document-missing``."""

_MATCH_LIMIT = "shard-match-limit"
_DISPLAY = "display"

LIMITED_BY_COUNT = "limited by count:"
"""End of a reason: the search stopped at the limit of ``count:``."""

LIMITED_BY_DISPLAY = "limited by limit="
"""End of a reason: the caller requested fewer matches than exist."""


def is_limiting(item: Skipped) -> bool:
    """Return whether an answer with this item lacks something; reasons that this version doesn't know count too."""
    return not _LEFT_OUT.fullmatch(item.reason)


def reason_of(item: Skipped) -> str:
    """Return an item as a reason of a status: with the code of the protocol, which programs compare."""
    parts = [part for part in (item.reason, item.title) if part]
    return ": ".join(parts) or "work was skipped"


def without_code(reason: str) -> str:
    """Return a reason of a status for people: without the code of the protocol, unless it has no other words."""
    code, _, words = reason.partition(": ")
    if not words or _CODE.fullmatch(code) is None:
        return reason

    count, _, state = words.partition(" ")
    is_without_noun = code.startswith("repository-") and not state.startswith("repositor")
    if not is_without_noun or not count.replace(",", "").isdecimal():
        return words
    return f"{count} {_noun_of_repositories(count)} {state}"


def skipped_text(item: Skipped) -> str:
    """Return an item in words: ``skipped 61 binary files``, ``result limit hit``; its code if it has none."""
    if not item.title:
        return f"skipped {item.reason}" if item.reason else "work was skipped"
    if is_limiting(item):
        return item.title  # a phrase: "2 files parsed in part"

    # What is left out by design is counted.
    return f"skipped {title_text(item)}"


def title_text(item: Skipped) -> str:
    """Return an item's title with the noun that the protocol leaves out: ``1 forked`` is a repository."""
    match = _OF_REPOSITORIES.fullmatch(item.title)
    if match is None:
        return item.title
    return f"{item.title} {_noun_of_repositories(match[1])}"


def _noun_of_repositories(count: str) -> str:
    return "repository" if count == "1" else "repositories"


def status_of(
    query: str,
    pattern_type: str,
    matches: int,
    skipped: tuple[Skipped, ...],
    alerts: tuple[Alert, ...],
    *,
    display: int = -1,
    errors: tuple[str, ...] = (),
) -> tuple[Status, tuple[str, ...]]:
    """Return the status of a finished search, and why it is incomplete.

    Parameters
    ----------
    query, pattern_type, matches, skipped, display
        As in `requested_part`.
    alerts
        Alerts of the answer.
    errors
        Texts of its error events.
    """
    problems = failures(alerts, errors)
    if problems:
        return "failed", problems

    # Limits that the caller set are no reason against the answer.
    part = requested_part(query, pattern_type, matches, skipped, display=display)
    requested = set()
    if any(text.endswith(LIMITED_BY_COUNT) for text in part):
        requested.add(_MATCH_LIMIT)
    if any(text.endswith(LIMITED_BY_DISPLAY) for text in part):
        requested.add(_DISPLAY)

    missing = limits([item for item in skipped if item.reason not in requested], alerts)
    if missing:
        return "limited", (*missing, *part)
    if part:
        return "partial", part
    return "complete", ()


def limits(skipped: Iterable[Skipped], alerts: Iterable[Alert]) -> tuple[str, ...]:
    """Return the reasons why a finished answer is incomplete; empty if nothing is missing.

    Forks and archived repositories that the query did not ask for, repositories without a commit, and files that match
    by name only because they are binary or large, are shown but do not limit the answer.
    """
    reasons = [reason_of(item) for item in skipped if is_limiting(item)]
    for alert in alerts:
        # A skipped item says which repositories; this package sends both.
        is_unsearched = not reasons and _UNSEARCHED.search(f"{alert.title} {alert.kind}")
        if alert.kind != "error" and (is_unsearched or _TIMEOUT.search(alert.title)):
            reasons.append(f"alert: {alert.title or alert.kind}")
    return _distinct(reasons)


def failures(alerts: Iterable[Alert], errors: Iterable[str]) -> tuple[str, ...]:
    """Return what the service reports about the end of a search: alerts of kind error, and error events."""
    messages = [alert.text for alert in alerts if alert.kind == "error"]

    # A service may send an error both ways; the alert has the longer text.
    for error in errors:
        if not any(error in message for message in messages):
            messages.append(error)

    return _distinct(messages)


def requested_part(
    query: str, pattern_type: str, matches: int, skipped: Iterable[Skipped], *, display: int = -1
) -> tuple[str, ...]:
    """Describe the items whose limit the caller requested; empty when there are none.

    The wire has one item for all limits of matches (``shard-match-limit``), also for a ``count:`` that was reached
    (wire reference 5.3). It is of the query's own ``count:`` when as many matches were found.

    Parameters
    ----------
    query, pattern_type
        The request.
    matches
        Matches that were found, whether or not they were sent.
    skipped
        Items that the answer reports as left out.
    display
        Matches that were to be returned; -1: all.
    """
    descriptions = []
    reasons = {item.reason for item in skipped}
    counts = _counts(query, pattern_type)
    if _MATCH_LIMIT in reasons and counts and matches >= min(counts):
        descriptions.append(f"{_first_matches(matches)}, {LIMITED_BY_COUNT}")

    if _DISPLAY in reasons and 0 <= display <= matches:
        descriptions.append(f"{display:,} of {matches:,} matches shown, {LIMITED_BY_DISPLAY}")

    return tuple(descriptions)


def cut_text(matches: int, skipped: Iterable[Skipped]) -> str:
    """Describe a truncated answer of so many matches, for frames, figures and tables; empty if it isn't truncated."""
    if not any(item.reason == _MATCH_LIMIT for item in skipped):
        return ""
    return f"{_first_matches(matches)}; add count:all for all"


def call_status(*, complete: bool, rows: int, limit: int | None) -> Status:
    """Return the status of a finished tool call; `limit` is the caller's limit of rows."""
    if complete:
        return "complete"
    return "partial" if limit is not None and rows >= limit else "limited"


def _counts(query: str, pattern_type: str) -> list[int]:
    """Return the numbers of a query's ``count:``; none if an alternative lacks it or the query can't be parsed."""
    try:
        plan = parse(query, pattern_type).plan
    except QueryError:
        return []

    counts = []
    for alternative in plan:
        if alternative.first("count") is None:
            return []

        # None for ``count:all``, which is no limit.
        count = alternative.count_limit(default=-1)
        if count is not None:
            counts.append(count)

    return counts


def _first_matches(count: int) -> str:
    return "first match" if count == 1 else f"first {count:,} matches"


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Return each text once, in their order."""
    return tuple(dict.fromkeys(texts))
