"""An authorization server as strict as the RFCs, and the person who agrees."""

from __future__ import annotations

import base64
import hashlib
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from server.loopback_tls import TLS


@dataclass
class Authorization:
    """Codes, tokens and clients; each refresh token works once."""

    lasts_s: int = 3600
    registers: bool = True
    answers_with: dict[str, str] = field(default_factory=dict)
    clients: dict[str, dict[str, Any]] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    access: set[str] = field(default_factory=set)
    refresh: set[str] = field(default_factory=set)
    usage: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    queries: list[dict[str, str]] = field(default_factory=list)
    token_count: int = 0
    url: str = ""

    def app(self, listener: socket.socket) -> Starlette:
        """The service."""
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        base = self.url
        server_metadata = {
            "issuer": base,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "revocation_endpoint": f"{base}/revoke",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            **({"registration_endpoint": f"{base}/register"} if self.registers else {}),
            **self.metadata,
        }

        async def resource(request: Request) -> Response:
            self.requests.append(request.url.path)
            return JSONResponse({"resource": f"{base}/.api/mcp", "authorization_servers": [base]})

        async def metadata(_: Request) -> Response:
            return JSONResponse(server_metadata)

        async def register(request: Request) -> Response:
            body = await request.json()
            client_id = f"client-{len(self.clients)}"
            self.clients[client_id] = body
            return JSONResponse({"client_id": client_id, **body}, 201)

        async def authorize(request: Request) -> Response:
            requests = dict(request.query_params)
            self.queries.append(requests)
            assert requests["response_type"] == "code"
            assert requests["code_challenge_method"] == "S256"
            assert requests["redirect_uri"] in self.clients[requests["client_id"]]["redirect_uris"]
            assert requests["resource"] == f"{base}/.api/mcp"
            code = f"code-{len(self.codes)}"
            self.codes[code] = requests
            answer = {"code": code, "state": requests["state"], "iss": base, **self.answers_with}
            answer = {name: value for name, value in answer.items() if value}
            return RedirectResponse(f"{requests['redirect_uri']}?{urlencode(answer)}", 302)

        async def token(request: Request) -> Response:
            form = dict(parse_qsl((await request.body()).decode()))
            if form["grant_type"] == "authorization_code":
                authorization = self.codes.pop(form["code"], None)
                digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
                if (
                    authorization is None
                    or authorization["code_challenge"] != challenge
                    or authorization["redirect_uri"] != form["redirect_uri"]
                ):
                    return JSONResponse({"error": "invalid_grant"}, 400)
            else:
                self.usage.append(form["refresh_token"])
                if form["refresh_token"] not in self.refresh:
                    return JSONResponse({"error": "invalid_grant", "error_description": form["refresh_token"]}, 400)
                self.refresh.discard(form["refresh_token"])
                self.access.clear()
            self.token_count += 1
            access, refresh = f"access-{self.token_count}-do-not-show", f"refresh-{self.token_count}-do-not-show"
            self.access.add(access)
            self.refresh.add(refresh)
            return JSONResponse(
                {
                    "access_token": access,
                    "token_type": "Bearer",
                    "expires_in": self.lasts_s,
                    "refresh_token": refresh,
                    "scope": "mcp",
                }
            )

        async def revoke(request: Request) -> Response:
            form = dict(parse_qsl((await request.body()).decode()))
            self.refresh.discard(form["token"])
            self.access.clear()
            return Response()

        async def stream(request: Request) -> Response:
            scheme, _, value = request.headers.get("authorization", "").partition(" ")
            if scheme != "Bearer" or value not in self.access:
                return Response(f"no such token: {value}", 401)
            body = b'event: progress\ndata: {"done":true,"matchCount":0,"durationMs":1}\n\nevent: done\ndata: {}\n\n'
            return Response(body, media_type="text/event-stream")

        return Starlette(
            routes=[
                Route("/.well-known/oauth-protected-resource/.api/mcp", resource),
                Route("/.well-known/oauth-authorization-server", metadata),
                Route("/register", register, methods=["POST"]),
                Route("/authorize", authorize),
                Route("/token", token, methods=["POST"]),
                Route("/revoke", revoke, methods=["POST"]),
                Route("/.api/search/stream", stream),
            ]
        )


def person(then: Callable[[httpx2.Response], object] | None = None) -> Callable[[str], bool]:
    """A browser with somebody in front of it who agrees to everything, in a thread of its own."""

    def browse(address: str) -> None:
        with httpx2.Client(follow_redirects=True, timeout=5, trust_env=False, verify=TLS) as client:
            response = client.get(address)
        if then is not None:
            then(response)

    def open_browser(address: str) -> bool:
        assert urlsplit(address).path
        threading.Thread(target=browse, args=(address,), daemon=True).start()
        return True

    return open_browser
