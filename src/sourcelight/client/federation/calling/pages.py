"""`list_repos` over several services: one list by name, in pages that stay the same whoever has a repository."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.client.federation.calling.rules import Joined, Parts, joined
from sourcelight.core.errors import CallError


def page_of(parts: Parts, arguments: Mapping[str, Any]) -> tuple[Joined, dict[str, Any]]:
    """The page that is asked for, of all repositories of all services by name; and what a caller goes on with.

    Raises
    ------
    CallError
        For a cursor that is none.
    """
    made = joined(parts, ("repository",))
    names = made.table["repository"].to_pylist()
    order = sorted(range(len(names)), key=names.__getitem__)
    names = [names[at] for at in order]
    after, before, limit = arguments.get("after"), arguments.get("before"), arguments.get("limit")
    low = bisect_right(names, _name(after, "after")) if after else 0
    high = max(bisect_left(names, _name(before, "before")), low) if before else len(names)
    if limit is not None and high - low > limit:
        low, high = (high - limit, high) if before and not after else (low, low + limit)
    page = names[low:high]
    facts = {
        "total": len(names),
        "start_cursor": _cursor(page[0]) if page else None,
        "end_cursor": _cursor(page[-1]) if page else None,
        "has_previous_page": low > 0,
        "has_next_page": high < len(names),
    }
    table = made.table.take(pa.array(np.array(order[low:high], np.int64)))
    return Joined(table, made.duplicates, low > 0 or high < len(names)), facts


def _cursor(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


def _name(cursor: str, argument: str) -> str:
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise CallError(
            f"list_repos: {argument} is no cursor of this federation; pass start_cursor or end_cursor of an earlier "
            "answer as it is",
            call="list_repos",
            argument=argument,
        ) from None
