"""Calls over HTTP with the SDK's own client, which knows nothing of our code."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from server.loopback_tls import TLS

FAMILIES = ("2026-07-28", "legacy")
BOUND_S = 20.0


@dataclass(frozen=True)
class Said:
    """What a call came back with."""

    failed: bool
    text: str
    content: Any


@asynccontextmanager
async def connected(url: str, token: str, family: str = "2026-07-28") -> AsyncIterator[Client]:
    headers = {"Authorization": f"token {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=BOUND_S, trust_env=False, verify=TLS) as http,
        Client(streamable_http_client(url, http_client=http), mode=family) as client,
    ):
        await client.list_tools()
        yield client


async def call_tool(client: Client, name: str, arguments: Mapping[str, Any]) -> Said:
    result = await client.call_tool(name, dict(arguments))
    assert len(result.content) == 1
    return Said(bool(result.is_error), result.content[0].text, result.structured_content)  # type: ignore[union-attr]


def over(
    url: str, token: str, work: Callable[[Client], Awaitable[Any]], family: str = "2026-07-28", bound_s: float = BOUND_S
) -> Any:
    """Run `work` with a connected client, and give what it gives."""

    async def main() -> Any:
        with anyio.fail_after(bound_s):
            async with connected(url, token, family) as client:
                return await work(client)

    return anyio.run(main)


def call(url: str, token: str, name: str, arguments: Mapping[str, Any], family: str = "2026-07-28") -> Said:
    """One call over a connection of its own."""
    result: Said = over(url, token, lambda client: call_tool(client, name, arguments), family)
    return result
