"""Lists of tools in a form that the MCP SDK reads, whatever a server sends.

The SDK validates a list as a whole, so one malformed tool would hide all others. It also checks each answer against the
output schema of its tool: a regular expression of a server there can keep this process busy for hours, and an answer
that the client can read would be refused. So messages are rewritten before the SDK sees them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, TransportStreams
    from mcp.shared.message import SessionMessage

_READABLE_FIELDS = ("name", "description", "inputSchema")
"""Fields of a tool that are read."""

_DESCRIPTION = "description"


@asynccontextmanager
async def with_readable_tools(
    transport: AbstractAsyncContextManager[TransportStreams], on_unreadable: Callable[[int], None]
) -> AsyncGenerator[TransportStreams]:
    """Wrap a transport of the SDK so that it rewrites lists of tools.

    Parameters
    ----------
    transport
        Connection to a server.
    on_unreadable
        Receives the number of entries of a list that have no name, and so can't be called.
    """
    async with transport as (reader, writer):
        yield _ToolListReader(reader, on_unreadable), writer


class _ToolListReader:
    """A stream of messages whose lists of tools are rewritten."""

    def __init__(self, reader: ReadStream[SessionMessage | Exception], on_unreadable: Callable[[int], None]) -> None:
        self._reader = reader
        self._on_unreadable = on_unreadable

    @property
    def last_context(self) -> Any:
        """Context variables of the task that sent the last message, which the SDK restores."""
        return getattr(self._reader, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message."""
        return self._rewrite(await self._reader.receive())

    async def aclose(self) -> None:
        """Close the stream."""
        await self._reader.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return self._rewrite(await self._reader.__anext__())

    async def __aenter__(self) -> Self:
        await self._reader.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._reader.__aexit__(kind, error, traceback)

    def _rewrite(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        from mcp_types import JSONRPCResponse

        message = None if isinstance(item, Exception) else item.message
        # Only lists of tools have this field; an answer of a tool has `content`.
        if isinstance(message, JSONRPCResponse) and isinstance(message.result.get("tools"), list):
            entries = message.result["tools"]
            tools = [tool for tool in map(readable_tool, entries) if tool is not None]
            message.result["tools"] = tools
            self._on_unreadable(len(entries) - len(tools))
        return item


def readable_tool(entry: object) -> dict[str, Any] | None:
    """Return the parts of a tool that calls need, in the form of the protocol; None without a name."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str) or not entry["name"]:
        return None

    tool = {field: entry[field] for field in _READABLE_FIELDS if field in entry}
    tool["inputSchema"] = _readable_input(entry.get("inputSchema"))
    if not isinstance(tool.get(_DESCRIPTION, ""), str):
        del tool[_DESCRIPTION]
    return tool


def _readable_input(schema: object) -> dict[str, Any]:
    """Return an input schema with the types that the protocol requires of its root."""
    readable = dict(schema) if isinstance(schema, Mapping) else {}
    readable["type"] = "object"

    properties, required = readable.pop("properties", None), readable.pop("required", None)
    if isinstance(properties, Mapping):
        is_schema = {name: isinstance(value, Mapping | bool) for name, value in properties.items()}
        readable["properties"] = {name: value if is_schema[name] else {} for name, value in properties.items()}
    if isinstance(required, list):
        readable["required"] = [name for name in required if isinstance(name, str)]
    if not isinstance(readable.get("$schema", ""), str):
        del readable["$schema"]
    return readable
