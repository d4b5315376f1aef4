"""Errors of the MCP SDK and its HTTP library as typed errors without secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, REQUEST_TIMEOUT
from pydantic import ValidationError

from sourcelight.core import errors

_MAX_REASON_CHARS = 300
"""Characters of a reason in a message: it may be a whole page of a proxy."""

_VALIDATION = re.compile(r":? \d+ validation errors? for ")
"""The part of a message of the SDK with the models of its validator, a line each."""

_HTTP: tuple[tuple[tuple[type[BaseException], ...], Callable[[str], errors.SourcelightError], str], ...] = (
    ((httpx2.ConnectTimeout, httpx2.PoolTimeout), errors.ConnectFailed, "no connection to {host} in time"),
    (
        (httpx2.ConnectError, httpx2.UnsupportedProtocol, httpx2.ProxyError),
        errors.ConnectFailed,
        "no connection to {host}: {reason}",
    ),
    ((httpx2.TimeoutException, TimeoutError), errors.TimedOut, "{host} timed out"),
    ((httpx2.HTTPError, OSError), errors.StreamBroken, "the connection to {host} broke: {reason}"),
)
"""Errors of the HTTP library, the error that each becomes, and its message."""


def to_error(exc: BaseException | None, host: str, hidden: Callable[[str], str]) -> errors.SourcelightError:
    """Return the typed error for an error of a library.

    Parameters
    ----------
    exc
        The raised error, or a group; None: the connection was closed.
    host
        Host of the service, for messages.
    hidden
        Removes secrets from a text.
    """
    for leaf in _leaves(exc):
        if isinstance(leaf, errors.SourcelightError):
            return leaf
        if isinstance(leaf, ValidationError):
            reason = hidden(_first_error(leaf))[:_MAX_REASON_CHARS]
            return errors.ProtocolError(f"the answer of {host} is malformed: {reason}", excerpt=reason[:120])
        reason = hidden(_VALIDATION.split(str(leaf))[0] or type(leaf).__name__)[:_MAX_REASON_CHARS]
        if isinstance(leaf, MCPError):
            return _protocol_error(leaf.code, host, reason)
        for kinds, error, text in _HTTP:
            if isinstance(leaf, kinds):
                return error(text.format(host=host, reason=reason))

    reason = "the connection was closed" if exc is None else hidden(str(exc) or type(exc).__name__)[:_MAX_REASON_CHARS]
    return errors.ProtocolError(f"{host} is not an MCP server: {reason}", excerpt=reason[:120])


def _first_error(validation: ValidationError) -> str:
    """Return the field and the fault of the first error, without the value."""
    first = validation.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _protocol_error(code: int, host: str, reason: str) -> errors.SourcelightError:
    if code == REQUEST_TIMEOUT:
        return errors.TimedOut(f"{host} timed out")
    if code == CONNECTION_CLOSED:
        return errors.StreamBroken(f"the connection to {host} broke: {reason}")
    if code == INVALID_PARAMS:
        return (errors.UnsupportedTool if "unknown tool" in reason.casefold() else errors.ToolError)(reason)
    return errors.ProtocolError(f"{host} returned an MCP error: {reason}", excerpt=reason[:120])


def _leaves(exc: BaseException | None) -> Iterator[BaseException]:
    if isinstance(exc, BaseExceptionGroup):
        for inner in exc.exceptions:
            yield from _leaves(inner)
    elif exc is not None:
        yield exc
