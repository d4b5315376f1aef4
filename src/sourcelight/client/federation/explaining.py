"""What each of several services says of a query."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.client.federation.service import Service
from sourcelight.core.errors import UnsupportedCall
from sourcelight.core.wire.request import SearchRequest


async def explanation_of(services: Sequence[Service], request: SearchRequest) -> Mapping[str, Any] | None:
    """One explanation: the text has a paragraph for each service, the alternatives are those of all; None: none tells.

    Raises
    ------
    QueryError
        When a service that explains queries can't read this one.
    """

    async def ask(service: Service) -> Mapping[str, Any] | None:
        try:
            return await service.backend.explain(request)
        except UnsupportedCall:
            return None

    told = await asyncio.gather(*(ask(service) for service in services))
    first = next((data for data in told if data is not None), None)
    if first is None:
        return None
    texts = [
        f"{service.name}:\n{data['text'] if data else 'does not tell how it reads a query'}"
        for service, data in zip(services, told, strict=True)
    ]
    warnings = [warning for data in told if data for warning in data.get("warnings", ())]
    return {
        **first,
        "alternatives": [one for data in told if data for one in data.get("alternatives", ())],
        "warnings": [one for at, one in enumerate(warnings) if one not in warnings[:at]],
        "services": {s.name: data for s, data in zip(services, told, strict=True) if data is not None},
        "text": "\n\n".join(texts),
    }
