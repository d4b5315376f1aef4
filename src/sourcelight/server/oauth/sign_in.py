"""Endpoints of the pages: sign in, consent, sign out.

A signed-in browser has one cookie for these pages and another for read-only pages; neither is valid for an API. Forms
have a CSRF token that is bound to a cookie, and the Origin of a foreign page is refused too.
"""

from __future__ import annotations

import secrets
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sourcelight.core.markup import own_address
from sourcelight.repos.state import MCP_ACCESS, BrowserSession, OAuthClient, State
from sourcelight.server.identity import Authenticator
from sourcelight.server.oauth import forms, pages
from sourcelight.server.oauth.addresses import PREFIX, OAuthOptions, matches, with_query

SESSION_COOKIE = "sourcelight-session"
FORM_COOKIE = "sourcelight-form"
READER_COOKIE = "sourcelight-reader"
# Each check takes 16 MiB and some tenths of a second of scrypt: more at a time would stop the searches of all others.
_MAX_CONCURRENT_CHECKS = 2
_MAX_WAITING_CHECKS = 14
"""Passwords that wait for a check; beyond that, a sign-in is refused for the moment."""

_WRONG = "Wrong account or password. An access token needs the scope user:all."
_BUSY = "Too many people are signing in. Try again in a few seconds."
_OLD = "The form has expired. Go back and try again."
_GONE = "The request has expired or was changed. Start again in the application."


class SignInPages:
    """The pages of one state.

    Parameters
    ----------
    state
        Accounts, sessions, clients and grants.
    authenticator
        Recognizes an access token instead of a password.
    sealer
        Opens sealed authorization requests.
    options
        Settings of the operator.
    """

    def __init__(
        self, state: State, authenticator: Authenticator, sealer: forms.FormSealer, options: OAuthOptions
    ) -> None:
        self._state = state
        self._authenticator = authenticator
        self._sealer = sealer
        self._options = options

        # Not the whole site: all ports of a host share cookies. A proxy may add a path.
        self._root = urlsplit(options.external_url).path.rstrip("/")
        self._cookie_path = self._root + PREFIX

        # Bounded, since anyone may post to this form: an open queue would grow until memory is full.
        self._password_checks = forms.BoundedQueue(_MAX_CONCURRENT_CHECKS, _MAX_WAITING_CHECKS)

    async def sign_in(self, request: Request) -> Response:
        """Show the form (GET), or sign in (POST)."""
        if request.method != "POST":
            sealed = request.query_params.get("request", "")
            session = request.cookies.get(SESSION_COOKIE, "")
            browser_session = self._state.sessions.find(session)
            if browser_session is not None and sealed:
                return _to(f"idp/oauth/consent?request={sealed}")

            # `_page` accepts addresses of this service only; any other would make the form an open redirect.
            if browser_session is not None and (page := self._page(request.query_params.get("to", ""))):
                return self._with_reader(_to(page), request, session)

            if browser_session is not None:
                return pages.signed_in_page(
                    name=browser_session.name, csrf_token=self._sealer.csrf_token("sign-out", session)
                )

            return self._form(request, sealed)

        form = await forms.form_of(request)
        cookie = request.cookies.get(FORM_COOKIE, "")
        sealed = form.get("request", "")
        if (
            # Both checks: a token proves the form, the Origin stops a foreign page that got hold of one.
            not forms.is_same_site(request, self._options.base_of(request.scope))
            or not cookie
            or not self._sealer.has_csrf_token(form.get("mark", ""), "sign-in", cookie)
        ):
            return self._form(request, sealed, error="The form has expired. Try again.", status=400)

        return await self._try(
            request,
            form.get("name", "").strip(),
            password=form.get("password", ""),
            sealed=sealed,
            to=form.get("to", ""),
        )

    async def sign_out(self, request: Request) -> Response:
        """End the session (POST)."""
        form = await forms.form_of(request)
        session = request.cookies.get(SESSION_COOKIE, "")
        if not forms.is_same_site(request, self._options.base_of(request.scope)) or not self._sealer.has_csrf_token(
            form.get("mark", ""), "sign-out", session
        ):
            return pages.error_page("Not signed out", _OLD)

        await anyio.to_thread.run_sync(self._state.sessions.end, session)
        sealed = form.get("request", "")
        answer = _to(f"sign-in?request={sealed}" if self._sealer.open(sealed) is not None else "sign-in")

        # With the path that set it: a browser keeps one cookie for each path, and deletes only the matching cookie.
        answer.delete_cookie(SESSION_COOKIE, path=self._cookie_path)
        answer.delete_cookie(READER_COOKIE, path=self._root or "/")
        return answer

    async def consent(self, request: Request) -> Response:
        """Show the request of a client (GET), or apply the decision (POST)."""
        form = await forms.form_of(request) if request.method == "POST" else dict(request.query_params)
        sealed = form.get("request", "")
        pending = self._sealer.open(sealed)
        client = self._client_of(pending, request)
        if pending is None or client is None:
            return pages.error_page("This request can't continue", _GONE, root="../../")

        session = request.cookies.get(SESSION_COOKIE, "")
        browser_session = self._state.sessions.find(session)
        if browser_session is None:
            return _to(f"../../sign-in?request={sealed}")
        if request.method != "POST":
            return self._question(pending, client, browser_session, sealed, session)

        if not forms.is_same_site(request, self._options.base_of(request.scope)) or not self._sealer.has_csrf_token(
            form.get("mark", ""), "consent", session, sealed
        ):
            return pages.error_page("Access not granted", "The form has expired. Go back and try again.", root="../../")

        return await self._decide(pending, browser_session, form.get("decision", ""))

    def _question(
        self,
        pending: forms.PendingAuthorization,
        client: OAuthClient,
        browser_session: BrowserSession,
        sealed: str,
        session: str,
    ) -> Response:
        rights = self._state.rights.for_account(browser_session.account)
        return pages.consent_page(
            pending=pending,
            client=client.name,
            dynamic=client.dynamic,
            account=browser_session.name,
            lacks_access=rights is None or MCP_ACCESS not in rights.permissions,
            request=sealed,
            csrf_tokens=(
                self._sealer.csrf_token("consent", session, sealed),
                self._sealer.csrf_token("sign-out", session),
            ),
        )

    async def _decide(
        self, pending: forms.PendingAuthorization, browser_session: BrowserSession, decision: str
    ) -> Response:
        """Redirect to the client with a code or a refusal."""
        answer = {"state": pending.state, "iss": pending.issuer}
        if decision != "allow":
            refused = {"error": "access_denied", "error_description": "the user denied the request"}
            return _to(with_query(pending.redirect_uri, refused | answer))

        def grant() -> str:
            return self._state.authorizations.grant(
                browser_session.account,
                pending.client,
                pending.scopes,
                resource=pending.resource,
                redirect_uri=pending.redirect_uri,
                redirect_uri_given=pending.redirect_uri_given,
                challenge=pending.challenge,
            )

        return _to(with_query(pending.redirect_uri, {"code": await anyio.to_thread.run_sync(grant)} | answer))

    async def _try(self, request: Request, name: str, *, password: str, sealed: str, to: str) -> Response:
        account = self._account_of_token(name, password)
        if account is None:
            limits = forms.sign_in_limits(self._options, name, forms.network_of(request))
            admission = await anyio.to_thread.run_sync(self._state.attempts.admit, limits)
            if not admission.is_granted:
                text = f"Too many attempts. Try again in {round(admission.wait_s / 60) or 1} min."
                answer = self._form(request, sealed, name=name, error=text, status=429, to=to)
                answer.headers["Retry-After"] = str(round(admission.wait_s) + 1)
                return answer

            try:
                checked = await self._password_checks.run(lambda: self._state.accounts.check_password(name, password))
            except forms.Overloaded:
                await anyio.to_thread.run_sync(self._state.attempts.withdraw, admission)
                answer = self._form(request, sealed, name=name, error=_BUSY, status=503, to=to)
                answer.headers["Retry-After"] = "3"
                return answer

            if checked is None:
                return self._form(request, sealed, name=name, error=_WRONG, status=403, to=to)

            await anyio.to_thread.run_sync(self._state.attempts.withdraw, admission)
            await anyio.to_thread.run_sync(self._state.attempts.forget, limits[0])
            account = checked.name, None

        session = await anyio.to_thread.run_sync(self._state.sessions.start, *account)
        answer = _to(f"idp/oauth/consent?request={sealed}" if sealed else self._page(to) or "sign-in")
        self._set_cookie(answer, request, name=SESSION_COOKIE, value=session, same_site="lax")
        self._with_reader(answer, request, session)
        answer.delete_cookie(FORM_COOKIE, path=self._cookie_path)
        return answer

    def _account_of_token(self, name: str, password: str) -> tuple[str, int | None] | None:
        """Return the account of an access token instead of a password, and the token's number.

        These attempts aren't counted, since 256 bits can't be guessed. So a user whom others lock out by guessing can
        sign in with a token.
        """
        principal = self._authenticator.account_token(password)
        if principal is None or principal.account.casefold() != name.casefold():
            return None
        number = principal.credential.removeprefix("token:")
        return principal.account, int(number) if number.isdecimal() else None

    def _page(self, to: str) -> str:
        """Return the page of this service to continue to; empty for other addresses."""
        if to.startswith("/") and own_address(to):
            return self._root + own_address(to)
        return ""

    def _with_reader(self, answer: Response, request: Request, session: str) -> Response:
        """Add the reader cookie, which the browser sends to all pages."""
        reader = self._state.sessions.reader(session)
        self._set_cookie(answer, request, name=READER_COOKIE, value=reader, same_site="strict", path=self._root or "/")
        return answer

    def _form(
        self, request: Request, sealed: str, *, name: str = "", error: str = "", status: int = 200, to: str = ""
    ) -> Response:
        pending = self._sealer.open(sealed) if sealed else None
        if sealed and pending is None:
            return pages.error_page("This request can't continue", _GONE)

        client = self._client_of(pending, request)
        cookie = request.cookies.get(FORM_COOKIE, "") or secrets.token_urlsafe(24)
        answer = pages.sign_in_page(
            csrf_token=self._sealer.csrf_token("sign-in", cookie),
            request=sealed,
            name=name,
            error=error,
            status=status,
            client="" if client is None else client.name,
            to=self._page(to or request.query_params.get("to", "")).removeprefix(self._root),
        )
        self._set_cookie(answer, request, name=FORM_COOKIE, value=cookie, same_site="strict")
        return answer

    def _client_of(self, pending: forms.PendingAuthorization | None, request: Request) -> OAuthClient | None:
        """Return the client of a valid request: it may be used, with the requested redirect address."""
        if pending is None or pending.issuer != self._options.base_of(request.scope):
            return None
        client = self._state.clients.find(pending.client)
        if client is None or (client.dynamic and not self._options.registration):
            return None
        if any(matches(uri, pending.redirect_uri) for uri in client.redirect_uris):
            return client
        return None

    def _set_cookie(
        self, answer: Response, request: Request, *, name: str, value: str, same_site: str, path: str = ""
    ) -> None:
        secure = self._options.base_of(request.scope).startswith("https:")
        answer.set_cookie(
            name,
            value,
            path=path or self._cookie_path,
            secure=secure,
            httponly=True,
            samesite="strict" if same_site == "strict" else "lax",
        )


def _to(address: str) -> RedirectResponse:
    """Return a redirect that turns a POST into a GET, without a referrer."""
    return RedirectResponse(address, 303, {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})
