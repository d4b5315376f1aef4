"""The changes of files, followed back through renames: the one definition of "the commits of a file".

A file has the changes of its path. A commit that renamed another file to the path ends it for all earlier commits:
there the other path counts, and on branches that don't have the rename, both do. Older files of the same path count
too if no rename put the file there, as ``git log --follow`` has them. Merges have no changes; copies aren't followed.

For example::

    4  merges 2 and 3
    3  edits old.py, on a branch from 1
    2  renames old.py to new.py
    1  adds old.py

The file that commit 4 calls ``new.py`` has the changes of 2, 3 and 1: the name ``new.py`` counts where rename 2 isn't
still to come, and the name ``old.py`` where rename 2 hasn't been made. An older file ``new.py`` in commit 1 is another.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import RENAMED, ChangeNumbers
from sourcelight.engines.history.subtrees import Layout

_CHECK_EVERY = 5_000
"""Commits between two looks at whether the caller asked to stop."""

_MAX_SCOPES = 16
"""Scopes of one name of a file; further ones widen the last, since branches that rename to and fro double them."""

_NO_FILE = -1
"""Stands for the index of a file where a path is none of the requested ones."""


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
    changes = np.sort(follow_files(history, layout, commits, [path], cancellation).change)
    commit_numbers = history.changes.commit[changes].astype(np.int64)
    commit_times = history.commits.commit_time[commit_numbers]
    newest_first = np.lexsort((changes, -commit_numbers, -commit_times))
    return ChangeNumbers(changes[newest_first])


def follow_files(
    history: History, layout: Layout, commits: BoolArray, paths: Sequence[bytes], cancellation: Cancellation
) -> FileChanges:
    """Return the changes of the files that the newest of the `commits`, a mask, call `paths`."""
    file_of_path = _files_of_paths(layout, paths)
    changes = np.flatnonzero(commits[history.changes.commit])
    renames = changes[history.changes.status[changes] == RENAMED]
    is_renamed_to = np.zeros(len(layout.names), np.bool_)
    is_renamed_to[layout.path[renames]] = True

    # No rename led to most files, so that the changes of their path are theirs.
    unrenamed = _changes_of_paths(layout, changes, np.where(is_renamed_to, _NO_FILE, file_of_path))
    files, numbers = [unrenamed.file], [unrenamed.change]

    renamed_paths = np.flatnonzero(is_renamed_to & (file_of_path != _NO_FILE)).tolist()
    if renamed_paths:
        names = _FileNames.from_renames(history, layout, renames, renamed_paths, commits, cancellation)
        changes_by_path = _group_by_path(layout, changes, list(names.renames_to))
        for path in renamed_paths:
            of_file = names.changes_of(path, changes_by_path, history.changes.commit)
            files.append(np.full(len(of_file), file_of_path[path], np.int64))
            numbers.append(of_file)

    file = np.concatenate(files)
    change = np.concatenate(numbers)
    order = np.lexsort((change, file))
    return FileChanges(file[order], change[order])


def _files_of_paths(layout: Layout, paths: Sequence[bytes]) -> Int64Array:
    """Return the index among `paths` of each path of a layout, or `_NO_FILE`."""
    file_of_name = {path: file for file, path in enumerate(paths)}
    files = [file_of_name.get(name, _NO_FILE) for name in layout.names]
    return np.array(files, np.int64)


def _changes_of_paths(layout: Layout, changes: Int64Array, file_of_path: Int64Array) -> FileChanges:
    """Return the changes of files that have had one path.

    A rename counts for both of its paths: the file that it took away from a path had the path until then.
    """
    new_file = file_of_path[layout.path[changes]]
    old_file = file_of_path[layout.old_path[changes]]
    has_new = new_file != _NO_FILE
    is_taken_away = (old_file != _NO_FILE) & (old_file != new_file)
    return FileChanges(
        file=np.concatenate([new_file[has_new], old_file[is_taken_away]]),
        change=np.concatenate([changes[has_new], changes[is_taken_away]]),
    )


def _group_by_path(layout: Layout, changes: Int64Array, paths: Sequence[int]) -> dict[int, Int64Array]:
    """Return the changes of each of some paths; a rename counts for both of its paths."""
    is_requested = np.zeros(len(layout.names), np.bool_)
    is_requested[paths] = True
    changes = changes[is_requested[layout.path[changes]] | is_requested[layout.old_path[changes]]]
    new_paths = layout.path[changes].tolist()
    old_paths = layout.old_path[changes].tolist()

    by_path: dict[int, list[int]] = {path: [] for path in paths}
    for change, new_path, old_path in zip(changes.tolist(), new_paths, old_paths, strict=True):
        if new_path in by_path:
            by_path[new_path].append(change)
        if old_path in by_path and old_path != new_path:
            by_path[old_path].append(change)

    return {path: np.array(of_path, np.int64) for path, of_path in by_path.items()}


class _Rename(NamedTuple):
    """One rename to a path: the number of its commit, and of the path that the file had before."""

    commit: int
    old_path: int


@dataclass(slots=True)
class _NameScope:
    """The commits in which a file has one name. Sets of renames are integers with one bit for each.

    Attributes
    ----------
    renames_away
        Renames after which the file has a later name: commits with one of them behind them are outside.
    renames_to
        Renames that gave the file this name, as far as they are known: commits before one of them are outside.
    """

    renames_away: int
    renames_to: int = 0


@dataclass(slots=True)
class _FileNames:
    """The renames of some files, and which of them each commit has behind or ahead of it.

    Attributes
    ----------
    renames_to
        By path: the renames to it.
    bits
        The bit of each commit that renames.
    behind
        By commit: the bits of its ancestors and of itself.
    ahead
        By commit: the bits of its descendants.
    """

    renames_to: Mapping[int, Sequence[_Rename]]
    bits: Mapping[int, int]
    behind: Sequence[int]
    ahead: Sequence[int]
    cancellation: Cancellation

    @classmethod
    def from_renames(
        cls,
        history: History,
        layout: Layout,
        renames: Int64Array,
        paths: Sequence[int],
        commits: BoolArray,
        cancellation: Cancellation,
    ) -> _FileNames:
        """Read those of the `renames` that lead to some paths, over any number of names."""
        renames_to = _renames_that_lead_to(paths, _renames_by_path(history, layout, renames))
        renaming_commits: set[int] = set()
        for renames_to_path in renames_to.values():
            renaming_commits.update(rename.commit for rename in renames_to_path)

        bits = {commit: 1 << index for index, commit in enumerate(sorted(renaming_commits))}
        graph = _CommitGraph.from_history(history, commits)
        return cls(
            renames_to=renames_to,
            bits=bits,
            behind=_bits_behind(graph, bits, cancellation),
            ahead=_bits_ahead(graph, bits, cancellation),
            cancellation=cancellation,
        )

    def changes_of(self, path: int, changes_by_path: Mapping[int, Int64Array], commit_of: AnyArray) -> Int64Array:
        """Return the changes of the file that the newest commits call by a path."""
        selected: list[int] = []
        for name, scopes in self._scopes_of(path).items():
            for change in changes_by_path[name].tolist():
                commit = int(commit_of[change])
                if any(self._includes(scope, commit) for scope in scopes):
                    selected.append(change)

        return np.unique(np.array(selected, np.int64))

    def _scopes_of(self, path: int) -> dict[int, list[_NameScope]]:
        """Return the names of a file, and where it has them, from its newest name back."""
        names = _NameScopes(self.renames_to)
        names.add(path, renames_away=0)
        while names.pending:
            self.cancellation.check()
            pending = heapq.heappop(names.pending)
            commit = -pending.negative_commit
            scope = names.scopes[pending.name][pending.scope_index]
            if self._includes(scope, commit):
                scope.renames_to |= self.bits[commit]
                names.add(pending.old_name, scope.renames_away | self.bits[commit])

        return names.scopes

    def _includes(self, scope: _NameScope, commit: int) -> bool:
        has_later_name = self.behind[commit] & scope.renames_away
        has_earlier_name = self.ahead[commit] & scope.renames_to
        return not has_later_name and not has_earlier_name


class _PendingRename(NamedTuple):
    """A rename to follow if its commit is in the scope. Tuples compare by their first item: the newest is smallest."""

    negative_commit: int
    name: int
    scope_index: int
    old_name: int


@dataclass(slots=True)
class _NameScopes:
    """The scopes of a file by name, and a heap of the renames that may lead to further names."""

    renames_to: Mapping[int, Sequence[_Rename]]
    scopes: dict[int, list[_NameScope]] = field(default_factory=dict)
    pending: list[_PendingRename] = field(default_factory=list)

    def add(self, name: int, renames_away: int) -> None:
        """Add a scope of a name, unless its commits are in one of the name's scopes."""
        scopes = self.scopes.setdefault(name, [])
        if len(scopes) < _MAX_SCOPES:
            if any(scope.renames_away == renames_away for scope in scopes):
                return
            scopes.append(_NameScope(renames_away))
        else:
            # A set of fewer renames excludes fewer commits: the last scope gets those of both.
            united = scopes[-1].renames_away & renames_away
            if united == scopes[-1].renames_away:
                return
            scopes[-1].renames_away = united

        for rename in self.renames_to[name]:
            # The newest rename first: it may hide older ones to the same name.
            heapq.heappush(self.pending, _PendingRename(-rename.commit, name, len(scopes) - 1, rename.old_path))


def _renames_by_path(history: History, layout: Layout, renames: Int64Array) -> dict[int, list[_Rename]]:
    commits = history.changes.commit[renames].tolist()
    new_paths = layout.path[renames].tolist()
    old_paths = layout.old_path[renames].tolist()
    by_path: dict[int, list[_Rename]] = {}
    for commit, new_path, old_path in zip(commits, new_paths, old_paths, strict=True):
        by_path.setdefault(new_path, []).append(_Rename(commit, old_path))
    return by_path


def _renames_that_lead_to(
    paths: Sequence[int], renames_by_path: Mapping[int, Sequence[_Rename]]
) -> dict[int, Sequence[_Rename]]:
    """Return the renames to some paths, to the paths before these, and so on; no renames for the first ones."""
    renames_to: dict[int, Sequence[_Rename]] = {}
    pending = list(paths)
    while pending:
        path = pending.pop()
        if path not in renames_to:
            renames_to[path] = renames_by_path.get(path, [])
            pending += [rename.old_path for rename in renames_to[path]]
    return renames_to


@dataclass(frozen=True, slots=True)
class _CommitGraph:
    """Some commits of a history and their parents. Parents have lower numbers than their children.

    Attributes
    ----------
    commits
        Numbers of the commits, ascending.
    starts, parents
        The parents of commit i are ``parents[starts[i]:starts[i + 1]]``; -1 is a parent that a shallow clone lacks.
    size
        Number of all commits of the history.
    """

    commits: list[int]
    starts: list[int]
    parents: list[int]
    size: int

    @classmethod
    def from_history(cls, history: History, commits: BoolArray) -> _CommitGraph:
        """Take the commits of a mask."""
        return cls(
            commits=np.flatnonzero(commits).tolist(),
            starts=history.commits.parent_starts.tolist(),
            parents=history.commits.parents.tolist(),
            size=len(commits),
        )


def _bits_behind(graph: _CommitGraph, bits: Mapping[int, int], cancellation: Cancellation) -> list[int]:
    """Return, for each commit, the bits of its ancestors and of itself."""
    behind = [0] * graph.size
    for step, commit in enumerate(graph.commits):
        if step % _CHECK_EVERY == 0:
            cancellation.check()

        united = 0
        for parent in graph.parents[graph.starts[commit] : graph.starts[commit + 1]]:
            if parent >= 0:
                united = _unite(united, behind[parent])

        behind[commit] = _unite(united, bits.get(commit, 0))

    return behind


def _bits_ahead(graph: _CommitGraph, bits: Mapping[int, int], cancellation: Cancellation) -> list[int]:
    """Return, for each commit, the bits of its descendants."""
    ahead = [0] * graph.size
    for step, commit in enumerate(reversed(graph.commits)):
        if step % _CHECK_EVERY == 0:
            cancellation.check()

        united = _unite(ahead[commit], bits.get(commit, 0))
        for parent in graph.parents[graph.starts[commit] : graph.starts[commit + 1]]:
            if parent >= 0:
                ahead[parent] = _unite(ahead[parent], united)

    return ahead


def _unite(first: int, second: int) -> int:
    """Return the bits of both sets, as one of the two integers where possible.

    Most commits rename nothing. They then share the integer of their parent: a new one for each of 100,000 commits with
    1,000 renames would take 16 MB.
    """
    if first is second or not second:
        return first
    if not first:
        return second
    return first | second
