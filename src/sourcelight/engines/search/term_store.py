"""Open and update the term tables of an index, for ranking.

`ranking/terms/term_files` reads and builds one table; this module sits above it, since it needs `IndexStore`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sourcelight.core.batches.events import IndexProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import SourcelightError
from sourcelight.engines.search.index.folder import TextIndexFolder
from sourcelight.engines.search.index.shard import LooseShard, Shard
from sourcelight.engines.search.model import Target
from sourcelight.engines.search.ranking.terms.term_files import TERMS, OpenedTerms, build_table
from sourcelight.engines.search.ranking.terms.term_table import TermTable
from sourcelight.engines.search.side_tables import OpenTables, TableBuildOptions
from sourcelight.engines.search.store import IndexStore
from sourcelight.engines.search.subject_store import SubjectStore, has_subjects
from sourcelight.engines.search.updates import update_tables
from sourcelight.engines.storage.index_update import IndexReport


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
