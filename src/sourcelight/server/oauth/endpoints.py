"""The authorization server's addresses, as routes of the service."""

from __future__ import annotations

import json
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from sourcelight.repos.state import AttemptLimit, State
from sourcelight.server.identity import Authenticator
from sourcelight.server.oauth import addresses, pages
from sourcelight.server.oauth.addresses import OAuthOptions, server_metadata
from sourcelight.server.oauth.device import DeviceSignIn
from sourcelight.server.oauth.forms import FormSealer, network_of
from sourcelight.server.oauth.sign_in import SESSION_COOKIE, SignInPages

if TYPE_CHECKING:
    from sourcelight.server.oauth.handlers import Handlers

MAX_BODY_BYTES = 64 * 1024
"""Forms and JSON of these endpoints have some hundred bytes."""

_REGISTRATION_WINDOW_S = 600
_MAX_DESCRIPTION_CHARS = 300
_BELOW = "/{rest:path}"
"""End of a route that takes everything below its address, too."""

_ANY_ORIGIN = {"Access-Control-Allow-Origin": "*"}
"""A header that lets pages of any origin read an answer."""

_PREFLIGHT = {
    **_ANY_ORIGIN,
    "Access-Control-Allow-Methods": "POST, OPTIONS",
    "Access-Control-Allow-Headers": "authorization, content-type, mcp-protocol-version",
    "Access-Control-Max-Age": "600",
}
Endpoint = Callable[[Request], Awaitable[Response]]


class OAuthEndpoints:
    """All endpoints of sign-in and authorization.

    Parameters
    ----------
    state
        Accounts, clients and grants.
    authenticator
        Recognizes access tokens, which may replace a password.
    options
        Settings of the operator.
    """

    def __init__(self, state: State, authenticator: Authenticator, options: OAuthOptions) -> None:
        self._state = state
        self._options = options
        self._sealer = FormSealer(state.sessions.page_key, state.clock)
        self._signing_in = SignInPages(state, authenticator, self._sealer, options)
        self._device = DeviceSignIn(state, self._sealer, options, SESSION_COOKIE)
        self._handlers: Handlers | None = None
        self._loading = threading.Lock()

    def routes(self) -> list[Route]:
        """Return the routes, to be put into an application."""
        routes = [
            _form(addresses.SIGN_IN, self._signing_in.sign_in, "GET", "POST"),
            _form(addresses.SIGN_OUT, self._signing_in.sign_out, "POST"),
            _form(addresses.CONSENT, self._signing_in.consent, "GET", "POST"),
            _form(addresses.AUTHORIZE, self._authorize, "GET", "POST"),
            _form(addresses.DEVICE, self._device.page, "GET", "POST"),
            # Pages of other origins may post to these, after a preflight.
            _form(addresses.TOKEN, _answer_preflight(self._token), "POST", "OPTIONS"),
            _form(addresses.REVOKE, _answer_preflight(self._revoke), "POST", "OPTIONS"),
            _form(addresses.DEVICE_AUTHORIZATION, _answer_preflight(self._authorize_device), "POST", "OPTIONS"),
            # All methods: if registration is off, the endpoint must be missing for each of them.
            _form(addresses.REGISTER, self._register, "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"),
            Route(addresses.STYLE, _style),
            Route(addresses.TOKEN_HELP, _help_with_tokens),
            Route(addresses.TOKEN_HELP + _BELOW, _help_with_tokens),
        ]
        for path in addresses.METADATA:
            routes.append(Route(path, self._metadata, methods=["GET", "OPTIONS"]))
            routes.append(Route(path + _BELOW, self._metadata, methods=["GET", "OPTIONS"]))
        return routes

    def load(self) -> Handlers:
        """Load the SDK and make the handlers, a second of work that the first request would otherwise wait for."""
        from sourcelight.server.oauth.handlers import Handlers

        with self._loading:
            if self._handlers is None:
                self._handlers = Handlers(self._state, self._sealer, self._options, self._device)
        return self._handlers

    async def _load(self) -> Handlers:
        if self._handlers is None:
            return await anyio.to_thread.run_sync(self.load)
        return self._handlers

    async def _authorize(self, request: Request) -> Response:
        answer = await (await self._load()).authorize(request)
        if answer.status_code < 400:
            return answer
        # The client or its redirect address may be forged, so the error is shown to the user and not redirected
        # (RFC 6749, 4.1.2.1).
        text = "The application sent an invalid request, or is not registered here. Start again there."
        return pages.error_page("This request can't continue", f"{text} {description_of(answer)}", root="../../")

    async def _token(self, request: Request) -> Response:
        return _allow_any_origin(await (await self._load()).token(request))

    async def _revoke(self, request: Request) -> Response:
        return _allow_any_origin(await (await self._load()).revoke(request))

    async def _authorize_device(self, request: Request) -> Response:
        return _allow_any_origin(await self._device.authorize(request))

    async def _register(self, request: Request) -> Response:
        if not self._options.registration:
            return PlainTextResponse("not found\n", 404)
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=_PREFLIGHT)
        if request.method != "POST":
            return Response(status_code=405, headers={"Allow": "POST, OPTIONS"})

        limit = AttemptLimit(
            kind="registration",
            key=network_of(request),
            limit=self._options.registrations,
            window_s=_REGISTRATION_WINDOW_S,
        )
        # In a thread: the counter is in SQLite, shared by all processes, and may wait for its lock.
        admission = await anyio.to_thread.run_sync(self._state.attempts.admit, [limit])
        if not admission.is_granted:
            text = "Too many clients were registered from this address; try again later.\n"
            return _allow_any_origin(PlainTextResponse(text, 429, {"Retry-After": str(round(admission.wait_s) + 1)}))

        return _allow_any_origin(await (await self._load()).register(request))

    async def _metadata(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=_PREFLIGHT | {"Access-Control-Allow-Methods": "GET, OPTIONS"})
        base = self._options.base_of(request.scope)
        document = server_metadata(base, registration=self._options.registration, devices=self._options.devices)
        return JSONResponse(document, headers=_ANY_ORIGIN | {"Cache-Control": "no-store"})


def description_of(answer: Response) -> str:
    """Return the description in an OAuth error, in brackets; "" when there is none."""
    try:
        description = json.loads(bytes(answer.body)).get("error_description")
    # No JSON, or JSON of another form.
    except (ValueError, AttributeError):
        return ""
    if not isinstance(description, str) or not description.strip():
        return ""
    return f"({description.strip()[:_MAX_DESCRIPTION_CHARS]})"


def _form(path: str, endpoint: Endpoint, *methods: str) -> Route:
    """Return a route for bodies of bounded size."""
    return Route(path, _limit_body(endpoint), methods=list(methods))


async def _help_with_tokens(request: Request) -> Response:
    depth = request.url.path.rstrip("/").count("/") - 1
    return pages.token_page(root="../" * depth + ".auth/")


async def _style(_: Request) -> Response:
    return Response(pages.STYLE, media_type="text/css", headers={"Cache-Control": "max-age=3600"})


def _allow_any_origin(answer: Response) -> Response:
    answer.headers.update(_ANY_ORIGIN)
    return answer


def _answer_preflight(endpoint: Endpoint) -> Endpoint:
    async def answering_endpoint(request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=_PREFLIGHT)
        return await endpoint(request)

    return answering_endpoint


def _limit_body(endpoint: Endpoint) -> Endpoint:
    async def limited_endpoint(request: Request) -> Response:
        size = 0
        parts = []
        async for part in request.stream():
            size += len(part)
            if size > MAX_BODY_BYTES:
                return PlainTextResponse(f"The body is larger than {MAX_BODY_BYTES} bytes.\n", 413)
            parts.append(part)

        body = b"".join(parts)

        # The handlers read the body again; this request gives them the bytes that were within the limit.
        async def replay_body() -> dict[str, object]:
            return {"type": "http.request", "body": body, "more_body": False}

        return await endpoint(Request(request.scope, replay_body))

    return limited_endpoint
