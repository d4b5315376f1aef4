"""`pickaxe`: when lines that match came and went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from sourcelight.core.batches.results import ToolResult, group_order
from sourcelight.core.notices import Rule
from sourcelight.core.patterns import CompiledPattern
from sourcelight.core.tools.analyses import PICKAXE, PickaxeArguments
from sourcelight.engines.history.model import RowNumbers
from sourcelight.engines.history.search.filters import filter_changes
from sourcelight.engines.history.search.lines import changes_of, rows_with
from sourcelight.engines.history.search.query import ChangedFileFilter
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler, PartialResult, Split
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.filters import Dates, files_of, pattern_of
from sourcelight.engines.tools.history.histories import OpenedHistory, gather_dated
from sourcelight.engines.tools.history.people import change_groups
from sourcelight.engines.tools.history.people.person_set import PersonNumbers
from sourcelight.engines.tools.history.tables import bounds, count_distinct, line_numbers, period_of, total

_SUMS = ("added", "removed", "commits", "agent_commits")
"""Columns that are sums over the repositories."""


def _gather_pickaxe(arguments: PickaxeArguments, context: ToolContext) -> PartialResult:
    period = period_of(PICKAXE.name, _by(arguments))
    regexp = bool(arguments.use_regex)
    pattern = pattern_of(PICKAXE.name, "pattern", arguments.pattern, regexp=regexp, one_line=True)
    file_filter = files_of(PICKAXE.name, arguments.files, regexp=regexp)

    def find(selection: OpenedHistory, dates: Dates) -> change_groups.GroupSums:
        people = PersonNumbers(PICKAXE.name, arguments.mailmap, join_addresses=arguments.join_addresses)
        return _sums(selection, people, _PickaxeRequest(pattern, file_filter, period, dates), context)

    return gather_dated(PICKAXE.name, arguments, context, find)


def _by(arguments: PickaxeArguments) -> list[str]:
    return list(arguments.by or ["month"])


@dataclass(frozen=True, slots=True)
class _PickaxeRequest:
    """The lines to count: those that match, of some files and dates, by period (None: all together)."""

    pattern: CompiledPattern
    files: ChangedFileFilter
    period: str | None
    dates: Dates


def _sums(
    snapshot: OpenedHistory, people: PersonNumbers, request: _PickaxeRequest, context: ToolContext
) -> change_groups.GroupSums:
    """Return lines that match in one repository, by author and period."""
    history = snapshot.history
    with context.watch_scan() as stopped:
        rows = rows_with(history, request.pattern, stopped=stopped)

    changes = changes_of(history, rows)
    commit = history.changes.commit[changes].astype(np.int64)
    mask = change_groups.commit_mask(snapshot, *request.dates)[commit]
    passing = filter_changes(history, request.files)
    if passing is not None:
        mask = mask & passing[changes]

    rows, commit = RowNumbers(rows[mask]), commit[mask]
    _, is_removed = line_numbers(history, rows)
    persons = people.of_identities(snapshot)[history.commits.author[commit]]
    time = history.commits.commit_time[commit]
    codes, keys = change_groups.group_rows(persons, time, request.period)
    count = len(keys[0])
    first, last = bounds(codes, time, count)

    # Each row is an added or a removed line.
    removed = total(codes, is_removed, count)
    values = {
        "added": total(codes, np.ones(len(codes)), count) - removed,
        "removed": removed,
        "commits": count_distinct(codes, commit, count),
        "agent_commits": change_groups.agent_commits(snapshot, codes, commit, count),
        "first": first,
        "last": last,
    }
    commit_keys = change_groups.keys_of_commits(history, commit)
    return change_groups.GroupSums(people.person_set, keys, values, commit_keys=commit_keys)


def _combine_pickaxe(arguments: PickaxeArguments, context: ToolContext, part: PartialResult) -> ToolResult:  # noqa: ARG001 - as all of them
    by = _by(arguments)
    period = period_of(PICKAXE.name, by)
    people = PersonNumbers(PICKAXE.name, arguments.mailmap, join_addresses=arguments.join_addresses)
    rows = change_groups.join_groups(part, people)
    codes, groups = change_groups.regroup(rows, by, period)
    count = len(groups[0])
    nothing = np.zeros(0, np.int64)

    # A commit has one author and one date, and belongs to one repository: so its counts add up.
    sums = {name: total(codes, rows.values.get(name, nothing), count) for name in _SUMS}
    first, _ = bounds(codes, rows.values.get("first", nothing), count)
    _, last = bounds(codes, rows.values.get("last", nothing), count)
    starts = groups[1] if period else np.zeros(count, np.int64)
    table = change_groups.key_columns(by, period, groups, part.names, people)
    order = group_order((starts, -(sums["added"] + sums["removed"])), table)
    table |= {name: pa.array(values) for name, values in sums.items()}
    net = sums["added"] - sums["removed"]
    table["net"] = pa.array(net)
    if period and len(by) == 1:
        # In the order of display, which begins with the period.
        running = np.zeros(count, np.int64)
        running[order] = np.cumsum(net[order])
        table["total"] = pa.array(running)

    table |= {
        "first_date": tables.times(first),
        "last_date": tables.times(last),
    }
    drill_columns = {"authors": "author"} if "author" in by else {}
    attributes = change_groups.result_attributes(arguments.revisions, part, people, by, period, drill_columns)
    drill_arguments = attributes["drill_down"]["arguments"]
    drill_arguments |= {"contentTerms": [arguments.pattern], "useRegex": bool(arguments.use_regex)}
    if arguments.files:
        drill_arguments["files"] = list(arguments.files)
    attributes["pattern"] = arguments.pattern
    left_out = Rule("Merges and binary files are left out: they have no changed lines of their own.", "merges")
    notices = [*part.notices, *change_groups.repetitions_of(part, by), left_out]
    if "author" in by:
        notices += people.join_notices(groups[0].tolist())
    shown_table = tables.table("pickaxe", table, count).take(pa.array(order))
    return ToolResult(
        columns="pickaxe", table=shown_table, attributes=attributes, complete=part.complete, notices=tuple(notices)
    )


HANDLERS: tuple[Handler[Any], ...] = (Handler(PICKAXE, Split(_gather_pickaxe, _combine_pickaxe)),)
