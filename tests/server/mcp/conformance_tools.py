"""The tools that the official conformance suite wants a server to have: none of them is ours to offer."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

_NAMES = (
    "test_simple_text",
    "test_error_handling",
    "test_tool_with_progress",
    "test_image_content",
    "test_multiple_content_types",
)
Context = ServerRequestContext[Any, Any]


def picture() -> str:
    """One red pixel, as PNG in base64."""

    def part(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    data = part(b"IHDR", head) + part(b"IDAT", zlib.compress(b"\0\xff\0\0")) + part(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + data).decode()


def fixture_server() -> Server[Any]:
    """A server of the SDK with test tools alone."""

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        schema = {"type": "object", "properties": {}}
        return types.ListToolsResult(tools=[types.Tool(name=n, description=n, input_schema=schema) for n in _NAMES])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = types.TextContent(type="text", text="This is a simple text response for testing.")
        image = types.ImageContent(type="image", data=picture(), mime_type="image/png")
        match params.name:
            case "test_simple_text":
                return types.CallToolResult(content=[text])
            case "test_error_handling":
                failed = types.TextContent(type="text", text="This tool intentionally returns an error for testing")
                return types.CallToolResult(content=[failed], is_error=True)
            case "test_tool_with_progress":
                for done in (0, 50, 100):
                    await context.session.report_progress(done, 100, f"Completed step {done} of 100")
                return types.CallToolResult(content=[text])
            case "test_image_content":
                return types.CallToolResult(content=[image])
            case "test_multiple_content_types":
                resource = types.TextResourceContents(
                    uri="test://mixed-content-resource", mime_type="application/json", text='{"test":"data"}'
                )
                embedded = types.EmbeddedResource(type="resource", resource=resource)
                return types.CallToolResult(content=[text, image, embedded])
        raise MCPError(types.INVALID_PARAMS, f"no tool {params.name}")

    return Server("fixture", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
