"""Build a generation on the workers of a cluster: many repositories in parallel, failures as data.

Repositories are built largest first, by the workers of a scheduler or by threads of this process. One that fails keeps
its former shard, with the problem in its entry. The generation is written at the end and in one step, so that searches
see the former one until then.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from sourcelight.backends.cluster.build.shards import build_shard
from sourcelight.backends.cluster.storage.generation import Generation, StoredShard, read_current, write_generation
from sourcelight.backends.cluster.storage.objects import ShardStorage
from sourcelight.backends.cluster.transport.connections import dask_client
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, ClusterError, SourcelightError
from sourcelight.core.markup import count_of
from sourcelight.engines.search.model import DEFAULT_MAX_FILE_SIZE
from sourcelight.repos import Catalog, Repository
from sourcelight.repos.repository import UNKNOWN_LENDER

NO_WORKER_S = 60.0
"""Seconds without any worker after which a build ends; Dask itself waits forever."""

_LOOK_S, _COUNT_S = 0.1, 2.0
"""Seconds between two looks at the results of workers, and between two counts of the workers that are left."""

_Outcome = tuple[str, StoredShard | str]
"""Name of a repository, and its new entry or the problem."""


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """Progress of a build: repositories done of all, the latest one, and its outcome."""

    done: int
    total: int
    repository: str = ""
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class BuildReport:
    """The report of a build, with names of repositories.

    Attributes
    ----------
    built, current
        Repositories with a new shard, and repositories that did not change.
    failures
        Repositories that could not be built, with the reason; their former shards stay in use.
    removed
        Repositories of the former generation that the catalog no longer has.
    generation
        The generation that is searched from now on.
    """

    built: tuple[str, ...]
    current: tuple[str, ...]
    failures: Mapping[str, str]
    removed: tuple[str, ...]
    generation: Generation


class _BuildOrder(NamedTuple):
    """Arguments of `build_one`."""

    repository: Repository
    previous: StoredShard | None
    storage: str
    folder: str
    max_file_size: int


def build_generation(
    catalog: Catalog,
    storage: ShardStorage,
    *,
    cluster: str = "",
    tls: Mapping[str, str] | None = None,
    work: str | os.PathLike[str] | None = None,
    workers: int = 1,
    max_file_size: int = DEFAULT_MAX_FILE_SIZE,
    progress: Callable[[BuildProgress], None] | None = None,
    cancellation: Cancellation | None = None,
) -> BuildReport:
    """Build the shards of all repositories of a catalog, and make them the current generation in one step.

    Repositories that did not change since the former generation are not built again. A repository that fails, or whose
    workers die until the scheduler gives up, keeps its former shard, and the report names it. If the build is killed,
    searches keep the former generation, and the next build finds the shards that are already in storage.

    Parameters
    ----------
    catalog
        Repositories; with `cluster`, at paths that its workers see too.
    storage
        Where shards go.
    cluster, tls
        Address of a scheduler whose workers build, and its TLS files; empty: this process builds.
    work
        Folder that keeps indexes between builds, on each machine that builds; None: a temporary one.
    workers
        Repositories that this process builds at once, without `cluster`.
    max_file_size
        Bytes above which a file is matched by name only.
    progress
        Called for each repository that is done.
    cancellation
        Ends it; the former generation stays.

    Raises
    ------
    ClusterError
        When storage or the cluster can't be used, or the cluster has no worker for `NO_WORKER_S` seconds.
    Cancelled
        After ``cancellation.cancel()``.
    """
    cancel = cancellation or Cancellation()
    report = progress or (lambda _: None)
    previous = read_current(storage)
    previous_entries = {} if previous is None else {entry.name: entry for entry in previous.entries}
    entry_by_name: dict[str, StoredShard] = {}
    with tempfile.TemporaryDirectory() as temporary:
        # Workers of a cluster make a temporary folder of their own.
        default_folder = "" if cluster else temporary
        folder = default_folder if work is None else os.fspath(work)

        # Largest first: a large repository that starts last would keep one worker busy while all others are idle.
        orders = [
            _BuildOrder(
                repository=repository,
                previous=previous_entries.get(repository.name),
                storage=storage.url,
                folder=folder,
                max_file_size=max_file_size,
            )
            for repository in sorted(catalog.repositories, key=lambda repository: -_git_bytes(repository))
        ]
        outcomes = _on_cluster(orders, cluster, tls, cancel) if cluster else _in_process(orders, workers, cancel)
        for name, outcome in outcomes:
            if isinstance(outcome, StoredShard):
                entry = outcome
            else:
                entry = _set_aside(catalog.get(name), previous_entries, outcome)
            entry_by_name[name] = entry
            report(
                BuildProgress(
                    done=len(entry_by_name), total=len(orders), repository=name, outcome=entry.problem or "done"
                )
            )

    cancel.check()
    lenders = _lenders(catalog.repositories)
    entries = tuple(_with_lenders(entry_by_name[name], lenders[name]) for name in sorted(entry_by_name))
    generation = Generation(entries=entries, contexts=catalog.contexts, skipped=catalog.skipped)

    # An unchanged generation is not written again: its id stays, so workers keep what they have open.
    if previous is not None and generation.equals(previous):
        generation = previous
    else:
        generation = write_generation(storage, generation, "" if previous is None else previous.id)

    return _report(entries, previous_entries, generation)


def _git_bytes(repository: Repository) -> int:
    """Return bytes of packed objects, which predict the work of a build."""
    if repository.kind != "git":
        return 0
    packs = Path(repository.git_dir) / "objects" / "pack"
    try:
        return sum(path.stat().st_size for path in packs.iterdir())
    except OSError:
        return 0


def _in_process(orders: Sequence[_BuildOrder], workers: int, cancellation: Cancellation) -> Iterator[_Outcome]:
    with ThreadPoolExecutor(max(workers, 1)) as pool:
        # Threads are enough: large repositories are read in processes of their own, and uploads wait for storage.
        names = {pool.submit(build_one, *order): order.repository.name for order in orders}
        try:
            for future in as_completed(names):
                cancellation.check()
                yield names[future], future.result()
        except BaseException:
            # `wait`: a build that still runs must not write after the caller saw it stopped.
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def build_one(
    repository: Repository, previous: StoredShard | None, storage: str, folder: str, max_file_size: int
) -> StoredShard | str:
    """Build one shard; gives its entry, or why it could not be built. What runs on a worker."""
    with tempfile.TemporaryDirectory() as temporary:
        try:
            return build_shard(
                repository, ShardStorage(storage), Path(folder or temporary), previous, max_file_size=max_file_size
            )
        except (SourcelightError, OSError, MemoryError) as exc:
            return str(exc) or type(exc).__name__


def _on_cluster(
    orders: Sequence[_BuildOrder], scheduler: str, tls: Mapping[str, str] | None, cancellation: Cancellation
) -> Iterator[_Outcome]:
    client = dask_client(scheduler, tls)
    pending: dict[str, Any] = {}
    try:
        for priority, order in enumerate(orders):
            name = order.repository.name
            pending[name] = client.submit(
                build_one,
                *order,
                # Unique: a scheduler returns the result of a task that it already knows by its key.
                key=f"sourcelight-build-{name}-{time.time_ns()}",
                # Dask runs higher priorities first; the orders are sorted by falling size.
                priority=-priority,
                retries=0,
                # Dask would otherwise take equal arguments for the same task and return an old result.
                pure=False,
            )

        present = _Present(client, scheduler)
        while pending:
            cancellation.check()
            present.check()
            for name in [name for name, future in pending.items() if future.done()]:
                future = pending.pop(name)
                yield name, _entry_or_problem(future)
                # The shard is in storage; the result is only its entry, which the scheduler need not keep.
                future.release()
            time.sleep(_LOOK_S)
    except BaseException:
        client.cancel(list(pending.values()), force=True)
        raise
    finally:
        client.close()


def _entry_or_problem(future: Any) -> StoredShard | str:
    from distributed.scheduler import KilledWorker

    try:
        entry: StoredShard | str = future.result()
    except KilledWorker as error:
        return f"{count_of(error.allowed_failures + 1, 'worker')} died while building it (not enough memory?)"
    except Cancelled:
        raise
    except Exception as exc:  # noqa: BLE001 - any error belongs to the task's repository
        return f"{type(exc).__name__}: {exc}"

    return entry


class _Present:
    """Looks from time to time whether a cluster has any worker."""

    def __init__(self, client: Any, scheduler: str) -> None:
        self._client = client
        self._scheduler = scheduler
        self._seen = time.monotonic()
        self._looked = 0.0

    def check(self) -> None:
        """Raise `ClusterError` when there was none for `NO_WORKER_S` seconds."""
        now = time.monotonic()
        if now - self._looked < _COUNT_S:
            return

        try:
            there = bool(self._client.nthreads())
        except (OSError, TimeoutError):  # its scheduler does not answer
            there = False

        self._looked = time.monotonic()
        if there:
            self._seen = self._looked
        elif now - self._seen > NO_WORKER_S:
            raise ClusterError(
                f"the cluster at {self._scheduler} has no worker: start some with "
                f"`sourcelight worker --scheduler {self._scheduler} --storage … --cache-dir … --name …`"
            )


def _set_aside(repository: Repository, previous_entries: Mapping[str, StoredShard], problem: str) -> StoredShard:
    previous = previous_entries.get(repository.name)
    if previous is None or not previous.shard:
        return StoredShard(repository.info, problem=problem)
    # A repository that has become private hides its former shard, too.
    private = previous.info.private or repository.info.private
    return replace(previous, info=replace(previous.info, private=private), problem=problem)


def _lenders(repositories: Sequence[Repository]) -> dict[str, tuple[str, ...]]:
    """Return the names of the repositories that each borrows from."""
    # A lender is known by its directory here and by its name in the cluster, where directories differ by worker.
    names = {repository.canonical_path: repository.name for repository in repositories if repository.canonical_path}
    return {
        repository.name: tuple(names.get(lender, UNKNOWN_LENDER) for lender in repository.lenders)
        for repository in repositories
    }


def _with_lenders(entry: StoredShard, lenders: tuple[str, ...]) -> StoredShard:
    """Return an entry with the private repositories that it borrows from; a former shard keeps its own."""
    previous = entry.lenders if entry.problem else ()
    return replace(entry, lenders=tuple(sorted({*lenders, *previous})))


def _report(
    entries: Sequence[StoredShard], previous_entries: Mapping[str, StoredShard], generation: Generation
) -> BuildReport:
    failures = {entry.name: entry.problem for entry in entries if entry.problem}
    # A repository with a problem keeps its former shard, and is neither built nor current.
    complete = [entry for entry in entries if not entry.problem]
    current = {
        entry.name
        for entry in complete
        if entry.name in previous_entries and previous_entries[entry.name].shard == entry.shard
    }
    return BuildReport(
        built=tuple(entry.name for entry in complete if entry.name not in current),
        current=tuple(sorted(current)),
        failures=failures,
        removed=tuple(sorted(previous_entries.keys() - {entry.name for entry in entries})),
        generation=generation,
    )
