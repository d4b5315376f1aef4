"""Build the shard of one repository: index it, read its history, and upload both with its git objects."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from sourcelight.backends.cluster.storage.generation import StoredShard, find_build, record_build
from sourcelight.backends.cluster.storage.objects import ShardStorage
from sourcelight.backends.cluster.storage.shard_files import HISTORY, INDEX, ShardFiles, fetch, publish
from sourcelight.backends.cluster.worker.engines import formats
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ClusterError, RepositoryError, SearchIndexError
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.history.store.store import LocalHistoryStore
from sourcelight.engines.search import IndexStore
from sourcelight.repos import Catalog, Repository, RepositoryKey
from sourcelight.repos.repository import readable_key


def source_of(repository: Repository, max_file_size: int) -> str:
    """Describe the input of a repository's shard; an equal description needs no build."""
    from sourcelight.repos.handles import open_handle

    handle = open_handle(repository.git_dir)
    refs = sorted((name.decode("utf-8", "replace"), str(handle.lookup_reference(os.fsdecode(name)).target))
                  for name in handle.raw_listall_references())  # fmt: skip
    source_json = json.dumps([repository.info.commit, refs, max_file_size, formats(), repository.incomplete])
    return hashlib.sha256(source_json.encode()).hexdigest()


def build_shard(
    repository: Repository,
    storage: ShardStorage,
    folder: Path,
    previous: StoredShard | None = None,
    *,
    max_file_size: int,
    on_step: Callable[[str], None] = lambda _: None,
    cancellation: Cancellation | None = None,
) -> StoredShard:
    """Index a repository, read its history, upload both to storage, and return the entry of its shard.

    The files of the previous shard are fetched first, so that only new contents are read. A shard that an earlier
    build made of the same state is used again, also if that build was killed before its end.

    Raises
    ------
    ClusterError
        When the repository can't be indexed, or storage can't be used.
    RepositoryError
        When the repository can't be read.
    Cancelled
        After ``cancellation.cancel()``.
    """
    cancel = cancellation or Cancellation()
    if repository.kind != "git":
        raise RepositoryError("a cluster can't index a directory without git; commit it, or open it on one machine")

    source = source_of(repository, max_file_size)
    existing = _existing_entry(repository, previous, storage, source)
    if existing is not None:
        return existing

    # The key is made of the name alone, so that every worker finds the same directory; work trees are not searched in a
    # cluster.
    local = replace(repository, key=_key(repository.name), worktree="")
    store = IndexStore(os.fspath(folder / "index"), max_file_size=max_file_size, workers=1)
    histories = LocalHistoryStore(folder / "index-history", workers=1)
    index, history = folder / "index" / local.key, folder / "index-history" / local.key
    if previous is not None and previous.shard and previous.formats == formats() and not index.exists():
        _begin_with(previous, storage, folder, local.key)

    _read_repository(local, store, histories=histories, on_step=on_step, cancellation=cancel)
    on_step("putting into storage")
    try:
        files = publish(local, index, history, storage)
    except OSError as error:
        raise RepositoryError(f"{repository.name} can't be read: {error}") from error

    # The entry describes the commit in the catalog. If the ref moved during the build, the next build does it again.
    view = store.repository_folder(local.key).manifest().view_of(repository.info.commit)
    if view is None:
        raise SearchIndexError(os.fspath(index), "the branch moved while its commit was indexed; build again")

    entry = StoredShard(
        info=repository.info,
        shard=files.keep(storage),
        size=files.size,
        text_bytes=view.text_bytes,
        files=view.files,
        formats=formats(),
        incomplete=repository.incomplete,
        source=source,
    )
    record_build(storage, entry)
    return entry


def _existing_entry(
    repository: Repository, previous: StoredShard | None, storage: ShardStorage, source: str
) -> StoredShard | None:
    """Return the entry of a shard that was built of the same source."""
    if previous is not None and previous.shard and previous.source == source:
        return replace(previous, info=repository.info, problem="")
    # Another builder, or a build that was stopped before it wrote its generation, may have made this shard.
    before = find_build(storage, repository.name, source)
    return None if before is None else replace(before, info=repository.info, problem="")


def _key(name: str) -> RepositoryKey:
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
    return readable_key(name.rpartition("/")[2], digest)


def _begin_with(previous: StoredShard, storage: ShardStorage, folder: Path, key: str) -> None:
    incoming = folder / f"incoming-{key}-{os.urandom(4).hex()}"
    try:
        files = ShardFiles.read(storage, previous.shard).files
        work_files = [file for file in files if not file.path.startswith("git/")]
        fetch(work_files, storage, folder / "objects", incoming)
        for name, directory in ((INDEX, "index"), (HISTORY, "index-history")):
            target = folder / directory / key
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(target, ignore_errors=True)
            (incoming / name).rename(target)
    except ClusterError:
        pass  # the shard is then built from nothing
    finally:
        shutil.rmtree(incoming, ignore_errors=True)
        shutil.rmtree(folder / "objects", ignore_errors=True)


def _read_repository(
    repository: Repository,
    store: IndexStore,
    *,
    histories: LocalHistoryStore,
    on_step: Callable[[str], None],
    cancellation: Cancellation,
) -> None:
    """Index a repository's texts, definitions, words and history; raise `ClusterError` if one of them fails."""
    engine = LocalEngine(Catalog.from_repositories([repository]), store, history=histories)
    on_step("indexing")
    report = engine.update(cancellation=cancellation)
    cancellation.check()
    _check(report.failures)
    targets = [engine.target_of(repository)]
    on_step("finding definitions")
    symbols = store.update_symbols(targets, cancellation=cancellation)
    on_step("reading words")
    terms = engine.terms.update(targets, cancellation=cancellation)
    on_step("reading history")
    history = histories.update([repository], cancellation=cancellation)
    cancellation.check()
    for failures in (symbols.failures, terms.failures, history.failures):
        _check(failures)


def _check(failures: Mapping[str, str]) -> None:
    for reason in failures.values():
        raise ClusterError(reason)
