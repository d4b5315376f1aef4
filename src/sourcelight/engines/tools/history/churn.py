"""`churn`: how much changed where, by whom and when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.answers import Answer
from sourcelight.engines.tools.history import columns
from sourcelight.engines.tools.history.counting import chosen, facts_of, key_columns
from sourcelight.engines.tools.history.filters import dates_of
from sourcelight.engines.tools.history.grouping import (
    Numbers,
    People,
    count_distinct,
    group,
    period_of,
    periods,
    total,
)
from sourcelight.engines.tools.history.opening import open_histories, revisions_of
from sourcelight.engines.tools.history.paths import directories
from sourcelight.engines.tools.model import Arguments, CallContext


def churn(arguments: Arguments, context: CallContext) -> Answer:
    """Changed lines by folder or file, author and period as asked; merges have none."""
    call = "churn"
    by = arguments.get("by") or ["directory"]
    depth = arguments.get("depth", 1)
    period = period_of(call, by)
    after, before, echoed = dates_of(call, arguments)
    histories = open_histories(call, context, arguments.get("repos", ()), *revisions_of(arguments))
    people = People(call, arguments.get("mailmap"))
    names: dict[str, int] = {}
    rows: list[list[Numbers]] = []
    commits_before = unknown = 0
    for number, opened in enumerate(histories.opened):
        context.cancellation.check()
        history = opened.history
        commits, changes = history.commits, history.changes
        kept = np.flatnonzero(chosen(opened, after, before)[changes.commit])
        of = changes.commit[kept].astype(np.int64)
        texts = [history.paths.text(at) for at in range(len(history.paths))]
        if "directory" in by:
            texts = directories(texts, depth)
        place = np.array([names.setdefault(text, len(names)) for text in texts] or [0], np.int64)
        unknown += int((changes.additions[kept] < 0).sum())
        rows.append(
            [
                np.full(len(kept), number),
                place[changes.path[kept]],
                people.of_identities(history)[commits.author[of]],
                commits.commit_time[of],
                np.maximum(changes.additions[kept], 0).astype(np.int64),
                np.maximum(changes.deletions[kept], 0).astype(np.int64),
                of + commits_before,
            ]
        )
        commits_before += len(commits)
    columns_of = [np.concatenate(parts) for parts in zip(*rows, strict=True)] if rows else [np.zeros(0, np.int64)] * 7
    repository, place, person, time, additions, deletions, commit = columns_of
    keys = [person if "author" in by else np.zeros(len(person), np.int64)]
    keys += [periods(time, period)[0]] if period else []
    keys += [repository] if "repository" in by else []
    keys += [place] if {"directory", "path"} & set(by) else []
    codes, found = group(keys)
    count = len(found[0])
    added, removed = total(codes, additions, count), total(codes, deletions, count)
    table: dict[str, Any] = key_columns(by, period, found, histories, people)
    if {"directory", "path"} & set(by):
        table["directory" if "directory" in by else "path"] = columns.coded(list(names) or [""], found[-1])
    if "author" not in by:
        table.pop("author"), table.pop("author_email")
    table |= {
        "additions": pa.array(added),
        "deletions": pa.array(removed),
        "changes": pa.array(total(codes, np.ones(len(codes)), count)),
        "commits": pa.array(count_distinct(codes, commit, count)),
        "authors": pa.array(count_distinct(codes, person, count)),
    }
    starts = found[1] if period else np.zeros(count, np.int64)
    order = np.lexsort((-(added + removed), starts))
    notices = [*histories.notices, "Merges are left out: they have no changed lines of their own."]
    notices += [f"{unknown:,} changes are counted without lines, as contents are missing."] if unknown else []
    drill = {"authors": "author"} if "author" in by else {}
    drill |= {"files": "directory"} if "directory" in by else {"files": "path"} if "path" in by else {}
    facts = facts_of(arguments, histories, people, by, period, echoed, drill)
    facts["drill_down"]["depth"] = depth
    made = columns.table("churn", table, count).take(pa.array(order))
    return Answer("churn", made, facts, histories.complete and not unknown, tuple(notices))
