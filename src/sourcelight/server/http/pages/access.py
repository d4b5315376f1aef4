"""Access to pages: sign-in, protection of forms against other sites, one turn per reader, and error pages."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sourcelight.core.batches.results import repository_url
from sourcelight.core.errors import ClusterError
from sourcelight.core.markup import capitalize, escape
from sourcelight.engines.tools import ToolContext
from sourcelight.server.http.middleware.access_log import notes_of
from sourcelight.server.http.pages.browser import is_foreign_link, is_own_request
from sourcelight.server.http.pages.frame import error_page, page
from sourcelight.server.identity import Authenticator, FairQueue, Refusal
from sourcelight.server.oauth import READER_COOKIE, form_of, is_same_site

if TYPE_CHECKING:
    from sourcelight.engines.execution import Engine

log = logging.getLogger("sourcelight.service")
_ABSENT = "This page doesn't exist, or you may not see it."
_OPENING = '<h1>Opening the page</h1><p><a href="">Continue</a></p>'
_FOREIGN = "This form doesn't come from a page of this service. Open its page and try again."
_PAGES, _PAGES_PER_READER, _MAX_WAITING, _QUEUE_S = 16, 6, 16, 10.0

_LIVE_PAGES, _LIVE_PER_READER = 64, 6
"""Pages that are kept up to date at a time: they mostly wait, so they have slots of their own."""


class PageAccess:
    """Access checks of pages.

    Parameters
    ----------
    engine
        Reads files and commits.
    authenticator
        Identifies the sender of a request.
    external_url
        The service's address; empty: the address of each request.
    """

    def __init__(self, engine: Engine, authenticator: Authenticator, external_url: str = "") -> None:
        self.engine = engine
        self._authenticator = authenticator
        self._external_url = external_url
        self.prefix = urlsplit(external_url).path.rstrip("/")
        self._turns = FairQueue(_PAGES, _PAGES_PER_READER, _MAX_WAITING)
        self._live_turns = FairQueue(_LIVE_PAGES, _LIVE_PER_READER, 0)

    def enter(self, request: Request) -> ToolContext | Response:
        """Return the context of a request's sender, or the page that refuses it.

        The reader cookie is ``SameSite=Strict``, so a link in a chat or a tracker comes without it. The answer to such
        a link is a page that opens the same address again, now from this service, with the cookie.
        """
        if is_foreign_link(request, self.base_of(request)):
            answer = page("Opening", _OPENING, prefix=self.prefix, posts=True)
            answer.headers["Refresh"] = "0"
            return answer

        cookie = request.cookies.get(READER_COOKIE, "") if is_own_request(request) else ""
        principal = self._authenticator.for_page(request.headers, cookie)
        if isinstance(principal, Refusal):
            sign_in = self._sign_in(request) if principal.status == 401 else ""
            title = "Sign in first" if sign_in else "Not allowed"
            return error_page(principal.status, title, principal.text, prefix=self.prefix, sign_in=sign_in)

        notes_of(request.scope).name(principal)
        return ToolContext(self.engine, principal.viewer, base_url=self.base_of(request))

    async def enter_form(self, request: Request) -> tuple[ToolContext, Mapping[str, str]] | Response:
        """Return the context and the fields of a form, or the page that refuses it.

        A form of another site has no cookie, since those are ``SameSite=Strict``; an Origin or a Sec-Fetch-Site of
        another site is refused as well, so that each of the two is enough.
        """
        if not is_same_site(request, self.base_of(request)):
            return error_page(403, "Not allowed", _FOREIGN, prefix=self.prefix)
        context = self.enter(request)
        if isinstance(context, Response):
            return context
        return context, await form_of(request)

    def base_of(self, request: Request) -> str:
        """Return the address of the service, as the reader sees it."""
        return self._external_url or f"{request.url.scheme}://{request.headers.get('host', 'localhost')}"

    def turn(self, request: Request, context: ToolContext) -> AbstractAsyncContextManager[None]:
        """Return a reader's slot for making a page; raises `QueueFull`."""
        return self._turns.slot(self._reader(request, context), _QUEUE_S)

    def live_turn(self, request: Request, context: ToolContext) -> AbstractAsyncContextManager[None]:
        """Return a reader's slot for a page that is kept up to date; raises `QueueFull`."""
        return self._live_turns.slot(self._reader(request, context), 0)

    def _reader(self, request: Request, context: ToolContext) -> str:
        return context.viewer.name or f"anonymous {(request.scope.get('client') or ('',))[0]}"

    def _sign_in(self, request: Request) -> str:
        query = request.scope["query_string"].decode("latin-1")
        target = quote(request.scope["path"], safe="/@") + (f"?{query}" if query else "")
        return f"{self.prefix}/.auth/sign-in?to={quote(target, safe='')}"

    def sign_in_first(self, request: Request, text: str) -> Response:
        """Return the page that asks an anonymous reader to sign in."""
        return error_page(401, "Sign in first", text, prefix=self.prefix, sign_in=self._sign_in(request))

    def absent(self, request: Request, context: ToolContext, text: str = _ABSENT) -> Response:
        """Return the page for a missing or invisible thing."""
        sign_in = "" if context.viewer.name else self._sign_in(request)
        return error_page(404, "Not found", text, prefix=self.prefix, sign_in=sign_in)

    def absent_in(self, repository: str, text: str) -> Response:
        """Return the page for a missing revision or path in a visible repository."""
        address = escape(repository_url(self.prefix, repository))
        link = f'<p><a href="{address}/-/tree/">All files of {escape(repository)}</a></p>'
        return error_page(404, "Not found", f"{capitalize(text)}.", prefix=self.prefix, extra_html=link)

    def refusal_page(self, text: str, status: int = 400, title: str = "Request not possible") -> Response:
        """Return the page of a request that can't be met."""
        return error_page(status, title, text, prefix=self.prefix)

    def unavailable(self, exc: ClusterError) -> Response:
        """Return the page of a failed worker."""
        log.warning("can't render a page: %s", exc)
        return error_page(503, "Temporarily unavailable", exc.for_callers, prefix=self.prefix)

    def busy(self) -> Response:
        """Return the page of a reader who asks for too much at a time."""
        text = "The service is rendering too many pages; reload this one in a moment."
        answer = error_page(429, "Busy", text, prefix=self.prefix)
        answer.headers["Retry-After"] = "2"
        return answer

    def to(self, address: str) -> Response:
        """Return a redirect that turns a form into a page."""
        return RedirectResponse(self.prefix + address, 303, {"Cache-Control": "no-store"})
