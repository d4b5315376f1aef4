"""The pages' endpoints: sign in, decide, sign out.

A signed-in browser holds one cookie for these pages alone, and another one that opens the pages that are only read;
neither is a credential of an API. Forms carry a mark that is bound to a cookie, and a request of a foreign page is
refused by its Origin as well.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sourcelight.core.markup import own_address
from sourcelight.repos.state import MCP_ACCESS, BrowserSession, OAuthClient, State
from sourcelight.server.identity import Authenticator
from sourcelight.server.oauth import pages
from sourcelight.server.oauth.addresses import PREFIX, OAuthOptions, matches, with_query
from sourcelight.server.oauth.sealing import (
    BoundedQueue,
    FormSealer,
    Overloaded,
    PendingAuthorization,
    network_of,
    sign_in_limits,
)

SESSION_COOKIE = "sourcelight-session"
FORM_COOKIE = "sourcelight-form"
READER_COOKIE = "sourcelight-reader"
_CHECKS_AT_ONCE = 2
_MAX_WAITING_CHECKS = 14
_WRONG = "Account and password do not fit. An access token needs the scope user:all."
_BUSY = "Too many people are signing in at this moment. Try again in a few seconds."
_OLD = "The form was too old. Go back and try again."
_GONE = "The request is too old, or was changed on its way. Start again in the application."


class SignInPages:
    """The pages over one state.

    Parameters
    ----------
    state
        Accounts, sessions, clients and grants.
    authenticator
        Recognises an access token that is given in place of a password.
    sealer
        Opens what the authorization endpoint sealed.
    options
        What the operator chose.
    """

    def __init__(self, state: State, authenticator: Authenticator, sealer: FormSealer, options: OAuthOptions) -> None:
        self._state = state
        self._authenticator = authenticator
        self._sealer = sealer
        self._options = options
        # Not the whole site: on one machine, cookies are shared by all ports. A proxy may add a path of its own.
        self._root = urlsplit(options.external_url).path.rstrip("/")
        self._cookie_path = self._root + PREFIX
        self._password_checks = BoundedQueue(_CHECKS_AT_ONCE, _MAX_WAITING_CHECKS)

    async def sign_in(self, request: Request) -> Response:
        """Show the form (GET), or try what was typed (POST)."""
        if request.method != "POST":
            sealed = request.query_params.get("request", "")
            session = request.cookies.get(SESSION_COOKIE, "")
            here = self._state.sessions.find(session)
            if here is not None and sealed:
                return _to(f"idp/oauth/consent?request={sealed}")
            if here is not None and (page := self._page(request.query_params.get("to", ""))):
                return self._with_reader(_to(page), request, session)
            if here is not None:
                return pages.signed_in_page(name=here.name, mark=self._sealer.mark("sign-out", session))
            return self._form(request, sealed)
        form = await _form_of(request)
        cookie = request.cookies.get(FORM_COOKIE, "")
        sealed = form.get("request", "")
        if (
            not self._is_own(request)
            or not cookie
            or not self._sealer.is_marked(form.get("mark", ""), "sign-in", cookie)
        ):
            return self._form(request, sealed, fault="The form was too old. Try again.", status=400)
        return await self._try(
            request, form.get("name", "").strip(), form.get("password", ""), sealed, form.get("to", "")
        )

    async def sign_out(self, request: Request) -> Response:
        """End the session (POST)."""
        form = await _form_of(request)
        session = request.cookies.get(SESSION_COOKIE, "")
        if not self._is_own(request) or not self._sealer.is_marked(form.get("mark", ""), "sign-out", session):
            return pages.fault_page("Not signed out", _OLD)
        await anyio.to_thread.run_sync(self._state.sessions.end, session)
        sealed = form.get("request", "")
        answer = _to(f"sign-in?request={sealed}" if self._sealer.open(sealed) is not None else "sign-in")
        answer.delete_cookie(SESSION_COOKIE, path=self._cookie_path)
        answer.delete_cookie(READER_COOKIE, path=self._root or "/")
        return answer

    async def consent(self, request: Request) -> Response:
        """Show what a client asks for (GET), or take the decision (POST)."""
        form = await _form_of(request) if request.method == "POST" else dict(request.query_params)
        sealed = form.get("request", "")
        pending = self._sealer.open(sealed)
        client = self._client_of(pending, request)
        if pending is None or client is None:
            return pages.fault_page("This request can't go on", _GONE, root="../../")
        session = request.cookies.get(SESSION_COOKIE, "")
        here = self._state.sessions.find(session)
        if here is None:
            return _to(f"../../sign-in?request={sealed}")
        if request.method != "POST":
            return self._question(pending, client, here, sealed, session)
        if not self._is_own(request) or not self._sealer.is_marked(form.get("mark", ""), "consent", session, sealed):
            return pages.fault_page(
                "Nothing was allowed", "The form was too old. Go back and try again.", root="../../"
            )
        return await self._decide(pending, here, form.get("decision", ""))

    def _question(
        self, pending: PendingAuthorization, client: OAuthClient, here: BrowserSession, sealed: str, session: str
    ) -> Response:
        rights = self._state.rights.for_account(here.account)
        return pages.consent_page(
            pending=pending,
            client=client.name,
            dynamic=client.dynamic,
            account=here.name,
            lacks_access=rights is None or MCP_ACCESS not in rights.permissions,
            request=sealed,
            marks=(self._sealer.mark("consent", session, sealed), self._sealer.mark("sign-out", session)),
        )

    async def _decide(self, pending: PendingAuthorization, here: BrowserSession, decision: str) -> Response:
        """Lead back to the client, with a code or with the refusal."""
        answer = {"state": pending.state, "iss": pending.issuer}
        if decision != "allow":
            refused = {"error": "access_denied", "error_description": "the user denied the request"}
            return _to(with_query(pending.redirect_uri, refused | answer))

        def grant() -> str:
            return self._state.authorizations.grant(
                here.account,
                pending.client,
                pending.scopes,
                resource=pending.resource,
                redirect_uri=pending.redirect_uri,
                redirect_uri_given=pending.redirect_uri_given,
                challenge=pending.challenge,
            )

        return _to(with_query(pending.redirect_uri, {"code": await anyio.to_thread.run_sync(grant)} | answer))

    async def _try(self, request: Request, name: str, password: str, sealed: str, to: str) -> Response:
        account = self._account_of_token(name, password)
        if account is None:
            limits = sign_in_limits(self._options, name, network_of(request))
            admission = await anyio.to_thread.run_sync(self._state.attempts.admit, limits)
            if not admission.is_granted:
                text = f"Too many attempts. Try again in {round(admission.wait_s / 60) or 1} min."
                answer = self._form(request, sealed, name=name, fault=text, status=429, to=to)
                answer.headers["Retry-After"] = str(round(admission.wait_s) + 1)
                return answer
            try:
                checked = await self._password_checks.run(lambda: self._state.accounts.check_password(name, password))
            except Overloaded:
                await anyio.to_thread.run_sync(self._state.attempts.withdraw, admission)
                answer = self._form(request, sealed, name=name, fault=_BUSY, status=503, to=to)
                answer.headers["Retry-After"] = "3"
                return answer
            if checked is None:
                return self._form(request, sealed, name=name, fault=_WRONG, status=403, to=to)
            await anyio.to_thread.run_sync(self._state.attempts.withdraw, admission)
            await anyio.to_thread.run_sync(self._state.attempts.forget, limits[0])
            account = checked.name, None
        session = await anyio.to_thread.run_sync(self._state.sessions.begin, *account)
        answer = _to(f"idp/oauth/consent?request={sealed}" if sealed else self._page(to) or "sign-in")
        self._set_cookie(answer, request, SESSION_COOKIE, session, "lax")
        self._with_reader(answer, request, session)
        answer.delete_cookie(FORM_COOKIE, path=self._cookie_path)
        return answer

    def _account_of_token(self, name: str, password: str) -> tuple[str, int | None] | None:
        """The account whose access token was given in place of a password, and the token's number.

        Nobody guesses 256 bits, so these are not counted: who is kept out by others' guesses signs in with a token.
        """
        principal = self._authenticator.own_token(password)
        if principal is None or principal.account.casefold() != name.casefold():
            return None
        number = principal.credential.removeprefix("token:")
        return principal.account, int(number) if number.isdecimal() else None

    def _page(self, to: str) -> str:
        """The page of ours to go on to; empty for anything else."""
        return self._root + own_address(to) if to.startswith("/") and own_address(to) else ""

    def _with_reader(self, answer: Response, request: Request, session: str) -> Response:
        """Let the browser read pages, too: with a cookie of its own, which is sent to all of the site."""
        reader = self._state.sessions.reader(session)
        self._set_cookie(answer, request, READER_COOKIE, reader, "lax", path=self._root or "/")
        return answer

    def _form(
        self, request: Request, sealed: str, *, name: str = "", fault: str = "", status: int = 200, to: str = ""
    ) -> Response:
        pending = self._sealer.open(sealed) if sealed else None
        if sealed and pending is None:
            return pages.fault_page("This request can't go on", _GONE)
        client = self._client_of(pending, request)
        cookie = request.cookies.get(FORM_COOKIE, "") or secrets.token_urlsafe(24)
        answer = pages.sign_in_page(
            mark=self._sealer.mark("sign-in", cookie),
            request=sealed,
            name=name,
            fault=fault,
            status=status,
            client="" if client is None else client.name,
            to=self._page(to or request.query_params.get("to", "")).removeprefix(self._root),
        )
        self._set_cookie(answer, request, FORM_COOKIE, cookie, "strict")
        return answer

    def _client_of(self, pending: PendingAuthorization | None, request: Request) -> OAuthClient | None:
        """The client of a request that may still go on: it is served, and may use the address that it asked for."""
        if pending is None or pending.issuer != self._options.base_of(request.scope):
            return None
        client = self._state.clients.find(pending.client)
        if client is None or (client.dynamic and not self._options.registration):
            return None
        return client if any(matches(uri, pending.redirect_uri) for uri in client.redirect_uris) else None

    def _is_own(self, request: Request) -> bool:
        """Whether a form comes from our own page, as far as the browser says."""
        site = request.headers.get("sec-fetch-site", "same-origin")
        origin = request.headers.get("origin")
        if site != "same-origin":
            return False
        own = urlsplit(self._options.base_of(request.scope))
        return origin is None or origin == f"{own.scheme}://{own.netloc}"

    def _set_cookie(
        self, answer: Response, request: Request, name: str, value: str, same_site: str, *, path: str = ""
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
    """A redirect that makes a GET of a POST, and tells no one where it came from."""
    return RedirectResponse(address, 303, {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})


async def _form_of(request: Request) -> Mapping[str, str]:
    text = (await request.body()).decode("utf-8", "replace")
    return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=20))
