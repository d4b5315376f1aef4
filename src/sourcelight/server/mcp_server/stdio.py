"""The tools over standard input and output, for a client that starts this program itself."""

from __future__ import annotations

import anyio
from mcp.server.stdio import stdio_server

from sourcelight.engines.execution import Engine
from sourcelight.engines.tools import TOOLS, Conversations
from sourcelight.repos import Viewer
from sourcelight.server.mcp_server.calls import Caller, Calls
from sourcelight.server.mcp_server.protocol import make_server


def serve_stdio(engine: Engine, *, viewer: Viewer | None = None, conversations: Conversations | None = None) -> None:
    """Answer messages of standard input on standard output until the input ends.

    What the process prints meanwhile goes to standard error, so that it can't be mistaken for messages.
    """
    caller = Caller(viewer or Viewer.owner())
    calls = Calls(engine, conversations)
    server = make_server(TOOLS, calls, lambda _: caller)

    async def run() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    try:
        anyio.run(run)
    finally:
        calls.stop()
