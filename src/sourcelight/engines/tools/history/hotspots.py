"""Handlers of `hotspots` and `coupling`: files that change often, or together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import AnyArray, Int64Array
from sourcelight.core.batches.results import ToolResult, columns_of, group_order
from sourcelight.core.markup.counts import count_of
from sourcelight.core.notices import Rule
from sourcelight.core.tools.analyses import (
    COUPLING,
    HOTSPOTS,
    CouplingArguments,
    HotspotsArguments,
)
from sourcelight.core.tools.tool import Arguments
from sourcelight.engines.history.blame.line_origins import is_binary_text, line_count
from sourcelight.engines.history.file_history import FileChanges, follow_files
from sourcelight.engines.history.search.filters import filter_changes
from sourcelight.engines.history.search.query import ChangedFileFilter
from sourcelight.engines.history.subtrees import Layout
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler, PartialResult, Split
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.file_kinds import are_of_kinds, kind_notices
from sourcelight.engines.tools.history.filters import Dates, files_of
from sourcelight.engines.tools.history.histories import OpenedHistory, gather_dated
from sourcelight.engines.tools.history.people.change_groups import agent_commits, commit_mask
from sourcelight.engines.tools.history.people.person_set import PersonNumbers
from sourcelight.engines.tools.history.tables import bounds, count_distinct, total
from sourcelight.engines.tools.pages.items import TableItems
from sourcelight.engines.tools.rows import TEXTS
from sourcelight.repos import CommitTree, ObjectReader

MAX_PAIRED_FILES = 30
"""Default for the files of a commit that counts for pairs: a larger one reformats or moves files, and pairs all."""

MIN_PAIR_COMMITS = 5
"""Default for the commits that change both files of a pair: fewer may be chance."""

MIN_PAIR_DEGREE = 0.3
"""Default for the degree of a pair, from 0 (no commit in common) to 1 (no other commits)."""

_NARROWING = ("files", "revisions", "fileKinds", "maxFiles")
"""Arguments that select commits: those behind a row are selected by the same."""

_ID_BYTES = 20
"""Bytes of an object id of git."""

_ALL_DATES: Dates = (None, None)


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
    countable = countable_changes(snapshot, file_filter, dates, arguments.file_kinds, context)
    files, codes = np.unique(countable.files, return_inverse=True)
    count = len(files)
    change_rows = countable.changes
    commit = changes.commit[change_rows].astype(np.int64)
    commits = count_distinct(codes, commit, count)
    persons = PersonNumbers(HOTSPOTS.name, join_addresses=arguments.join_addresses).of_identities(snapshot)
    people = persons[history.commits.author[commit]]
    lines = _lines(snapshot, countable.tree, files, context)

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
    if not limit or limit >= count:
        return _Hotspots(scores, rows, count)

    # Sorted back into row order: the coordinator ranks rows again, by scores of all repositories.
    best = np.sort(group_order((-scores,), columns_of(rows))[:limit].to_numpy())
    return _Hotspots(scores[best], tables.compact(rows.take(pa.array(best))), count)


@dataclass(frozen=True, slots=True)
class CountableChanges:
    """Changes that count, and the index of each one's file in the current tree.

    A change may belong to two files: a renamed file, and a later file with its former path.
    """

    changes: Int64Array
    files: Int64Array
    tree: CommitTree

    def name_of(self, file: int) -> str:
        """Return the path of a file, as it is displayed."""
        return self.tree.paths[file].decode("utf-8", "replace")

    def of_path(self, path: str | None) -> Int64Array:
        """Return the changes of the files that are displayed with a path."""
        files = [file for file, name in enumerate(self.tree.paths) if name.decode("utf-8", "replace") == path]
        return self.changes[np.isin(self.files, files)]


def countable_changes(
    snapshot: OpenedHistory,
    file_filter: ChangedFileFilter,
    dates: Dates,
    file_kinds: Sequence[str] | None,
    context: ToolContext,
) -> CountableChanges:
    """Return the changes that pass the filters, of files that the current commit has under any name."""
    layout = snapshot.layout(context)
    tree, file_changes = _follow_current_files(snapshot, layout, context)
    files, changes = file_changes.file, file_changes.change
    mask = commit_mask(snapshot, *dates)[snapshot.history.changes.commit[changes]]
    passing = filter_changes(snapshot.history, file_filter, layout=layout)
    if passing is not None:
        mask = mask & passing[changes]

    files, changes = files[mask], changes[mask]
    kinds_mask = are_of_kinds(snapshot, tree.paths, files, file_kinds, context)
    return CountableChanges(changes[kinds_mask], files[kinds_mask], tree)


def commits_of_files(selection: OpenedHistory, context: ToolContext) -> dict[str, int]:
    """Return how many commits changed each file of the commit under any of its names, as `hotspots` counts them."""
    countable = _all_changes(selection, context)
    files, codes = np.unique(countable.files, return_inverse=True)
    commits = selection.history.changes.commit[countable.changes].astype(np.int64)
    counts = count_distinct(codes, commits, len(files))
    return dict(zip(map(countable.name_of, files.tolist()), counts.tolist(), strict=True))


def _all_changes(selection: OpenedHistory, context: ToolContext) -> CountableChanges:
    return countable_changes(selection, ChangedFileFilter(), _ALL_DATES, file_kinds=None, context=context)


def commits_beside(
    selection: OpenedHistory, path: str, other_paths: Sequence[str], context: ToolContext
) -> dict[str, tuple[int, int]]:
    """Return, for each of `other_paths`, how many commits changed both it and `path`, and how many changed it."""
    countable = _all_changes(selection, context)
    changed_in = selection.history.changes.commit
    changes = countable.of_path(path)
    file_of_name = {name.decode("utf-8", "replace"): file for file, name in enumerate(countable.tree.paths)}
    counts = {}
    for other_path in other_paths:
        other_changes = countable.changes[countable.files == file_of_name.get(other_path, -1)]
        common = common_commits(changed_in, changes, other_changes)
        counts[other_path] = (len(common), len(np.unique(changed_in[other_changes])))

    return counts


def common_commits(changed_in: AnyArray, changes: Int64Array, other_changes: Int64Array) -> Int64Array:
    """Return commits that changed two files, each by a separate change."""
    common = np.intersect1d(changed_in[changes], changed_in[other_changes])
    # A file and a later one with its former path share their past, with one change per commit. It isn't coupling.
    distinct = np.union1d(changes, other_changes)
    commits, counts = np.unique(changed_in[distinct], return_counts=True)
    return np.intersect1d(common, commits[counts > 1]).astype(np.int64)


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
    def find(snapshot: OpenedHistory, dates: Dates) -> _Coupling:
        return _find_pairs(snapshot, arguments, dates, context)

    return gather_dated(COUPLING.name, arguments, context, find)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two files of a repository that commits changed together; `last_time` is in seconds since 1970."""

    repository: str
    path: str
    other_path: str
    shared_commits: int
    commits: int
    other_commits: int
    degree: float
    last_time: int


@dataclass(frozen=True, slots=True)
class _Coupling:
    """Pairs of files of one repository, and how many commits have too many files to count."""

    pairs: list[_Pair]
    skipped: int


def _find_pairs(snapshot: OpenedHistory, arguments: CouplingArguments, dates: Dates, context: ToolContext) -> _Coupling:
    min_commits, min_degree = _thresholds(arguments)
    max_files = arguments.max_files or MAX_PAIRED_FILES
    countable = countable_changes(snapshot, ChangedFileFilter(), dates, arguments.file_kinds, context)
    sizes = np.diff(snapshot.history.commits.change_starts)
    skipped = int((commit_mask(snapshot, *dates) & (sizes > max_files)).sum())
    times = snapshot.history.commits.commit_time
    commits_of_pair: Counter[tuple[int, int]] = Counter()
    commits_of_file: Counter[int] = Counter()
    last_time: dict[tuple[int, int], int] = {}
    for commit, entries in _files_by_commit(snapshot, countable):
        # A large commit counts for each of its files, but not for pairs: it would pair all of them.
        commits_of_file.update({file for file, _ in entries})
        if sizes[commit] > max_files:
            continue

        time = int(times[commit])
        pairs = _pairs_of(entries)
        commits_of_pair.update(pairs)
        for pair in pairs:
            last_time[pair] = max(last_time.get(pair, time), time)

    coupled: list[_Pair] = []
    for (file, other), count in commits_of_pair.items():
        # The Dice coefficient: 1 if no commit changes one file without the other.
        degree = 2 * count / (commits_of_file[file] + commits_of_file[other])
        if count >= min_commits and degree >= min_degree:
            coupled_pair = _Pair(
                repository=snapshot.name,
                path=countable.name_of(file),
                other_path=countable.name_of(other),
                shared_commits=count,
                commits=commits_of_file[file],
                other_commits=commits_of_file[other],
                degree=degree,
                last_time=last_time[file, other],
            )
            coupled.append(coupled_pair)

    return _Coupling(coupled, skipped)


def _files_by_commit(
    snapshot: OpenedHistory, countable: CountableChanges
) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Yield each commit with the files that it changed, and the change of each."""
    # Changes are numbered by commit, so this order has the changes of each commit together.
    order = np.lexsort((countable.files, countable.changes))
    changes, files = countable.changes[order], countable.files[order]
    commits, first_rows = np.unique(snapshot.history.changes.commit[changes], return_index=True)
    entries = list(zip(files.tolist(), changes.tolist(), strict=True))
    row_bounds = pairwise([*first_rows.tolist(), len(entries)])
    for commit, (start, end) in zip(commits.tolist(), row_bounds, strict=True):
        yield commit, entries[start:end]


def _pairs_of(entries: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the pairs of files that a commit changed, each by its own change."""
    pairs = set()
    for (file, change), (other_file, other_change) in combinations(sorted(entries), 2):
        # A renamed file and a later one with its former path share a change, and aren't coupled by it.
        if file != other_file and change != other_change:
            pairs.add((file, other_file))
    return pairs


def _combine_coupling(arguments: CouplingArguments, context: ToolContext, part: PartialResult) -> ToolResult:  # noqa: ARG001 - as all of them
    partials: list[_Coupling] = list(part.results.values())
    all_pairs = list(chain.from_iterable(partial.pairs for partial in partials))
    skipped = sum(partial.skipped for partial in partials)
    all_pairs.sort(key=lambda pair: (-pair.shared_commits * pair.degree, pair.repository, pair.path, pair.other_path))
    pairs = all_pairs[: arguments.limit or len(all_pairs)]
    columns = {
        "repository": [pair.repository for pair in pairs],
        "path": [pair.path for pair in pairs],
        "other_path": [pair.other_path for pair in pairs],
        "shared_commits": [pair.shared_commits for pair in pairs],
        "commits": [pair.commits for pair in pairs],
        "other_commits": [pair.other_commits for pair in pairs],
        "degree": [pair.degree for pair in pairs],
        "last_date": tables.times([pair.last_time for pair in pairs]),
    }
    min_commits, degree = _thresholds(arguments)
    max_files = arguments.max_files or MAX_PAIRED_FILES
    notices = [
        *part.notices,
        Rule(f"Pairs need {min_commits} commits together and a degree of {degree}; merges are left out.", "coupling"),
        f"Pairs leave out {count_of(skipped, 'commit')} with more than {max_files} files.",
    ]
    notices += kind_notices(arguments.file_kinds)
    attributes = {**part.dates, "total": len(all_pairs), "drill_down": _drill(COUPLING.name, arguments, part)}
    return ToolResult(
        columns="coupling",
        table=tables.table("coupling", columns, len(pairs)),
        attributes=attributes,
        complete=part.complete,
        notices=tuple(notices),
    )


def _thresholds(arguments: CouplingArguments) -> tuple[int, float]:
    """Return the fewest commits together and the least degree of a pair."""
    min_degree = MIN_PAIR_DEGREE if arguments.min_degree is None else arguments.min_degree
    return arguments.min_commits or MIN_PAIR_COMMITS, min_degree


def _drill(tool: str, arguments: Arguments, part: PartialResult) -> dict[str, Any]:
    wire_arguments = arguments.to_wire()
    fixed = {name: wire_arguments[name] for name in _NARROWING if wire_arguments.get(name)}
    columns_by_argument = {"repos": "repository", "path": "path"}
    if tool == COUPLING.name:
        columns_by_argument["otherPath"] = "other_path"
    return {
        "call": "commits_behind",
        "arguments": {"of": tool, **fixed, **part.dates},
        "columns": columns_by_argument,
    }


def _follow_current_files(
    snapshot: OpenedHistory, layout: Layout, context: ToolContext
) -> tuple[CommitTree, FileChanges]:
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
            data = reader.read(tree.blob_ids[file * _ID_BYTES : (file + 1) * _ID_BYTES])
            if data is not None and not is_binary_text(data):
                line_counts[index] = line_count(data)

    return line_counts


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(HOTSPOTS, Split(_gather_hotspots, _combine_hotspots), TEXTS["hotspots"], TableItems("files")),
    Handler(COUPLING, Split(_gather_coupling, _combine_coupling)),
)
