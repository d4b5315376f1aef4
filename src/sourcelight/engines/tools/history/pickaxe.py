"""`pickaxe`: when lines that match came and went."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.ordering import group_order
from sourcelight.core.batches.results import Answer
from sourcelight.core.cancellation import Halted
from sourcelight.core.patterns import CompiledPattern
from sourcelight.engines.history.search.find import changes_passing
from sourcelight.engines.history.search.lines import changes_of, rows_with
from sourcelight.engines.history.search.query import Files
from sourcelight.engines.tools.history import columns
from sourcelight.engines.tools.history.columns import line_numbers
from sourcelight.engines.tools.history.counting import Sums, chosen, facts_of, key_columns, keyed, together
from sourcelight.engines.tools.history.filters import Dates, files_of, pattern_of
from sourcelight.engines.tools.history.grouping import bounds, count_distinct, group, period_of, total
from sourcelight.engines.tools.history.opening import Opened, part_of
from sourcelight.engines.tools.history.people import People
from sourcelight.engines.tools.model import Arguments, CallContext
from sourcelight.engines.tools.parting import Part, Parted

CALL = "pickaxe"
_VALUES = ("added", "removed", "commits")


def _by(arguments: Arguments) -> list[str]:
    return list(arguments.get("by") or ["month"])


def _find(arguments: Arguments, context: CallContext) -> Part:
    period = period_of(CALL, _by(arguments))
    regexp = arguments.get("useRegex", False)
    pattern = pattern_of(CALL, "pattern", arguments["pattern"], regexp=regexp, one_line=True)
    wanted = files_of(CALL, arguments.get("files"), regexp=regexp)

    def find(opened: Opened, dates: Dates) -> Sums:
        people = People(CALL, arguments)
        return _sums(opened, people, _Asked(pattern, wanted, period, dates), context)

    return part_of(CALL, arguments, context, find)


@dataclass(frozen=True, slots=True)
class _Asked:
    pattern: CompiledPattern
    files: Files
    period: str | None
    dates: Dates


def _sums(opened: Opened, people: People, asked: _Asked, context: CallContext) -> Sums:
    """Lines that match in one repository, by author and period."""
    history = opened.history
    try:
        rows = rows_with(history, asked.pattern, stopped=lambda: context.cancellation.cancelled)
    except Halted:
        context.cancellation.check()
        raise
    changes = changes_of(history, rows)
    commit = history.changes.commit[changes].astype(np.int64)
    kept = chosen(opened, *asked.dates)[commit]
    passing = changes_passing(history, asked.files)
    if passing is not None:
        kept = kept & passing[changes]
    rows, commit = rows[kept], commit[kept]
    _, gone = line_numbers(history, rows)
    persons = people.of_identities(opened)[history.commits.author[commit]]
    time = history.commits.commit_time[commit]
    codes, keys = keyed(persons, time, asked.period)
    count = len(keys[0])
    first, last = bounds(codes, time, count)
    removed = total(codes, gone, count)
    values = {
        "added": total(codes, np.ones(len(codes)), count) - removed,
        "removed": removed,
        "commits": count_distinct(codes, commit, count),
        "first": first,
        "last": last,
    }
    return Sums(people.met, keys, values)


def _join(arguments: Arguments, context: CallContext, part: Part) -> Answer:  # noqa: ARG001 - as all of them
    by = _by(arguments)
    period = period_of(CALL, by)
    people = People(CALL, arguments)
    rows = together(part, people)
    keys = [rows.person if "author" in by else np.zeros(len(rows.person), np.int64)]
    keys += [rows.start] if period else []
    keys += [rows.repository] if "repository" in by else []
    codes, found = group(keys)
    count = len(found[0])
    nothing = np.zeros(0, np.int64)
    # A commit has one author and one date, and belongs to one repository: so its counts add up.
    added, removed, commits = (total(codes, rows.values.get(name, nothing), count) for name in _VALUES)
    first, _ = bounds(codes, rows.values.get("first", nothing), count)
    _, last = bounds(codes, rows.values.get("last", nothing), count)
    starts = found[1] if period else np.zeros(count, np.int64)
    table = key_columns(by, period, found, part.names, people)
    if "author" not in by:
        table.pop("author"), table.pop("author_email")
    order = group_order((starts, -(added + removed)), table)
    net = added - removed
    running = np.zeros(count, np.int64)
    running[order] = np.cumsum(net[order])
    table |= {
        "added": pa.array(added),
        "removed": pa.array(removed),
        "net": pa.array(net),
        "total": pa.array(running) if period and len(by) == 1 else None,
        "commits": pa.array(commits),
        "first_date": columns.times(first),
        "last_date": columns.times(last),
    }
    drill = {"authors": "author"} if "author" in by else {}
    facts = facts_of(arguments, part, people, by, period, drill)
    fixed = {"contentTerms": [arguments["pattern"]], "useRegex": arguments.get("useRegex", False)}
    facts["drill_down"]["arguments"] |= fixed | ({"files": arguments["files"]} if arguments.get("files") else {})
    facts["pattern"] = arguments["pattern"]
    notices = [*part.notices, "Merges and binary files are left out: they have no changed lines of their own."]
    notices += people.join_notices(found[0].tolist()) if "author" in by else []
    made = columns.table("pickaxe", table, count).take(pa.array(order))
    return Answer("pickaxe", made, facts, part.complete, tuple(notices))


pickaxe = Parted(_find, _join)
"""When lines that match came and went."""
