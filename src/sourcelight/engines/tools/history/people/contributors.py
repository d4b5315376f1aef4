"""`contributors`: who wrote how many commits and lines, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches.results import ToolResult, group_order
from sourcelight.core.errors import ToolError
from sourcelight.core.notices import MERGES_COUNTED
from sourcelight.core.tools.analyses import CONTRIBUTORS, ContributorsArguments
from sourcelight.engines.history.search.trailer_columns import commit_agents
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler, PartialResult, Split
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.file_kinds import are_of_kinds, kind_notices
from sourcelight.engines.tools.history.filters import Dates
from sourcelight.engines.tools.history.histories import OpenedHistory, gather_dated
from sourcelight.engines.tools.history.people import change_groups
from sourcelight.engines.tools.history.people.person_set import PersonNumbers, agent_notices
from sourcelight.engines.tools.history.tables import bounds, count_distinct, period_of, total
from sourcelight.engines.tools.pages.items import TableItems
from sourcelight.engines.tools.rows import TEXTS

_SUMMED = ("commits", "merges", "co_authored", "additions", "deletions", "files", "agent_commits")
"""Columns that add up over repositories."""


def _gather(arguments: ContributorsArguments, context: ToolContext) -> PartialResult:
    period_of(CONTRIBUTORS.name, arguments.by or ())
    if arguments.lines is False and arguments.file_kinds:
        raise ToolError(
            f"{CONTRIBUTORS.name}: file_kinds selects lines, and lines is false; leave one of them out",
            tool=CONTRIBUTORS.name,
            argument="file_kinds",
        )

    return gather_dated(
        CONTRIBUTORS.name,
        arguments,
        context,
        lambda selection, dates: _sums(selection, arguments, dates, context),
        commits_alone=arguments.lines is False,
    )


def _sums(
    selection: OpenedHistory, arguments: ContributorsArguments, dates: Dates, context: ToolContext
) -> change_groups.GroupSums:
    """Return commits and changed lines of one repository by author and period, and by co-author."""
    people = PersonNumbers(CONTRIBUTORS.name, arguments.mailmap, join_addresses=arguments.join_addresses)
    period = period_of(CONTRIBUTORS.name, arguments.by or ())
    history = selection.history
    commits = history.commits
    is_counted = change_groups.commit_mask(selection, *dates)
    change_rows = np.flatnonzero(is_counted)
    co_commits, co_people = people.co_authors(selection, context.cancellation)
    helped = is_counted[co_commits]
    co_commits, co_people = co_commits[helped], co_people[helped]

    # Co-authors follow authors, so that one grouping numbers the persons of both.
    person = np.concatenate((people.of_identities(selection)[commits.author[change_rows]], co_people))
    time = np.concatenate((commits.commit_time[change_rows], commits.commit_time[co_commits]))
    codes, keys = change_groups.group_rows(person, time, period)
    count, author_codes = len(keys[0]), codes[: len(change_rows)]
    first, last = bounds(codes, time, count)
    values = {
        "commits": total(author_codes, np.ones(len(change_rows)), count),
        "merges": total(author_codes, commits.is_merge[change_rows], count),
        "agent_commits": total(author_codes, commit_agents(history).mask[change_rows], count),
        "co_authored": total(codes[len(change_rows) :], np.ones(len(co_people)), count),
        "first": first,
        "last": last,
    }
    if arguments.lines is not False:
        row_of_commit = np.full(len(commits), -1, np.int64)
        row_of_commit[change_rows] = author_codes
        values |= _line_sums(selection, row_of_commit, count=count, arguments=arguments, context=context)

    commit_keys = change_groups.keys_of_commits(history, change_rows)
    return change_groups.GroupSums(people.person_set, keys, values, commit_keys=commit_keys)


def _line_sums(
    selection: OpenedHistory,
    row_of_commit: Int64Array,
    *,
    count: int,
    arguments: ContributorsArguments,
    context: ToolContext,
) -> dict[str, Int64Array]:
    """Return changed lines and files of each row; `row_of_commit` is -1 for commits that don't count."""
    history, layout = selection.history, selection.layout(context)
    row_of_change = row_of_commit[history.changes.commit]
    changed = np.flatnonzero(row_of_change >= 0)
    changed = changed[are_of_kinds(selection, layout.names, layout.path[changed], arguments.file_kinds, context)]
    row_of_change = row_of_change[changed]
    return {
        "additions": total(row_of_change, np.maximum(history.changes.additions[changed], 0), count),
        "deletions": total(row_of_change, np.maximum(history.changes.deletions[changed], 0), count),
        "files": count_distinct(row_of_change, layout.path[changed], count),
    }


def _combine(arguments: ContributorsArguments, context: ToolContext, part: PartialResult) -> ToolResult:  # noqa: ARG001 - as all of them
    by = arguments.by or ()
    period = period_of(CONTRIBUTORS.name, by)
    people = PersonNumbers(CONTRIBUTORS.name, arguments.mailmap, join_addresses=arguments.join_addresses)
    rows = change_groups.join_groups(part, people)
    if not len(rows.person):
        table = tables.table("contributors", {}, 0)
        return ToolResult(
            columns="contributors",
            table=table,
            attributes=part.dates,
            complete=part.complete,
            notices=tuple(part.notices),
        )

    codes, groups = change_groups.regroup(rows, ("author", *by), period)
    count = len(groups[0])

    # A file belongs to one repository, and its authors there are counted once: so its counts add up.
    sums = {name: total(codes, rows.values[name], count) for name in _SUMMED if name in rows.values}
    first, _ = bounds(codes, rows.values["first"], count)
    _, last = bounds(codes, rows.values["last"], count)
    table = {
        **change_groups.key_columns(("author", *by), period, groups, part.names, people),
        **{name: pa.array(values) for name, values in sums.items()},
        "first_date": tables.times(first),
        "last_date": tables.times(last),
        "bot": pa.array(people.bots[groups[0]]),
    }
    starts = groups[1] if period else np.zeros(count, np.int64)
    order = group_order((starts, people.bots[groups[0]], -sums["commits"]), table)
    merges = [] if arguments.lines is False else [MERGES_COUNTED]
    repetitions = change_groups.repetitions_of(part, by)
    notices = [*part.notices, *repetitions, *merges, *people.join_notices(groups[0].tolist())]
    notices += kind_notices(arguments.file_kinds, " Commits are all.")
    notices += people.bot_notices(groups[0], sums["commits"])
    notices += agent_notices(int(sums["agent_commits"].sum()))
    attributes = change_groups.result_attributes(arguments.revisions, part, people, by, period, {"authors": "author"})
    shown_table = tables.table("contributors", table, count).take(order)
    return ToolResult(
        columns="contributors", table=shown_table, attributes=attributes, complete=part.complete, notices=tuple(notices)
    )


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(CONTRIBUTORS, Split(_gather, _combine), TEXTS["contributors"], TableItems("people")),
)
