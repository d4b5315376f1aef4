"""Open and update the term tables of an index, for ranking.

`ranking/term_files` reads and builds one table; this module sits above it, since it needs `IndexStore`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import SourcelightError
from sourcelight.engines.search.index.folder import IndexFolder
from sourcelight.engines.search.index.shard import LooseShard, Shard
from sourcelight.engines.search.model import IndexProgress, IndexReport, Target
from sourcelight.engines.search.ranking.term_files import KIND, OpenedTerms, build_table, open_terms
from sourcelight.engines.search.ranking.term_table import TermTable
from sourcelight.engines.search.side_tables import TableBuildOptions
from sourcelight.engines.search.store import IndexStore
from sourcelight.engines.search.updates import SideTableUpdate

_MAX_OPEN_TABLES = 400


@dataclass(slots=True)
class TermStore:
    """The term tables of all repositories of an index. Safe to share between threads."""

    store: IndexStore
    _open: LruCache[tuple[str, str], TermTable | None] = field(default_factory=lambda: LruCache(_MAX_OPEN_TABLES))

    def open(self, target: Target) -> OpenedTerms:
        """Open a target; raises as `IndexStore.open` does."""
        snapshot, commit, symbols = self.store.open_symbols(target)
        folder = self.store.repository_folder(target.repository.key)
        names = folder.side_tables(KIND)
        terms = [self._table(folder, names[s.name], s) if s.name in names else None for s in snapshot.shards]
        return OpenedTerms(target, commit, snapshot, symbols, terms)

    def _table(self, folder: IndexFolder, name: str, shard: Shard) -> TermTable | None:
        key = str(folder.path), name
        table = self._open.get_or_make(key, lambda: open_terms(folder, name), keep=lambda table: table is not None)
        return table if table is not None and table.documents == shard.documents else None

    def is_current(self, target: Target) -> bool:
        """Return whether the term tables of a target are complete; False also when its text is not indexed."""
        try:
            return self.store.symbols_current(target) and not self.open(target).stale
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

        Files and bytes of the report are those whose terms were read. Finished tables stay when the update is
        cancelled or killed.
        """
        cancellation = cancellation or Cancellation()
        report = self.store.update_symbols(targets, progress=progress, cancellation=cancellation)
        if report.cancelled:
            return report
        table_update = SideTableUpdate(self.store, _TermTables(self), self.store.workers, progress, cancellation)
        for target in targets:
            table_update.add(target)
        return table_update.build()


@dataclass(frozen=True, slots=True)
class _TermTables:
    """Term tables as a `SideTableKind`."""

    terms: TermStore
    kind: str = KIND

    def stale(self, target: Target) -> list[Shard]:
        opened = self.terms.open(target)
        return [opened.snapshot.shards[number] for number in opened.stale]

    def build(
        self, folder: IndexFolder, options: TableBuildOptions, loose: LooseShard | None
    ) -> tuple[int, int] | None:
        return build_table(folder, options, loose)
