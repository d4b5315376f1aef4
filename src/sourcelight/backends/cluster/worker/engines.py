"""The engines of one worker: one per set of shards that a request names, cached for the next request."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from sourcelight.backends.cluster.storage.generation import Generation, StoredShard, read_generation
from sourcelight.backends.cluster.storage.objects import ShardStorage
from sourcelight.backends.cluster.worker.shard_cache import ShardCache
from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ClusterError
from sourcelight.engines.execution import Limits, LocalEngine
from sourcelight.engines.history.store.store import LocalHistoryStore
from sourcelight.engines.search import IndexStore, Target
from sourcelight.engines.storage.sections import FORMAT as INDEX_FORMAT
from sourcelight.engines.symbols import version as symbols_version
from sourcelight.repos import Catalog, Repository, RepositoryKey

_MAX_GENERATIONS = 3
"""Generations of the index that are open: a search may still read the previous one."""

_MAX_ENGINES = 8
"""Engines that are open, one for each set of shards that a search asks for."""


@functools.cache
def formats() -> str:
    """Return the formats of shards that this version writes and reads."""
    from sourcelight.engines.history.store.folder import FORMAT as HISTORY_FORMAT
    from sourcelight.engines.search.ranking.terms.subject_table import subject_rules
    from sourcelight.engines.search.ranking.terms.term_table import rules

    words = f"words {rules()}, subjects {subject_rules()}"
    return f"index {INDEX_FORMAT}, history {HISTORY_FORMAT}, definitions {symbols_version()}, {words}"


class EngineCache:
    """Engines over the shards of a cache. Safe to share between threads.

    Parameters
    ----------
    storage
        Of the generations.
    cache
        Of the shards.
    """

    def __init__(self, storage: ShardStorage, cache: ShardCache) -> None:
        self.cache = cache
        self._storage = storage
        self._store = IndexStore(os.fspath(cache.index_folder))
        self._histories = LocalHistoryStore(f"{cache.index_folder}-history")
        self._generations: LruCache[str, tuple[Generation, Mapping[str, StoredShard]]] = LruCache(
            _MAX_GENERATIONS,
            on_evict=lambda generation, _: self._engines.discard_where(lambda key: key[0] == generation),
        )
        self._engines: LruCache[tuple[str, tuple[str, ...]], tuple[LocalEngine, tuple[Target, ...]]] = LruCache(
            _MAX_ENGINES
        )
        self._making = threading.Lock()
        cache.on_removed = self._forget

    @contextlib.contextmanager
    def over(
        self, generation: str, names: Sequence[str], cancellation: Cancellation
    ) -> Iterator[tuple[LocalEngine, dict[str, str]]]:
        """Yield an engine over these repositories of a generation, and by name why one could not be had.

        Shards that are not here are fetched; they stay while the engine is used. Raises `ClusterError` for a
        generation that can't be read or does not have the repositories, and `Cancelled`.
        """
        read, entries = self._read(generation)
        strange = [name for name in names if name not in entries]
        if strange:
            raise ClusterError(f"generation {generation[:12]} has no {strange[0]}")

        readable, failed = [], {}
        ours = formats()
        for name in names:
            entry = entries[name]
            if entry.formats == ours:
                readable.append(entry)
            else:
                failed[name] = f"its shard has {entry.formats or 'no format'}; this worker reads {ours}"

        with self.cache.pin(readable, cancellation.check) as (repositories, missing):
            yield self._engine(generation, repositories, read.contexts), failed | missing

    def readable(self, generation: str, names: Sequence[str]) -> list[StoredShard]:
        """Return the shards of these repositories that this version reads; raises `ClusterError` where `over` does."""
        _, entries = self._read(generation)
        ours = formats()
        return [entries[name] for name in names if name in entries and entries[name].formats == ours]

    def _engine(self, generation: str, repositories: Sequence[Repository], contexts: Mapping[str, Any]) -> LocalEngine:
        """Return the engine over these shards: that of an earlier request, with its caches, if it still exists."""

        def make() -> tuple[LocalEngine, tuple[Target, ...]]:
            catalog = Catalog.from_repositories(repositories, contexts=contexts)
            # No limits: what bounds a search is decided by the service that asks.
            engine = LocalEngine(catalog, self._store, limits=Limits(), history=self._histories)
            return engine, tuple(map(engine.target_of, catalog.repositories))

        key = generation, tuple(repository.key for repository in repositories)
        with self._making:  # an engine starts threads: two of the same shards at once would leave one behind
            engine, targets = self._engines.get_or_make(key, make)

        self._store.all_current(targets)  # a search opens what was looked at a moment ago as it is
        return engine

    def _forget(self, keys: Collection[RepositoryKey]) -> None:
        """Close engines and files of shards that are evicted or fetched again."""
        removed = set(keys)
        self._engines.discard_where(lambda key: not removed.isdisjoint(key[1]))
        self._store.forget(keys)
        self._histories.forget(keys)

    def _read(self, generation: str) -> tuple[Generation, Mapping[str, StoredShard]]:
        """Return a generation, and its shards by the names of their repositories."""

        def read() -> tuple[Generation, Mapping[str, StoredShard]]:
            content = read_generation(self._storage, generation)
            return content, {entry.name: entry for entry in content.searchable}

        return self._generations.get_or_make(generation, read)
