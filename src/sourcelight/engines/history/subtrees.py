"""Paths of merged subtrees: commits of another history name their paths from another root.

``git subtree`` and merges of unrelated histories bring commits whose trees have the files of a library at the top,
while the merge has them in a directory. Here each such commit gets the directory that the first merge of it put its
files into, found by equal contents on both sides of the merge.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.batches import CommitId
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import RepositoryError, RevisionNotFound
from sourcelight.engines.history.history import History
from sourcelight.repos import ObjectReader, Repository

_CHECK_EVERY = 5_000
"""Commits between two looks at whether the caller was cancelled."""


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
    parents_of = _stored_parents(history, reached)
    roots = [number for number in reached if not parents_of[number]]

    # Only a second root can have been merged as a subtree.
    if len(roots) < 2:
        return {}

    # Parents have lower numbers than their children, so the last one is the commit itself.
    main_root = _first_root(reached[-1], parents_of)
    prefixes: dict[int, bytes] = {}
    visited: set[int] = set()
    with ObjectReader(repository) as reader:
        # The oldest merge first: a commit belongs where it was put when it came.
        for merge, parent in _foreign_merges(reached, parents_of, main_root, cancellation):
            if cancellation is not None:
                cancellation.check()

            # One comparison of trees places all commits of the branch, and branches that were placed before need none.
            branch = _unvisited_ancestors(parent, parents_of, visited)
            prefix = _directory(reader, history.oid(merge), history.oid(parent)) if branch else b""
            if prefix:
                prefixes.update(dict.fromkeys(branch, prefix))

    return prefixes


def _stored_parents(history: History, numbers: Sequence[int]) -> dict[int, list[int]]:
    """Return the parents of commits, without those that a shallow clone lacks."""
    commits = history.commits
    starts, flat = commits.parent_starts.tolist(), commits.parents.tolist()
    parents_of: dict[int, list[int]] = {}
    for number in numbers:
        parents = flat[starts[number] : starts[number + 1]]
        parents_of[number] = [parent for parent in parents if parent >= 0]
    return parents_of


def _first_root(number: int, parents_of: Mapping[int, Sequence[int]]) -> int:
    """Return the commit at which the line of first parents begins: that of the repository itself."""
    while parents_of[number]:
        number = parents_of[number][0]
    return number


def _foreign_merges(
    reached: Sequence[int],
    parents_of: Mapping[int, Sequence[int]],
    main_root: int,
    cancellation: Cancellation | None,
) -> list[tuple[int, int]]:
    """Return each merge of another history with the parent that it brought, oldest first."""
    # Commits with the root of the repository among their ancestors. Parents have lower numbers, so one pass is enough.
    main_history: set[int] = set()
    merges: list[tuple[int, int]] = []
    for done, number in enumerate(reached):
        if cancellation is not None and done % _CHECK_EVERY == 0:
            cancellation.check()

        parents = parents_of[number]
        if number == main_root or not main_history.isdisjoint(parents):
            main_history.add(number)
            merges += [(number, parent) for parent in parents if parent not in main_history]

    return merges


def _unvisited_ancestors(number: int, parents_of: Mapping[int, Sequence[int]], visited: set[int]) -> list[int]:
    """Return a commit and its ancestors, as far as they aren't visited, and mark them as visited."""
    ancestors: list[int] = []
    pending = [number]
    while pending:
        current = pending.pop()
        if current not in visited:
            visited.add(current)
            ancestors.append(current)
            pending += parents_of[current]

    return ancestors


def _directory(reader: ObjectReader, merge: CommitId, parent: CommitId) -> bytes:
    """Return the directory of a merge with most files of a parent under their names; empty for the top."""
    try:
        merge_tree, parent_tree = reader.tree(merge), reader.tree(parent)
    except (RepositoryError, RevisionNotFound):  # too large, or missing from the clone: its paths stay unchanged
        return b""

    paths_by_blob: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for index, path in enumerate(parent_tree.paths):
        paths_by_blob[parent_tree.blob_id(index)].append(path)

    # Each file of the parent that the merge has below a directory votes for it.
    votes: Counter[bytes] = Counter()
    for index, path in enumerate(merge_tree.paths):
        for parent_path in paths_by_blob.get(merge_tree.blob_id(index), ()):
            if path == parent_path or path.endswith(b"/" + parent_path):
                votes[path.removesuffix(parent_path)] += 1

    # Of equally many votes the shortest directory, and of these the first by name.
    return min(votes, key=lambda prefix: (-votes[prefix], len(prefix), prefix), default=b"")
