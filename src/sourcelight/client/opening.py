"""The front doors: over repositories on this machine, and over a service."""

from __future__ import annotations

import asyncio
import os
import re
from typing import Any

from sourcelight.client.aio import AsyncClient
from sourcelight.client.blocking import Client
from sourcelight.client.painting import painting
from sourcelight.client.portal import call
from sourcelight.core.batches import Cancellation
from sourcelight.display.notebook import IndexState, ProgressChoice

_URL = re.compile(r"[a-z][a-z0-9+.-]*://|[\w.-]+@[\w.-]+:", re.IGNORECASE)
Place = str | os.PathLike[str]


async def aopen(
    *paths: Place,
    worktree: bool = False,
    progress: ProgressChoice = None,
    index: Place | None = None,
    prepare: bool = True,
    **options: Any,
) -> AsyncClient:
    """Open repositories on this machine, for `await`; see `open`."""
    return AsyncClient(
        await _embedded(paths, worktree=worktree, progress=progress, index=index, prepare=prepare, **options)
    )


def open(  # noqa: A001 - users write sourcelight.open
    *paths: Place,
    worktree: bool = False,
    progress: ProgressChoice = None,
    index: Place | None = None,
    prepare: bool = True,
    **options: Any,
) -> Client:
    """Open repositories on this machine, indexing what is not indexed yet; no server and no account.

    Parameters
    ----------
    paths
        Folders: every git repository below is taken, and a folder without any as a snapshot of its files. The
        address of a repository is mirrored first, or its mirror brought up to date.
    worktree
        Search work trees as they are on disk, in place of HEAD.
    progress
        Draws the building of the index; see `Client.search`.
    index
        Folder of the index; None: the user's cache folder.
    prepare
        Go on in the background, once text can be searched, with finding definitions; else the first search for them
        begins with that.
    options
        Further ones of `sourcelight.backends.embed.open_engine`, such as ``max_bytes``.

    Raises
    ------
    NoRepositories
        When there is nothing to search below `paths`.
    """
    return Client(call(_embedded, paths, worktree=worktree, progress=progress, index=index, prepare=prepare, **options))


async def _embedded(
    paths: tuple[Place, ...],
    *,
    worktree: bool,
    progress: ProgressChoice,
    index: Place | None,
    prepare: bool,
    **options: Any,
) -> Any:
    cancellation = Cancellation()
    state = IndexState(", ".join(os.fspath(p) for p in paths))

    def work() -> Any:
        # Imported here: it loads the engines, which a client of a service never needs.
        from sourcelight.backends import embed
        from sourcelight.backends.embed.mirror import mirror

        local = [
            mirror(str(p), progress=state.update, cancellation=cancellation) if _URL.match(os.fspath(p)) else p
            for p in paths
        ]
        engine = embed.open_engine(
            local, index=index, worktree=worktree, progress=state.update, cancellation=cancellation, **options
        )
        if prepare:
            engine.definitions.start([engine.target_of(repository) for repository in engine.catalog.repositories])
        return embed.EmbeddedBackend(engine)

    async with painting(state, progress, cancellation.cancel):
        try:
            backend = await asyncio.to_thread(work)
        except asyncio.CancelledError:
            cancellation.cancel()
            state.interrupt()
            raise
        except Exception as exc:
            state.fail(str(exc))
            raise
        state.finish(len(backend.engine.catalog.repositories))
    return backend


async def aconnect(
    url: str | None = None, token: str | None = None, *, bearer: bool = False, **options: Any
) -> AsyncClient:
    """Connect to a service, for `await`; see `connect`."""
    return AsyncClient(_remote(url, token, bearer=bearer, **options))


def connect(url: str | None = None, token: str | None = None, *, bearer: bool = False, **options: Any) -> Client:
    """Connect to a service; nothing is sent before the first search.

    Parameters
    ----------
    url
        Address of the service; None: the environment variable ``SRC_ENDPOINT``.
    token
        Access token; None: ``SRC_ACCESS_TOKEN``, or none at all where the service allows it.
    bearer
        Whether the token is an OAuth token.
    options
        Further ones of `sourcelight.backends.remote.RemoteBackend`.

    Raises
    ------
    ConfigurationError
        When there is no usable address.
    """
    return Client(_remote(url, token, bearer=bearer, **options))


def _remote(url: str | None, token: str | None, *, bearer: bool, **options: Any) -> Any:
    from sourcelight.backends import remote

    endpoint, credential = remote.resolve_endpoint(url, token)
    return remote.RemoteBackend(endpoint, credential, bearer=bearer, **options)
