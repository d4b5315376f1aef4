"""What an engine holds, read from manifests: nothing is built, and no repository is opened."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from sourcelight.core.batches.overview import RepositoryOverview
from sourcelight.core.errors import SearchIndexError
from sourcelight.engines.execution.disk import kind_bytes
from sourcelight.repos import Repository, Viewer

if TYPE_CHECKING:
    from sourcelight.engines.execution.local import LocalEngine

DETAILED = 20
"""Repositories of which sizes on disk and the state of each index are looked at: 1 ms each."""


def overview(engine: LocalEngine, viewer: Viewer) -> tuple[RepositoryOverview, ...]:
    """Describe the repositories that a viewer may see, by name; the first `DETAILED` of them in detail."""
    repositories = engine.catalog.visible(viewer)
    if not engine.holds_files:
        return tuple(RepositoryOverview(repository.name, repository.facts.commit) for repository in repositories)
    return tuple(
        _overview(engine, repository, detailed=number < DETAILED) for number, repository in enumerate(repositories)
    )


def _overview(engine: LocalEngine, repository: Repository, *, detailed: bool) -> RepositoryOverview:
    target = engine.target_of(repository)
    files = text_bytes = disk_bytes = None
    with suppress(SearchIndexError, OSError):
        view = engine.store.repository_folder(repository.key).manifest().view_of(target.commit)
        if view is not None:
            files, text_bytes = view.files, view.text_bytes
    ready: dict[str, bool] = {}
    if detailed:
        disk_bytes = sum(kind_bytes(engine.store.folder, repository.key).values())
        ready = {
            "text": text_bytes is not None and engine.store.is_current(target),
            "definitions": engine.store.symbols_current(target),
            "ranking": engine.terms.is_current(target),
        }
        if repository.kind == "git":
            ready["history"] = engine.history.is_current(repository)
    return RepositoryOverview(repository.name, target.commit, files, text_bytes, disk_bytes, ready)
