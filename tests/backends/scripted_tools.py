"""MCP endpoints that answer exactly as told, by the protocol's own SDK, on a loopback port."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from backends.loopback_app import served

Reply = Callable[[dict[str, Any]], Any]
ANY = {"type": "object", "properties": {}}


def schema(*required: str, **properties: Any) -> dict[str, Any]:
    """A schema of plain properties; a value is its type, or a schema."""
    made = {name: kind if isinstance(kind, dict) else {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "properties": made, "required": list(required), "additionalProperties": False}


def text(words: str, *, structured: bool = True, error: bool = False) -> types.CallToolResult:
    """A result of the text generation."""
    block = json.dumps({"text": words}) if structured else words
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=block)],
        structured_content={"text": words} if structured else None,
        is_error=error,
    )


def typed(payload: Mapping[str, Any], *, as_text: bool = False) -> types.CallToolResult:
    """A result of the typed generation; `as_text`: its JSON in the text block alone."""
    block = types.TextContent(type="text", text=json.dumps(payload))
    return types.CallToolResult(content=[block], structured_content=None if as_text else dict(payload))


@dataclass
class ScriptedTools:
    """Tools by name, each with its schema and what it replies; by endpoint, where they differ.

    A reply is a result, or an exception to raise; ``"wait"`` waits until the caller hangs up, which sets `hung_up`.
    """

    tools: Mapping[str, tuple[Mapping[str, Any], Reply]]
    paths: tuple[str, ...] = ("/.api/mcp",)
    elsewhere: Mapping[str, Mapping[str, tuple[Mapping[str, Any], Reply]]] = field(default_factory=dict)
    refusal: tuple[int, bytes] | None = None
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    listed: int = 0
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    hung_up: list[str] = field(default_factory=list)

    def running(self) -> AbstractContextManager[str]:
        """Serve until the block ends; gives the address."""
        by_path = dict.fromkeys(self.paths, self.tools) | dict(self.elsewhere)
        servers = {path: self._server(tools) for path, tools in by_path.items()}

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                for answer in ("startup", "shutdown"):
                    await receive()
                    await send({"type": f"lifespan.{answer}.complete"})
                return
            status, body = self.refusal or (404, b"no route")
            if self.refusal is None and scope["path"] in servers and scope["method"] == "POST":
                manager = StreamableHTTPSessionManager(servers[scope["path"]], stateless=True)
                async with manager.run():
                    await manager.handle_request(scope, receive, send)
                return
            status = 405 if self.refusal is None and scope["path"] in servers else status
            await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": body})

        return served(app)

    def _server(self, tools: Mapping[str, tuple[Mapping[str, Any], Reply]]) -> Server[Any]:
        async def list_tools(_: Any, params: Any) -> types.ListToolsResult:
            del params
            self.listed += 1
            return types.ListToolsResult(
                tools=[types.Tool(name=n, description="scripted", input_schema=dict(s)) for n, (s, _) in tools.items()]
            )

        async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
            arguments = dict(params.arguments or {})
            self.calls.append((params.name, arguments))
            await context.session.report_progress(1, 4, "halfway")
            reply = tools[params.name][1](arguments)
            if reply == "wait":
                try:
                    await asyncio.Event().wait()
                finally:
                    self.hung_up.append(params.name)
            if isinstance(reply, Exception):
                raise reply
            assert isinstance(reply, types.CallToolResult)
            return reply

        schemas = {name: dict(its) for name, (its, _) in tools.items()}
        return Server("scripted", get_tool_input_schema=schemas.get, on_list_tools=list_tools, on_call_tool=call_tool)
