"""Build and open tables of commit subjects: one for each commit that is ranked, in the folder of the text index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sourcelight.core.arrays import AnyArray
from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import IndexDamaged, IndexWriteFailed
from sourcelight.engines.search.index.folder import TextIndexFolder
from sourcelight.engines.search.model import Target
from sourcelight.engines.search.ranking.terms.subject_table import SubjectTable, subject_sections
from sourcelight.engines.search.updates import commit_of
from sourcelight.engines.storage.sections import MemorySections, SectionFile, write_sections
from sourcelight.repos import WORKTREE, resolve
from sourcelight.repos.processes.commit_subjects import read_subjects

_KIND: Final = "subjects"

_MAX_OPEN = 200
"""Tables that are open."""

_MAX_UNWRITTEN = 50
"""Tables in memory that could not be written to disk."""

_MAX_COMMITS = 8
"""Commits of a repository whose tables stay: 0.2 to 0.6 CPU seconds make one again."""


def has_subjects(target: Target) -> bool:
    """Return whether a target has a history to read."""
    return target.repository.kind == "git"


@dataclass(slots=True)
class SubjectStore:
    """The tables of subjects of an index. Safe to share between threads."""

    _open: LruCache[tuple[str, str], SubjectTable | None] = field(default_factory=lambda: LruCache(_MAX_OPEN))
    _unwritten: LruCache[tuple[str, str], SubjectTable] = field(default_factory=lambda: LruCache(_MAX_UNWRITTEN))

    def open(self, folder: TextIndexFolder, target: Target) -> SubjectTable | None:
        """Return the table of a target's commit, or None when there is none that can be read."""
        if not has_subjects(target):
            return None

        commit = _commit_of(target)
        name = folder.side_tables(_KIND).get(commit, "")
        if not name:
            return self._unwritten.get((str(folder.path), commit))

        return self._open.get_or_make(
            (str(folder.path), name), lambda: _read(folder, name), keep=lambda table: table is not None
        )

    def update(
        self, folder: TextIndexFolder, target: Target, cancellation: Cancellation, budget_bytes: int | None = None
    ) -> None:
        """Build the table of a target's commit unless it is there.

        Where the disk refuses, or the table is larger than `budget_bytes`, it stays in memory.

        Raises
        ------
        Cancelled
            After ``cancellation.cancel()``.
        """
        if not has_subjects(target) or self.open(folder, target) is not None:
            return

        commit = _commit_of(target)
        metadata, sections = subject_sections(
            read_subjects(target.repository, commit, cancellation), cancellation.check
        )
        size = sum(array.nbytes for array in sections.values())
        try:
            if budget_bytes is None or size <= budget_bytes:
                _write(folder, commit, metadata=metadata, sections=sections, cancellation=cancellation)
                return
        except IndexWriteFailed:
            pass

        table = SubjectTable(MemorySections(_KIND, metadata, sections))
        self._unwritten.put((str(folder.path), commit), table)


def _write(
    folder: TextIndexFolder,
    commit: str,
    *,
    metadata: Mapping[str, Any],
    sections: Mapping[str, AnyArray],
    cancellation: Cancellation,
) -> None:
    with folder.lock(cancellation.check):
        name = write_sections(folder.path, _KIND, metadata, sections)
        # In the order in which they were built, so the oldest go first.
        entries = [pair for pair in folder.side_tables(_KIND).items() if pair[0] != commit]
        folder.replace_side_tables(_KIND, dict([*entries[1 - _MAX_COMMITS :], (commit, name)]))
        folder.discard_unneeded()


def _commit_of(target: Target) -> str:
    """Return the commit whose history counts: for a work tree HEAD, because its own id isn't a commit."""
    if target.revision == WORKTREE:
        return resolve(target.repository, "")
    return commit_of(target)


def _read(folder: TextIndexFolder, name: str) -> SubjectTable | None:
    try:
        file = SectionFile(folder.path / name, _KIND)
        # All bytes at once: a damaged table is found before a ranking depends on it, and built again.
        file.verify()
        return SubjectTable(file)
    except (IndexDamaged, OSError, ValueError, KeyError):
        return None
