"""What an engine holds, read from manifests: nothing is built, and no repository is opened."""

from __future__ import annotations

from contextlib import suppress

from sourcelight.core.batches.overview import RepositoryOverview
from sourcelight.core.errors import SearchIndexError
from sourcelight.engines.execution.disk import kind_bytes
from sourcelight.engines.execution.repositories import IndexedRepositories
from sourcelight.repos import Repository, Viewer

DETAILED = 20
"""Repositories of which sizes on disk and the state of each index are looked at: 1 ms each."""


def overview(repositories: IndexedRepositories, viewer: Viewer) -> tuple[RepositoryOverview, ...]:
    """Describe the repositories that a viewer may see, by name; the first `DETAILED` of them in detail."""
    return tuple(
        _overview(repositories, repository, detailed=number < DETAILED)
        for number, repository in enumerate(repositories.catalog.visible(viewer))
    )


def _overview(repositories: IndexedRepositories, repository: Repository, *, detailed: bool) -> RepositoryOverview:
    target = repositories.target_of(repository)
    files = text_bytes = disk_bytes = None
    with suppress(SearchIndexError, OSError):
        view = repositories.store.repository_folder(repository.key).manifest().view_of(target.commit)
        if view is not None:
            files, text_bytes = view.files, view.text_bytes
    ready: dict[str, bool] = {}
    if detailed:
        disk_bytes = sum(kind_bytes(repositories.store.folder, repository.key).values())
        ready = {
            "text": text_bytes is not None and repositories.store.is_current(target),
            "definitions": repositories.store.symbols_current(target),
            "ranking": repositories.terms.is_current(target),
        }
        if repository.kind == "git":
            ready["history"] = repositories.history.is_current(repository)
    return RepositoryOverview(repository.name, target.commit, files, text_bytes, disk_bytes, ready)
