"""The tools that the services of a federation advertise, and their files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sourcelight.client.federation.fan_out import answers, ask_all
from sourcelight.client.federation.service import Service
from sourcelight.core.backend import ServiceEndpoint
from sourcelight.core.batches.results import AdvertisedTool, CallObserver, ToolReply
from sourcelight.core.errors import NotFound, SourcelightError, ToolError, UnsupportedTool


def federated_tools(services: Sequence[Service]) -> FederatedServiceTools | None:
    """Return the tools of several services as those of one; None where none of them is a service over HTTP."""
    over_http = tuple(service for service in services if service.backend.features.service is not None)
    return FederatedServiceTools(over_http) if over_http else None


@dataclass(frozen=True, slots=True)
class FederatedServiceTools:
    """`core.backend.ServiceEndpoint` over several services.

    A tool that one service alone has keeps its name. One that several have is named ``service:tool`` for each of them,
    since the answer of one would not be the answer of all.
    """

    services: Sequence[Service]

    async def advertised_tools(self) -> Mapping[str, AdvertisedTool]:
        """Return the tools of all services that answer, by name."""
        return {name: tool for name, (_, tool) in (await self._tools()).items()}

    async def call_advertised(
        self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None
    ) -> ToolReply:
        """Call a tool of the service that has it; raise `UnsupportedTool` when none has."""
        found = (await self._tools()).get(name)
        if found is None:
            raise UnsupportedTool(f"no service of the federation has a tool {name!r}", tool=name)
        service, tool = found
        return await _endpoint_of(service).call_advertised(tool.name, arguments, observer)

    async def fetch_file(self, link: str) -> bytes:
        """Return a file of the first service that has it; a service refuses addresses of other hosts."""
        error: SourcelightError | None = None
        for service in self.services:
            try:
                return await _endpoint_of(service).fetch_file(link)
            except (NotFound, ToolError) as exc:
                # A missing file says more than an address that is another service's.
                error = exc if error is None or isinstance(exc, NotFound) else error
        raise error or ToolError(f"no service of the federation has {link[:200]!r}")

    async def _tools(self) -> dict[str, tuple[Service, AdvertisedTool]]:
        replies = await ask_all(self.services, lambda service: _endpoint_of(service).advertised_tools())
        listed = list(answers(replies))
        counts = Counter(name for _, tools in listed for name in tools)
        return {
            (name if counts[name] == 1 else f"{reply.service.name}:{name}"): (reply.service, tool)
            for reply, tools in listed
            for name, tool in tools.items()
        }


def _endpoint_of(service: Service) -> ServiceEndpoint:
    endpoint = service.backend.features.service
    assert endpoint is not None  # noqa: S101 - `federated_tools` selects services with one
    return endpoint
