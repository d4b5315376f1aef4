"""Make the backend of a federation from clients and addresses.

The functions `federate` and `afederate` pass their arguments here, and the class of their clients with them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

from sourcelight.client.federation.backend import IDLE_TIMEOUT_S, FederatedBackend
from sourcelight.client.federation.service import Service, distinct, short_name
from sourcelight.core.backend import HasBackend
from sourcelight.core.errors import ConfigurationError

AnyClient = TypeVar("AnyClient", bound=HasBackend)


def make_backend(
    services: Mapping[str, Any] | Iterable[Any],
    kind: type[AnyClient],
    connect: Callable[..., AnyClient],
    close: Callable[[list[AnyClient]], Any],
    idle_timeout_s: float | None,
) -> FederatedBackend:
    """Return the backend of `services`: clients of a kind, and addresses to connect to.

    Parameters
    ----------
    services
        By their names; or in a row, named after their endpoints.
    kind
        Class of the clients. Clients of another class run on another event loop.
    connect
        Makes a client of an address and a token.
    close
        Closes the clients that were made here; awaited.
    idle_timeout_s
        See `FederatedBackend`; None: its default.

    Raises
    ------
    ConfigurationError
        Without services, for a duplicate service, and for a value that is neither a client nor an address.
    """
    if isinstance(services, (str, kind)):
        raise ConfigurationError("federate takes several services: a list of clients and addresses, or a dict of them")

    if isinstance(services, Mapping):
        given_names, items = [str(name) for name in services], list(services.values())
    else:
        given_names, items = [], list(services)
    _check_services(items, given_names, kind)

    opened_clients: list[AnyClient] = []
    clients: list[AnyClient] = []
    for service in items:
        client = service
        if isinstance(service, str):
            # An empty token: the token of SRC_ACCESS_TOKEN belongs to SRC_ENDPOINT and must not be sent to another
            # service.
            client = connect(service, token=None if _is_ours(service) else "")
            opened_clients.append(client)
        clients.append(client)

    _check_clients(clients)
    names = given_names or distinct(short_name(client.backend.name) for client in clients)

    async def close_clients() -> None:
        await close(opened_clients)

    return FederatedBackend(
        [Service(name, client.backend) for name, client in zip(names, clients, strict=True)],
        clients=dict(zip(names, clients, strict=True)),
        close=close_clients,
        idle_timeout_s=IDLE_TIMEOUT_S if idle_timeout_s is None else idle_timeout_s,
    )


def _check_services(items: Sequence[object], names: Sequence[str], kind: type[AnyClient]) -> None:
    """Raise `ConfigurationError` for values that no federation can be made of, before anything is connected."""
    if not items:
        raise ConfigurationError("a federation needs a service: pass clients and addresses")

    for service in items:
        if not isinstance(service, (str, kind)):
            raise ConfigurationError(
                f"{type(service).__name__} is not a service; pass a {kind.__name__}, or an address"
            )

    for name in names:
        if not name.strip() or not name.isprintable() or "," in name:
            raise ConfigurationError(f"{name!r} isn't valid as a service name: use letters, and no comma")


def _check_clients(clients: Sequence[AnyClient]) -> None:
    """Raise `ConfigurationError` for clients that can't be together in a federation."""
    if any(isinstance(client.backend, FederatedBackend) for client in clients):
        raise ConfigurationError("a federation can't contain another one; pass its services")
    if len({id(client.backend) for client in clients}) < len(clients):
        raise ConfigurationError("a client occurs twice among the services")


def _is_ours(address: str) -> bool:
    """Return whether ``SRC_ENDPOINT`` is this service, so that the token of the environment may be sent to it."""
    configured = os.environ.get("SRC_ENDPOINT", "").strip()
    try:
        return bool(configured) and urlsplit(configured).netloc == urlsplit(address.strip()).netloc
    except ValueError:
        return False
