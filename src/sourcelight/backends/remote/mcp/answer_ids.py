"""Answers of MCP servers that no request waits for.

A JSON body answers the request that it came for. The MCP SDK passes such a message on by its id alone: with another id,
or if it is no answer at all, the call waited until its timeout. This module gives these requests an error instead. In
streams of events, the SDK does this itself.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

_JSON = "application/json"

_INVALID_REQUEST = -32600
"""Code of JSON-RPC that the SDK uses for an answer that doesn't fit its request."""


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
