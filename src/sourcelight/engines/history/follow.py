"""Follow directories back through renames.

The walk goes from a commit to its parents and carries, for each commit, the names that the thing has there. So a name
that two branches use for two files is not mixed up, as it is where one name holds for all commits older than a rename.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sourcelight.core.arrays import BoolArray
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import RENAMED, ChangeNumbers
from sourcelight.engines.history.subtrees import Layout

_CHECK_EVERY = 5_000
"""Commits between two checks for cancellation."""

DirectoryCheck = Callable[[int, bytes], bool]
"""Whether a commit, by number, has a directory; the name ends with a slash."""


@dataclass(frozen=True, slots=True)
class _PathNames:
    """Names of the followed path in one commit: files by path number, directories with a slash at the end.

    The top directory is the empty name, with which every path starts.
    """

    files: frozenset[int]
    directories: frozenset[bytes] = frozenset()

    def __or__(self, other: _PathNames) -> _PathNames:
        if self == other:
            return self
        return _PathNames(self.files | other.files, self.directories | other.directories)


def follow_directory(
    history: History, layout: Layout, tip: int, path: bytes, cancellation: Cancellation, has_directory: DirectoryCheck
) -> ChangeNumbers:
    """Return the changes of files of a directory, newest commit first; `path` has no slash at its end.

    The empty path is the top directory, which has every file.

    Files that were moved into it keep their earlier changes. A directory is renamed by a commit that moves most of the
    files that it moves into the directory from one other, under the same names, and leaves nothing there: before it,
    all files of that other directory count. `has_directory`: whether something is left.
    """
    return _PathWalk(history, layout, cancellation, has_directory).run(
        tip, _PathNames(frozenset(), frozenset({path + b"/" if path else b""}))
    )


class _PathWalk:
    """One walk over the commits of a history, children before parents."""

    def __init__(
        self, history: History, layout: Layout, cancellation: Cancellation, has_directory: DirectoryCheck
    ) -> None:
        self._history = history
        self._layout = layout
        self._cancellation = cancellation
        self._has_directory = has_directory
        self._inside: dict[frozenset[bytes], BoolArray] = {}

    def run(self, tip: int, names: _PathNames) -> ChangeNumbers:
        commits, pending = self._history.commits, {tip: names}
        starts, parents = commits.parent_starts, commits.parents
        selected: list[int] = []

        # Parents have lower numbers than their children, so all children of a commit are done before it.
        for commit in range(tip, -1, -1):
            if commit % _CHECK_EVERY == 0:
                self._cancellation.check()

            current = pending.pop(commit, None)
            if current is None:
                continue

            changes = self._changes_of(commit, current)
            # Merges have none of their own: names pass through them to every parent, as `git log --follow` has it.
            selected += changes
            before = self._names_before(commit, changes, current)
            for parent in parents[starts[commit] : starts[commit + 1]].tolist():
                # A parent that a shallow clone lacks is -1. Two children may know a parent's file by two names.
                if parent >= 0:
                    pending[parent] = pending[parent] | before if parent in pending else before

        numbers = np.array(selected, np.int64)
        changed_in = self._history.changes.commit[numbers].astype(np.int64)
        order = np.lexsort((numbers, -changed_in, -commits.commit_time[changed_in]))
        return ChangeNumbers(numbers[order])

    def _changes_of(self, commit: int, names: _PathNames) -> list[int]:
        first, end = self._history.commits.change_starts[commit : commit + 2].tolist()
        if first == end:
            return []

        new, old = self._layout.path[first:end], self._layout.old_path[first:end]
        if names.directories:
            # A file that leaves the directory is a change of it, too, so either name will do.
            inside = self._inside_of(names.directories)
            mask = inside[new] | inside[old]
        else:
            mask = np.zeros(end - first, np.bool_)

        # Most commits change a few files: sets answer sooner than a search in a sorted array.
        if names.files:
            pairs = zip(new.tolist(), old.tolist(), strict=True)
            mask |= np.array([path in names.files or other in names.files for path, other in pairs], np.bool_)

        return [first + index for index in np.flatnonzero(mask).tolist()]

    def _inside_of(self, directories: frozenset[bytes]) -> BoolArray:
        # Names of directories change a few times in a history, so that a mask over all paths is made a few times.
        mask = self._inside.get(directories)
        if mask is None:
            prefixes = tuple(directories)
            mask = np.array([name.startswith(prefixes) for name in self._layout.names] or [False], np.bool_)
            self._inside[directories] = mask
        return mask

    def _names_before(self, commit: int, changes: list[int], names: _PathNames) -> _PathNames:
        """Return names of the followed path before a commit."""
        renames = [(old, new) for old, new in self._renames(changes) if self._is_named(new, names)]
        if not renames:
            return names

        # Of a file that left one of the directories for another, the directory's own name covers the past.
        moved_from = self._directories_before(commit, renames, names) - names.directories
        directories = names.directories | moved_from
        inside = self._inside_of(directories) if directories else None
        files = names.files - {new for _, new in renames}
        return _PathNames(files | {old for old, _ in renames if inside is None or not inside[old]}, directories)

    def _renames(self, changes: list[int]) -> Iterator[tuple[int, int]]:
        status, layout = self._history.changes.status, self._layout
        for change in changes:
            if status[change] == RENAMED:
                yield int(layout.old_path[change]), int(layout.path[change])

    def _is_named(self, number: int, names: _PathNames) -> bool:
        return number in names.files or bool(names.directories and self._inside_of(names.directories)[number])

    def _directories_before(self, commit: int, renames: list[tuple[int, int]], names: _PathNames) -> frozenset[bytes]:
        """Return the directories that a commit renamed to one of `names`."""
        moved: dict[bytes, dict[bytes, int]] = {}
        for old, new in renames:
            old_name, new_name = self._layout.names[old], self._layout.names[new]
            for directory in names.directories:
                remaining = new_name.removeprefix(directory)
                if remaining != new_name and old_name.endswith(b"/" + remaining):
                    sources = moved.setdefault(directory, {})
                    source = old_name[: len(old_name) - len(remaining)]
                    sources[source] = sources.get(source, 0) + 1

        renamed = set()
        # Two directories can be merged into one: only the source of most of the files was renamed. What is left
        # behind keeps the old name, so that this is no rename; git's merge looks for renames likewise.
        for sources in moved.values():
            source, count = max(sources.items(), key=lambda item: (item[1], item[0]))
            if 2 * count > sum(sources.values()) and not self._has_directory(commit, source):
                renamed.add(source)

        return frozenset(renamed)
