"""Messages of MCP servers in a form that the MCP SDK handles, whatever a server sends.

The SDK validates a list of tools as a whole, so one malformed tool would hide all others. It also checks each answer
against the output schema of its tool: a regular expression of a server there can keep this process busy for hours, and
an answer that the client can read would be refused. So lists are rewritten before the SDK sees them.

A JSON body answers the request that it came for. The SDK passes such a message on by its id alone: with another id, or
if it is no answer at all, the call waited until its timeout. These requests get an error instead. In streams of events,
the SDK does this itself.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, TransportStreams
    from mcp.shared.message import SessionMessage


_READABLE_FIELDS = ("name", "description", "inputSchema")
"""Fields of a tool that are read."""

_DESCRIPTION = "description"

_JSON = "application/json"

_INVALID_REQUEST = -32600
"""Code of JSON-RPC that the SDK uses for an answer that doesn't fit its request."""


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


def answer_every_request(stream_base: Any) -> Callable[[Any], Awaitable[None]]:
    """Return a response hook for an HTTP client: each JSON body is an answer with the id of its request.

    Parameters
    ----------
    stream_base
        ``AsyncByteStream`` of the client's library.

    Returns
    -------
    callable
        For ``event_hooks={"response": [...]}``, after the hook that bounds bodies, because it reads them whole.
    """

    class Answer(stream_base):  # type: ignore[misc]  # the base is that of the library in use
        def __init__(self, stream: Any, request_id: int | str) -> None:
            self._stream = stream
            self._request_id = request_id

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield answer_of(b"".join([portion async for portion in self._stream]), self._request_id)

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def match_ids(response: Any) -> None:
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        request_id = _id_of_request(response.request) if kind == _JSON and response.is_success else None
        if request_id is not None:
            response.stream = Answer(response.stream, request_id)

    return match_ids


def answer_of(body: bytes, request_id: int | str) -> bytes:
    """Return the JSON of an answer to a request.

    Parameters
    ----------
    body
        JSON that a server sent for the request.
    request_id
        Id of the request.

    Returns
    -------
    bytes
        `body` if it has that id, or is no JSON object: the SDK names that error. A server that can't read a request
        sends an error without an id, which gets it. Anything else becomes an error that says why.
    """
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(message, Mapping):
        return body

    is_answer = "method" not in message and ("result" in message or "error" in message)
    # The SDK takes "7" for 7, too.
    if is_answer and str(message.get("id")) == str(request_id):
        return body
    if is_answer and "error" in message and message.get("id") is None:
        return json.dumps({**message, "id": request_id}).encode()

    reason = "the answer has another id than its request" if is_answer else "the body is not an answer to the request"
    error = {"code": _INVALID_REQUEST, "message": reason}
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode()


def _id_of_request(request: Any) -> int | str | None:
    """Return the id of a JSON-RPC request; None for a notification or a request without a body."""
    if request.method != "POST":
        return None
    message = json.loads(request.content)
    return message.get("id") if "method" in message else None
