"""The remote backend: events of a service's stream, matches as record batches.

Matches that go from one line to the next, which a service's list of lines does not tell.

A line of it has the places of matches within the line alone: one that begins at the newline has none there, and one
that goes on from the line before looks like another match. Chunks have where each match begins and ends.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from sourcelight.backends.remote.conversations_api import ConversationsApi
from sourcelight.backends.remote.endpoint import (
    Credential,
    Endpoint,
    RetryPolicy,
    Secret,
    TokenCredential,
    secret_token,
)
from sourcelight.backends.remote.reachability import reach
from sourcelight.backends.remote.recording import tape
from sourcelight.backends.remote.transport import HttpTransport
from sourcelight.core.batches import Event, MatchBatch, RepositoryInfo
from sourcelight.core.batches.decode import MatchDecoder
from sourcelight.core.batches.results import CallObserver, ToolResult
from sourcelight.core.errors import ProtocolError, QueryError, SearchFailed, StreamBroken, TransportError
from sourcelight.core.query import parse
from sourcelight.core.query.alternatives import patterns_of
from sourcelight.core.query.narrowing import with_timeout
from sourcelight.core.query.parse import effective_pattern_type
from sourcelight.core.wire import SseDecoder, decode_event
from sourcelight.core.wire.events import OWN_FAULTS, Alert, Done, ErrorEvent, Matches
from sourcelight.core.wire.request import SearchRequest

if TYPE_CHECKING:
    from sourcelight.backends.remote.mcp import RemoteTools


# What of a regular expression may match a newline; more than does is no harm.
_MAY = re.compile(r"\n|\\[nsWDpPxC0-7]|\[\^|\[:|\(\?[a-zA-Z]*s")
_CHUNK = ("chunk", "chunk_start_line", "truncated", "chunk_offset")


def may_cross_lines(request: SearchRequest) -> bool:
    """Whether a match in the contents of files may hold a newline."""
    if _MAY.search(request.query) is None:
        return False
    try:
        query = parse(request.query, request.pattern_type, version=request.version)
    except QueryError:
        return False
    patterns = [leaf for one in query.plan if one.pattern is not None for leaf in patterns_of(one.pattern)]
    return any("\n" in leaf.value or (leaf.kind == "regexp" and _MAY.search(leaf.value)) for leaf in patterns)


def portable(request: SearchRequest) -> SearchRequest:
    """The same request as any service reads it: its time limit a filter, its type the one that ``patternType:`` names.

    Not every service finds that filter: the reference ignores it where a ``)`` that only quotes or slashes explain
    keeps it from reading the query.

    Raises
    ------
    QueryError
        No text means the query with its time limit.
    """
    text = with_timeout(request.query, request.pattern_type, request.version, request.timeout_s)
    request = replace(request, query=text, timeout_s=None)
    if "patterntype:" not in request.query.lower():
        return request
    try:
        effective = effective_pattern_type(request.query, request.pattern_type, version=request.version)
    except QueryError:
        return request
    return replace(request, pattern_type=effective)


def in_chunks(request: SearchRequest) -> SearchRequest:
    """The same request, with the lines of each match as a chunk and none around them."""
    return replace(request, chunk_matches=True, context_lines=0, max_line_len=-1)


def without_chunks(event: Event) -> Event:
    """An event without the columns that nobody asked for."""
    if not isinstance(event, MatchBatch):
        return event
    held = [name for name in _CHUNK if name in event.batch.schema.names]
    return MatchBatch(event.batch.drop_columns(held), event.repositories) if held else event


# What httpx sends, and what `sourcelight serve` takes.
_MOST_ADDRESS_BYTES = 65_536
_ALL_REPOSITORIES = "type:repo count:all fork:yes archived:yes"


class RemoteBackend:
    """Asks a service over HTTP.

    Parameters
    ----------
    endpoint
        Address of the service, or what `resolve_endpoint` made of it.
    token
        Credential; None where the service allows that.
    bearer
        Whether the token is an OAuth token (``Authorization: Bearer``) instead of an access token.
    credential
        In place of a token: what gives the header of each request, such as a sign-in.
    connect_timeout_s, silence_timeout_s, retries, backoff_s, retry_after_limit_s
        See `sourcelight.backends.remote.endpoint.RetryPolicy`.

    Raises
    ------
    ConfigurationError
        For an address or a token that can't be used.
    """

    local = False

    def __init__(
        self,
        endpoint: str | Endpoint,
        token: str | Secret | None = None,
        *,
        bearer: bool = False,
        credential: Credential | None = None,
        **patience: Any,
    ) -> None:
        self._endpoint = endpoint if isinstance(endpoint, Endpoint) else Endpoint.parse(endpoint)
        self._credential = credential or TokenCredential(secret_token(token), bearer=bearer)
        self._patience = RetryPolicy(**patience)
        self._connection = HttpTransport(self._endpoint, self._credential, patience=self._patience)
        self._conversing = ConversationsApi(self._connection)
        self._tools: RemoteTools | None = None
        self.name = self._endpoint.url
        known = secret_token(token)
        # A mark of the credential, for what is kept on disk: another one may see other repositories.
        self.whose = "" if known is None else blake2b(known.reveal().encode(), digest_size=8).hexdigest()

    @property
    def taped(self) -> bool:
        """Whether what is asked is recorded or replayed: nothing kept elsewhere may stand in for an answer."""
        return tape() is not None

    def __repr__(self) -> str:
        return f"RemoteBackend({self.name!r})"

    async def reach(self) -> None:
        """Open a connection and close it, sending nothing; raises `ConnectFailed` where no service listens."""
        await reach(self._endpoint, self._patience.connect_timeout_s)

    async def stream(self, request: SearchRequest) -> AsyncGenerator[Event, None]:
        """Yield the events of one search; closing the generator hangs up, which stops the search.

        Raises
        ------
        QueryError
            If the query can't be sent, or the service answers that it can't read it or a parameter; before the first
            event.
        StreamBroken
            If the stream ends or turns unreadable before ``done``, after everything that arrived.
        TransportError, ServiceError, ProtocolError
            If there is no stream at all.
        """
        reader = _EventReader(request.query)
        crossing = not request.chunk_matches and may_cross_lines(request)
        params = portable(in_chunks(request) if crossing else request).to_params()
        _check(params, request.query)
        async with self._connection.stream(params) as portions:
            try:
                async for portion in portions:
                    for event in reader.feed(portion):
                        yield without_chunks(event) if crossing else event
                    if reader.done:
                        return
                for event in reader.close():
                    yield without_chunks(event) if crossing else event
            except TransportError as exc:
                broken = exc
            else:
                return
        for event in reader.held():
            yield event
        if isinstance(broken, StreamBroken):
            broken.events_seen = reader.seen
        raise broken

    async def count(self, request: SearchRequest, by: Sequence[str]) -> Any | None:  # noqa: ARG002 - the protocol's
        """None: a stream has to be counted by the caller."""
        return None

    async def explain(self, request: SearchRequest) -> Mapping[str, Any] | None:  # noqa: ARG002 - the protocol's
        """None: the protocol has no way to ask."""
        return None

    async def call(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None) -> ToolResult:
        """Ask the service's MCP tools, as often as it takes to get everything; see `mcp_tools.RemoteTools`.

        Raises
        ------
        UnsupportedTool
            When the service has no such tool, and nothing else that would answer; says what it has.
        ToolError, RepositoryError, QueryError
            What the service, or the shape of its tool, has against the arguments.
        TransportError, ServiceError, ProtocolError
            When there is no answer at all.
        """
        conversing = self._conversing.calls.get(name)
        if conversing is not None:
            return await conversing(arguments)
        if self._tools is None:
            from sourcelight.backends.remote.mcp import RemoteTools

            self._tools = RemoteTools(self._endpoint, self._credential, self._patience, self.stream)
        return await self._tools.call(name, arguments, observer)

    async def repositories(self) -> tuple[RepositoryInfo, ...]:
        """All repositories that the credential may see, forks and archived ones included, as one search for them."""
        found: dict[str, RepositoryInfo] = {}
        async with aclosing(self.stream(SearchRequest(_ALL_REPOSITORIES))) as events:
            async for event in events:
                if isinstance(event, MatchBatch):
                    found.update((facts.name, facts) for facts in event.repositories)
                elif isinstance(event, ErrorEvent):
                    raise SearchFailed(f"{self.name} could not list its repositories: {event.message}")
        return tuple(found[name] for name in sorted(found))

    async def aclose(self) -> None:
        """Close all connections."""
        if self._tools is not None:
            await self._tools.aclose()
        await self._connection.aclose()


def _check(params: Mapping[str, str], query: str) -> None:
    try:
        size = len(urlencode(params))
    except UnicodeEncodeError:
        where = next((at for at, char in enumerate(query) if "\ud800" <= char <= "\udfff"), None)
        where = None if where is None else len(query[:where].encode())
        raise QueryError("the query is not valid Unicode", query=query, position=where, stage="parse") from None
    if size > _MOST_ADDRESS_BYTES:
        raise QueryError(
            f"the query is too long for a request: it takes {size:,} bytes of an address, and {_MOST_ADDRESS_BYTES:,} "
            "are the limit",
            query=query[:100],
            hint="use several queries, or search without a service",
        )


class _EventReader:
    """From bytes to events; alerts and errors are held back until it is clear that the search ran."""

    def __init__(self, query: str) -> None:
        self._query = query
        self._framing = SseDecoder()
        self._matches = MatchDecoder()
        self._held: list[Alert | ErrorEvent] = []
        self._running = False
        self.done = False
        self.seen = 0

    def held(self) -> list[Event]:
        """What is still held back."""
        held, self._held = list[Event](self._held), []
        return held

    def feed(self, portion: bytes) -> Iterator[Event]:
        return self._events(self._framing.feed(portion))

    def close(self) -> Iterator[Event]:
        """The last event, if only its end is missing; raises `StreamBroken` if ``done`` never came."""
        yield from self._events(self._framing.close())
        if not self.done:
            where = "inside an event" if self._framing.incomplete else "without its last event"
            raise StreamBroken(f"the stream ended {where}, after {self.seen} events", events_seen=self.seen)

    def _events(self, raw_events: Iterator[Any]) -> Iterator[Event]:
        # Matches that arrived together are decoded together: cheaper than one by one.
        pending: list[bytes] = []
        try:
            for raw in raw_events:
                self.seen += 1
                if raw.name == "matches":
                    pending.append(raw.data)
                    continue
                yield from self._decoded(pending)
                yield from self._passed(decode_event(raw))
                if self.done:
                    return
            yield from self._decoded(pending)
        except ProtocolError as exc:
            yield from self._rescued(pending)
            raise StreamBroken(f"the stream turned unreadable: {exc}", events_seen=self.seen) from exc

    def _decoded(self, pending: list[bytes]) -> Iterator[Event]:
        if pending:
            batches = self._matches.decode(*pending)
            pending.clear()
            self._running = True
            yield from self.held()
            yield from batches

    def _rescued(self, pending: list[bytes]) -> Iterator[Event]:
        """What can be read of matches among which one can't."""
        for data in pending:
            try:
                batches = self._matches.decode(data)
            except ProtocolError:
                return
            yield from self.held()
            yield from batches

    def _passed(self, event: Any) -> Iterator[Event]:
        if isinstance(event, Alert | ErrorEvent) and not self._running:
            self._held.append(event)
            return
        if isinstance(event, Done):
            self.done = True
            if not self._running and not self._broke() and (fault := self._fault()):
                raise QueryError(fault, query=self._query)
        self._running = True
        yield from self.held()
        if not isinstance(event, Matches):
            yield event

    def _broke(self) -> bool:
        """Whether the service itself says that it, and not the query, is at fault."""
        return any(isinstance(event, Alert) and event.title in OWN_FAULTS for event in self._held)

    def _fault(self) -> str:
        """Why the service did not search: it says so and ends without any progress."""
        for event in self._held:
            if isinstance(event, ErrorEvent):
                return event.message
        for event in self._held:
            if isinstance(event, Alert) and event.kind in {"", "error"}:
                return event.description or event.title
        return ""
