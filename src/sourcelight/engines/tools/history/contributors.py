"""`contributors`: who did how much, and when."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.ordering import group_order
from sourcelight.core.batches.results import Answer
from sourcelight.engines.tools.history import columns
from sourcelight.engines.tools.history.counting import Sums, chosen, facts_of, key_columns, keyed, together
from sourcelight.engines.tools.history.file_kinds import kind_notices, of_kinds
from sourcelight.engines.tools.history.filters import Dates
from sourcelight.engines.tools.history.grouping import bounds, count_distinct, group, period_of, total
from sourcelight.engines.tools.history.opening import Opened, part_of
from sourcelight.engines.tools.history.people import People
from sourcelight.engines.tools.model import Arguments, CallContext
from sourcelight.engines.tools.parting import Part, Parted

CALL = "contributors"
_MERGES = "Merges are counted as commits and have no changed lines of their own."
_SUMMED = ("commits", "merges", "co_authored", "additions", "deletions", "files")


def _find(arguments: Arguments, context: CallContext) -> Part:
    period_of(CALL, arguments.get("by", ()))
    return part_of(CALL, arguments, context, lambda opened, dates: _sums(opened, arguments, dates, context))


def _sums(opened: Opened, arguments: Arguments, dates: Dates, context: CallContext) -> Sums:
    """Commits and changed lines of one repository by author and period; co-authors beside."""
    people, period = People(CALL, arguments), period_of(CALL, arguments.get("by", ()))
    history, layout = opened.history, opened.layout(context)
    commits = history.commits
    counted = chosen(opened, *dates)
    kept = np.flatnonzero(counted)
    co_commits, co_people = people.co_authors(opened, context.cancellation)
    helped = counted[co_commits]
    co_commits, co_people = co_commits[helped], co_people[helped]
    person = np.concatenate((people.of_identities(opened)[commits.author[kept]], co_people))
    time = np.concatenate((commits.commit_time[kept], commits.commit_time[co_commits]))
    codes, keys = keyed(person, time, period)
    count, own = len(keys[0]), codes[: len(kept)]
    place = np.full(len(commits), -1, np.int64)
    place[kept] = own
    of = place[history.changes.commit]
    changed = np.flatnonzero(of >= 0)
    changed = changed[of_kinds(opened, layout, layout.path[changed], arguments, context)]
    of = of[changed]
    first, last = bounds(codes, time, count)
    values = {
        "commits": total(own, np.ones(len(kept)), count),
        "merges": total(own, commits.is_merge[kept], count),
        "co_authored": total(codes[len(kept) :], np.ones(len(co_people)), count),
        "additions": total(of, np.maximum(history.changes.additions[changed], 0), count),
        "deletions": total(of, np.maximum(history.changes.deletions[changed], 0), count),
        "files": count_distinct(of, layout.path[changed], count),
        "first": first,
        "last": last,
    }
    return Sums(people.met, keys, values)


def _join(arguments: Arguments, context: CallContext, part: Part) -> Answer:  # noqa: ARG001 - as all of them
    by = arguments.get("by", ())
    period = period_of(CALL, by)
    people = People(CALL, arguments)
    rows = together(part, people)
    if not len(rows.person):
        table = columns.table("contributors", {}, 0)
        return Answer("contributors", table, part.echoed, part.complete, tuple(part.notices))
    keys = [rows.person]
    keys += [rows.start] if period else []
    keys += [rows.repository] if "repository" in by else []
    codes, found = group(keys)
    count = len(found[0])
    # A file belongs to one repository, and whoever changed it there is one person: so its counts add up.
    sums = {name: total(codes, rows.values[name], count) for name in _SUMMED}
    first, _ = bounds(codes, rows.values["first"], count)
    _, last = bounds(codes, rows.values["last"], count)
    table = {
        **key_columns(by, period, found, part.names, people),
        **{name: pa.array(values) for name, values in sums.items()},
        "first_date": columns.times(first),
        "last_date": columns.times(last),
        "bot": pa.array(people.bots[found[0]]),
    }
    starts = found[1] if period else np.zeros(count, np.int64)
    order = group_order((starts, people.bots[found[0]], -sums["commits"]), table)
    notices = [*part.notices, _MERGES, *people.join_notices(found[0].tolist())]
    notices += [f"{notice} Commits are all." for notice in kind_notices(arguments)]
    notices += people.bot_notices(found[0], sums["commits"])
    facts = facts_of(arguments, part, people, by, period, {"authors": "author"})
    made = columns.table("contributors", table, count).take(order)
    return Answer("contributors", made, facts, part.complete, tuple(notices))


contributors = Parted(_find, _join)
"""Commits and changed lines by author, and by repository and period as asked."""
