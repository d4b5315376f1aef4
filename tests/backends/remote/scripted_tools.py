"""A service that answers exactly as told, on a loopback port: MCP by the protocol's own SDK, the rest as bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from backends.remote.loopback_app import served

STREAM = "/.api/search/stream"
Reply = Callable[[dict[str, Any]], Any]
ANY = {"type": "object", "properties": {}}


def schema(*required: str, **properties: Any) -> dict[str, Any]:
    """A schema of plain properties; a value is its type, or a schema."""
    result = {name: kind if isinstance(kind, dict) else {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "properties": result, "required": list(required), "additionalProperties": False}


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


async def _send(send: Send, status: int, body: bytes, **headers: str) -> None:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


@dataclass
class ScriptedTools:
    """Tools by name, each with its schema and what it replies; by endpoint, where they differ.

    A reply is a result, or an exception to raise; ``"wait"`` waits until the caller hangs up, which sets `hung_up`.
    `busy` are refusals, with their headers, that requests for tools and JSON get before anything else. `stream` gives
    the bytes of a search from its parameters; `posts` give JSON by path, a tuple being a status and a value; `gets` are
    bodies by path, with their type. `tool_cursor` is the next cursor of each page of tools.
    """

    tools: Mapping[str, tuple[Mapping[str, Any], Reply]]
    paths: tuple[str, ...] = ("/.api/mcp",)
    elsewhere: Mapping[str, Mapping[str, tuple[Mapping[str, Any], Reply]]] = field(default_factory=dict)
    refusal: tuple[int, bytes] | None = None
    busy: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    stream: Callable[[dict[str, str]], bytes] | None = None
    posts: Mapping[str, Callable[[dict[str, Any]], Any]] = field(default_factory=dict)
    gets: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)
    tool_cursor: str | None = None
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    searches: list[str] = field(default_factory=list)
    listing: int = 0
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
            path = scope["path"]
            if self.busy and path != STREAM:
                status, headers = self.busy.pop(0)
                await _send(send, status, b"busy", **headers)
                return
            if path == STREAM and self.stream is not None:
                query = dict(parse_qsl(scope["query_string"].decode()))
                self.searches.append(query["q"])
                await _send(send, 200, self.stream(query), **{"content-type": "text/event-stream"})
                return
            if path in self.posts and scope["method"] == "POST":
                payload = json.loads((await receive())["body"] or b"null")
                self.calls.append((path, payload))
                reply = self.posts[path](payload)
                status, value = reply if isinstance(reply, tuple) else (200, reply)
                await _send(send, status, json.dumps(value).encode(), **{"content-type": "application/json"})
                return
            if path in self.gets:
                kind, data = self.gets[path]
                await _send(send, 200, data, **{"content-type": kind})
                return
            status, body = self.refusal or (404, b"no route")
            if self.refusal is None and scope["path"] in servers and scope["method"] == "POST":
                manager = StreamableHTTPSessionManager(servers[scope["path"]], stateless=True)
                async with manager.run():
                    await manager.handle_request(scope, receive, send)
                return
            status = 405 if self.refusal is None and scope["path"] in servers else status
            await _send(send, status, body, **{"content-type": "text/plain"})

        return served(app)

    def _server(self, tools: Mapping[str, tuple[Mapping[str, Any], Reply]]) -> Server[Any]:
        async def list_tools(_: Any, params: Any) -> types.ListToolsResult:
            del params
            self.listing += 1
            return types.ListToolsResult(
                tools=[types.Tool(name=n, description="scripted", input_schema=dict(s)) for n, (s, _) in tools.items()],
                next_cursor=self.tool_cursor,
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
