"""The remote backend: events of a service's stream, with matches as record batches.

A service lists matched lines with the spans inside each line. A match across lines has no exact span there, so such
queries ask for chunks, which have the start and end of each match.
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


# Parts of a regular expression that may match a newline. A false positive only costs some bytes.
_MAY = re.compile(r"\n|\\[nsWDpPxC0-7]|\[\^|\[:|\(\?[a-zA-Z]*s")
_CHUNK = ("chunk", "chunk_start_line", "truncated", "chunk_offset")


def may_cross_lines(request: SearchRequest) -> bool:
    """Tell whether a match in a file may contain a newline."""
    if _MAY.search(request.query) is None:
        return False
    try:
        query = parse(request.query, request.pattern_type, version=request.version)
    except QueryError:
        return False
    patterns = [
        leaf
        for alternative in query.plan
        if alternative.pattern is not None
        for leaf in patterns_of(alternative.pattern)
    ]
    return any("\n" in leaf.value or (leaf.kind == "regexp" and _MAY.search(leaf.value)) for leaf in patterns)


def portable(request: SearchRequest) -> SearchRequest:
    """Return the request in the form that every service reads: the timeout as a filter, the type of ``patternType:``.

    The reference service ignores the filter in queries that it can't parse because of a ``)`` inside quotes or slashes.

    Raises
    ------
    QueryError
        When no text expresses the query with its timeout.
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
    """Return the request with each match as a chunk, without context lines."""
    return replace(request, chunk_matches=True, context_lines=0, max_line_len=-1)


def without_chunks(event: Event) -> Event:
    """Return an event without the columns of chunks."""
    if not isinstance(event, MatchBatch):
        return event
    chunk_columns = [name for name in _CHUNK if name in event.batch.schema.names]
    return MatchBatch(event.batch.drop_columns(chunk_columns), event.repositories) if chunk_columns else event


# The limit of httpx and of `sourcelight serve`.
_MAX_ADDRESS_BYTES = 65_536
_ALL_REPOSITORIES = "type:repo count:all fork:yes archived:yes"


class RemoteBackend:
    """A service over HTTP.

    Parameters
    ----------
    endpoint
        Address of the service, or the result of `resolve_endpoint`.
    token
        Credential; None for a service without sign-in.
    bearer
        Whether the token is an OAuth token (``Authorization: Bearer``) instead of an access token.
    credential
        Provides the header of each request in place of a token, such as a sign-in.
    connect_timeout_s, idle_timeout_s, retries, backoff_s, max_retry_after_s
        See `sourcelight.backends.remote.endpoint.RetryPolicy`.

    Raises
    ------
    ConfigurationError
        For an invalid address or token.
    """

    local = False

    def __init__(
        self,
        endpoint: str | Endpoint,
        token: str | Secret | None = None,
        *,
        bearer: bool = False,
        credential: Credential | None = None,
        **retry_options: Any,
    ) -> None:
        self._endpoint = endpoint if isinstance(endpoint, Endpoint) else Endpoint.parse(endpoint)
        self._credential = credential or TokenCredential(secret_token(token), bearer=bearer)
        self._retry_policy = RetryPolicy(**retry_options)
        self._connection = HttpTransport(self._endpoint, self._credential, retry_policy=self._retry_policy)
        self._conversations = ConversationsApi(self._connection)
        self._tools: RemoteTools | None = None
        self.name = self._endpoint.url
        secret = secret_token(token)
        # A digest of the credential, for caches on disk: another credential may see other repositories.
        self.whose = "" if secret is None else blake2b(secret.reveal().encode(), digest_size=8).hexdigest()

    @property
    def taped(self) -> bool:
        """Whether requests are recorded or replayed; then no cache may answer."""
        return tape() is not None

    def __repr__(self) -> str:
        return f"RemoteBackend({self.name!r})"

    async def reach(self) -> None:
        """Open and close a connection without sending a byte; raise `ConnectFailed` when no service listens."""
        await reach(self._endpoint, self._retry_policy.connect_timeout_s)

    async def stream(self, request: SearchRequest) -> AsyncGenerator[Event, None]:
        """Yield the events of a search. Closing the generator closes the connection, which stops the search.

        Raises
        ------
        QueryError
            When the query can't be sent, or the service can't parse it or a parameter; before the first event.
        StreamBroken
            When the stream ends or becomes unreadable before ``done``, after all events that arrived.
        TransportError, ServiceError, ProtocolError
            When there is no stream at all.
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
        for event in reader.delayed_events():
            yield event
        if isinstance(broken, StreamBroken):
            broken.events_seen = reader.seen
        raise broken

    async def count(self, request: SearchRequest, by: Sequence[str]) -> Any | None:  # noqa: ARG002 - the protocol's
        """Return None: the caller counts the stream."""
        return None

    async def explain(self, request: SearchRequest) -> Mapping[str, Any] | None:  # noqa: ARG002 - the protocol's
        """Return None: the protocol has no such request."""
        return None

    async def call(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None) -> ToolResult:
        """Call MCP tools of the service, as often as it takes to get all rows; see `RemoteTools`.

        Raises
        ------
        UnsupportedTool
            When the service has neither this tool nor a substitute; the message lists its tools.
        ToolError, RepositoryError, QueryError
            When the service or its tool refuses the arguments.
        TransportError, ServiceError, ProtocolError
            When there is no response at all.
        """
        conversing = self._conversations.calls.get(name)
        if conversing is not None:
            return await conversing(arguments)
        if self._tools is None:
            from sourcelight.backends.remote.mcp import RemoteTools

            self._tools = RemoteTools(self._endpoint, self._credential, self._retry_policy, self.stream)
        return await self._tools.call(name, arguments, observer)

    async def repositories(self) -> tuple[RepositoryInfo, ...]:
        """Return all repositories that the credential may see, with forks and archived ones, from one search."""
        by_name: dict[str, RepositoryInfo] = {}
        async with aclosing(self.stream(SearchRequest(_ALL_REPOSITORIES))) as events:
            async for event in events:
                if isinstance(event, MatchBatch):
                    by_name.update((info.name, info) for info in event.repositories)
                elif isinstance(event, ErrorEvent):
                    raise SearchFailed(f"{self.name} can't list its repositories: {event.message}")
        return tuple(by_name[name] for name in sorted(by_name))

    async def aclose(self) -> None:
        """Close all connections."""
        if self._tools is not None:
            await self._tools.aclose()
        await self._connection.aclose()


def _check(params: Mapping[str, str], query: str) -> None:
    try:
        size = len(urlencode(params))
    except UnicodeEncodeError:
        position = next((index for index, char in enumerate(query) if "\ud800" <= char <= "\udfff"), None)
        position = None if position is None else len(query[:position].encode())
        raise QueryError("the query is not valid Unicode", query=query, position=position, stage="parse") from None
    if size > _MAX_ADDRESS_BYTES:
        raise QueryError(
            f"the query is too long for a request: {size:,} bytes of an address, the limit is {_MAX_ADDRESS_BYTES:,}",
            query=query[:100],
            hint="split it into several queries, or search a local clone",
        )


class _EventReader:
    """Decodes bytes into events; delays alerts and errors until it is clear that the search ran."""

    def __init__(self, query: str) -> None:
        self._query = query
        self._framing = SseDecoder()
        self._matches = MatchDecoder()
        self._delayed: list[Alert | ErrorEvent] = []
        self._is_running = False
        self.done = False
        self.seen = 0

    def delayed_events(self) -> list[Event]:
        """Return and clear the delayed events."""
        delayed_events, self._delayed = list[Event](self._delayed), []
        return delayed_events

    def feed(self, portion: bytes) -> Iterator[Event]:
        return self._events(self._framing.feed(portion))

    def close(self) -> Iterator[Event]:
        """Yield the last event if only its end is missing; raise `StreamBroken` without ``done``."""
        yield from self._events(self._framing.close())
        if not self.done:
            place = "inside an event" if self._framing.incomplete else "without its last event"
            raise StreamBroken(f"the stream ended {place}, after {self.seen} events", events_seen=self.seen)

    def _events(self, raw_events: Iterator[Any]) -> Iterator[Event]:
        # Decoding matches that arrived together is cheaper than one by one.
        pending: list[bytes] = []
        try:
            for raw in raw_events:
                self.seen += 1
                if raw.name == "matches":
                    pending.append(raw.data)
                    continue
                yield from self._decode_matches(pending)
                yield from self._pass_on(decode_event(raw))
                if self.done:
                    return
            yield from self._decode_matches(pending)
        except ProtocolError as exc:
            yield from self._decode_readable(pending)
            raise StreamBroken(f"the stream became unreadable: {exc}", events_seen=self.seen) from exc

    def _decode_matches(self, pending: list[bytes]) -> Iterator[Event]:
        if pending:
            batches = self._matches.decode(*pending)
            pending.clear()
            self._is_running = True
            yield from self.delayed_events()
            yield from batches

    def _decode_readable(self, pending: list[bytes]) -> Iterator[Event]:
        """Yield the readable matches before the one that can't be decoded."""
        for data in pending:
            try:
                batches = self._matches.decode(data)
            except ProtocolError:
                return
            yield from self.delayed_events()
            yield from batches

    def _pass_on(self, event: Any) -> Iterator[Event]:
        if isinstance(event, Alert | ErrorEvent) and not self._is_running:
            self._delayed.append(event)
            return
        if isinstance(event, Done):
            self.done = True
            if not self._is_running and not self._service_failed() and (message := self._query_error()):
                raise QueryError(message, query=self._query)
        self._is_running = True
        yield from self.delayed_events()
        if not isinstance(event, Matches):
            yield event

    def _service_failed(self) -> bool:
        """Tell whether the service blames itself, and not the query."""
        return any(isinstance(event, Alert) and event.title in OWN_FAULTS for event in self._delayed)

    def _query_error(self) -> str:
        """Return the reason for a search that ended without progress; empty without one."""
        for event in self._delayed:
            if isinstance(event, ErrorEvent):
                return event.message
        for event in self._delayed:
            if isinstance(event, Alert) and event.kind in {"", "error"}:
                return event.description or event.title
        return ""
