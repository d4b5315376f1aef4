"""The remote backend: events of a service's stream, with matches as record batches.

A service sends matched lines with the spans inside each line. A match across lines has no exact span in this form, so
queries that may have one request chunks, which have the start and end of each match.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlencode, urlsplit

from sourcelight.backends.remote.analyses import RemoteAnalyses, arguments_of, explanation_of
from sourcelight.backends.remote.conversations_api import ASKING, ConversationsApi, with_scope_as_text
from sourcelight.backends.remote.endpoint import (
    Credential,
    Endpoint,
    RetryPolicy,
    Secret,
    TokenCredential,
    reach,
    secret_token,
)
from sourcelight.backends.remote.event_reader import EventReader
from sourcelight.backends.remote.recording import LIVE, route
from sourcelight.backends.remote.transport import HttpTransport
from sourcelight.core.backend import Features
from sourcelight.core.batches import Event, MatchBatch, RepositoryInfo
from sourcelight.core.batches.results import AdvertisedTool, CallObserver, ToolReply, ToolResult
from sourcelight.core.errors import QueryError, SearchFailed, StreamBroken, ToolError, TransportError
from sourcelight.core.query import parse
from sourcelight.core.query.alternatives import patterns_of
from sourcelight.core.query.fields import STRUCTURE
from sourcelight.core.query.narrowing import with_timeout
from sourcelight.core.query.parse import effective_pattern_type
from sourcelight.core.tools.conversations import SCOPE
from sourcelight.core.wire.events import ErrorEvent
from sourcelight.core.wire.request import SearchRequest

if TYPE_CHECKING:
    from sourcelight.backends.remote.mcp import RemoteTools


# Parts of a regular expression that may match a newline. A false positive only costs some bytes.
_MAY = re.compile(r"\n|\\[nsWDpPxC0-7]|\[\^|\[:|\(\?[a-zA-Z]*s")
_CHUNK = ("chunk", "chunk_start_line", "truncated", "chunk_offset")
"""Columns of chunks."""

# The limit of httpx2 and of `sourcelight serve`.
_MAX_ADDRESS_BYTES = 65_536

_ALL_REPOSITORIES = "type:repo count:all fork:yes archived:yes"


def may_cross_lines(request: SearchRequest) -> bool:
    """Return whether a match in a file may contain a newline."""
    is_code = request.pattern_type == STRUCTURE or STRUCTURE in request.query
    if not is_code and _MAY.search(request.query) is None:
        return False

    try:
        query = parse(request.query, request.pattern_type, version=request.version)
    except QueryError:
        return False

    for alternative in query.plan:
        if alternative.pattern is None:
            continue
        for leaf in patterns_of(alternative.pattern):
            is_regexp = leaf.kind == "regexp" and _MAY.search(leaf.value) is not None
            if "\n" in leaf.value or leaf.kind == "structure" or is_regexp:
                return True

    return False


def portable(request: SearchRequest) -> SearchRequest:
    """Return the request in the form that every service reads: the timeout as a filter, the type of ``patternType:``.

    The reference service ignores the filter in queries that it can't parse because of a ``)`` inside quotes or slashes.

    Raises
    ------
    QueryError
        The query can't be written with its timeout.
    """
    # The wire has no parameter for a timeout; the filter works on every service.
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
    if chunk_columns:
        return MatchBatch(event.batch.drop_columns(chunk_columns), event.repositories)
    return event


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
        Provides the header of each request instead of a token, such as a sign-in.
    **retry_options
        Options of `sourcelight.backends.remote.endpoint.RetryPolicy`.

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
        self._analyses = RemoteAnalyses(self._connection, self._endpoint.url)
        self._tools: RemoteTools | None = None
        self.name = self._endpoint.url
        secret = secret_token(token)

        # A digest rather than the token: it distinguishes stored answers of two accounts, and may be written to disk.
        digest = "" if secret is None else blake2b(secret.reveal().encode(), digest_size=8).hexdigest()
        self.features = Features(credential_id=digest, is_recorded=lambda: route() is not LIVE, service=self)

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
            The query can't be sent, or the service can't parse it or a parameter; raised before the first event.
        StreamBroken
            The stream ended or became unreadable before ``done``; raised after all events that arrived.
        TransportError, ServiceError, ProtocolError
            There was no stream.
        """
        reader = EventReader(
            request.query,
            request.display,
            request.pattern_type,
            default_matches=request.default_matches,
            hide_secrets=self._connection.hide_secrets,
        )
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

        # Alerts that explain the break were held back until the stream proved to run.
        for event in reader.delayed_events():
            yield event

        if isinstance(broken, StreamBroken):
            broken.events_seen = reader.seen
            raise reader.with_reason(broken)

        raise broken

    async def count(self, request: SearchRequest, by: Sequence[str]) -> Any | None:  # noqa: ARG002 - the protocol's
        """Return None: the caller counts the stream."""
        return None

    async def explain(self, request: SearchRequest) -> Mapping[str, Any] | None:
        """Return the service's explanation of a query, or None if the service doesn't explain queries.

        Raises
        ------
        QueryError
            The service can't parse the query.
        ProtocolError
            The response isn't an explanation.
        """
        if not await self._analyses.offers("explain"):
            return None
        try:
            answer = await self._analyses.call("explain", arguments_of(request), None)
        except ToolError:
            return None  # it has no parameter for the pattern type, so its explanation could be of another query
        return explanation_of(answer)

    async def call(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None) -> ToolResult:
        """Answer by the analysis of the service, or by MCP tools, called as often as necessary to get all rows.

        Raises
        ------
        UnsupportedTool
            The service has neither this tool nor a substitute; the message lists its tools.
        ToolError, RepositoryError, QueryError
            The service or its tool refuses the arguments.
        TransportError, ServiceError, ProtocolError
            There was no response.
        """
        if name in ASKING and not SCOPE.isdisjoint(arguments) and not await self._analyses.takes_scope():
            arguments = with_scope_as_text(arguments)

        conversing = self._conversations.calls.get(name)
        if conversing is not None:
            return await conversing(arguments)
        if await self._analyses.offers(name):
            return await self._analyses.call(name, arguments, observer)

        return await self._remote_tools().call(name, arguments, observer)

    def _remote_tools(self) -> RemoteTools:
        if self._tools is None:
            from sourcelight.backends.remote.mcp import RemoteTools

            self._tools = RemoteTools(self._endpoint, self._credential, self._retry_policy, self.stream)
        return self._tools

    async def advertised_tools(self) -> Mapping[str, AdvertisedTool]:
        """Return the tools of all MCP endpoints of the service, by name."""
        return await self._remote_tools().advertised_tools()

    async def call_advertised(
        self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None
    ) -> ToolReply:
        """Call any tool of the service; returns its answer as it was sent."""
        return await self._remote_tools().call_advertised(name, arguments, observer)

    async def fetch_file(self, link: str) -> bytes:
        """Return a file of the service by its address, absolute or relative to the service; at most 64 MiB.

        Raises
        ------
        ToolError
            For an address on another host or outside of the service's path: the credential is not sent there.
        """
        return await self._connection.fetch(self._path_of(link))

    def _path_of(self, link: str) -> str:
        """Return the path and the query of a link to this service; raises `ToolError` for any other link."""
        base = urlsplit(self._endpoint.url)
        invalid = ToolError(f"not an address of a file at {self.name}: {link[:200]!r}")
        try:
            parts = urlsplit(link)
        except ValueError:  # brackets that are no IPv6 address
            raise invalid from None

        if parts.netloc and (parts.scheme, parts.netloc) != (base.scheme, base.netloc):
            raise ToolError(f"{parts.scheme}://{parts.netloc} is another host than {self.name}")

        path = parts.path
        if not path.startswith(f"{base.path}/"):
            if parts.netloc:  # another application on the host, which must not get the credential either
                raise ToolError(f"{link[:200]!r} is not below {self.name}")
            path = f"{base.path}/{path.removeprefix('/')}"

        # The link comes from an answer, whose text is not trusted, and the request carries the credential. A path that
        # starts with two slashes would name another host, and servers decode `%2e%2e` before they resolve it. Some
        # take a backslash for a slash.
        is_path = path.startswith("/") and not path.startswith("//") and bool(parts.netloc) == bool(parts.scheme)
        leaves = ".." in unquote(path).replace("\\", "/").split("/")
        if not is_path or leaves or not link.isprintable() or len(link) > _MAX_ADDRESS_BYTES:
            raise invalid

        return path + (f"?{parts.query}" if parts.query else "")

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
        # Lone surrogates can't be encoded as UTF-8; the position helps to find an invisible character.
        position = next((index for index, char in enumerate(query) if "\ud800" <= char <= "\udfff"), None)
        position = None if position is None else len(query[:position].encode())
        raise QueryError("the query is not valid Unicode", query=query, position=position, stage="parse") from None

    if size > _MAX_ADDRESS_BYTES:
        raise QueryError(
            f"the query is too long for a request: {size:,} bytes of an address, the limit is {_MAX_ADDRESS_BYTES:,}",
            query=query[:100],
            hint="split it into several queries, or search a local clone",
        )
