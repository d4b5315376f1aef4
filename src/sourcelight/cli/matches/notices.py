"""Messages of a search on standard error: advice, text that was left out, and how the search ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sourcelight.cli.output import DONE, FAILED, NO_MATCH, say
from sourcelight.core.completeness import LIMITED_BY_DISPLAY, title_text, without_code
from sourcelight.core.markup.counts import count_of

if TYPE_CHECKING:
    from sourcelight.core.wire.events import Alert, Skipped

_UNSEARCHED_TEXT = frozenset({"document-too-large", "worktree-changes"})
"""Reasons for text that was not searched and may match. An answer with matches names only these, not binary files."""


def say_alerts(alerts: Iterable[Alert], reasons: Iterable[str]) -> None:
    """Print the alerts of an answer and the queries to try instead; the reasons already name errors."""
    reason_text = " ".join(reasons)
    for alert in alerts:
        if alert.text and alert.text not in reason_text:
            say(alert.text)
        for proposal in alert.proposed_queries:
            say(f"try: {proposal.query}" + (f"  ({proposal.description})" if proposal.description else ""))


def say_unsearched(skipped: Iterable[Skipped], *, has_matches: bool) -> None:
    """Print what an answer leaves out by design: the text may be there.

    Parameters
    ----------
    skipped
        Everything that the answer reports as left out.
    has_matches
        Whether the search found anything. Then only text is named, not binary files, forks and the like.
    """
    for item in skipped:
        is_named = item.reason in _UNSEARCHED_TEXT or not has_matches
        if item.severity == "info" and is_named:
            say(f"not searched: {title_text(item)}{_remedy(item)}")


def _remedy(item: Skipped) -> str:
    """Return how to search what an answer leaves out, as the end of a sentence; empty where nothing helps."""
    if item.reason == "worktree-changes":
        return "; add --worktree to search work trees"
    if item.suggested is not None:
        return f"; add {item.suggested.query_expression} to the query"
    return ""


def say_end(
    output: str | None, limit: int | None, *, status: str, reasons: tuple[str, ...], rows: int, matches: int
) -> int:
    """Print how an answer ended, and return the exit status.

    Parameters
    ----------
    output
        The file that was written; None: standard output.
    limit
        The option ``-n``.
    status, reasons
        The status of the answer, and why it is not complete.
    rows, matches
        What was written, and what the search counted.
    """
    if status != "complete":
        text = "; ".join(map(without_code, reasons))
        say(f"{status}: {text if limit is None else text.replace(LIMITED_BY_DISPLAY, 'limited by -n')}")

    if output:
        say(f"wrote {count_of(rows, 'row')} to {output}")

    if matches:
        return DONE
    if status not in {"complete", "partial"}:
        say("no match in the part that was searched")
        return FAILED

    say("no match")
    return NO_MATCH
