"""The limits that a query asks for itself, as items of ``skipped``: the same words wherever an answer is cut."""

from __future__ import annotations

from sourcelight.core.wire.events import Skipped, Suggested

CLIENT_MATCHES = 1_000_000
"""Matches that a client of ours asks for where the query has no ``count:``: a sum over fewer would be of the
repositories that come first (`SearchRequest.default_matches`)."""


def match_limit(limit: int, stopped: str = "The search stopped") -> Skipped:
    """What `stopped` did so after `limit` matches; more may exist."""
    return Skipped(
        reason="shard-match-limit",
        title="result limit hit",
        message=f"{stopped} after {limit:,} matches; there may be more. Add `count:all` for all of them.",
        suggested=Suggested(title="increase limit", query_expression="count:all"),
    )


def display_limit(display: int, found: int) -> Skipped:
    """`found` matches were counted, but only `display` were returned, as asked."""
    return Skipped(
        reason="display",
        title="display limit hit",
        message=f"{found:,} matches were found and {display:,} of them are shown, as `display` asked for.",
    )
