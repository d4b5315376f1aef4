"""Connect to a service, to several as one, and sign out of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sourcelight.client.blocking import Client
from sourcelight.client.client import AsyncClient
from sourcelight.client.completions import unregister
from sourcelight.client.portal import call
from sourcelight.client.progress import say
from sourcelight.core.arguments import checks_arguments
from sourcelight.core.errors import ConfigurationError
from sourcelight.core.former_names import refuses_former_parameters


@refuses_former_parameters
@checks_arguments
async def aconnect(  # noqa: PLR0913 - its parameters, each by name
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
def connect(  # noqa: PLR0913 - its parameters, each by name
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
        With `sign_in`: an OAuth client that an administrator made, with the redirect address `redirect_uri`. Without
        it, this program registers itself, and the service restricts its tokens to the tools; `search`, `stream` and
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
        Number of retries if the service can't be reached or is too busy, before the first byte of its response.
    backoff_s
        Maximum seconds to wait before the first retry; doubled for each further one.
    max_retry_after_s
        Maximum seconds to wait on request of the service; for a longer request, `RateLimited` is raised at once.

    Returns
    -------
    Client
        A client of the service; close it, or use it in a ``with`` statement.

    Raises
    ------
    ConfigurationError
        When no usable address is given.
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

    Every search goes to all services at the same time; a call about one repository goes to the first service that
    has it. If a service fails or is silent, only its rows are missing: the answer is ``limited`` and gives the reason.

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
        A client with the methods of any other. Its `services` are clients of the single services, and
        `SearchResult.services` has the status of each. Closing it doesn't close the clients that were passed in.

    Raises
    ------
    ConfigurationError
        For no services, for a repeated one, and for a value that is neither a client nor an address.
    """
    from sourcelight.client.federation.factory import make_backend

    def make(url: str, *, token: str | None) -> Client:
        return connect(url, token, check=False)  # an unreachable service must not fail the others

    async def close(clients: list[Client]) -> None:
        for client in clients:
            await client._client.aclose()  # noqa: SLF001 - one room; its own `close` would block this loop
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
    """Return the endpoint and the credential of a sign-in; `options` are fields of `SignInOptions`."""
    from sourcelight.backends import remote
    from sourcelight.backends.remote.sign_in import OAuthCredential, SignInOptions

    endpoint, _ = remote.resolve_endpoint(url)
    secret = remote.Secret(client_secret) if client_secret else None
    # A client that registers itself gets no wider scope than `mcp`; asking for more would fail the sign-in.
    scope = scope or ("user:all" if client_id else "mcp")
    return endpoint, OAuthCredential(endpoint, SignInOptions(client_id, secret, scope, **options))


def _replaying() -> bool:
    from sourcelight.backends.remote.recording import replaying

    return replaying()


def _remote(url: str | None, token: str | None, *, bearer: bool, **options: Any) -> Any:
    from sourcelight.backends import remote

    endpoint, credential = remote.resolve_endpoint(url, token)
    return remote.RemoteBackend(endpoint, credential, bearer=bearer, **options)
