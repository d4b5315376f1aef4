"""The servers of the protocol's SDK over our tools. Importing this module takes a second: do it late."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.types import Receive, Scope, Send

from sourcelight import __version__
from sourcelight.engines.tools import Tool
from sourcelight.server.mcp_server.calls import Caller, Calls, ToolFailed
from sourcelight.server.mcp_server.suites import find_tool

INSTRUCTIONS = (
    "Tools to search and read the repositories of this service. list_repos gives exact names of repositories, which "
    "the other tools need. Find code with keyword_search (words of the code) or nls_search (a description), then read "
    "it with read_file. Every answer says when a limit cut it."
)

Context = ServerRequestContext[Any, Any]
CallerOf = Callable[[Context], Caller]

# The SDK tells of every request at INFO, which is the access log's to tell.
logging.getLogger("mcp").setLevel(logging.WARNING)


def make_server(tools: Mapping[str, Tool], calls: Calls, caller_of: CallerOf) -> Server[Any]:
    """A server of `tools`; `caller_of` finds out for whom a request runs."""
    listed = types.ListToolsResult(tools=[_listed(tool) for tool in tools.values()])
    schemas = {name: tool.input_schema for name, tool in tools.items()}

    async def list_tools(_: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        if params is not None and params.cursor:
            raise MCPError(types.INVALID_PARAMS, "there is no such page: the tools fit into the first one")
        return listed

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = find_tool(tools, params.name)
        if tool is None:
            names = ", ".join(tools) or "none"
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name[:100]!r} here; there are {names}")
        watched = context.meta is not None and context.meta.get("progress_token") is not None
        report = context.session.report_progress if watched else None
        try:
            payload, text = await calls.answer(tool, params.arguments or {}, caller_of(context), report)
        except ToolFailed as fault:
            return types.CallToolResult(content=[types.TextContent(type="text", text=str(fault))], is_error=True)
        content = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(content=list(content), structured_content=payload)

    return Server(
        "sourcelight",
        version=__version__,
        title="sourcelight",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=dict(tool.input_schema),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=False,
            idempotent_hint=tool.read_only,
            open_world_hint=False,
        ),
    )


async def serve_request(server: Server[Any], scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one HTTP request without keeping any state.

    A manager for each request costs little and ends whatever it started together with the request: a reader that is
    gone stops the work.
    """
    manager = StreamableHTTPSessionManager(server, stateless=True)
    async with manager.run():
        await manager.handle_request(scope, receive, send)
