"""Handlers of `hotspots` and `coupling`: files that change often, and pairs of files that commits change together.

Both count the changes of `countable_changes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches.results import ToolResult, columns_of, group_order
from sourcelight.core.markup.counts import count_of
from sourcelight.core.notices import Rule
from sourcelight.core.tools.analyses import COUPLING, HOTSPOTS, CouplingArguments, HotspotsArguments
from sourcelight.engines.history.blame.line_origins import is_binary_text, line_count
from sourcelight.engines.history.search.query import ChangedFileFilter
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler, PartialResult, Split
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.countable_changes import CountableChanges, countable_changes, drill_down
from sourcelight.engines.tools.history.file_kinds import kind_notices
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

_ID_BYTES = 20
"""Bytes of an object id of git (SHA-1)."""


def _gather_coupling(arguments: CouplingArguments, context: ToolContext) -> PartialResult:
    def find(snapshot: OpenedHistory, dates: Dates) -> _Coupling:
        return _find_pairs(snapshot, arguments, dates, context)

    return gather_dated(COUPLING.name, arguments, context, find)


class _ChangedFile(NamedTuple):
    """A file that a commit changed, by its index in the tree, and the number of the change."""

    file: int
    change: int


@dataclass(frozen=True, slots=True)
class _CoupledPair:
    """Two files of a repository that commits changed together.

    Attributes
    ----------
    shared_commits
        Commits that changed both.
    commits, other_commits
        Commits that changed each.
    degree
        From 0 (no commit in common) to 1 (no other commits).
    last_time
        Time of the last commit that changed both, in seconds since 1970.
    """

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

    pairs: list[_CoupledPair]
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
    for commit, changed_files in _files_by_commit(snapshot, countable):
        # A large commit counts for each of its files, but not for pairs: it would pair all of them.
        commits_of_file.update({changed_file.file for changed_file in changed_files})
        if sizes[commit] > max_files:
            continue

        time = int(times[commit])
        pairs = _pairs_of(changed_files)
        commits_of_pair.update(pairs)
        for files in pairs:
            last_time[files] = max(last_time.get(files, time), time)

    coupled: list[_CoupledPair] = []
    for (file, other_file), count in commits_of_pair.items():
        commits, other_commits = commits_of_file[file], commits_of_file[other_file]
        # The Dice coefficient: 1 if no commit changes one file without the other.
        degree = 2 * count / (commits + other_commits)
        if count >= min_commits and degree >= min_degree:
            pair = _CoupledPair(
                repository=snapshot.name,
                path=countable.name_of(file),
                other_path=countable.name_of(other_file),
                shared_commits=count,
                commits=commits,
                other_commits=other_commits,
                degree=degree,
                last_time=last_time[file, other_file],
            )
            coupled.append(pair)

    return _Coupling(coupled, skipped)


def _files_by_commit(snapshot: OpenedHistory, countable: CountableChanges) -> Iterator[tuple[int, list[_ChangedFile]]]:
    """Yield each commit with the files that it changed."""
    # Changes are numbered by commit, so this order has the changes of each commit together.
    order = np.lexsort((countable.files, countable.changes))
    changes, files = countable.changes[order], countable.files[order]
    commits, first_rows = np.unique(snapshot.history.changes.commit[changes], return_index=True)
    changed_files = list(map(_ChangedFile, files.tolist(), changes.tolist()))
    row_bounds = pairwise([*first_rows.tolist(), len(changed_files)])
    for commit, (start, end) in zip(commits.tolist(), row_bounds, strict=True):
        yield commit, changed_files[start:end]


def _pairs_of(changed_files: list[_ChangedFile]) -> set[tuple[int, int]]:
    """Return the pairs of files that a commit changed, each by its own change."""
    pairs = set()
    for (file, change), (other_file, other_change) in combinations(sorted(changed_files), 2):
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
    ]
    if skipped:
        text = f"Pairs leave out {count_of(skipped, 'commit')} with more than {max_files} files."
        notices.append(Rule(text, "coupling"))
    notices += kind_notices(arguments.file_kinds)
    attributes = {
        **part.dates,
        "total": len(all_pairs),
        "drill_down": drill_down(COUPLING.name, arguments, part, columns={"otherPath": "other_path"}),
    }
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
    Handler(COUPLING, Split(_gather_coupling, _combine_coupling)),
    Handler(HOTSPOTS, Split(_gather_hotspots, _combine_hotspots), TEXTS["hotspots"], TableItems("files")),
)
