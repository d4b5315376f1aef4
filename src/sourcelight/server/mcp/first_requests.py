"""The first answers over HTTP, before the SDK is loaded: the answers of `handshake`, in one JSON object each.

A service that has just started loads the SDK for seconds on a busy machine. All but plain first messages wait for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Message, Receive, Scope

from sourcelight.server.mcp.handshake import PROTOCOL_VERSIONS, is_initialized, make_answer, make_list

#: A longer message is not inspected.
MAX_INSPECTED_BYTES = 64 * 1024
_PROTOCOL_VERSION = "mcp-protocol-version"
_JSON = "application/json"
# Those of the newer family of the protocol, of sessions and of resumed streams, which plain first messages have not.
_UNKNOWN = ("content-encoding", "mcp-session-id", "mcp-method", "mcp-name", "last-event-id")
"""Headers with which the SDK decides."""


async def read_start(receive: Receive) -> tuple[deque[Message], bytes, bool]:
    """Return the messages read so far, their body, and whether it is complete; reads at most the inspected size."""
    read: deque[Message] = deque()
    body = b""
    while len(body) <= MAX_INSPECTED_BYTES:
        message = await receive()
        # The bytes that were read are replayed to the SDK, which expects the body from its start.
        read.append(message)
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return read, body, message["type"] == "http.request" and len(body) <= MAX_INSPECTED_BYTES

    return read, b"", False


def replay(read: deque[Message], receive: Receive) -> Receive:
    """Return a `receive` that first replays the bytes that were read."""

    async def receive_again() -> Message:
        return read.popleft() if read else await receive()

    return receive_again


async def answer_first(
    scope: Scope, receive: Receive, list_tools: Callable[[], bytes]
) -> tuple[Response | None, Receive]:
    """Answer a plain first message; None if the SDK has to decide, which then gets the returned `receive`.

    Parameters
    ----------
    scope, receive
        Of the request, a POST whose sender may call the endpoint.
    list_tools
        Returns the result of ``tools/list`` as JSON.
    """
    headers = Headers(scope=scope)
    accepted = headers.get("accept", "")
    if (
        headers.getlist("content-type") != [_JSON]
        or _JSON not in accepted
        or "text/event-stream" not in accepted
        or any(name in headers for name in _UNKNOWN)
        or not PROTOCOL_VERSIONS.issuperset(headers.getlist(_PROTOCOL_VERSION))
    ):
        return None, receive

    read, body, is_complete = await read_start(receive)
    if not is_complete:
        return None, replay(read, receive)

    answer = make_answer(body)[1] or make_list(body, list_tools)
    if answer:
        return Response(answer.rstrip(), 200, media_type=_JSON), receive

    # Without a version it is a message of the protocol's newer family perhaps, which has no such notification.
    if is_initialized(body):
        return Response(status_code=202, headers={"content-type": _JSON}), receive

    return None, replay(read, receive)
