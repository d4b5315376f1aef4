"""Whether an answer is whole, and if not, why. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from sourcelight.core.wire.events import Alert, Skipped

Status = Literal["complete", "limited", "interrupted", "failed"]

# Work that was left out by the query's own rules or by what a file is. The answer is whole without it, and says so.
_LEFT_OUT = re.compile(
    r"^(excluded-.*|repository-(fork|archived?|empty)|.*\b(binary|too-large)\b.*|worktree.*|name-only.*)$"
)
_TIMEOUT = re.compile(r"time(d)? ?-?out", re.IGNORECASE)


def limits(skipped: Iterable[Skipped], alerts: Iterable[Alert]) -> tuple[str, ...]:
    """Reasons for which an answer that came to its end is not whole; none: it is complete.

    Forks and archived repositories that the query did not ask for, repositories without a commit, and files that match
    by name only because they are binary or large, are shown but do not limit the answer. Reasons that this version does
    not know do.
    """
    reasons = [f"{s.reason}: {s.title}" if s.title else s.reason for s in skipped if not _LEFT_OUT.match(s.reason)]
    reasons += [f"alert: {a.title}" for a in alerts if a.kind != "error" and _TIMEOUT.search(a.title)]
    return tuple(dict.fromkeys(reasons))


def faults(alerts: Iterable[Alert], errors: Iterable[str]) -> tuple[str, ...]:
    """What the service said stopped the search: alerts of kind error, and error events."""
    said = [": ".join(t for t in (a.title, a.description) if t) for a in alerts if a.kind == "error"]
    said += [e for e in errors if not any(e in s for s in said)]
    return tuple(dict.fromkeys(said))
