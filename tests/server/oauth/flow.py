"""A user with a browser and an application, as far as the authorization server can tell; without either."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2

from server.loopback_tls import TLS

PASSWORD = "correct horse battery"
CALLBACK = "http://localhost:3334/oauth/callback"
VERIFIER = "v" * 50
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
OAUTH = "/.auth/idp/oauth"


@dataclass
class Clock:
    """The time, and what a test has added to it."""

    ahead_s: float = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead_s


def hidden_fields(page: str, form: int = 0) -> dict[str, str]:
    """The hidden fields of one form of a page."""
    text = page.split("<form")[form + 1].split("</form>", maxsplit=1)[0]
    texts = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', text)
    return {name: html.unescape(value) for name, value in texts}


@dataclass
class Flow:
    """One browser and one application at a service."""

    url: str
    browser: httpx2.Client = field(init=False)

    def __post_init__(self) -> None:
        self.browser = httpx2.Client(base_url=self.url, timeout=20, trust_env=False, verify=TLS)

    def register(self, **extra: Any) -> httpx2.Response:
        body = {
            "redirect_uris": [CALLBACK],
            "token_endpoint_auth_method": "none",
            "client_name": "Lamp reader",
        }
        return self.browser.post(f"{OAUTH}/register", json={n: v for n, v in (body | extra).items() if v is not None})

    def client(self, **extra: Any) -> str:
        answer = self.register(**extra)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["client_id"])

    def ask(self, client: str, **extra: str | None) -> httpx2.Response:
        """The authorization request."""
        query = {
            "response_type": "code",
            "client_id": client,
            "redirect_uri": CALLBACK,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": "mark of the client",
            "scope": "mcp",
            "resource": f"{self.url}/.api/mcp",
        }
        params = {name: value for name, value in (query | extra).items() if value is not None}
        return self.browser.get(f"{OAUTH}/authorize", params=params)

    def follow(self, answer: httpx2.Response) -> httpx2.Response:
        """Follow redirects within the service."""
        while "location" in answer.headers:
            target = urljoin(str(answer.url), answer.headers["location"])
            if not target.startswith(self.url):
                return answer
            answer = self.browser.get(target)
        return answer

    def sign_in(self, page: httpx2.Response, name: str, password: str = PASSWORD, **extra: str) -> httpx2.Response:
        """Fill in the form of a sign-in page."""
        fields = hidden_fields(page.text) | {"name": name, "password": password} | extra
        return self.browser.post("/.auth/sign-in", data=fields)

    def decide(self, page: httpx2.Response, decision: str = "allow", **extra: str) -> httpx2.Response:
        """Answer a consent page."""
        return self.browser.post(f"{OAUTH}/consent", data=hidden_fields(page.text) | {"decision": decision} | extra)

    def code(self, client: str, name: str, **extra: str | None) -> str:
        """From the question to the code; a browser that is signed in stays so."""
        page = self.follow(self.ask(client, **extra))
        if "Sign in" in page.text:
            page = self.follow(self.sign_in(page, name))
        return self.answer(self.decide(page))["code"]

    def answer(self, response: httpx2.Response) -> dict[str, str]:
        """What the client is told at its redirect address."""
        return {name: values[0] for name, values in parse_qs(urlsplit(response.headers["location"]).query).items()}

    def exchange(self, client: str, code: str, **extra: str | None) -> httpx2.Response:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "code_verifier": VERIFIER,
            "redirect_uri": CALLBACK,
            "client_id": client,
        }
        return self.browser.post(f"{OAUTH}/token", data={n: v for n, v in (form | extra).items() if v is not None})

    def refresh(self, client: str, token: str, **extra: str) -> httpx2.Response:
        form = {"grant_type": "refresh_token", "refresh_token": token, "client_id": client}
        return self.browser.post(f"{OAUTH}/token", data=form | extra)

    def tokens(self, client: str, name: str, **extra: str | None) -> dict[str, Any]:
        """From the question to the tokens."""
        redirect = {"redirect_uri": extra["redirect_uri"]} if extra.get("redirect_uri") else {}
        answer = self.exchange(client, self.code(client, name, **extra), **redirect)
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body

    def search_status(self, token: str) -> int:
        headers = {"Authorization": f"Bearer {token}"}
        return self.browser.get("/.api/search/stream", params={"q": "x"}, headers=headers).status_code

    def mcp_status(self, token: str) -> int:
        """The status of a message that the endpoint takes for one; 401 and 403 before it looks."""
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        return self.browser.post("/.api/mcp", json=body, headers=headers).status_code
