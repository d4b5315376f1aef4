"""Analyses of a service of this package, which lists them, and streams their progress and rows.

Other services have none. Then a call is left to what their tools give.

What a query means is one of them. The service sends the parts of an explanation; they are checked here, and their text
is made here, so that what a person reads does not depend on where the query is explained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sourcelight.backends.remote.recording import LIVE, Route, route
from sourcelight.backends.remote.transport import HttpTransport
from sourcelight.core.batches.results import CallObserver, ToolProgress, ToolResult
from sourcelight.core.errors import NotRecorded, ProtocolError, ServiceError, StreamBroken, Unauthorized
from sourcelight.core.explanation import Explanation
from sourcelight.core.tools.answer_stream import AnswerReader
from sourcelight.core.tools.catalog import TOOLS, analysis_tools
from sourcelight.core.wire.request import SearchRequest
from sourcelight.core.wire.sse import RawEvent, SseDecoder

DESCRIPTION_PATH = "/.api/sourcelight"
PREFIX = "/.api/analyses/"


class RemoteAnalyses:
    """The analyses of a service.

    Parameters
    ----------
    transport
        Connection to the service.
    address
        Address of the service.
    """

    def __init__(self, transport: HttpTransport, address: str) -> None:
        self._transport = transport
        self._address = address
        self._names: frozenset[str] | None = None
        self._takes_scope = False
        self._names_of: Route | None = None

    async def offers(self, name: str) -> bool:
        """Return whether the service has an analysis; asks the service once for all of them."""
        if name not in analysis_tools():
            return False
        return name in await self._describe()

    async def _describe(self) -> frozenset[str]:
        """Return the names of the analyses."""
        current = route()
        # A recording must have the description, and a replay must not see another one.
        if self._names is None or current is not self._names_of:
            self._names = await self._read_names()
            self._names_of = current
        return self._names

    async def takes_scope(self) -> bool:
        """Return whether the service's deep search accepts repositories and a revision in addition to the question."""
        await self._describe()
        return self._takes_scope

    async def _read_names(self) -> frozenset[str]:
        self._takes_scope = False
        try:
            description = await self._transport.ask_json("GET", DESCRIPTION_PATH, None, {})
        except Unauthorized:
            raise
        except (ServiceError, ProtocolError, NotRecorded):
            return frozenset()  # another product, an older version, or a recording of one

        if not isinstance(description, Mapping) or description.get("service") != "sourcelight":
            return frozenset()

        self._takes_scope = "deepsearch" in (description.get("takesScope") or ())
        names = description.get("analyses")
        if isinstance(names, list):
            return frozenset(name for name in names if isinstance(name, str))
        return frozenset()

    async def call(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None) -> ToolResult:
        """Answer an analysis; cancelling closes the connection, which stops the work there.

        Raises
        ------
        ToolError, RepositoryError, QueryError
            When the service refuses the call.
        TransportError, ServiceError, ProtocolError
            When the answer does not arrive, or can't be read.
        """
        reader = AnswerReader(TOOLS[name], self._transport.hide_secrets)
        current = route()
        if current is LIVE:  # reads an answer as it arrives; a recording has it as text, which takes a second copy
            async with self._transport.post_stream(PREFIX + name, dict(arguments)) as portions:
                decoder = SseDecoder()
                async for portion in portions:
                    for event in decoder.feed(portion):
                        _note(reader.read(event), observer)
                        if reader.answer is not None:
                            return reader.answer
            raise StreamBroken(f"{self._address} closed the response to {name} before its end")

        request = {"name": name, "arguments": dict(arguments)}
        events = await current.ask(
            "tool", self._address + PREFIX + name, request, self._record(name, arguments), lambda note: _note(
                reader.read(_from_json(note)), observer
            ), self._transport.hide_secrets,
        )  # fmt: skip
        for event in events:
            reader.read(_from_json(event))

        if reader.answer is None:
            raise StreamBroken(f"the recorded answer to {name} is incomplete")

        return reader.answer

    def _record(self, name: str, arguments: Mapping[str, Any]) -> Callable[[Callable[[Any], None]], Any]:
        """Return a function that calls the service, notes progress and returns the other events as JSON."""

        async def call_live(note: Callable[[Any], None]) -> list[list[str]]:
            reader = AnswerReader(TOOLS[name], self._transport.hide_secrets)
            events: list[list[str]] = []
            async with self._transport.post_stream(PREFIX + name, dict(arguments)) as portions:
                decoder = SseDecoder()
                async for portion in portions:
                    for event in decoder.feed(portion):
                        text = [event.name, event.data.decode(errors="replace")]
                        if reader.read(event) is not None:
                            note(text)
                            continue
                        events.append(text)
                        if reader.answer is not None:
                            return events

            raise StreamBroken(f"{self._address} closed the response to {name} before its end")

        return call_live


def _from_json(value: Any) -> RawEvent:
    name, data = value
    return RawEvent(str(name), str(data).encode())


def _note(progress: ToolProgress | None, observer: CallObserver | None) -> None:
    if progress is not None and observer is not None:
        observer(progress)


def arguments_of(request: SearchRequest) -> dict[str, Any]:
    """Return the arguments of the tool `explain` for a search."""
    optional = {"defaultCount": request.default_matches, "timeoutS": request.timeout_s}
    return {
        "query": request.query,
        "patternType": request.effective_pattern_type,
        **{name: value for name, value in optional.items() if value is not None},
    }


def explanation_of(answer: ToolResult) -> Mapping[str, Any] | None:
    """Return the explanation in an answer, with its ``text``, or None if it has none.

    Raises
    ------
    ProtocolError
        When it is not of the form of an explanation.
    """
    data = answer.attributes.get("explanation")
    if data is None:
        return None

    try:
        explanation = msgspec.convert(data, Explanation)
    except msgspec.ValidationError as exc:
        raise ProtocolError(f"the service sent an explanation that can't be read: {exc}") from None

    return {**explanation.to_dict(), "text": str(explanation)}
