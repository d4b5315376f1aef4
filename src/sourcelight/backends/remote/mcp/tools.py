"""Call the tools of a service by name, and analyses that are computed from their answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sourcelight.backends.remote.bodies import FORM_ERRORS
from sourcelight.backends.remote.endpoint import Credential, Endpoint, RetryPolicy
from sourcelight.backends.remote.mcp import analyses, conversations, files, navigation, read_file, search
from sourcelight.backends.remote.mcp.history import calls as history
from sourcelight.backends.remote.mcp.payloads import Payload, keep_text
from sourcelight.backends.remote.mcp.request import Stream, ToolRequest
from sourcelight.backends.remote.mcp.session import McpSession, ServerTool
from sourcelight.core.answer_size import MAX_TOKENS
from sourcelight.core.batches.results import AdvertisedTool, CallObserver, ToolReply, ToolResult
from sourcelight.core.errors import NotFound, ProtocolError, SourcelightError, UnsupportedTool
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.catalog import is_conversation
from sourcelight.core.tools.tool import MAX_TOKENS_ARGUMENT

_PATHS = ("/.api/mcp", "/.api/mcp/all", "/.api/mcp/v1")
"""Endpoints of a service, in the order in which they are asked for a tool."""

_DEEP_SEARCH = "/.api/mcp/deepsearch"
"""The endpoint of conversations."""

_MAX_REASON_CHARS = 300
"""Characters of a reason in a message, which quotes the answer of a service."""

_ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    **files.ANSWERS,
    **read_file.ANSWERS,
    **search.ANSWERS,
    **history.ANSWERS,
    **navigation.ANSWERS,
    **analyses.ANSWERS,
    **conversations.ANSWERS,
}
"""The function that answers each tool and analysis."""


class RemoteTools:
    """The tools of a service, with the same tables as the engines of this process.

    Parameters
    ----------
    endpoint
        The service.
    credential
        Credential for its requests.
    retry_policy
        Timeouts and retries.
    stream
        Searches the service, for results that its tools truncate.
    """

    def __init__(self, endpoint: Endpoint, credential: Credential, retry_policy: RetryPolicy, stream: Stream) -> None:
        self._url = endpoint.url
        self._stream = stream
        self._sessions = {
            path: McpSession(endpoint, path, credential, retry_policy) for path in (*_PATHS, _DEEP_SEARCH)
        }

    async def call(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None) -> ToolResult:
        """Answer a tool or an analysis; see `sourcelight.backends.remote.RemoteBackend.call`."""
        answer = _ANSWERS.get(name)
        if answer is None:
            raise UnsupportedTool(
                f"{self._url} doesn't offer {name!r}, which services of sourcelight do unless their operator turned it "
                f"off; open a clone on this machine with sourcelight.open, or use {', '.join(_ANSWERS)}",
                tool=name,
                accepted=tuple(_ANSWERS),
            )

        request = ToolRequest(
            name=name, arguments=arguments, server=self, stream=self._stream, base_url=self._url, observer=observer
        )
        try:
            result = await answer(request)
        except SourcelightError:
            raise
        except FORM_ERRORS as exc:
            # A field of another type than its name says, somewhere in the answer.
            if request.last is None and not request.received.newest:
                raise
            if request.last is None:
                # An analysis, which is made of other calls: the text of one of them is no answer to it.
                tool, reason = request.received.newest, str(exc)[:_MAX_REASON_CHARS]
                raise ProtocolError(
                    f"{name}: the service's answer to {tool} is malformed: {reason}", excerpt=reason
                ) from exc
            result = keep_text(name, request.last.as_text(), f"The service's answer is malformed ({exc}).")

        if not request.doubts:
            return result

        return replace(result, complete=False, notices=(*result.notices, *dict.fromkeys(request.doubts)))

    async def advertised_tools(self) -> Mapping[str, AdvertisedTool]:
        """Return all tools of all endpoints of the service, by name."""
        tools: dict[str, AdvertisedTool] = {}
        absent: NotFound | None = None
        for session in self._sessions.values():
            try:
                definitions = await session.tools()
            except NotFound as exc:
                absent = absent or exc
                continue
            for name, tool in definitions.items():
                tools.setdefault(name, AdvertisedTool(name, tool.description, tool.schema))

        if not tools and absent is not None:
            raise absent

        return tools

    async def call_advertised(
        self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None
    ) -> ToolReply:
        """Call a tool as the service advertises it."""
        session = await self._session_with(name, (*_PATHS, _DEEP_SEARCH))
        accepted = (await session.tools())[name].accepted
        payload = await session.call(name, accepted.fit(name, arguments), observer)
        return ToolReply(payload.structured, payload.texts, payload.other)

    async def tool(self, name: str) -> ServerTool:
        """Return the tool of that name from the first endpoint that has it."""
        session = await self._session_with(name)
        return (await session.tools())[name]

    async def ask(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None) -> Payload:
        """Call a tool on the first endpoint that has it."""
        session = await self._session_with(name)
        accepted = (await session.tools())[name].accepted
        if MAX_TOKENS_ARGUMENT in accepted:
            # A service that truncates names this argument; DataFrames need the full answer.
            arguments = {**arguments, MAX_TOKENS_ARGUMENT: MAX_TOKENS}
        return await session.call(name, arguments, observer)

    async def aclose(self) -> None:
        """Close all connections."""
        for session in self._sessions.values():
            await session.aclose()

    async def _session_with(self, name: str, paths: Sequence[str] = ()) -> McpSession:
        available: dict[str, None] = {}
        absent: NotFound | None = None
        paths = paths or ((*_PATHS, _DEEP_SEARCH) if is_conversation(name) else _PATHS)
        for path in paths:
            session = self._sessions[path]
            try:
                tools = await session.tools()
            except NotFound as exc:
                absent = absent or exc
                continue
            if name in tools:
                return session
            available.update(dict.fromkeys(tools))

        if not available and absent is not None:
            raise absent

        unreadable = sum(self._sessions[path].unreadable_tools for path in paths)
        unread = f", and lists {count_of(unreadable, 'tool')} without a name" if unreadable else ""
        raise UnsupportedTool(
            f"{self._url} has no tool {name!r}; it has {', '.join(available) or 'none'}{unread}",
            tool=name,
            accepted=tuple(available),
        )
