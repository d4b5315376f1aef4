"""Faults of the MCP SDK and its HTTP library as ours. They come in groups, and name no secret once they are ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, REQUEST_TIMEOUT

from sourcelight.core.errors import (
    ConnectFailed,
    ProtocolError,
    SourcelightError,
    StreamBroken,
    TimedOut,
    ToolError,
    UnsupportedTool,
)

_MOST_REASON = 300
_HTTP: tuple[tuple[tuple[type[BaseException], ...], Callable[[str], SourcelightError], str], ...] = (
    ((httpx2.ConnectTimeout, httpx2.PoolTimeout), ConnectFailed, "no connection to {where} in time"),
    (
        (httpx2.ConnectError, httpx2.UnsupportedProtocol, httpx2.ProxyError),
        ConnectFailed,
        "no connection to {where}: {reason}",
    ),
    ((httpx2.TimeoutException, TimeoutError), TimedOut, "{where} did not answer in time"),
    ((httpx2.HTTPError, OSError), StreamBroken, "the connection to {where} broke: {reason}"),
)


def fault_of(exc: BaseException | None, where: str, hidden: Callable[[str], str]) -> SourcelightError:
    """Ours of a foreign error.

    Parameters
    ----------
    exc
        What was raised, groups included; None: the connection was closed.
    where
        Host of the service, for messages.
    hidden
        Takes secrets out of a text.
    """
    for fault in _leaves(exc):
        if isinstance(fault, SourcelightError):
            return fault
        reason = hidden(str(fault) or type(fault).__name__)[:_MOST_REASON]
        if isinstance(fault, MCPError):
            return _protocol_fault(fault.code, where, reason)
        for kinds, error, text in _HTTP:
            if isinstance(fault, kinds):
                return error(text.format(where=where, reason=reason))
    reason = "the connection was closed" if exc is None else hidden(str(exc) or type(exc).__name__)[:_MOST_REASON]
    return ProtocolError(f"{where} does not answer as an MCP server does: {reason}", excerpt=reason[:120])


def _protocol_fault(code: int, where: str, reason: str) -> SourcelightError:
    if code == REQUEST_TIMEOUT:
        return TimedOut(f"{where} did not answer in time")
    if code == CONNECTION_CLOSED:
        return StreamBroken(f"the connection to {where} broke: {reason}")
    if code == INVALID_PARAMS:
        return (UnsupportedTool if "unknown tool" in reason.casefold() else ToolError)(reason)
    return ProtocolError(f"{where} answered with an MCP error: {reason}", excerpt=reason[:120])


def _leaves(exc: BaseException | None) -> Iterator[BaseException]:
    if isinstance(exc, BaseExceptionGroup):
        for inner in exc.exceptions:
            yield from _leaves(inner)
    elif exc is not None:
        yield exc
