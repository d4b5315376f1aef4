"""Making a federation of clients and addresses."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from sourcelight.client.blocking import Client
from sourcelight.client.client import AsyncClient
from sourcelight.client.federation.backend import IDLE_TIMEOUT_S, FederatedBackend
from sourcelight.client.federation.service import Service, distinct, short_name
from sourcelight.core.errors import ConfigurationError

AnyClient = TypeVar("AnyClient", Client, AsyncClient)


def federated(
    services: Mapping[str, Any] | Iterable[Any],
    kind: type[AnyClient],
    connect: Callable[..., AnyClient],
    close: Callable[[list[AnyClient]], Any],
    idle_timeout_s: float | None,
) -> FederatedBackend:
    """The backend of `services`: clients of a kind, and addresses to connect to.

    Parameters
    ----------
    services
        By their names; or in a row, named after their endpoints.
    kind
        Class of the clients: those of another live on another event loop.
    connect
        Makes a client of an address and a token.
    close
        Closes the clients that were made here; awaited.
    idle_timeout_s
        See `FederatedBackend`; None: its default.

    Raises
    ------
    ConfigurationError
        For no services, for one that stands there twice, and for what is neither a client nor an address.
    """
    if isinstance(services, (str, kind)):
        raise ConfigurationError("federate takes several services: a list of clients and addresses, or a dict of them")
    named = isinstance(services, Mapping)
    given = list(services.values() if isinstance(services, Mapping) else services)
    if not given:
        raise ConfigurationError("a federation needs a service: pass clients and addresses")
    for one in given:
        if not isinstance(one, (str, kind)):
            raise ConfigurationError(f"{type(one).__name__} is no service: pass a {kind.__name__}, or an address")
    made: list[AnyClient] = []
    clients: list[AnyClient] = []
    for one in given:
        if isinstance(one, str):
            made.append(connect(one, token=None if _is_ours(one) else ""))
            clients.append(made[-1])
        else:
            clients.append(one)
    if any(isinstance(client.backend, FederatedBackend) for client in clients):
        raise ConfigurationError("a federation is no service of another one: pass the services that it is of")
    if len({id(client.backend) for client in clients}) < len(clients):
        raise ConfigurationError("a client stands twice among the services")
    for name in services if isinstance(services, Mapping) else ():
        if not str(name).strip() or not str(name).isprintable() or "," in str(name):
            raise ConfigurationError(f"{name!r} is no name for a service: it needs letters, and no comma")
    names = [str(n) for n in services] if named else distinct(short_name(client.backend.name) for client in clients)

    async def closed() -> None:
        await close(made)

    return FederatedBackend(
        [Service(name, client.backend) for name, client in zip(names, clients, strict=True)],
        clients=dict(zip(names, clients, strict=True)),
        close=closed,
        idle_timeout_s=IDLE_TIMEOUT_S if idle_timeout_s is None else idle_timeout_s,
    )


def _is_ours(address: str) -> bool:
    """Whether ``SRC_ENDPOINT`` names this service, so that the token of the environment is meant for it."""
    configured = os.environ.get("SRC_ENDPOINT", "").strip()
    try:
        return bool(configured) and urlsplit(configured).netloc == urlsplit(address.strip()).netloc
    except ValueError:
        return False
