"""Handler of `coupling`: pairs of files that commits change together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.markup.counts import count_of
from sourcelight.core.notices import Rule
from sourcelight.core.tools.analyses import COUPLING, CouplingArguments
from sourcelight.engines.history.search.query import ChangedFileFilter
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler, PartialResult, Split
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.countable_changes import CountableChanges, countable_changes, drill_down
from sourcelight.engines.tools.history.file_kinds import kind_notices
from sourcelight.engines.tools.history.filters import Dates
from sourcelight.engines.tools.history.histories import OpenedHistory, gather_dated
from sourcelight.engines.tools.history.people.change_groups import commit_mask

MAX_PAIRED_FILES = 30
"""Default for the files of a commit that counts for pairs: a larger one reformats or moves files, and pairs all."""

MIN_PAIR_COMMITS = 5
"""Default for the commits that change both files of a pair: fewer may be chance."""

MIN_PAIR_DEGREE = 0.3
"""Default for the degree of a pair, from 0 (no commit in common) to 1 (no other commits)."""


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
        f"Pairs leave out {count_of(skipped, 'commit')} with more than {max_files} files.",
    ]
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


HANDLERS: tuple[Handler[Any], ...] = (Handler(COUPLING, Split(_gather_coupling, _combine_coupling)),)
