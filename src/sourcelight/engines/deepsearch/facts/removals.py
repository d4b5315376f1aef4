"""Which commits took files away: by a removal, or by a rename to a name that is not asked for."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from sourcelight.engines.deepsearch.facts.commits import revisions_of
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.tools.history import histories


def removals_of(work: Work, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the commits among `rows` (of ``commits``, newest first) that took a file of the request's paths away.

    Parameters
    ----------
    work
        Its request names paths.
    rows
        Commits that changed these paths and pass every other condition of the request.
    """
    patterns = [re.compile(path.pattern) for path in work.request.paths]
    named = revisions_of(work).get("revisions", [])
    revisions = [each for each in named if each[:1] != "^"], [each[1:] for each in named if each[:1] == "^"]
    removed: set[tuple[str, str]] = set()
    for opened in histories.open_histories("commit_search", work.context, work.names, *revisions).opened:
        work.inquiry.context.cancellation.check()
        changes, layout = opened.history.changes, opened.layout(work.context)
        gone = np.flatnonzero(np.isin(changes.status, [ord("D"), ord("R")]) & opened.mask[changes.commit])
        passes: dict[int, bool] = {}

        def matches(number: int, layout: Any = layout, passes: dict[int, bool] = passes) -> bool:
            if number not in passes:
                text = layout.text(number)
                passes[number] = any(each.search(text) for each in patterns)
            return passes[number]

        for at in gone.tolist():
            old, new = int(layout.old_path[at]), int(layout.path[at])
            is_rename = changes.status[at] == ord("R")
            if matches(old) and not (is_rename and matches(new)):
                removed.add((opened.name, opened.history.oid(int(changes.commit[at]))))
    return [row for row in rows if (row["repository"], row["commit"]) in removed]
