"""``POST /.api/graphql``: the same credentials, repositories and time limit as the stream.

Checks come before work: the body's size, the query's size, depth and number of fields, then its validity. An error of
the query is part of an answer with status 200, as clients of GraphQL expect; credentials have their own status.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from typing import Any

import anyio.to_thread
from graphql import DocumentNode, ExecutionResult, GraphQLError, OperationDefinitionNode, execute, parse, validate
from graphql.language import OperationType
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, ClusterError, SourcelightError, StateError, StateUnusable
from sourcelight.engines.execution import Engine
from sourcelight.server.http.graphql import limits
from sourcelight.server.http.graphql.query import QueryRoot
from sourcelight.server.http.graphql.reading import GraphRequest, reader_of
from sourcelight.server.http.graphql.schema import executable_schema, resolve_field, resolve_type
from sourcelight.server.http.requests import RequestRefused, read_json_object
from sourcelight.server.identity import Authenticator, FairQueue, Principal, QueueFull, Refusal

log = logging.getLogger("sourcelight.service")

_HEADERS = {"Cache-Control": "no-store", "Vary": "Authorization"}
_MAX_CONCURRENT, _MAX_PER_ACCOUNT, _MAX_PENDING, _MAX_WAIT_S = 8, 4, 32, 10.0
_ANSWERS = (
    "This service answers currentUser, site, search, repository and repositories over GraphQL, read-only; "
    "for everything else use /.api/search/stream or the MCP tools at /.api/mcp."
)
_ACCESS_ENDED = "Your access ended or changed while the request ran."
_CHANGES = f"This GraphQL endpoint changes nothing. {_ANSWERS}"

OnPrincipal = Callable[[Request, Principal], None]


class GraphQLEndpoint:
    """The endpoint of one service.

    Parameters
    ----------
    engine
        Answers searches, and has the catalog.
    authenticator
        Identifies the sender of a request.
    timeout_s
        Longest time of a request, in seconds.
    version
        Version of the public API that is reported to clients.
    on_principal
        Receives the principal of each request, for the logs.
    """

    def __init__(
        self,
        engine: Engine,
        authenticator: Authenticator,
        *,
        timeout_s: float,
        version: str,
        on_principal: OnPrincipal,
    ) -> None:
        self._engine = engine
        self._authenticator = authenticator
        self._timeout_s = timeout_s
        self._version = version
        self._on_principal = on_principal
        self._queue = FairQueue(_MAX_CONCURRENT, _MAX_PER_ACCOUNT, _MAX_PENDING)

    async def __call__(self, request: Request) -> Response:
        """Answer a request."""
        principal = self._authenticator.for_search(request.headers)
        if isinstance(principal, Refusal):
            challenge = {"WWW-Authenticate": 'Bearer realm="sourcelight"'} if principal.status == 401 else {}
            return _errors([principal.text], principal.status, challenge)

        self._on_principal(request, principal)
        try:
            document, variables, operation = await _read_request(request)
        except RequestRefused as exc:
            return _errors([exc.text], exc.status)
        except GraphQLError as exc:
            return _errors([exc.message])

        return await self._answer_in_turn(request, principal, document, variables, operation)

    async def _answer_in_turn(
        self,
        request: Request,
        principal: Principal,
        document: DocumentNode,
        variables: dict[str, Any] | None,
        operation: str | None,
    ) -> Response:
        reader = principal.account or f"anonymous {request.client.host if request.client else ''}"
        try:
            await self._queue.acquire(reader, _MAX_WAIT_S)
        except QueueFull:
            return _errors(["The service is busy; retry in a moment."], 429, {"Retry-After": "1"})

        cancellation = Cancellation(self._timeout_s)
        try:
            # Abandoned when the client disconnects: the thread ends at the next check of `cancellation`.
            answer: Response = await anyio.to_thread.run_sync(
                self._answer, document, variables, operation, principal, cancellation, abandon_on_cancel=True
            )
        except StateUnusable:
            raise
        except StateError:  # the account was deleted after it was recognized
            return _errors([_ACCESS_ENDED], 403)
        finally:
            cancellation.cancel()
            self._queue.release(reader)

        # Checked again after the work, which may have taken a minute.
        if not self._authenticator.still_searches(request.headers, principal):
            return _errors([_ACCESS_ENDED], 403)

        return answer

    def _answer(
        self,
        document: DocumentNode,
        variables: dict[str, Any] | None,
        operation: str | None,
        principal: Principal,
        cancellation: Cancellation,
    ) -> Response:
        schema = executable_schema()
        problems = validate(schema, document, max_errors=limits.MAX_ERRORS)
        if problems:
            return _errors([*(problem.message for problem in problems), _ANSWERS])

        user = self._authenticator.state.accounts.get(principal.account) if principal.account else None
        viewer, budget = principal.viewer, limits.Budget(cancellation)
        graph_request = GraphRequest(
            engine=self._engine, viewer=viewer, budget=budget, reader=reader_of(self._engine, viewer, budget)
        )
        result = execute(
            schema,
            document,
            root_value=QueryRoot(request=graph_request, principal=principal, account=user, version=self._version),
            variable_values=variables,
            operation_name=operation,
            field_resolver=resolve_field,
            type_resolver=resolve_type,
        )
        assert isinstance(result, ExecutionResult)  # noqa: S101 - no resolver is asynchronous
        payload: dict[str, Any] = {"data": result.data}
        if result.errors:
            payload["errors"] = [_describe(error) for error in result.errors]

        return JSONResponse(payload, headers=_HEADERS)


async def _read_request(request: Request) -> tuple[DocumentNode, dict[str, Any] | None, str | None]:
    """Read document, variables and operation of a request. Raises `RequestRefused` and `GraphQLError`."""
    value = await read_json_object(request, unpacks=True)
    text = value.get("query")
    if not isinstance(text, str) or not text.strip():
        raise RequestRefused(400, "query must be a non-empty string.")
    if len(text) > limits.MAX_QUERY_CHARS:
        raise RequestRefused(400, f"The query is longer than {limits.MAX_QUERY_CHARS:,} characters.")

    variables, operation = value.get("variables"), value.get("operationName")
    if not isinstance(variables, dict | None) or not isinstance(operation, str | None):
        raise RequestRefused(400, "variables must be an object, and operationName a text.")

    try:
        # The parser is recursive and without a limit of depth, so the number of tokens is limited, and RecursionError
        # caught.
        document = parse(text, no_location=True, max_tokens=limits.MAX_TOKENS)
    except RecursionError:
        raise RequestRefused(400, f"The query is nested more than {limits.MAX_DEPTH} levels deep.") from None

    limits.check_size(document)
    for node in document.definitions:
        if isinstance(node, OperationDefinitionNode) and node.operation is not OperationType.QUERY:
            raise GraphQLError(_CHANGES)

    return document, variables, operation or None


def _describe(error: GraphQLError) -> dict[str, Any]:
    """Return an error for the caller; details that aren't for callers go to the log, under an id."""
    cause = error.original_error
    text = error.message
    if isinstance(cause, Cancelled):
        text = "The request took longer than the service allows; ask for less."
    elif isinstance(cause, ClusterError):
        text = cause.for_callers
    elif cause is not None and not isinstance(cause, GraphQLError | SourcelightError):
        error_id = secrets.token_hex(6)
        log.error("a GraphQL request failed, id %s", error_id, exc_info=cause)
        text = f"internal error, id {error_id}: see the log of the service"

    return {"message": text, **({"path": error.path} if error.path else {})}


def _errors(messages: list[str], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    errors = [{"message": message} for message in messages]
    return JSONResponse({"errors": errors}, status, {**_HEADERS, **(headers or {})})
