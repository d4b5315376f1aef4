"""The changes of files, followed back through renames: the one definition of "the commits of a file".

A file has the changes of its path. A commit that renamed another file to the path ends it for all earlier commits:
there the other path counts, and on branches that don't have the rename, both do. Older files of the same path count
too if no rename put the file there, as ``git log --follow`` has them. Merges have no changes; copies aren't followed.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import RENAMED, ChangeNumbers
from sourcelight.engines.history.subtrees import Layout

_CHECK_EVERY = 5_000
"""Commits between two looks at whether the caller asked to stop."""

_MAX_SCOPES = 16
"""Parts of a history in which a file has the same name, by way of different renames; more are united."""


@dataclass(frozen=True, slots=True)
class FileChanges:
    """Changes of several files, by file and then by change; one change may belong to two files.

    Attributes
    ----------
    file
        Index of the file among the paths of the call.
    change
        Number of the change in the history.
    """

    file: Int64Array
    change: Int64Array


def follow_file(
    history: History, layout: Layout, commits: BoolArray, path: bytes, cancellation: Cancellation
) -> ChangeNumbers:
    """Return the changes of the file that the newest of the `commits` call `path`, newest commit first."""
    numbers = np.sort(follow_files(history, layout, commits, [path], cancellation).change)
    changed_in = history.changes.commit[numbers].astype(np.int64)
    order = np.lexsort((numbers, -changed_in, -history.commits.commit_time[changed_in]))
    return ChangeNumbers(numbers[order])


def follow_files(
    history: History, layout: Layout, commits: BoolArray, paths: Sequence[bytes], cancellation: Cancellation
) -> FileChanges:
    """Return the changes of the files that the newest of the `commits`, a mask, call `paths`."""
    number_of = {path: index for index, path in enumerate(paths)}
    file_of = np.array([number_of.get(name, -1) for name in layout.names] or [-1], np.int64)
    changes = history.changes
    renames = np.flatnonzero((changes.status == RENAMED) & commits[changes.commit])

    # No rename led to most files, so their changes are their path's.
    is_renamed = np.zeros(len(file_of), np.bool_)
    is_renamed[layout.path[renames]] = True
    rows = np.flatnonzero(commits[changes.commit])
    simple = np.where(is_renamed, -1, file_of)
    new, old = simple[layout.path[rows]], simple[layout.old_path[rows]]
    is_left_behind = (old >= 0) & (old != new)
    files, numbers = [new[new >= 0], old[is_left_behind]], [rows[new >= 0], rows[is_left_behind]]
    renamed_paths = np.flatnonzero(is_renamed & (file_of >= 0)).tolist()
    if renamed_paths:
        names = _FileNames.of_renames(history, layout, renames, renamed_paths, commits, cancellation)
        rows_by_path = _rows_by_path(layout, rows, names.sources)
        for path in renamed_paths:
            of_file = names.changes_of(path, rows_by_path, changes.commit)
            files.append(np.full(len(of_file), file_of[path], np.int64))
            numbers.append(of_file)

    file, change = np.concatenate(files), np.concatenate(numbers)
    order = np.lexsort((change, file))
    return FileChanges(file[order], change[order])


def _rows_by_path(layout: Layout, rows: Int64Array, paths: Iterable[int]) -> dict[int, Int64Array]:
    """Return the changes of some paths, by either name of a renamed file."""
    is_requested = np.zeros(len(layout.names), np.bool_)
    is_requested[list(paths)] = True
    selected: dict[int, list[int]] = {path: [] for path in np.flatnonzero(is_requested).tolist()}
    rows = rows[is_requested[layout.path[rows]] | is_requested[layout.old_path[rows]]]
    for row, path, old in zip(rows.tolist(), layout.path[rows].tolist(), layout.old_path[rows].tolist(), strict=True):
        for name in {path, old}:
            if name in selected:
                selected[name].append(row)

    return {path: np.array(of_path, np.int64) for path, of_path in selected.items()}


@dataclass(slots=True)
class _NameScope:
    """Commits in which a file has one name: without some renames behind them, and not before some others.

    Renames are bits. `without` are those after which the file has a later name, `ended_by` those to this name, before
    which it has an earlier one.
    """

    without: int
    ended_by: int = 0


@dataclass(slots=True)
class _FileNames:
    """The renames of some files, and which of them each commit has behind or before it.

    A set of commits with renames is an integer with one bit for each, so that a commit that renames nothing shares the
    integer of its parent.

    Attributes
    ----------
    sources
        By path: commit and old path of each rename to it.
    bits
        The bit of each commit that renames.
    behind, ahead
        By commit: the renames that it has behind it, its own included; and those before which it was.
    """

    sources: Mapping[int, Sequence[tuple[int, int]]]
    bits: Mapping[int, int]
    behind: Sequence[int]
    ahead: Sequence[int]
    cancellation: Cancellation

    @classmethod
    def of_renames(
        cls,
        history: History,
        layout: Layout,
        renames: Int64Array,
        paths: Iterable[int],
        commits: BoolArray,
        cancellation: Cancellation,
    ) -> _FileNames:
        """Read the renames that lead to some paths."""
        commit_of = history.changes.commit[renames].tolist()
        pairs = zip(layout.path[renames].tolist(), commit_of, layout.old_path[renames].tolist(), strict=True)
        by_path: dict[int, list[tuple[int, int]]] = {}
        for path, commit, old in pairs:
            by_path.setdefault(path, []).append((commit, old))

        sources: dict[int, list[tuple[int, int]]] = {}
        pending = list(paths)
        while pending:
            path = pending.pop()
            if path not in sources:
                sources[path] = by_path.get(path, [])
                pending += [old for _, old in sources[path]]

        renaming: set[int] = set()
        for renames_to_path in sources.values():
            renaming.update(commit for commit, _ in renames_to_path)
        bits = {commit: 1 << index for index, commit in enumerate(sorted(renaming))}
        behind, ahead = _order(history, commits, bits, cancellation)
        return cls(sources, bits, behind, ahead, cancellation)

    def changes_of(self, path: int, rows_by_path: Mapping[int, Int64Array], commit_of: AnyArray) -> Int64Array:
        """Return the changes of the file that the newest commits call by a path."""
        selected: list[int] = []
        for name, scopes in self._scopes(path).items():
            for row in rows_by_path[name].tolist():
                commit = int(commit_of[row])
                if any(self._includes(scope, commit) for scope in scopes):
                    selected.append(row)
        return np.unique(np.array(selected, np.int64))

    def _scopes(self, path: int) -> dict[int, list[_NameScope]]:
        """Return the names of a file, and where it has them."""
        scopes: dict[int, list[_NameScope]] = {}
        pending: list[tuple[int, int, int, int]] = []

        def add(name: int, without: int) -> None:
            of_name = scopes.setdefault(name, [])
            if len(of_name) < _MAX_SCOPES:
                if any(scope.without == without for scope in of_name):
                    return
                of_name.append(_NameScope(without))
            elif of_name[-1].without & without == of_name[-1].without:
                return
            else:
                of_name[-1].without &= without

            for commit, old in self.sources[name]:
                # The newest rename first: it may hide older ones to the same name.
                heapq.heappush(pending, (-commit, name, len(of_name) - 1, old))

        add(path, 0)
        while pending:
            self.cancellation.check()
            negative, name, index, old = heapq.heappop(pending)
            commit, scope = -negative, scopes[name][index]
            if self._includes(scope, commit):
                scope.ended_by |= self.bits[commit]
                add(old, scope.without | self.bits[commit])

        return scopes

    def _includes(self, scope: _NameScope, commit: int) -> bool:
        has_later_name = self.behind[commit] & scope.without
        has_earlier_name = self.ahead[commit] & scope.ended_by
        return not has_later_name and not has_earlier_name


def _order(
    history: History, commits: BoolArray, bits: Mapping[int, int], cancellation: Cancellation
) -> tuple[list[int], list[int]]:
    """Return, for each commit, the bits of its ancestors and itself, and the bits of its descendants."""
    starts, parents = history.commits.parent_starts.tolist(), history.commits.parents.tolist()
    behind, ahead = [0] * len(commits), [0] * len(commits)

    # Parents have lower numbers than their children.
    numbers = np.flatnonzero(commits).tolist()
    for step, commit in enumerate(numbers):
        if step % _CHECK_EVERY == 0:
            cancellation.check()

        result = 0
        for parent in parents[starts[commit] : starts[commit + 1]]:
            # A parent that a shallow clone lacks is -1.
            if parent >= 0 and behind[parent] is not result:
                result = behind[parent] if not result else result | behind[parent]

        if commit in bits:
            result |= bits[commit]

        behind[commit] = result

    for step, commit in enumerate(reversed(numbers)):
        if step % _CHECK_EVERY == 0:
            cancellation.check()
        result = ahead[commit]
        if commit in bits:
            result |= bits[commit]
        for parent in parents[starts[commit] : starts[commit + 1]]:
            if parent >= 0 and ahead[parent] is not result:
                ahead[parent] = result if not ahead[parent] else ahead[parent] | result

    return behind, ahead
