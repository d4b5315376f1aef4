"""Paths of merged subtrees: commits of another history name their paths from another root.

``git subtree`` and merges of unrelated histories bring commits whose trees have the files of a library at the top,
while the merge has them in a directory. Here each such commit gets the directory that the first merge of it put its
files into, found by equal contents on both sides of the merge.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.batches import CommitId
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import RepositoryError, RevisionNotFound
from sourcelight.engines.history.history import History
from sourcelight.repos import ObjectReader, Repository

_CHECK_EVERY = 5_000


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Paths of changes as the trees of the newest commit's line of history have them.

    Attributes
    ----------
    names
        Paths by number: the history's paths first.
    path, old_path
        Number of the path of each change, and of its path before the change.
    moved
        Whether a change is of a commit whose own paths have another root.
    """

    names: Sequence[bytes]
    path: Int64Array
    old_path: Int64Array
    moved: BoolArray

    def text(self, number: int) -> str:
        """Return a path as text, invalid UTF-8 as U+FFFD."""
        return self.names[number].decode("utf-8", "replace")


def layout_of(
    history: History, repository: Repository, commit: str, cancellation: Cancellation | None = None
) -> Layout:
    """Find the paths of all changes behind a commit; kept as long as the snapshot of the history.

    Parameters
    ----------
    history
        Holds `commit`.
    repository
        Where the trees of merges are read.
    commit
        40 hex digits.
    cancellation
        Checked every few thousand commits.

    Raises
    ------
    KeyError
        If the history does not hold the commit.
    Cancelled
        After ``cancellation.cancel()``.
    """
    return history.remember(f"layout of {commit}", lambda: _layout(history, repository, commit, cancellation))


def _layout(history: History, repository: Repository, commit: str, cancellation: Cancellation | None) -> Layout:
    changes = history.changes
    prefixes = _prefixes(history, repository, commit, cancellation)
    path, old_path = changes.path.astype(np.int64), changes.old_path.astype(np.int64)
    moved = np.zeros(len(changes), np.bool_)
    if not prefixes:
        return Layout(history.paths, path, old_path, moved)

    names, numbers = list(history.paths), dict(history.paths.numbers)

    def number_of(name: bytes) -> int:
        if name not in numbers:
            numbers[name] = len(names)
            names.append(name)
        return numbers[name]

    starts = history.commits.change_starts
    for commit_number, prefix in prefixes.items():
        for change in range(int(starts[commit_number]), int(starts[commit_number + 1])):
            path[change] = number_of(prefix + history.paths[path[change]])
            old_path[change] = number_of(prefix + history.paths[old_path[change]])
            moved[change] = True

    return Layout(names, path, old_path, moved)


def _prefixes(
    history: History, repository: Repository, commit: str, cancellation: Cancellation | None
) -> dict[int, bytes]:
    """Return the directory of each commit that has one, with a slash at its end."""
    reached = np.flatnonzero(history.reachable(commit)).tolist()
    commits = history.commits
    starts, flat = commits.parent_starts.tolist(), commits.parents.tolist()
    parents = {
        number: [position for position in flat[starts[number] : starts[number + 1]] if position >= 0]
        for number in reached
    }
    roots = [number for number in reached if not parents[number]]

    # Only a second root can have been merged as a subtree.
    if len(roots) < 2:
        return {}

    first = reached[-1] if history.position(commit) is None else history.position(commit)
    while first is not None and parents[first]:
        first = parents[first][0]

    main_line: set[int] = set()
    merges: list[tuple[int, int]] = []
    for done, number in enumerate(reached):
        if cancellation is not None and done % _CHECK_EVERY == 0:
            cancellation.check()
        if number == first or any(parent in main_line for parent in parents[number]):
            main_line.add(number)
            merges += [(number, parent) for parent in parents[number] if parent not in main_line]

    prefixes: dict[int, bytes] = {}
    visited: set[int] = set()
    with ObjectReader(repository) as reader:
        # The oldest merge first: a commit belongs where it was put when it came.
        for merge, parent in merges:
            if cancellation is not None:
                cancellation.check()

            prefix = None
            pending = [parent]
            while pending:
                number = pending.pop()
                if number in visited:
                    continue
                visited.add(number)
                if prefix is None:
                    prefix = _directory(reader, history.oid(merge), history.oid(parent))
                if prefix:
                    prefixes[number] = prefix
                pending += parents[number]

    return prefixes


def _directory(reader: ObjectReader, merge: CommitId, parent: CommitId) -> bytes:
    """Return the directory of a merge with most files of a parent under their names; empty for the top."""
    try:
        merge_tree, parent_tree = reader.tree(merge), reader.tree(parent)
    except (RepositoryError, RevisionNotFound):  # too large, or missing from the clone: its paths stay unchanged
        return b""

    paths_by_blob: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for index, path in enumerate(parent_tree.paths):
        paths_by_blob[parent_tree.blob_id(index)].append(path)

    votes: Counter[bytes] = Counter()
    for index, path in enumerate(merge_tree.paths):
        for parent_path in paths_by_blob.get(merge_tree.blob_id(index), ()):
            if path == parent_path or path.endswith(b"/" + parent_path):
                votes[path[: len(path) - len(parent_path)]] += 1

    return min(votes, key=lambda prefix: (-votes[prefix], len(prefix), prefix), default=b"")
