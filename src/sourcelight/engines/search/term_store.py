"""Part of a module."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

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

_MOST_OPEN_TABLES = 400


@dataclass(slots=True)
class TermStore:
    """The tables of terms of all repositories of an index. Safe to share between threads."""

    store: IndexStore
    _opened: OrderedDict[tuple[str, str], TermTable] = field(default_factory=OrderedDict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def open(self, target: Target) -> OpenedTerms:
        """Open a target; raises as `IndexStore.open` does."""
        snapshot, commit, symbols = self.store.open_symbols(target)
        folder = self.store.repository_folder(target.repository.key)
        names = folder.side_tables(KIND)
        terms = [self._table(folder, names[s.name], s) if s.name in names else None for s in snapshot.shards]
        return OpenedTerms(target, commit, snapshot, symbols, terms)

    def _table(self, folder: IndexFolder, name: str, shard: Shard) -> TermTable | None:
        place = str(folder.path), name
        with self._guard:
            found = self._opened.get(place)
            if found is not None:
                self._opened.move_to_end(place)
        if found is None:
            found = open_terms(folder, name)
            if found is None:
                return None
            with self._guard:
                self._opened[place] = found
                if len(self._opened) > _MOST_OPEN_TABLES:
                    self._opened.popitem(last=False)
        return found if found.documents == shard.documents else None

    def is_current(self, target: Target) -> bool:
        """Tell whether all words of a target are known; False, too, when its text is not indexed."""
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
        """Find the words that are missing for these targets, whose text is indexed by now; definitions first.

        Files and bytes of the report are those whose words were read. What was finished stays when this is stopped or
        killed.
        """
        stop = cancellation or Cancellation()
        found = self.store.update_symbols(targets, progress=progress, cancellation=stop)
        if found.cancelled:
            return found
        run = SideTableUpdate(self.store, _TermsWork(self), self.store.workers, progress, stop)
        for target in targets:
            run.consider(target)
        return run.build()


@dataclass(frozen=True, slots=True)
class _TermsWork:
    """What `SideTableUpdate` is told to do."""

    terms: TermStore
    kind: str = KIND

    def stale(self, target: Target) -> list[Shard]:
        opened = self.terms.open(target)
        return [opened.snapshot.shards[number] for number in opened.stale]

    def build(self, folder: IndexFolder, order: TableBuildOptions, loose: LooseShard | None) -> tuple[int, int] | None:
        return build_table(folder, order, loose)
