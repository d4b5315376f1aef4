"""Find the commits that removed files: by a deletion, or by a rename to a path that is not requested."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from sourcelight.engines.deepsearch.facts.commits import revisions_of
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.tools.history import histories


def removals_of(work: Work, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return those of `rows` (of ``commits``, newest first) that removed a file of the request's paths.

    Parameters
    ----------
    work
        Its request names paths.
    rows
        Commits that changed these paths and pass every other condition of the request.
    """
    patterns = [re.compile(path.pattern) for path in work.request.paths]
    revision_names = revisions_of(work).get("revisions", [])
    revisions = (
        [each for each in revision_names if each[:1] != "^"],
        [each[1:] for each in revision_names if each[:1] == "^"],
    )
    removed: set[tuple[str, str]] = set()
    for opened_history in histories.open_histories("commit_search", work.context, work.names, *revisions).opened:
        work.inquiry.context.cancellation.check()
        changes, layout = opened_history.history.changes, opened_history.layout(work.context)
        removals = np.flatnonzero(np.isin(changes.status, [ord("D"), ord("R")]) & opened_history.mask[changes.commit])
        passes: dict[int, bool] = {}

        def matches(number: int, layout: Any = layout, passes: dict[int, bool] = passes) -> bool:
            if number not in passes:
                text = layout.text(number)
                passes[number] = any(pattern.search(text) for pattern in patterns)
            return passes[number]

        for index in removals.tolist():
            old, new = int(layout.old_path[index]), int(layout.path[index])
            is_rename = changes.status[index] == ord("R")
            if matches(old) and not (is_rename and matches(new)):
                removed.add((opened_history.name, opened_history.history.oid(int(changes.commit[index]))))
    return [row for row in rows if (row["repository"], row["commit"]) in removed]
