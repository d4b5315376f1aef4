"""The services of a federation, by name, and how each explains a query."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sourcelight.core.backend import Backend
from sourcelight.core.batches import MatchBatch
from sourcelight.core.errors import UnsupportedTool
from sourcelight.core.wire.request import SearchRequest


@dataclass(frozen=True, slots=True)
class Service:
    """One service of a federation.

    Attributes
    ----------
    name
        Name of the service in rows, notices and statuses.
    backend
        The backend that sends requests to it.
    recover
        Returns the batches of the newest search that `backend` has received and not yielded.
    """

    name: str
    backend: Backend
    recover: Callable[[], Iterable[MatchBatch]] = tuple

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of its repositories, where this process knows them without asking; else None."""
        return self.backend.features.cached_names()


def short_name(endpoint: str) -> str:
    """Return a short name for an endpoint: host and path of an address, the first word of anything else."""
    parts = urlsplit(endpoint)
    if parts.netloc and parts.scheme in {"http", "https"}:
        return f"{parts.netloc}{parts.path}".rstrip("/")
    return endpoint.partition(" ")[0]


def distinct(names: Iterable[str]) -> list[str]:
    """Return the names, with numbers added to duplicates: ``embedded``, ``embedded 2``."""
    unique_names: list[str] = []
    for name in names:
        candidate = name
        number = 1
        while candidate in unique_names:
            number += 1
            candidate = f"{name} {number}"
        unique_names.append(candidate)

    return unique_names


async def explanation_of(services: Sequence[Service], request: SearchRequest) -> Mapping[str, Any] | None:
    """Merge explanations: a paragraph of text for each service, and the alternatives of all; None without any.

    Raises
    ------
    QueryError
        When a service that explains queries can't read this one.
    """

    async def ask(service: Service) -> Mapping[str, Any] | None:
        try:
            return await service.backend.explain(request)
        except UnsupportedTool:
            return None

    replies = await asyncio.gather(*(ask(service) for service in services))
    explanations: dict[str, Mapping[str, Any]] = {}
    texts = []
    for service, reply in zip(services, replies, strict=True):
        if reply is None:
            texts.append(f"{service.name}:\nno explanation of queries")
        else:
            texts.append(f"{service.name}:\n{reply['text']}")
            explanations[service.name] = reply

    if not explanations:
        return None

    alternatives: list[Any] = []
    warnings: list[Any] = []
    for explanation in explanations.values():
        alternatives += explanation.get("alternatives", ())
        # Most services warn of the same things.
        warnings += [warning for warning in explanation.get("warnings", ()) if warning not in warnings]

    # Whatever else an explanation has depends on the query alone, so that of the first service holds for all.
    first = next(iter(explanations.values()))
    return {
        **first,
        "alternatives": alternatives,
        "warnings": warnings,
        "services": explanations,
        "text": "\n\n".join(texts),
    }
