"""Navigation over one catalog and one index, for every language."""

from __future__ import annotations

from collections.abc import Callable

from sourcelight.engines.navigation.languages import resolver_of
from sourcelight.engines.navigation.scip.index import keep
from sourcelight.engines.navigation.workspace import CACHE_BYTES, ProjectCache, TimeBudget
from sourcelight.engines.search import IndexStore, Target
from sourcelight.repos import Catalog, Repository


class Navigator(ProjectCache):
    """Navigation over one catalog and one index; safe to share between threads.

    Parameters
    ----------
    catalog, store, target_of, cache_bytes
        As of `ProjectCache`.
    """

    def __init__(
        self,
        catalog: Catalog,
        store: IndexStore,
        *,
        target_of: Callable[[Repository], Target] | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        super().__init__(catalog, store, resolver_of, target_of=target_of, cache_bytes=cache_bytes)

    def keep_scip(self, repository: Repository, file: str) -> tuple[int, dict[str, int]]:
        """Store a compiler's index file for the default commit of a repository; it then answers first.

        Returns how many files it covers, and the counts of unusable entries by kind.

        Raises
        ------
        ValueError
            For a file that isn't a SCIP index, is truncated, or belongs to another repository.
        OSError
            When it can't be read or kept.
        """
        project = self.project(repository, "", TimeBudget())
        index = keep(project, file, self.store.folder)
        self.forget_project(project)
        return len(index.positions), index.left_out
