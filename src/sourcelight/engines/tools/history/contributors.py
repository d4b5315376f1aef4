"""`contributors`: who did how much, and when."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.answers import Answer
from sourcelight.engines.tools.history import columns
from sourcelight.engines.tools.history.counting import chosen, facts_of, key_columns
from sourcelight.engines.tools.history.filters import dates_of
from sourcelight.engines.tools.history.grouping import (
    Numbers,
    People,
    bounds,
    count_distinct,
    group,
    period_of,
    periods,
    total,
)
from sourcelight.engines.tools.history.opening import open_histories, revisions_of
from sourcelight.engines.tools.model import Arguments, CallContext

_MERGES = "Merges are counted as commits and have no changed lines of their own."


def contributors(arguments: Arguments, context: CallContext) -> Answer:
    """Commits and changed lines by author, and by repository and period as asked."""
    call = "contributors"
    by = arguments.get("by", ())
    period = period_of(call, by)
    after, before, echoed = dates_of(call, arguments)
    histories = open_histories(call, context, arguments.get("repos", ()), *revisions_of(arguments))
    people = People(call, arguments.get("mailmap"))
    rows: list[list[Numbers]] = []
    files: list[tuple[Numbers, Numbers]] = []
    given = paths = 0
    for number, opened in enumerate(histories.opened):
        context.cancellation.check()
        commits = opened.history.commits
        counted = chosen(opened, after, before)
        kept = np.flatnonzero(counted)
        co_commits, co_people = people.co_authors(opened, context.cancellation)
        helped = counted[co_commits]
        co_commits, co_people = co_commits[helped], co_people[helped]
        authors = people.of_identities(opened.history)[commits.author[kept]]
        _, additions, deletions, _ = columns.sizes(opened.history)
        nothing, one = np.zeros(len(co_commits), np.int64), np.ones(len(kept), np.int64)
        rows.append(
            [
                np.concatenate(pair)
                for pair in (
                    (np.full(len(kept), number), np.full(len(co_commits), number)),
                    (authors, co_people),
                    (commits.commit_time[kept], commits.commit_time[co_commits]),
                    (one, nothing),
                    (commits.is_merge[kept].astype(np.int64), nothing),
                    (np.zeros(len(kept), np.int64), np.ones(len(co_commits), np.int64)),
                    (additions[kept], nothing),
                    (deletions[kept], nothing),
                )
            ]
        )
        place = np.full(len(commits), -1, np.int64)
        place[kept] = np.arange(given, given + len(kept))
        given += len(kept) + len(co_commits)
        of = place[opened.history.changes.commit]
        files.append((of[of >= 0], opened.history.changes.path[of >= 0].astype(np.int64) + paths))
        paths += len(opened.history.paths)
    if not given:
        return Answer("contributors", columns.table("contributors", {}, 0), echoed, histories.complete,
                      tuple(histories.notices))  # fmt: skip
    repository, person, time, commit, merge, co_authored, additions, deletions = (
        np.concatenate(parts) for parts in zip(*rows, strict=True)
    )
    keys = [person]
    keys += [periods(time, period)[0]] if period else []
    keys += [repository] if "repository" in by else []
    codes, found = group(keys)
    count = len(found[0])
    first, last = bounds(codes, time, count)
    owners, touched = (np.concatenate(parts) for parts in zip(*files, strict=True))
    sums = {
        "commits": total(codes, commit, count),
        "merges": total(codes, merge, count),
        "co_authored": total(codes, co_authored, count),
        "additions": total(codes, additions, count),
        "deletions": total(codes, deletions, count),
        "files": count_distinct(codes[owners], touched, count),
    }
    table = {
        **key_columns(by, period, found, histories, people),
        **{name: pa.array(values) for name, values in sums.items()},
        "first_date": columns.times(first),
        "last_date": columns.times(last),
        "bot": pa.array(people.bots[found[0]]),
    }
    starts = found[1] if period else np.zeros(count, np.int64)
    order = np.lexsort((found[0], -sums["commits"], people.bots[found[0]], starts))
    notices = [*histories.notices, _MERGES, *people.said(found[0], sums["commits"])]
    facts = facts_of(arguments, histories, people, by, period, echoed, {"authors": "author"})
    made = columns.table("contributors", table, count).take(pa.array(order))
    return Answer("contributors", made, facts, histories.complete, tuple(notices))
