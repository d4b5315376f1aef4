"""The front doors: over repositories on this machine, and over a service."""

from __future__ import annotations

import asyncio
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.client.blocking import Client
from sourcelight.client.client import AsyncClient
from sourcelight.client.completions import unregister
from sourcelight.client.portal import call
from sourcelight.client.progress import painting, say, warn
from sourcelight.client.provenance import CLUSTER
from sourcelight.core.arguments import checks_arguments
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, ConfigurationError
from sourcelight.core.former_names import refuses_former_parameters
from sourcelight.display.notebook import IndexState, ProgressChoice, ProgressSnapshot

if TYPE_CHECKING:
    from pandas import DataFrame

_URL = re.compile(r"[a-z][a-z0-9+.-]*://|[\w.-]+@[\w.-]+:", re.IGNORECASE)


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

    Where much is not indexed yet, this goes on in the background. Meanwhile searches of text read the repositories
    themselves, with the same matches, and what needs the index waits for it.

    Parameters
    ----------
    paths
        Directories: every git repository below is opened, and a directory without any as a snapshot of its files. The
        address of a repository is mirrored first, or its mirror brought up to date.
    worktree
        Search work trees as they are on disk, instead of HEAD.
    index_dir
        Directory of the index; None: the user's cache directory.
    background_index
        Once text can be searched, index definitions and terms in the background; else the first search for
        definitions, or the first question, begins with that.
    config
        A ``repos.toml`` with names, descriptions and other metadata of repositories; None: the one in each of `paths`,
        or beside it where the path is itself a repository. Directories further down are not searched for it.
    max_file_bytes
        Files above this size are matched by name only; None: 2 MiB.
    max_index_bytes
        Limit of the index on disk. What does not fit is not searched, and results say so. None: no limit.
    index_workers
        Processes that build the index; None: one per core.
    embedder
        A function from texts to their vectors, as an array of rows: `nls_search` then also counts how near the best
        pieces are to the question. None: words and names alone, which need no model.
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
        When `config` is invalid, or a path is no path, such as a list of paths.
    IndexWriteFailed
        When the index can't be written; of an index that is built in the background, the next call says it.

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
    return Client(backend)


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


async def _open_embedded(
    paths: tuple[str | os.PathLike[str], ...],
    *,
    worktree: bool,
    index_dir: str | os.PathLike[str] | None,
    background_index: bool,
    config: str | os.PathLike[str] | None,
    max_file_bytes: int | None,
    max_index_bytes: int | None,
    index_workers: int | None,
    embedder: Callable[[Sequence[str]], Any] | None,
    progress: ProgressChoice,
) -> Any:
    _check_paths(paths)
    cancellation = Cancellation()
    state = IndexState(", ".join(os.fspath(p) for p in paths))

    def work() -> Any:
        # Imported here: it loads the engines, which a client of a service never needs.
        from sourcelight.backends import embedded
        from sourcelight.backends.embedded.factory import mirror

        local = [
            mirror(str(p), progress=state.update, cancellation=cancellation) if _URL.match(os.fspath(p)) else p
            for p in paths
        ]
        engine = embedded.open_engine(
            local,
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

        def build_more() -> None:
            if background_index:
                targets = [engine.target_of(repository) for repository in engine.catalog.repositories]
                engine.definitions.start(targets)
                engine.term_updates.start(targets)

        # Who opens a client can wait for an index as long as it takes; a service can't.
        engine.indexing.wait_s = math.inf
        if engine.index_takes_a_moment():
            engine.update(progress=state.update, cancellation=cancellation)
            build_more()
        else:
            engine.start_indexing(build_more)
        return embedded.EmbeddedBackend(engine)

    async with painting(state, progress, cancellation.cancel):
        try:
            backend = await asyncio.to_thread(work)
        except asyncio.CancelledError:
            cancellation.cancel()
            state.interrupt()
            raise
        except Cancelled:  # by the Stop button: what was built so far stays
            state.interrupt()
            raise
        except Exception as exc:
            state.fail(str(exc))
            raise
        state.finish(len(backend.engine.catalog.repositories), in_background=backend.engine.indexing.is_running)
    for text in backend.engine.catalog.unread_settings:
        warn(UserWarning(text))
    return backend


def _check_paths(paths: Iterable[object]) -> None:
    for path in paths:
        if isinstance(path, (list, tuple, set, frozenset)):
            raise ConfigurationError(f"pass paths one by one, got a {type(path).__name__}; write open(*paths)")
        if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str):
            raise ConfigurationError(f"a path must be a str or an os.PathLike of one, got {path!r}")


@refuses_former_parameters
@checks_arguments
async def aconnect(  # noqa: PLR0913 - what a caller may choose
    url: str | None = None,
    token: str | None = None,
    *,
    bearer: bool = False,
    sign_in: bool = False,
    client_id: str = "",
    client_secret: str = "",
    scope: str = "",
    redirect_uri: str = "",
    sign_in_timeout_s: float = 300.0,
    open_browser: Callable[[str], bool] | None = None,
    check: bool = True,
    connect_timeout_s: float = 10.0,
    idle_timeout_s: float = 30.0,
    retries: int = 3,
    backoff_s: float = 0.25,
    max_retry_after_s: float = 20.0,
) -> AsyncClient:
    """Connect to a service and return an `AsyncClient`; parameters and errors as in `connect`."""
    retry_options = {
        "connect_timeout_s": connect_timeout_s,
        "idle_timeout_s": idle_timeout_s,
        "retries": retries,
        "backoff_s": backoff_s,
        "max_retry_after_s": max_retry_after_s,
    }
    if sign_in and not _replaying():
        sign_in_options = {
            "client_id": client_id,
            "client_secret": client_secret,
            "scope": scope,
            "redirect_uri": redirect_uri,
            "timeout_s": sign_in_timeout_s,
            "open_browser": open_browser,
        }
        return AsyncClient(await _signed_in(url, token, sign_in_options, retry_options))
    backend = _remote(url, token, bearer=bearer, **retry_options)
    if check:
        await backend.reach()
    return AsyncClient(backend)


@refuses_former_parameters
@checks_arguments
def connect(  # noqa: PLR0913 - what a caller may choose
    url: str | None = None,
    token: str | None = None,
    *,
    bearer: bool = False,
    sign_in: bool = False,
    client_id: str = "",
    client_secret: str = "",
    scope: str = "",
    redirect_uri: str = "",
    sign_in_timeout_s: float = 300.0,
    open_browser: Callable[[str], bool] | None = None,
    check: bool = True,
    connect_timeout_s: float = 10.0,
    idle_timeout_s: float = 30.0,
    retries: int = 3,
    backoff_s: float = 0.25,
    max_retry_after_s: float = 20.0,
) -> Client:
    """Connect to a service; with a token, nothing is sent before the first search or call.

    Parameters
    ----------
    url
        Address of the service; None: the environment variable ``SRC_ENDPOINT``.
    token
        Access token; None: ``SRC_ACCESS_TOKEN``, or no token where the service allows it.
    bearer
        Whether the token is an OAuth token.
    sign_in
        Sign in by OAuth instead of a token: the browser opens once, or the address to open is printed. The tokens
        are stored in a file that only you can read, and renewed while they are used. See `sign_out`.
    client_id, client_secret
        With `sign_in`: an OAuth client that an administrator made, with the redirect address `redirect_uri`. Without:
        this program registers itself, and the service restricts what it signs in to its tools; `search`, `stream` and
        `export` need a token, or a client with the scope ``user:all``.
    scope
        With `sign_in`: the scope to ask for; empty: ``mcp``, or with a `client_id` ``user:all``.
    redirect_uri
        With `sign_in`: address on this machine that the browser returns to; empty: any free port, or with a
        `client_id` ``http://localhost:3334/oauth/callback``.
    sign_in_timeout_s
        Seconds to wait for the person to sign in.
    open_browser
        With `sign_in`: opens an address in a browser and returns whether that worked; None: the default browser.
    check
        Open a connection and close it, so that a wrong address fails here. Nothing is checked behind a proxy.
    connect_timeout_s
        Seconds to wait for a connection.
    idle_timeout_s
        Seconds to wait for the next bytes of a response; services send something every 5 seconds.
    retries
        How often to retry when the service can't be reached or is too busy, before the first byte of its response.
    backoff_s
        Seconds to wait before the first retry, at most; doubled for each further one.
    max_retry_after_s
        Most seconds that a service may ask to wait; if it asks for more, `RateLimited` is raised at once.

    Returns
    -------
    Client
        A client of the service; close it, or use it in a ``with`` statement.

    Raises
    ------
    ConfigurationError
        When there is no usable address.
    ConnectFailed
        With `check`, when no service listens at the address.
    SignInFailed
        When no one signed in, or the service refuses it; `TransportError` when it can't be reached.
    """
    retry_options = {
        "connect_timeout_s": connect_timeout_s,
        "idle_timeout_s": idle_timeout_s,
        "retries": retries,
        "backoff_s": backoff_s,
        "max_retry_after_s": max_retry_after_s,
    }
    if sign_in and not _replaying():
        sign_in_options = {
            "client_id": client_id,
            "client_secret": client_secret,
            "scope": scope,
            "redirect_uri": redirect_uri,
            "timeout_s": sign_in_timeout_s,
            "open_browser": open_browser,
        }
        return Client(call(_signed_in, url, token, sign_in_options, retry_options))
    backend = _remote(url, token, bearer=bearer, **retry_options)
    if check:
        call(backend.reach)
    return Client(backend)


@refuses_former_parameters
@checks_arguments
async def afederate(
    services: Mapping[str, AsyncClient | str] | Iterable[AsyncClient | str], *, idle_timeout_s: float | None = None
) -> AsyncClient:
    """Search several services together and return an `AsyncClient`; parameters as in `federate`."""
    from sourcelight.client.federation.factory import make_backend

    def make(url: str, *, token: str | None) -> AsyncClient:
        return AsyncClient(_remote(url, token, bearer=False))

    async def close(clients: list[AsyncClient]) -> None:
        for client in clients:
            await client.aclose()

    return AsyncClient(make_backend(services, AsyncClient, make, close, idle_timeout_s))


@refuses_former_parameters
@checks_arguments
def federate(
    services: Mapping[str, Client | str] | Iterable[Client | str], *, idle_timeout_s: float | None = None
) -> Client:
    """Search several services as one: merged rows, duplicates once, and the status of each service.

    Every search is asked of all services at the same time; a call about one repository goes to the first service that
    has it. A service that fails, or is silent, costs its own rows only: the answer is ``limited`` and says so.

    Parameters
    ----------
    services
        Clients, of `open` or `connect`, and addresses, in the order that decides between equals; a dict names them.
        An address is connected to without a token, unless ``SRC_ENDPOINT`` names it: then with ``SRC_ACCESS_TOKEN``.
    idle_timeout_s
        Seconds without news of a search after which a service is given up, ten times as long for a call of a tool;
        None: 30. Services in this process are waited for.

    Returns
    -------
    Client
        With the same methods as any other. Its `services` are a client of each; `SearchResult.services` says what
        became of each. Closing it leaves the clients that were passed in open.

    Raises
    ------
    ConfigurationError
        For no services, for one that stands there twice, and for what is neither a client nor an address.
    """
    from sourcelight.client.federation.factory import make_backend

    def make(url: str, *, token: str | None) -> Client:
        return connect(url, token, check=False)  # a service that is away costs its own rows only

    async def close(clients: list[Client]) -> None:
        for client in clients:
            await client._client.aclose()  # noqa: SLF001 - one room; its own way would block this loop
            unregister(client)

    return Client(make_backend(services, Client, make, close, idle_timeout_s))


@checks_arguments
async def asign_out(url: str | None = None, *, client_id: str = "", scope: str = "") -> None:
    """End a sign-in; awaited, with parameters and errors as in `sign_out`."""
    _, credential = _credential(url, client_id=client_id, scope=scope)
    await credential.sign_out()


@checks_arguments
def sign_out(url: str | None = None, *, client_id: str = "", scope: str = "") -> None:
    """End a sign-in of `connect`: its tokens are revoked at the service and deleted here.

    Parameters
    ----------
    url, client_id, scope
        As in `connect`.
    """
    call(asign_out, url, client_id=client_id, scope=scope)


async def _signed_in(
    url: str | None, token: str | None, sign_in_options: Mapping[str, Any], retry_options: Mapping[str, Any]
) -> Any:
    from sourcelight.backends import remote

    if token is not None:
        raise ConfigurationError("a token and sign_in=True exclude each other: pass one of them")
    endpoint, credential = _credential(url, **sign_in_options)
    await credential.sign_in(say)
    return remote.RemoteBackend(endpoint, credential=credential, **retry_options)


def _credential(url: str | None, *, client_id: str, scope: str, client_secret: str = "", **options: Any) -> Any:
    """Return the endpoint and the credential of a sign-in; `options` are further ones of `SignInOptions`."""
    from sourcelight.backends import remote
    from sourcelight.backends.remote.sign_in import OAuthCredential, SignInOptions

    endpoint, _ = remote.resolve_endpoint(url)
    secret = remote.Secret(client_secret) if client_secret else None
    scope = scope or ("user:all" if client_id else "mcp")
    return endpoint, OAuthCredential(endpoint, SignInOptions(client_id, secret, scope, **options))


def _replaying() -> bool:
    from sourcelight.backends.remote.recording import replaying

    return replaying()


def _remote(url: str | None, token: str | None, *, bearer: bool, **options: Any) -> Any:
    from sourcelight.backends import remote

    endpoint, credential = remote.resolve_endpoint(url, token)
    return remote.RemoteBackend(endpoint, credential, bearer=bearer, **options)
