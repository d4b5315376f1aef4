"""What every endpoint about conversations needs of a request: who asks, a context, a body, and faults as answers."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sourcelight.core.errors import CallError, ClusterError, QueryError, StateFull
from sourcelight.engines.deepsearch.redaction import without_text
from sourcelight.engines.tools import CallContext
from sourcelight.server.identity import Authenticator, Principal, Refusal
from sourcelight.server.service.guards import notes_of

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.conversations import Desk
    from sourcelight.engines.execution import Engine

log = logging.getLogger("sourcelight.deepsearch")
BUSY = "running"
DISK = "disk"
MOST_BODY_BYTES = 256 * 1024


class Refused(Exception):
    """Raised with the status and the text of an answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


@dataclass(frozen=True, slots=True)
class Asking:
    """A request of someone who is known.

    Parameters
    ----------
    desk
        The conversations.
    principal
        Who asks.
    context
        For whom, as tools are called with it.
    """

    desk: Desk
    principal: Principal
    context: CallContext


@dataclass(frozen=True, slots=True)
class Door:
    """What lets requests in.

    Parameters
    ----------
    engine, desk
        What answers.
    authenticator
        Tells who asks.
    external_url
        The service's address; empty: what each request used.
    """

    engine: Engine
    desk: Desk
    authenticator: Authenticator
    external_url: str = ""

    def base_of(self, request: Request) -> str:
        """Address of the service, as the caller sees it."""
        return self.external_url or f"{request.url.scheme}://{request.headers.get('host', 'localhost')}"

    def enter(self, request: Request) -> Asking:
        """Know who asks: by a header that no foreign page can set. Raises `Refused`."""
        found = self.authenticator.for_search(request.headers)
        if isinstance(found, Refusal):
            raise Refused(found.status, found.text)
        if found.is_anonymous:
            raise Refused(401, "Private mode requires authentication.")
        notes_of(request.scope).name(found)
        if not request.headers.get("x-requested-with", "").strip():
            raise Refused(400, "The header X-Requested-With is missing: name your client and its version there.")
        context = CallContext(self.engine, found.viewer, served=True, base_url=self.base_of(request))
        return Asking(self.desk, found, context)

    def guarded(self, handle: Callable[[Request, Asking], Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
        """Turn what a handler raises into an answer."""

        async def endpoint(request: Request) -> Response:
            try:
                return await handle(request, self.enter(request))
            except Refused as fault:
                return told(fault.status, fault.text)
            except (CallError, QueryError) as fault:
                return told(status_of(fault), str(fault))
            except StateFull as fault:
                return told(507, fault.for_callers)
            except ClusterError as fault:
                log.warning("request failed: %s", fault)
                return told(503, fault.for_callers)
            except Exception as fault:  # noqa: BLE001 - the log has it, its text left out
                number = secrets.token_hex(6)
                said = without_text(fault)
                log.error("request failed, id %s: %s", number, said)  # noqa: TRY400 - no text of questions in logs
                return told(500, f"internal error, id {number}: the log of the service says more")

        return endpoint


def status_of(fault: CallError | QueryError) -> int:
    """The status of a fault: what is busy, what is not there, and what can't be taken."""
    argument = getattr(fault, "argument", "")
    if argument == BUSY:
        return 409
    if argument == DISK:
        return 507
    return 404 if argument == "identifier" else 400


def told(status: int, text: str) -> Response:
    """A fault as JSON."""
    headers = {"Cache-Control": "no-store"}
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="sourcelight"'
    return JSONResponse({"error": text}, status, headers)


def given(value: Any, status: int = 200) -> Response:
    """An answer as JSON."""
    return JSONResponse(value, status, {"Cache-Control": "no-store"})


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object of a request; an empty body is an empty one. Raises `Refused`."""
    if request.headers.get("content-type", "application/json").partition(";")[0].strip() != "application/json":
        raise Refused(400, "The body has to be JSON: Content-Type application/json.")
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > MOST_BODY_BYTES:
            raise Refused(413, f"The body is larger than {MOST_BODY_BYTES:,} bytes.")
    try:
        value = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        raise Refused(400, "The body is not JSON.") from None
    if not isinstance(value, dict):
        raise Refused(400, "The body has to be a JSON object.")
    return value


def text_in(body: dict[str, Any], name: str) -> str:
    """A text of a body. Raises `Refused`."""
    value = body.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Refused(400, f"{name} is missing: it has to be a text that is not empty.")
    return value


async def apart(function: Callable[..., Any], *args: Any) -> Any:
    """Run what blocks in a thread."""
    return await anyio.to_thread.run_sync(lambda: function(*args))
