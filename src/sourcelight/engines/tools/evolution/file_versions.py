"""Contents of a file in many commits: from the stored changes, and from directories where merges decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sourcelight.engines.history import History
from sourcelight.engines.history.model import NO_BLOB, RENAMED
from sourcelight.repos import CommitFiles

_MAX_PATHS = 16
"""Paths whose versions are cached during one call."""


@dataclass(frozen=True, slots=True)
class _PathEvents:
    """The history of one path.

    `changes` has the change of it in a commit, and `newest` for each commit the newest commit that decided what the
    path has there: one that changed it, or a merge of parents that differ in this; -1 if there is none.
    """

    changes: dict[int, int]
    newest: list[int]
    blobs: dict[int, bytes | None] = field(default_factory=dict)


@dataclass
class FileVersions:
    """Look up files in the commits of a history, up to the commit `tip`."""

    history: History
    files: CommitFiles
    tip: int
    _events: dict[bytes, _PathEvents] = field(default_factory=dict)

    def change(self, commit: int, path: bytes) -> int | None:
        """Return the change of a path in a commit."""
        return self._events_of(path).changes.get(commit)

    def blob(self, commit: int, path: bytes) -> bytes | None:
        """Return the blob that a commit has at a path, or None for no file."""
        event = self._events_of(path).newest[commit]
        blob = None if event < 0 else self._blob_after(event, path)
        # A file that a merge alone put there has no change that is stored.
        return self.files.blob(self.history.oid(commit), path) if blob is None else blob

    def is_equal_in(self, commits: Sequence[int], path: bytes) -> bool:
        """Return whether the same commit decided what all of some commits have at a path, and it is a file."""
        newest = self._events_of(path).newest
        events = {newest[commit] for commit in commits}
        event = min(events, default=-1)
        return len(events) == 1 and event >= 0 and self._blob_after(event, path) is not None

    def _blob_after(self, event: int, path: bytes) -> bytes | None:
        events = self._events_of(path)
        if event not in events.blobs:
            change = events.changes.get(event)
            if change is None:
                events.blobs[event] = self.files.blob(self.history.oid(event), path)
            else:
                blob = self.history.changes.new_blob[change].tobytes()
                events.blobs[event] = None if blob == NO_BLOB else blob

        return events.blobs[event]

    def _events_of(self, path: bytes) -> _PathEvents:
        events = self._events.get(path)
        if events is None:
            if len(self._events) >= _MAX_PATHS:
                self._events.pop(next(iter(self._events)))
            events = self._events[path] = self._read_events(path)
        return events

    def _read_events(self, path: bytes) -> _PathEvents:
        changes, number = self.history.changes, self.history.paths.numbers.get(path)
        if number is None:
            return _PathEvents({}, [-1] * (self.tip + 1))

        rows = np.flatnonzero(changes.path == number)
        left = np.flatnonzero((changes.old_path == number) & (changes.status == RENAMED))
        of_path = dict(zip(changes.commit[rows].tolist(), rows.tolist(), strict=True))
        events = of_path.keys() | set(changes.commit[left].tolist())
        starts, parents = self._parents
        newest: list[int] = []

        # Parents have lower numbers than their children; a parent that a shallow clone lacks is -1.
        for commit in range(self.tip + 1):
            if commit in events:
                newest.append(commit)
                continue
            behind = {newest[parent] for parent in parents[starts[commit] : starts[commit + 1]] if parent >= 0}
            newest.append(commit if len(behind) > 1 else min(behind, default=-1))

        return _PathEvents(of_path, newest)

    @cached_property
    def _parents(self) -> tuple[list[int], list[int]]:
        commits = self.history.commits
        return commits.parent_starts.tolist(), commits.parents.tolist()
