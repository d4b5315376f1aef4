"""`pickaxe`: when lines that match came and went."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.answers import Answer
from sourcelight.core.errors import CallError
from sourcelight.core.patterns import CompiledPattern
from sourcelight.core.patterns.halting import Halted
from sourcelight.engines.history.search.commits import changes_passing
from sourcelight.engines.history.search.lines import changes_of, rows_with
from sourcelight.engines.history.search.model import Files
from sourcelight.engines.tools.history import columns
from sourcelight.engines.tools.history.columns import line_numbers
from sourcelight.engines.tools.history.counting import chosen, facts_of, key_columns
from sourcelight.engines.tools.history.filters import dates_of, files_of, pattern_of
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
from sourcelight.engines.tools.history.opening import Histories, open_histories, revisions_of
from sourcelight.engines.tools.model import Arguments, CallContext


def pickaxe(arguments: Arguments, context: CallContext) -> Answer:
    """When lines that match came and went."""
    call = "pickaxe"
    by = arguments.get("by") or ["month"]
    period = period_of(call, by)
    after, before, echoed = dates_of(call, arguments)
    pattern = pattern_of(call, "pattern", arguments["pattern"], regexp=arguments.get("useRegex", False))
    if pattern.multi_line:
        raise CallError(f"{call}: pattern can match a newline; lines are looked at one by one", call=call)
    histories = open_histories(call, context, arguments.get("repos", ()), *revisions_of(arguments))
    people = People(call, arguments.get("mailmap"))
    wanted = files_of(call, arguments.get("files"), regexp=arguments.get("useRegex", False))
    rows = _rows(histories, people, pattern, wanted, (after, before), context)
    parts = [np.concatenate(part) for part in zip(*rows, strict=True)] if rows else [np.zeros(0, np.int64)] * 5
    repository, person, time, gone_lines, commit = parts
    keys = [person if "author" in by else np.zeros(len(person), np.int64)]
    keys += [periods(time, period)[0]] if period else []
    keys += [repository] if "repository" in by else []
    codes, found = group(keys)
    count = len(found[0])
    removed = total(codes, gone_lines, count)
    added = total(codes, 1 - gone_lines, count)
    first, last = bounds(codes, time, count)
    starts = found[1] if period else np.zeros(count, np.int64)
    order = np.lexsort((-(added + removed), starts))
    table = key_columns(by, period, found, histories, people)
    if "author" not in by:
        table.pop("author"), table.pop("author_email")
    net = added - removed
    running = np.zeros(count, np.int64)
    running[order] = np.cumsum(net[order])
    table |= {
        "added": pa.array(added),
        "removed": pa.array(removed),
        "net": pa.array(net),
        "total": pa.array(running) if period and len(by) == 1 else None,
        "commits": pa.array(count_distinct(codes, commit, count)),
        "first_date": columns.times(first),
        "last_date": columns.times(last),
    }
    drill = {"authors": "author"} if "author" in by else {}
    facts = facts_of(arguments, histories, people, by, period, echoed, drill)
    fixed = {"contentTerms": [arguments["pattern"]], "useRegex": arguments.get("useRegex", False)}
    facts["drill_down"]["arguments"] |= fixed | ({"files": arguments["files"]} if arguments.get("files") else {})
    facts["pattern"] = arguments["pattern"]
    notices = [*histories.notices, "Merges and binary files are left out: they have no changed lines of their own."]
    made = columns.table("pickaxe", table, count).take(pa.array(order))
    return Answer("pickaxe", made, facts, histories.complete, tuple(notices))


def _rows(
    histories: Histories,
    people: People,
    pattern: CompiledPattern,
    wanted: Files,
    dates: tuple[int | None, int | None],
    context: CallContext,
) -> list[list[Numbers]]:
    """Repository, person, time, whether removed, and commit of each line that matches, by repository."""
    rows: list[list[Numbers]] = []
    commits_before = 0
    for number, opened in enumerate(histories.opened):
        history = opened.history
        try:
            found_rows = rows_with(history, pattern, stopped=lambda: context.cancellation.cancelled)
        except Halted:
            context.cancellation.check()
            raise
        changes = changes_of(history, found_rows)
        commit = history.changes.commit[changes].astype(np.int64)
        kept = chosen(opened, *dates)[commit]
        passing = changes_passing(history, wanted)
        if passing is not None:
            kept = kept & passing[changes]
        found_rows, commit = found_rows[kept], commit[kept]
        _, gone = line_numbers(history, found_rows)
        rows.append(
            [
                np.full(len(commit), number),
                people.of_identities(history)[history.commits.author[commit]],
                history.commits.commit_time[commit],
                gone.astype(np.int64),
                commit + commits_before,
            ]
        )
        commits_before += len(history.commits)
    return rows
