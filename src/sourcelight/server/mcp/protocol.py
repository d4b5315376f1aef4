"""MCP servers of the SDK over the tools, for HTTP and for standard input and output.

Importing this module takes a second; import it late.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
import orjson
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from sourcelight import __version__
from sourcelight.core.tools.tool import Tool
from sourcelight.repos import Viewer
from sourcelight.server.mcp import suites
from sourcelight.server.mcp.calls import CallIdentity, ToolFailed, ToolRunner
from sourcelight.server.mcp.first_requests import read_start, replay
from sourcelight.server.mcp.handshake import INSTRUCTIONS, NAME, EarlyAnswers, FirstMessages
from sourcelight.server.mcp.opening import EngineOpening

Context = ServerRequestContext[Any, Any]
CallerOf = Callable[[Context], CallIdentity]

# The SDK logs every request at INFO; the access log has them already.
logging.getLogger("mcp").setLevel(logging.WARNING)


def make_server(
    tools: Mapping[str, Tool[Any]], calls: ToolRunner, caller_of: CallerOf, *, offers_pages: bool = False
) -> Server[Any]:
    """Create a server of tools.

    Parameters
    ----------
    tools
        Tools by name.
    calls
        Runs their calls.
    caller_of
        Returns the identity of a request.
    offers_pages
        Whether schemas list the arguments for pages, and answers name the commits that they were read from. Calls may
        have these arguments in any case. The specification's suites have neither.
    """
    schemas = suites.advertised_schemas(tools, offers_pages=offers_pages)
    listing = types.ListToolsResult.model_validate(
        suites.list_tools(
            tools, offers_pages=offers_pages, with_structure=calls.with_structure, max_tokens=calls.max_tokens
        )
    )

    async def on_list_tools(_: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        if params is not None and params.cursor:
            raise MCPError(types.INVALID_PARAMS, "there is only one page of tools")
        return listing

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = suites.find_tool(tools, params.name)
        if tool is None:
            names = ", ".join(tools) or "none"
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {params.name[:100]!r}; available: {names}")

        wants_progress = context.meta is not None and context.meta.get("progress_token") is not None
        report = context.session.report_progress if wants_progress else None
        try:
            caller = replace(caller_of(context), wants_sources=offers_pages)
            payload, text = await calls.answer(tool, params.arguments or {}, caller, report)
        except ToolFailed as exc:
            return types.CallToolResult(content=[types.TextContent(type="text", text=str(exc))], is_error=True)

        content = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(content=list(content), structured_content=payload if calls.with_structure else None)

    return Server(
        NAME,
        version=__version__,
        title=NAME,
        instructions=INSTRUCTIONS,
        get_tool_input_schema=schemas.get,
        on_list_tools=on_list_tools,
        on_call_tool=call_tool,
    )


async def serve_request(server: Server[Any], scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one HTTP request without state.

    A manager per request costs little and ends its work with the request, so a disconnected reader stops a call. A
    quick result is one JSON object, which costs a quarter less than a stream. A call that may take long, or that
    reports progress, is a stream.
    """
    read, body, is_complete = await read_start(receive)
    replay_receive = replay(read, receive)

    # A quick answer goes out as one JSON body, which saves the client a stream; anything slow needs the stream for
    # progress.
    is_single = is_complete and "text/event-stream" in Headers(scope=scope).get("accept", "") and is_quick(body)
    manager = StreamableHTTPSessionManager(server, stateless=True, json_response=is_single)
    async with manager.run():
        if not is_single:
            await manager.handle_request(scope, replay_receive, send)
            return
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_end_when_gone, receive, tasks.cancel_scope)
            await manager.handle_request(scope, replay_receive, send)
            tasks.cancel_scope.cancel()


async def _end_when_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    # The single JSON body is sent at the end. Without this check, work for a client that is gone would go on until
    # then.
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def is_quick(body: bytes) -> bool:
    """Return whether a message has a quick result: no call of a slow tool, and no progress token."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False

    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict) or message.get("method") != "tools/call":
        return isinstance(message, dict)

    meta, name = params.get("_meta"), params.get("name")
    wants_progress = isinstance(meta, dict) and meta.get("progressToken") is not None
    return not wants_progress and isinstance(name, str) and suites.is_quick_tool(name)


async def serve_after(
    first: FirstMessages,
    server: Server[Any],
    read: ReadStream[SessionMessage | Exception],
    write: WriteStream[SessionMessage],
) -> None:
    """Serve the messages of `first` and then of `read`; drop the answer to a message that was answered early."""
    # Size 0: a sender waits for its receiver, so that input isn't read faster than it is served.
    to_server, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    answers, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    are_written = anyio.Event()

    async def pass_on_messages() -> None:
        async with to_server:
            for line in first.lines:
                await to_server.send(_parse_message(line))
            async for message in read:
                await to_server.send(message)

    async def pass_on_answers() -> None:
        answered_id = first.answered_id
        async with write, from_server:
            async for answer in from_server:
                message = answer.message
                replies_to = message.id if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) else None
                if answered_id is not None and replies_to == answered_id:
                    answered_id = None
                    continue
                await write.send(answer)

        are_written.set()

    async with messages, anyio.create_task_group() as tasks:
        tasks.start_soon(pass_on_messages)
        tasks.start_soon(pass_on_answers)
        await server.run(messages, answers, server.create_initialization_options())
        await are_written.wait()
        tasks.cancel_scope.cancel()


def _parse_message(line: bytes) -> SessionMessage | Exception:
    """Parse a line as the SDK does, which answers errors itself."""
    try:
        text = line.decode("utf-8", "replace")
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError as exc:
        return exc


def serve_stdio(
    opening: EngineOpening, options: suites.StdioOptions, early: EarlyAnswers, *, viewer: Viewer | None = None
) -> None:
    """Answer messages of standard input on standard output until the input ends, while `opening` opens the engine.

    `early` answers the first messages meanwhile. Other output of the process goes to standard error, so that clients
    can't mistake it for messages.
    """
    caller = CallIdentity(viewer or Viewer.owner(), has_pages=False)
    calls = ToolRunner(opening, max_tokens=options.max_tokens, with_structure=options.with_structure)
    server = make_server(suites.named_tools(options.tools), calls, lambda _: caller, offers_pages=True)

    async def run() -> None:
        opening.start()
        # Two readers would take parts of messages from each other, so the SDK starts only after the early reader ends.
        first = await anyio.to_thread.run_sync(early.wait, abandon_on_cancel=True)
        async with stdio_server() as (read, write):
            await serve_after(first, server, read, write)

    try:
        anyio.run(run)
    finally:
        calls.stop()
