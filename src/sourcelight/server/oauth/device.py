"""Sign-in of command-line clients (RFC 8628): the client shows a code, and its user allows it in a browser.

Anyone can start such a request and send its address to another user, so the page shows the code, asks to compare it
with the terminal, and never decides on opening. Clients that registered themselves can't use it, since no one vouches
for their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from sourcelight.core.errors import StateError
from sourcelight.repos.state import MCP, USER_ALL, AttemptLimit, BrowserSession, OAuthClient, State, TokenPair
from sourcelight.repos.state.devices import COMMAND_LINE_CLIENT, DEVICE_CODE_S, INTERVAL_S, DeviceRequest
from sourcelight.server.oauth import pages
from sourcelight.server.oauth.addresses import DEVICE, OAuthOptions
from sourcelight.server.oauth.forms import NO_STORE, FormSealer, form_of, is_same_site, network_of, oauth_error

_STARTS, _START_WINDOW_S = 30, 600
"""Sign-ins that may be started from one network, and seconds until they count no more."""

_GUESSES, _GUESS_WINDOW_S = 10, 300
"""Codes that an account may enter, and seconds until they count no more."""

_TEXTS = {
    "authorization_pending": "the user has not decided yet",
    "slow_down": "requests come faster than the interval allows",
    "access_denied": "the user denied the request",
    "expired_token": "the device code is unknown or expired; start again",
}
"""Descriptions of the errors of a token request (RFC 8628, 3.5)."""


class DeviceSignIn:
    """The endpoints and the page of one state.

    Parameters
    ----------
    state
        Clients, accounts, sessions and codes.
    sealer
        Marks forms.
    options
        Settings of the operator.
    session_cookie
        Name of the cookie of a signed-in browser.
    """

    def __init__(self, state: State, sealer: FormSealer, options: OAuthOptions, session_cookie: str) -> None:
        self._state = state
        self._sealer = sealer
        self._options = options
        self._session_cookie = session_cookie

    async def authorize(self, request: Request) -> Response:
        """Start a request (RFC 8628, 3.1 and 3.2)."""
        # 404 and not 403: an endpoint that the operator turned off looks the same as one that this version doesn't
        # have.
        if not self._options.devices:
            return PlainTextResponse("not found\n", 404)

        form = await form_of(request)
        client_id = form.get("client_id", "")
        allowed = self._scopes_of(client_id)
        if allowed is None:
            return oauth_error(401, "invalid_client", "this client can't use the device flow")

        # Scopes that mean nothing here, such as openid, are left out; the answer to the token request names the rest.
        requested = [scope for scope in form.get("scope", "").split() if scope in allowed]
        if form.get("scope", "").split() and not requested:
            return oauth_error(400, "invalid_scope", f"available scopes: {' '.join(allowed)}")

        # By network, since the caller has no account yet. Each start takes a row and one of few user codes, so an open
        # endpoint could otherwise exhaust both.
        limit = AttemptLimit(kind="device sign-in", key=network_of(request), limit=_STARTS, window_s=_START_WINDOW_S)
        admission = await anyio.to_thread.run_sync(self._state.attempts.admit, [limit])
        if not admission.is_granted:
            answer = oauth_error(429, "slow_down", "too many sign-ins were started from this address")
            answer.headers["Retry-After"] = str(round(admission.wait_s) + 1)
            return answer

        try:
            device_code, user_code = await anyio.to_thread.run_sync(
                self._state.devices.start, client_id, requested or allowed[:1]
            )
        except StateError as exc:
            return oauth_error(503, "temporarily_unavailable", str(exc))

        page = f"{self._options.base_of(request.scope)}{DEVICE}"
        document = {
            "device_code": device_code,
            "user_code": user_code,
            "verification_uri": page,
            "verification_uri_complete": f"{page}?{urlencode({'user_code': user_code})}",
            "expires_in": DEVICE_CODE_S,
            "interval": INTERVAL_S,
        }
        return JSONResponse(document, headers=NO_STORE)

    async def exchange(self, form: Mapping[str, str]) -> Response:
        """Answer a token request with a device code (RFC 8628, 3.4 and 3.5)."""
        device_code, client_id = form.get("device_code", ""), form.get("client_id", "")
        if not device_code or not client_id:
            return oauth_error(400, "invalid_request", "device_code and client_id are required")
        if self._scopes_of(client_id) is None:
            return oauth_error(401, "invalid_client", "this client can't use the device flow")

        # In a thread: SQLite may wait for a writer of another process, and the event loop serves streams meanwhile.
        outcome = await anyio.to_thread.run_sync(self._state.devices.exchange, device_code, client_id)
        if not isinstance(outcome, TokenPair):
            return oauth_error(400, outcome, _TEXTS[outcome])

        document = {
            "access_token": outcome.access,
            "token_type": "Bearer",
            "expires_in": outcome.expires_in,
            "refresh_token": outcome.refresh,
            "scope": " ".join(outcome.scopes),
        }
        return JSONResponse(document, headers=NO_STORE)

    async def page(self, request: Request) -> Response:
        """Ask for a code, show its request (GET), or apply the decision (POST)."""
        # The secret of the session, which its forms are signed with, and the session itself.
        session = request.cookies.get(self._session_cookie, "")
        browser_session = self._state.sessions.find(session)
        form = await form_of(request) if request.method == "POST" else dict(request.query_params)

        # Bounded before it is looked up, hashed or shown; codes have 9 characters with their dash.
        code = form.get("user_code", "").strip()[:40]
        if browser_session is None:
            target = DEVICE + (f"?{urlencode({'user_code': code})}" if code else "")
            return RedirectResponse(f"sign-in?to={quote(target, safe='')}", 303, NO_STORE)
        if not code:
            return pages.device_code_page()

        return await self._show(request, form, browser_session=browser_session, session=session, code=code)

    async def _show(
        self, request: Request, form: Mapping[str, str], *, browser_session: BrowserSession, session: str, code: str
    ) -> Response:
        """Answer with the request of a code, or its decision; wrong codes are counted, for each account."""
        if request.method == "POST" and not self._may_post(request, form, session, code):
            return pages.error_page("Access not granted", "The form has expired. Go back and try again.")

        # RFC 8628, 5.1: user codes are short, so guesses have to be limited. Counted per account, which a guesser can't
        # change as easily as an address; a right code is taken off again below.
        limit = AttemptLimit(
            kind="device code", key=str(browser_session.account), limit=_GUESSES, window_s=_GUESS_WINDOW_S
        )
        admission = await anyio.to_thread.run_sync(self._state.attempts.admit, [limit])
        if not admission.is_granted:
            return pages.device_code_page(error="Too many codes were tried. Wait a few minutes.", status=429)

        pending = await anyio.to_thread.run_sync(self._state.devices.pending, code)
        client = self._state.clients.find(pending.client) if pending is not None else None
        if pending is None or client is None:
            error = "This code is unknown or has expired. Start again in the terminal."
            return pages.device_code_page(error=error, status=404)

        # The code was right: showing the page and posting its form must not use up guesses.
        await anyio.to_thread.run_sync(self._state.attempts.withdraw, admission)
        if request.method == "POST":
            return await self._decide(code, browser_session, is_allowed=form.get("decision") == "allow")

        return self._ask(pending, client, browser_session=browser_session, session=session, code=code)

    async def _decide(self, code: str, browser_session: BrowserSession, *, is_allowed: bool) -> Response:
        decided = await anyio.to_thread.run_sync(
            lambda: self._state.devices.decide(code, browser_session.account, is_allowed=is_allowed)
        )
        if not decided:
            return pages.error_page("Access not granted", "The request has ended. Start again in the terminal.")
        return pages.decided_page(is_allowed=is_allowed)

    def _ask(
        self, pending: DeviceRequest, client: OAuthClient, *, browser_session: BrowserSession, session: str, code: str
    ) -> Response:
        """Answer with the page that asks whether the client may have access."""
        return pages.device_page(
            user_code=pending.user_code,
            client=client.name,
            scopes=pending.scopes,
            account=browser_session.name,
            typed=code,
            csrf_tokens=(
                self._sealer.csrf_token("device", session, code),
                self._sealer.csrf_token("sign-out", session),
            ),
        )

    def _may_post(self, request: Request, form: Mapping[str, str], session: str, code: str) -> bool:
        if not is_same_site(request, self._options.base_of(request.scope)):
            return False
        return self._sealer.has_csrf_token(form.get("mark", ""), "device", session, code)

    def _scopes_of(self, client_id: str) -> tuple[str, ...] | None:
        """Return the scopes that a client may ask for, or None if it may not use this flow.

        A client with a secret, or a self-registered client, uses the flow with a redirect.
        """
        if not self._options.devices:
            return None
        if client_id == COMMAND_LINE_CLIENT:
            return USER_ALL, MCP

        # A dynamic client chose its own name, so the page would ask the user to trust whatever text an attacker
        # registered.
        client = self._state.clients.find(client_id) if client_id else None
        if client is None or client.dynamic or client.secret is not None:
            return None

        return client.scopes if USER_ALL not in client.scopes else (USER_ALL, MCP)
