"""Handler of `hotspots`: files that change often, with many lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches.results import ToolResult, columns_of, group_order
from sourcelight.core.notices import Rule
from sourcelight.core.tools.analyses import HOTSPOTS, HotspotsArguments
from sourcelight.engines.history.blame.line_origins import is_binary_text, line_count
from sourcelight.engines.history.search.query import ChangedFileFilter
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler, PartialResult, Split
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.countable_changes import countable_changes, drill_down
from sourcelight.engines.tools.history.file_kinds import kind_notices
from sourcelight.engines.tools.history.filters import Dates, files_of
from sourcelight.engines.tools.history.histories import OpenedHistory, gather_dated
from sourcelight.engines.tools.history.people.change_groups import agent_commits
from sourcelight.engines.tools.history.people.person_set import PersonNumbers
from sourcelight.engines.tools.history.tables import bounds, count_distinct, total
from sourcelight.engines.tools.pages.items import TableItems
from sourcelight.engines.tools.rows import TEXTS
from sourcelight.repos import CommitTree, ObjectReader

_ID_BYTES = 20
"""Bytes of an object id of git (SHA-1)."""


def _gather_hotspots(arguments: HotspotsArguments, context: ToolContext) -> PartialResult:
    file_filter = files_of(HOTSPOTS.name, arguments.files, regexp=False)

    def find(selection: OpenedHistory, dates: Dates) -> _Hotspots:
        return _score_files(selection, file_filter, dates=dates, arguments=arguments, context=context)

    return gather_dated(HOTSPOTS.name, arguments, context, find)


@dataclass(frozen=True, slots=True)
class _Hotspots:
    """Files of one repository, at most as many as the limit, with a score for each, and the number of all files."""

    scores: Any
    rows: Any
    total: int


def _score_files(
    snapshot: OpenedHistory,
    file_filter: ChangedFileFilter,
    *,
    dates: Dates,
    arguments: HotspotsArguments,
    context: ToolContext,
) -> _Hotspots:
    history = snapshot.history
    changes = history.changes
    countable = countable_changes(snapshot, file_filter, dates, arguments.file_kinds, context)
    # From here on, arrays with a value for each change: `codes` has the row of its file in the table.
    files, codes = np.unique(countable.files, return_inverse=True)
    count = len(files)
    change_rows = countable.changes
    commit = changes.commit[change_rows].astype(np.int64)
    commits = count_distinct(codes, commit, count)
    persons = PersonNumbers(HOTSPOTS.name, join_addresses=arguments.join_addresses).of_identities(snapshot)
    people = persons[history.commits.author[commit]]
    lines = _count_lines(snapshot, countable.tree, files, context)

    # The logarithm, because a file of twice the lines isn't twice as hot; binary files (-1 lines) score 0.
    scores = commits * np.log1p(np.maximum(lines, 0))
    first, last = bounds(codes, history.commits.commit_time[commit], count)
    rows = tables.table(
        "hotspots",
        {
            "repository": snapshot.name,
            "path": list(map(countable.name_of, files.tolist())),
            "commits": pa.array(commits),
            "authors": pa.array(count_distinct(codes, people, count)),
            "additions": pa.array(total(codes, np.maximum(changes.additions[change_rows], 0), count)),
            "deletions": pa.array(total(codes, np.maximum(changes.deletions[change_rows], 0), count)),
            "lines": pa.array(lines, mask=lines < 0),
            "score": pa.array(np.zeros(count)),
            "first_date": tables.times(first),
            "last_date": tables.times(last),
            "agent_commits": pa.array(agent_commits(snapshot, codes, commit, count)),
        },
        count,
    )
    limit: int | None = arguments.limit
    if not limit or limit >= count:
        return _Hotspots(scores, rows, count)

    # Sorted back into row order: the coordinator ranks rows again, by scores of all repositories.
    best = np.sort(group_order((-scores,), columns_of(rows))[:limit].to_numpy())
    return _Hotspots(scores[best], tables.compact(rows.take(pa.array(best))), count)


def _combine_hotspots(arguments: HotspotsArguments, context: ToolContext, part: PartialResult) -> ToolResult:  # noqa: ARG001 - as all of them
    partials: list[_Hotspots] = list(part.results.values())
    table = tables.join("hotspots", [partial.rows for partial in partials])
    scores = np.concatenate([np.zeros(0), *(partial.scores for partial in partials)])

    # Only here is the highest score of all repositories known.
    maximum = float(scores.max()) if len(scores) and scores.max() > 0 else 1.0
    column_index = table.schema.get_field_index("score")
    table = table.set_column(column_index, table.schema.field(column_index), pa.array(scores / maximum))
    order = group_order((-scores,), columns_of(table))
    limit = arguments.limit
    left_out = Rule("Merges and deleted files are left out; renamed files keep their commits.", "merges")
    notices = [*part.notices, left_out]
    notices += kind_notices(arguments.file_kinds)
    attributes = {
        **part.dates,
        "total": sum(partial.total for partial in partials),
        "drill_down": drill_down(HOTSPOTS.name, arguments, part, columns={}),
    }
    table = table.take(order[:limit] if limit else order)
    return ToolResult(
        columns="hotspots", table=table, attributes=attributes, complete=part.complete, notices=tuple(notices)
    )


def _count_lines(snapshot: OpenedHistory, tree: CommitTree, files: Int64Array, context: ToolContext) -> Int64Array:
    """Return lines of some files of a tree, or -1 for binary and missing ones."""
    line_counts = np.full(len(files), -1, np.int64)
    with ObjectReader(snapshot.repository) as reader:
        for index, file in enumerate(files.tolist()):
            context.cancellation.check()
            data = reader.read(tree.blob_ids[file * _ID_BYTES : (file + 1) * _ID_BYTES])
            if data is not None and not is_binary_text(data):
                line_counts[index] = line_count(data)

    return line_counts


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(HOTSPOTS, Split(_gather_hotspots, _combine_hotspots), TEXTS["hotspots"], TableItems("files")),
)
