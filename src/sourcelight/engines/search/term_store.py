"""Open and update the term tables of an index, for ranking: those of files, and those of commit subjects.

`ranking/terms/term_files` reads and builds one table; this module sits above it, since it needs `IndexStore`. There is
one table of subjects for each commit that is ranked, in the folder of the text index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sourcelight.core.arrays import AnyArray
from sourcelight.core.batches.events import IndexProgress
from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import IndexDamaged, IndexWriteFailed, SourcelightError
from sourcelight.engines.search.index.folder import TextIndexFolder
from sourcelight.engines.search.index.shard import LooseShard, Shard
from sourcelight.engines.search.model import Target
from sourcelight.engines.search.ranking.terms.subject_table import SubjectTable, subject_sections
from sourcelight.engines.search.ranking.terms.term_files import TERMS, OpenedTerms, build_table
from sourcelight.engines.search.ranking.terms.term_table import TermTable
from sourcelight.engines.search.side_tables import OpenTables, TableBuildOptions
from sourcelight.engines.search.store import IndexStore
from sourcelight.engines.search.updates import commit_of, update_tables
from sourcelight.engines.storage.index_update import IndexReport
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


@dataclass(slots=True)
class TermStore:
    """The term tables of all repositories of an index. Safe to share between threads.

    Parameters
    ----------
    store
        The index. A table has the terms of one of its shards, and goes when the shard does.
    """

    store: IndexStore
    _open: OpenTables[TermTable] = field(default_factory=lambda: OpenTables(TERMS))
    _subjects: SubjectStore = field(default_factory=SubjectStore)

    def open(self, target: Target) -> OpenedTerms:
        """Open a target; raises as `IndexStore.open` does."""
        snapshot, commit, symbols = self.store.open_symbols(target)
        folder = self.store.repository_folder(target.repository.key)
        terms = self._open.tables(folder, snapshot.shards)
        return OpenedTerms(target, commit, snapshot, symbols, terms, self._subjects.open(folder, target))

    def is_current(self, target: Target) -> bool:
        """Return whether the term tables of a target are complete; False also when its text is not indexed."""
        try:
            if not self.store.symbols_current(target):
                return False
            open_terms = self.open(target)
            return not open_terms.stale and (open_terms.subjects is not None or not has_subjects(target))
        except (SourcelightError, OSError):
            return False

    def update(
        self,
        targets: Sequence[Target],
        *,
        progress: Callable[[IndexProgress], None] | None = None,
        cancellation: Cancellation | None = None,
    ) -> IndexReport:
        """Build the missing term tables of targets whose text is indexed, after their definitions.

        Files and bytes of the report count the files whose terms were read. Finished tables stay when the update is
        cancelled or killed.
        """
        cancellation = cancellation or Cancellation()
        report = self.store.update_symbols(targets, progress=progress, cancellation=cancellation)
        if report.cancelled:
            return report

        report = update_tables(self.store, _TermTables(self), targets, progress, cancellation)
        for target in targets if not report.cancelled else ():
            if target.repository.name not in report.failures:
                folder = self.store.repository_folder(target.repository.key)
                self._subjects.update(folder, target, cancellation, self.store.budget_bytes())

        return report


@dataclass(frozen=True, slots=True)
class _TermTables:
    """Term tables as a `SideTableKind`."""

    terms: TermStore
    kind: str = TERMS.kind

    def stale(self, target: Target) -> list[Shard]:
        open_table = self.terms.open(target)
        return [open_table.snapshot.shards[number] for number in open_table.stale]

    def build(
        self, folder: TextIndexFolder, options: TableBuildOptions, loose: LooseShard | None
    ) -> tuple[int, int] | None:
        return build_table(folder, options, loose)
