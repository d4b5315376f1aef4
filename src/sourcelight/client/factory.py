"""Open repositories on this machine, or a cluster that has them.

`aopen` is awaited and `open` blocks; both open the same backend, which for a client of a service is never loaded. A
small index is built before a client is returned; a large one is built in the background while searches read the
repositories themselves. Opening runs in a thread, so that a notebook can draw its progress and interrupt it.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sourcelight.client.portal import call
from sourcelight.client.progress import painting, warn
from sourcelight.client.provenance import CLUSTER
from sourcelight.core.arguments import checks_arguments
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, ConfigurationError
from sourcelight.core.former_names import refuses_former_parameters
from sourcelight.display.notebook import IndexState, ProgressChoice, ProgressSnapshot

if TYPE_CHECKING:
    from pandas import DataFrame

    from sourcelight.client.blocking import Client
    from sourcelight.client.blocking_searches import BlockingSearches
    from sourcelight.client.client import AsyncClient

_URL = re.compile(r"[a-z][a-z0-9+.-]*://|[\w.-]+@[\w.-]+:", re.IGNORECASE)
"""The start of an address of git: ``https://`` or ``git@github.com:``."""


@refuses_former_parameters
@checks_arguments
async def aopen(
    *paths: str | os.PathLike[str],
    worktree: bool = False,
    index_dir: str | os.PathLike[str] | None = None,
    background_index: bool = True,
    config: str | os.PathLike[str] | None = None,
    max_file_bytes: int | None = None,
    max_index_bytes: int | None = None,
    index_workers: int | None = None,
    embedder: Callable[[Sequence[str]], Any] | None = None,
    progress: bool | Callable[[ProgressSnapshot], object] | None = None,
) -> AsyncClient:
    """Open repositories on this machine and return an `AsyncClient`; parameters and errors as in `open`."""
    backend = await _open_embedded(
        paths,
        worktree=worktree,
        index_dir=index_dir,
        background_index=background_index,
        config=config,
        max_file_bytes=max_file_bytes,
        max_index_bytes=max_index_bytes,
        index_workers=index_workers,
        embedder=embedder,
        progress=progress,
    )
    from sourcelight.client.client import AsyncClient

    return AsyncClient(backend)


@refuses_former_parameters
@checks_arguments
def open(  # noqa: A001 - users write sourcelight.open
    *paths: str | os.PathLike[str],
    worktree: bool = False,
    index_dir: str | os.PathLike[str] | None = None,
    background_index: bool = True,
    config: str | os.PathLike[str] | None = None,
    max_file_bytes: int | None = None,
    max_index_bytes: int | None = None,
    index_workers: int | None = None,
    embedder: Callable[[Sequence[str]], Any] | None = None,
    progress: bool | Callable[[ProgressSnapshot], object] | None = None,
) -> Client:
    """Open repositories on this machine and index them as needed; no server and no account.

    Large new directories are indexed in the background. Meanwhile, text searches read the repositories themselves,
    with the same matches; calls that need the index wait for it.

    Parameters
    ----------
    paths
        Directories. Opens every git repository below; a directory without repositories becomes a snapshot of its
        files. For the address of a repository, clones or updates a mirror first.
    worktree
        Search work trees as they are on disk, instead of HEAD.
    index_dir
        Directory of the index; None: the user's cache directory.
    background_index
        Whether to index definitions and terms in the background as soon as text can be searched. If False, the first
        search for definitions, or the first question, starts with that.
    config
        A ``repos.toml`` with names, descriptions and other metadata of repositories. None: the file in each of
        `paths`, or next to a path that is itself a repository. Subdirectories are not searched for it.
    max_file_bytes
        Files above this size are matched by name only; None: 2 MiB.
    max_index_bytes
        Limit of the index on disk. Text beyond it isn't searched, and results report this. None: no limit.
    index_workers
        Processes that build the index; None: one per core.
    embedder
        A function from texts to their vectors, as an array of rows: `nls_search` then also compares the best chunks
        with the question. None: only words and names, without a model.
    progress
        Draws the building of the index; see `Client.search`.

    Returns
    -------
    Client
        A client of the repositories; close it, or use it in a ``with`` statement.

    Raises
    ------
    NoRepositories
        When there is nothing to search below `paths`.
    ConfigurationError
        When `config` is invalid, or a path isn't text, such as a list of paths.
    IndexWriteFailed
        When the index can't be written. For an index that is built in the background, the next call raises it.

    Warns
    -----
    UserWarning
        For settings that are not read, directories that look like repositories, and names that two repositories have.
    """
    backend = call(
        _open_embedded,
        paths,
        worktree=worktree,
        index_dir=index_dir,
        background_index=background_index,
        config=config,
        max_file_bytes=max_file_bytes,
        max_index_bytes=max_index_bytes,
        index_workers=index_workers,
        embedder=embedder,
        progress=progress,
    )
    from sourcelight.client.blocking import Client

    return Client(backend)


def open_searches(
    *paths: str | os.PathLike[str],
    worktree: bool,
    progress: Callable[[ProgressSnapshot], object],
    index_on_demand: bool = False,
    index_small: bool = True,
) -> BlockingSearches:
    """Open repositories for searches and counts alone; parameters and errors as of `open`.

    It loads no tools and no methods of answers, which together take longer than a search of a small repository, and
    builds no definitions.

    Parameters
    ----------
    paths, worktree, progress
        As of `open`.
    index_on_demand
        Build a large index only if a query needs it.
    index_small
        Build a small one now, even so: then the search takes less time.
    """
    from sourcelight.client.blocking_searches import BlockingSearches
    from sourcelight.client.searches import SearchMethods

    backend = call(
        _open_embedded,
        paths,
        worktree=worktree,
        background_index=False,
        progress=progress,
        index_on_demand=index_on_demand,
        index_small=index_small,
    )
    return BlockingSearches(SearchMethods(backend))


def verify(
    markdown: str, *paths: str | os.PathLike[str], repo: str | None = None, revision: str | None = None
) -> DataFrame:
    """Check the citations of a text against the repositories of this machine.

    Parameters
    ----------
    markdown
        The text, with links to lines, ``path:12``, ``path:3-9``, ``path#L3-L9`` and quoted code.
    paths
        Directories with the repositories; none: the current directory.
    repo
        Repository for citations without one; None: the repository that has the file.
    revision
        Branch, tag or commit for citations without one; None: the default branch.

    Returns
    -------
    DataFrame
        One row per citation, with ``status`` and ``reason``; columns as in ``columns_of("citations")``.

    Raises
    ------
    NoRepositories
        When there are no repositories below `paths`.
    """
    with open(*(paths or (".",)), background_index=False, progress=False) as client:
        return client.verify(markdown, repo, revision, progress=False)


@checks_arguments
async def aopen_cluster(
    scheduler: str | Sequence[str], storage: str, *, tls: Mapping[str, str] | None = None
) -> AsyncClient:
    """Open a cluster and return an `AsyncClient`; parameters and errors as in `open_cluster`."""
    from sourcelight.client.client import AsyncClient

    return AsyncClient(await asyncio.to_thread(_cluster, scheduler, storage, tls))


@checks_arguments
def open_cluster(scheduler: str | Sequence[str], storage: str, *, tls: Mapping[str, str] | None = None) -> Client:
    """Open the repositories of a cluster, without a service between.

    These addresses and files let their reader run any code on the workers: they are an administrator's. Everyone else
    connects to a service.

    Parameters
    ----------
    scheduler
        Address of the cluster's scheduler; of two schedulers for two cells.
    storage
        URL of the cluster's shards.
    tls
        Files ``ca``, ``cert`` and ``key`` for addresses with ``tls://``.

    Returns
    -------
    Client
        With the same methods as any other. Its `cluster` describes the workers and the generation.

    Raises
    ------
    ConfigurationError
        For an address that is invalid or not encrypted, or storage without shards.
    MissingExtra
        When the extra ``cluster`` is not installed.
    """
    from sourcelight.client.blocking import Client

    return Client(_cluster(scheduler, storage, tls))


def _cluster(scheduler: str | Sequence[str], storage: str, tls: Mapping[str, str] | None) -> Any:
    from sourcelight.backends import embedded
    from sourcelight.backends.cluster.connection import ClusterConnection
    from sourcelight.backends.cluster.engine import ClusterEngine

    if not scheduler or not storage:
        raise ConfigurationError("a cluster needs the address of its scheduler and the URL of its shards")

    schedulers = (scheduler,) if isinstance(scheduler, str) else tuple(scheduler)
    engine = ClusterEngine(ClusterConnection(schedulers, storage, tls=tls))
    return embedded.EmbeddedBackend(engine, name=f"{CLUSTER}{', '.join(schedulers)}", cluster=engine.cluster)


async def _open_embedded(  # noqa: PLR0913 - those of `open`
    paths: tuple[str | os.PathLike[str], ...],
    *,
    worktree: bool,
    background_index: bool,
    progress: ProgressChoice,
    index_dir: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    max_file_bytes: int | None = None,
    max_index_bytes: int | None = None,
    index_workers: int | None = None,
    embedder: Callable[[Sequence[str]], Any] | None = None,
    index_on_demand: bool = False,
    index_small: bool = True,
) -> Any:
    _check_paths(paths)
    cancellation = Cancellation()
    state = IndexState(", ".join(display_path(os.fspath(path)) for path in paths))

    def open_backend() -> Any:
        # Imported here: it loads the engines, which a client of a service never needs.
        from sourcelight.backends import embedded
        from sourcelight.backends.embedded.factory import mirror

        engine = embedded.open_engine(
            [
                mirror(str(path), progress=state.update, cancellation=cancellation)
                if _URL.match(os.fspath(path))
                else path
                for path in paths
            ],
            index=index_dir,
            config=config,
            worktree=worktree,
            max_file_size=max_file_bytes,
            max_bytes=max_index_bytes,
            workers=index_workers,
            cancellation=cancellation,
            index_now=False,
        )
        engine.embedder = embedder
        # A small index is built at once: a search that had to read files directly would be slower than the build.
        builds_now = engine.index_takes_a_moment() if index_small else engine.is_indexed()
        build_more = partial(_build_more, engine) if background_index else _build_nothing
        # The user of a notebook can wait for an index and interrupt it; a client of a service can't.
        engine.indexing.wait_s = math.inf
        if builds_now:
            engine.update(progress=state.update, cancellation=cancellation)
            build_more()
        else:
            engine.start_indexing(build_more, on_demand=index_on_demand)
        return embedded.EmbeddedBackend(engine)

    async with painting(state, progress, cancellation.cancel):
        try:
            backend = await asyncio.to_thread(open_backend)
        except asyncio.CancelledError:
            # The thread doesn't see that its task was canceled; it stops at its next check of the signal.
            cancellation.cancel()
            state.interrupt()
            raise
        except Cancelled:  # by the Stop button; finished indexes are kept
            state.interrupt()
            raise
        except Exception as exc:
            state.fail(str(exc))
            raise

        state.finish(len(backend.engine.catalog.repositories), in_background=backend.engine.indexing.is_running)

    for text in backend.engine.catalog.unread_settings:
        warn(UserWarning(text))

    return backend


def display_path(path: str) -> str:
    """Return a path or an address for a progress box, which notebooks store and people share.

    An address loses its user name, password and query, and a path the home directory, which has the name of a user.
    """
    if "://" in path and _URL.match(path):
        try:
            parts = urlsplit(path)
            # A password with a slash in it ends in the path.
            if "@" in parts.path:
                return f"{parts.scheme}://{parts.path.rpartition('@')[2]}"
            return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        except ValueError:
            return path.partition("://")[0]

    home = str(Path("~").expanduser()).rstrip(os.sep)
    return "~" + path.removeprefix(home) if home and f"{path}{os.sep}".startswith(home + os.sep) else path


def _build_more(engine: Any) -> None:
    """Start to build what follows a text index."""
    targets = [engine.target_of(repository) for repository in engine.catalog.repositories]
    engine.definitions.start(targets)
    engine.term_updates.start(targets)


def _build_nothing() -> None:
    """Follow a text index with nothing."""


def _check_paths(paths: Iterable[object]) -> None:
    for path in paths:
        if isinstance(path, (list, tuple, set, frozenset)):
            raise ConfigurationError(f"pass paths one by one, got a {type(path).__name__}; write open(*paths)")
        if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str):
            raise ConfigurationError(f"a path must be a str or an os.PathLike of one, got {path!r}")
