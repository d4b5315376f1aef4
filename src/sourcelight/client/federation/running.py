"""A search of a federation as a client runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sourcelight.client.asking import everything
from sourcelight.client.exhaustive import Exhaustive
from sourcelight.client.federation.backend import FederatedSearch
from sourcelight.client.federation.service import Service
from sourcelight.client.run import Run
from sourcelight.core.wire.request import SearchRequest


def federated_run(backend: Any, request: SearchRequest, *, exhaustive: bool, kept: bool) -> Run:
    """The search of a `FederatedBackend`.

    Parameters
    ----------
    backend
        The federation.
    request
        What is asked.
    exhaustive
        Ask each service that caps its answers in as many parts as it takes.
    kept
        Whether all rows are kept, so that they can be brought into order.
    """
    services = backend.services
    if exhaustive:
        request = replace(request, query=everything(request.query, request.pattern_type, request.version))
    run = Run(backend, request)
    if exhaustive and not backend.local:
        tell = _summed(run.state.cut)
        services = [service if service.backend.local else _whole(service, tell) for service in services]
    if kept or services is not backend.services:
        search = FederatedSearch(backend, services, kept=kept)
        run.backend = search
        run.held = search.held if services is not backend.services else None
    return run


def _whole(service: Service, tell: Callable[[str], Callable[[int, int, int], None]]) -> Service:
    return replace(service, backend=Exhaustive(service.backend, told=tell(service.name)))


def _summed(told: Callable[[int, int, int], None]) -> Callable[[str], Callable[[int, int, int], None]]:
    """Tellers by service, whose numbers are told as their sums."""
    known: dict[str, tuple[int, int, int]] = {}

    def of(name: str) -> Callable[[int, int, int], None]:
        def tell(done: int, parts: int, matches: int) -> None:
            known[name] = done, parts, matches
            first, second, third = (sum(column) for column in zip(*known.values(), strict=True))
            told(first, second, third)

        return tell

    return of
