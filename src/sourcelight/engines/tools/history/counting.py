"""What the analyses that count share: which commits count, columns of groups, and how a row leads to its commits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.tools.history import columns
from sourcelight.engines.tools.history.grouping import Numbers, People, periods
from sourcelight.engines.tools.history.opening import Histories, Opened
from sourcelight.engines.tools.model import Arguments


def chosen(opened: Opened, after: int | None, before: int | None) -> NDArray[np.bool_]:
    """Which commits count."""
    mask = opened.mask
    times = opened.history.commits.commit_time
    if after is not None:
        mask = mask & (times > after)
    return mask if before is None else mask & (times < before)


def key_columns(
    by: Sequence[str], period: str | None, found: list[Numbers], histories: Histories, people: People
) -> dict[str, Any]:
    """Columns of what is grouped by; keys stand as person, period, repository."""
    table: dict[str, Any] = {
        "author": columns.coded(people.names or [""], found[0]),
        "author_email": columns.coded(people.emails or [""], found[0]),
    }
    if period:
        starts, ends = periods(found[1], period)
        table |= {"period": columns.times(starts), "period_end": columns.times(ends)}
    if "repository" in by:
        names = [opened.name for opened in histories.opened] or [""]
        table["repository"] = columns.coded(names, found[1 + bool(period)])
    return table


def facts_of(
    arguments: Arguments,
    histories: Histories,
    people: People,
    by: Sequence[str],
    period: str | None,
    echoed: dict[str, str],
    drill: dict[str, str],
) -> dict[str, Any]:
    """What was asked, and how a row leads to its commits."""
    names = [opened.name for opened in histories.opened]
    fixed: dict[str, Any] = {"repos": names, **echoed}
    if arguments.get("revisions"):
        fixed["revisions"] = list(arguments["revisions"])
    drill |= {"repos": "repository"} if "repository" in by else {}
    drill |= {"after": "period", "before": "period_end"} if period else {}
    facts: dict[str, Any] = {"repositories": names, "by": list(by), **echoed}
    if people.aliases:
        facts["aliases"] = people.aliases
    return {**facts, "drill_down": {"call": "commit_search", "arguments": fixed, "columns": drill}}
