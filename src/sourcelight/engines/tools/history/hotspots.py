"""Handlers of `hotspots` and `coupling`, files that change often or together, and of `commits_behind`.

A path isn't enough to select these commits: a file has earlier paths, and other files may have had them too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array
from sourcelight.core.batches.results import ToolResult, columns_of, group_order
from sourcelight.core.cancellation import ScanStopped
from sourcelight.core.markup.counts import count_of
from sourcelight.core.notices import Rule
from sourcelight.core.tools.analyses import (
    COMMITS_BEHIND,
    COUPLING,
    HOTSPOTS,
    CommitsBehindArguments,
    CouplingArguments,
    HotspotsArguments,
)
from sourcelight.core.tools.tool import Arguments
from sourcelight.engines.history import History
from sourcelight.engines.history.blame.line_origins import is_binary_text, line_count
from sourcelight.engines.history.file_history import FileChanges, follow_files
from sourcelight.engines.history.model import CommitNumbers
from sourcelight.engines.history.search.find import filter_changes, filter_commits, newest_first
from sourcelight.engines.history.search.query import ChangedFileFilter, CommitFilter
from sourcelight.engines.history.subtrees import Layout
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler, PartialResult, Split
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.file_kinds import are_of_kinds, kind_notices
from sourcelight.engines.tools.history.filters import Dates, any_of, dates_of, files_of
from sourcelight.engines.tools.history.histories import OpenedHistory, gather_dated, open_histories, revisions_of
from sourcelight.engines.tools.history.newest_commits import commits_answer, newest_commits
from sourcelight.engines.tools.history.people.change_groups import agent_commits, commit_mask
from sourcelight.engines.tools.history.people.churn import changes_of_row
from sourcelight.engines.tools.history.people.person_set import PersonNumbers
from sourcelight.engines.tools.history.tables import bounds, count_distinct, total
from sourcelight.engines.tools.pages.items import TableItems
from sourcelight.engines.tools.rows import TEXTS
from sourcelight.repos import CommitTree, ObjectReader

_LARGE = 30
_NARROWING = ("files", "revisions", "fileKinds", "maxFiles")
_NEVER = -(1 << 62)


def _gather_hotspots(arguments: HotspotsArguments, context: ToolContext) -> PartialResult:
    file_filter = files_of(HOTSPOTS.name, arguments.files, regexp=False)

    def find(selection: OpenedHistory, dates: Dates) -> _Hotspots:
        return _hot_files(selection, file_filter, dates, arguments, context)

    return gather_dated(HOTSPOTS.name, arguments, context, find)


@dataclass(frozen=True, slots=True)
class _Hotspots:
    """Files of one repository with their scores, at most as many as the limit, and the total number."""

    scores: Any
    rows: Any
    total: int


def _hot_files(
    snapshot: OpenedHistory,
    file_filter: ChangedFileFilter,
    dates: Dates,
    arguments: HotspotsArguments,
    context: ToolContext,
) -> _Hotspots:
    limit: int | None = arguments.limit
    history = snapshot.history
    changes = history.changes
    change_rows, file_of, tree = _countable_changes(snapshot, file_filter, dates, arguments.file_kinds, context)
    distinct, codes = np.unique(file_of, return_inverse=True)
    count = len(distinct)
    commit = changes.commit[change_rows].astype(np.int64)
    commits = count_distinct(codes, commit, count)
    persons = PersonNumbers(HOTSPOTS.name, join_addresses=arguments.join_addresses).of_identities(snapshot)
    people = persons[history.commits.author[commit]]
    lines = _lines(snapshot, tree, distinct, context)

    # The logarithm, because a file of twice the lines isn't twice as hot; binary files (-1 lines) score 0.
    scores = commits * np.log1p(np.maximum(lines, 0))
    first, last = _times(history, codes, commit, count)
    rows = tables.table(
        "hotspots",
        {
            "repository": snapshot.name,
            "path": [tree.paths[index].decode("utf-8", "replace") for index in distinct.tolist()],
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
    if limit and limit < count:
        # Sorted back into row order: the coordinator ranks rows again, by scores of all repositories.
        best = np.sort(group_order((-scores,), columns_of(rows))[:limit].to_numpy())
        return _Hotspots(scores[best], tables.compact(rows.take(pa.array(best))), count)

    return _Hotspots(scores, rows, count)


def _countable_changes(
    snapshot: OpenedHistory,
    file_filter: ChangedFileFilter,
    dates: Dates,
    file_kinds: Sequence[str] | None,
    context: ToolContext,
) -> tuple[Int64Array, Int64Array, CommitTree]:
    """Return the changes that count, the index of each change's file in the current tree, and that tree.

    A change may belong to two files: a renamed file, and a later file with its former path.
    """
    layout = snapshot.layout(context)
    tree, file_changes = _today(snapshot, layout, context)
    file_of, change_rows = file_changes.file, file_changes.change
    mask = commit_mask(snapshot, *dates)[snapshot.history.changes.commit[change_rows]]
    passing = filter_changes(snapshot.history, file_filter, layout=layout)
    mask = mask if passing is None else mask & passing[change_rows]
    file_of, change_rows = file_of[mask], change_rows[mask]
    kinds_mask = are_of_kinds(snapshot, tree.paths, file_of, file_kinds, context)
    return change_rows[kinds_mask], file_of[kinds_mask], tree


def hot_commits(
    selection: OpenedHistory, arguments: CommitsBehindArguments, dates: Dates, context: ToolContext
) -> Int64Array:
    """Return numbers of the commits that the row of today's file `path` counts."""
    file_filter = files_of(HOTSPOTS.name, arguments.files, regexp=False)
    change_rows, file_of, tree = _countable_changes(selection, file_filter, dates, arguments.file_kinds, context)
    return np.unique(
        selection.history.changes.commit[change_rows[np.isin(file_of, _files_named(tree, arguments.path))]]
    )


def commits_of_files(selection: OpenedHistory, context: ToolContext) -> dict[str, int]:
    """Return how many commits changed each file of the commit under any of its names, as `hotspots` counts them."""
    change_rows, file_of, tree = _countable_changes(selection, ChangedFileFilter(), (None, None), None, context)
    distinct, codes = np.unique(file_of, return_inverse=True)
    counts = count_distinct(codes, selection.history.changes.commit[change_rows].astype(np.int64), len(distinct))
    names = (tree.paths[index].decode("utf-8", "replace") for index in distinct.tolist())
    return dict(zip(names, counts.tolist(), strict=True))


def commits_beside(
    selection: OpenedHistory, path: str, other_paths: Sequence[str], context: ToolContext
) -> dict[str, tuple[int, int]]:
    """Return, for each of `other_paths`, how many commits changed both it and `path`, and how many changed it."""
    change_rows, file_of, tree = _countable_changes(selection, ChangedFileFilter(), (None, None), None, context)
    changed_in = selection.history.changes.commit
    of_path = change_rows[np.isin(file_of, _files_named(tree, path))]
    position_of = {name.decode("utf-8", "replace"): index for index, name in enumerate(tree.paths)}
    counts = {}
    for other in other_paths:
        of_other = change_rows[file_of == position_of.get(other, -1)]
        counts[other] = (len(_common_commits(changed_in, of_path, of_other)), len(np.unique(changed_in[of_other])))

    return counts


def _common_commits(changed_in: AnyArray, changes: Int64Array, other_changes: Int64Array) -> Int64Array:
    """Return commits that changed two files, each by a separate change."""
    common = np.intersect1d(changed_in[changes], changed_in[other_changes])
    # A file and a later one with its former path share their past, with one change per commit. It isn't coupling.
    distinct = np.union1d(changes, other_changes)
    commits, counts = np.unique(changed_in[distinct], return_counts=True)
    return np.intersect1d(common, commits[counts > 1]).astype(np.int64)


def paired_commits(
    selection: OpenedHistory, arguments: CommitsBehindArguments, dates: Dates, context: ToolContext
) -> Int64Array:
    """Return numbers of the commits that the row of today's files `path` and `otherPath` counts as changing both."""
    change_rows, file_of, tree = _countable_changes(
        selection, ChangedFileFilter(), dates, arguments.file_kinds, context
    )
    changes, other_changes = (
        change_rows[np.isin(file_of, _files_named(tree, path))] for path in (arguments.path, arguments.other_path)
    )
    common = _common_commits(selection.history.changes.commit, changes, other_changes)

    # `change_starts` has one entry more than there are commits, so differences are changes per commit.
    sizes = np.diff(selection.history.commits.change_starts)[common]
    return common[sizes <= (arguments.max_files or _LARGE)]


def _files_named(tree: CommitTree, path: str | None) -> list[int]:
    """Return the indices of the files that are displayed with a path."""
    return [index for index, raw_name in enumerate(tree.paths) if raw_name.decode("utf-8", "replace") == path]


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
        "drill_down": _drill(HOTSPOTS.name, arguments, part),
    }
    table = table.take(order[:limit] if limit else order)
    return ToolResult(
        columns="hotspots", table=table, attributes=attributes, complete=part.complete, notices=tuple(notices)
    )


def _gather_coupling(arguments: CouplingArguments, context: ToolContext) -> PartialResult:
    return gather_dated(
        COUPLING.name, arguments, context, lambda snapshot, dates: _pairs(snapshot, arguments, dates, context)
    )


def _pairs(
    snapshot: OpenedHistory, arguments: CouplingArguments, dates: Dates, context: ToolContext
) -> tuple[list[tuple[Any, ...]], int]:
    """Return pairs of files of one repository, and how many commits have too many files to count."""
    min_commits, degree = _thresholds(arguments)
    max_files = arguments.max_files or _LARGE
    history = snapshot.history
    starts = history.commits.change_starts
    shared_counts: Counter[tuple[int, int]] = Counter()
    single_counts: Counter[int] = Counter()
    latest: dict[tuple[int, int], int] = {}
    times = history.commits.commit_time
    change_rows, file_of, tree = _countable_changes(snapshot, ChangedFileFilter(), dates, arguments.file_kinds, context)
    sizes = np.diff(starts)
    skipped = int((commit_mask(snapshot, *dates) & (sizes > max_files)).sum())

    # Changes are numbered by commit, so this order has the changes of each commit together.
    order = np.lexsort((file_of, change_rows))
    change_rows, file_of = change_rows[order], file_of[order]
    numbers, first_rows = np.unique(history.changes.commit[change_rows], return_index=True)
    bounds = pairwise([*first_rows.tolist(), len(change_rows)])
    files, changes = file_of.tolist(), change_rows.tolist()
    for number, (start, end) in zip(numbers.tolist(), bounds, strict=True):
        # A large commit counts for each of its files, but not for pairs: it would pair all of them.
        single_counts.update(set(files[start:end]))
        if sizes[number] > max_files:
            continue
        entries = sorted(zip(files[start:end], changes[start:end], strict=True))
        pairs = {(file, other) for (file, change), (other, other_change) in combinations(entries, 2)
                 if file != other and change != other_change}  # fmt: skip
        shared_counts.update(pairs)
        for pair in pairs:
            latest[pair] = max(latest.get(pair, _NEVER), int(times[number]))

    rows: list[tuple[Any, ...]] = []
    for (first, other), count in shared_counts.items():
        # The Dice coefficient: 1 if no commit changes one file without the other.
        share = 2 * count / (single_counts[first] + single_counts[other])
        if count >= min_commits and share >= degree:
            pair_names = [tree.paths[position].decode("utf-8", "replace") for position in (first, other)]
            row = (
                snapshot.name,
                *pair_names,
                count,
                single_counts[first],
                single_counts[other],
                share,
                latest[first, other],
            )
            rows.append(row)

    return rows, skipped


def _combine_coupling(arguments: CouplingArguments, context: ToolContext, part: PartialResult) -> ToolResult:  # noqa: ARG001 - as all of them
    rows = [row for pairs, _ in part.results.values() for row in pairs]
    skipped = sum(count for _, count in part.results.values())
    rows.sort(key=lambda row: (-row[3] * row[6], row[:3]))
    total_rows = len(rows)
    rows = rows[: arguments.limit or total_rows]
    names = ("repository", "path", "other_path", "shared_commits", "commits", "other_commits", "degree")
    table: dict[str, Any] = {name: [row[index] for row in rows] for index, name in enumerate(names)}
    table["last_date"] = tables.times([row[7] for row in rows])
    min_commits, degree = _thresholds(arguments)
    notices = [
        *part.notices,
        Rule(f"Pairs need {min_commits} commits together and a degree of {degree}; merges are left out.", "coupling"),
        f"Pairs leave out {count_of(skipped, 'commit')} with more than {arguments.max_files or _LARGE} files.",
    ]
    notices += kind_notices(arguments.file_kinds)
    attributes = {**part.dates, "total": total_rows, "drill_down": _drill(COUPLING.name, arguments, part)}
    return ToolResult(
        columns="coupling",
        table=tables.table("coupling", table, len(rows)),
        attributes=attributes,
        complete=part.complete,
        notices=tuple(notices),
    )


def _thresholds(arguments: CouplingArguments) -> tuple[int, float]:
    """Return the fewest commits together and the least degree of a pair."""
    return arguments.min_commits or 5, 0.3 if arguments.min_degree is None else arguments.min_degree


def _drill(tool: str, arguments: Arguments, part: PartialResult) -> dict[str, Any]:
    wire_arguments = arguments.to_wire()
    fixed = {name: wire_arguments[name] for name in _NARROWING if wire_arguments.get(name)}
    columns_by_argument = {"repos": "repository", "path": "path"}
    columns_by_argument |= {"otherPath": "other_path"} if tool == COUPLING.name else {}
    return {
        "call": "commits_behind",
        "arguments": {"of": tool, **fixed, **part.dates},
        "columns": columns_by_argument,
    }


def _today(snapshot: OpenedHistory, layout: Layout, context: ToolContext) -> tuple[CommitTree, FileChanges]:
    """Return the files of the commit, and the changes of each under any of its names."""
    with ObjectReader(snapshot.repository) as reader:
        tree = reader.tree(snapshot.commits[0])

    def follow() -> FileChanges:
        return follow_files(snapshot.history, layout, snapshot.mask, tree.paths, context.cancellation)

    # Cached with the history, because readers request the commits of each row separately.
    return tree, snapshot.history.remember(f"file changes {snapshot.commits} {snapshot.without}", follow)


def _lines(snapshot: OpenedHistory, tree: CommitTree, files: Int64Array, context: ToolContext) -> Int64Array:
    """Return lines of some files of a tree, or -1 for binary and missing ones."""
    line_counts = np.full(len(files), -1, np.int64)
    with ObjectReader(snapshot.repository) as reader:
        for index, file in enumerate(files.tolist()):
            context.cancellation.check()
            data = reader.read(tree.blob_ids[file * 20 : file * 20 + 20])
            if data is not None and not is_binary_text(data):
                line_counts[index] = line_count(data)

    return line_counts


def _times(history: History, codes: Int64Array, commits: Int64Array, count: int) -> tuple[Int64Array, Int64Array]:
    return bounds(codes, history.commits.commit_time[commits], count)


_ROWS = {"hotspots": hot_commits, "coupling": paired_commits, "churn": changes_of_row}


def _gather_behind(arguments: CommitsBehindArguments, context: ToolContext) -> PartialResult:
    after, before, echoed = dates_of(COMMITS_BEHIND.name, arguments.after, arguments.before)
    commit_filter = CommitFilter(
        authors=any_of(COMMITS_BEHIND.name, "authors", arguments.authors, regexp=False, one_line=True)
    )
    histories = open_histories(COMMITS_BEHIND.name, context, arguments.repos, *revisions_of(arguments.revisions))
    matches = []
    for snapshot in histories.selections:
        context.cancellation.check()
        mask: BoolArray = np.zeros(len(snapshot.history.commits), np.bool_)
        mask[_ROWS[arguments.of](snapshot, arguments, (after, before), context)] = True

        try:
            mask &= filter_commits(snapshot.history, commit_filter, lambda: context.cancellation.cancelled)
        except ScanStopped:
            context.cancellation.check()
            raise

        commits = CommitNumbers(np.flatnonzero(mask & commit_mask(snapshot, after, before)))
        matches.append((snapshot, newest_first(snapshot.history, commits)))

    return histories.to_partial_result(newest_commits(matches, None), echoed)


def _combine_behind(arguments: CommitsBehindArguments, context: ToolContext, part: PartialResult) -> ToolResult:
    del arguments, context
    return commits_answer(part, None)


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(HOTSPOTS, Split(_gather_hotspots, _combine_hotspots), TEXTS["hotspots"], TableItems("files")),
    Handler(COUPLING, Split(_gather_coupling, _combine_coupling)),
    Handler(COMMITS_BEHIND, Split(_gather_behind, _combine_behind)),
)
