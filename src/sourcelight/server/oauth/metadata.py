"""The document that tells OAuth clients how to get a token here (RFC 8414)."""

from __future__ import annotations

from typing import Any

from sourcelight.server.oauth import options as at


def server_metadata(base: str, *, registration: bool) -> dict[str, Any]:
    """The document for a service at `base`; every address is plain text without a final ``/``.

    Only the scope ``mcp`` is named, although ``user:all`` is served, too: clients ask for all that they are told of,
    and one that registers itself would be refused.
    """
    methods = ["none", "client_secret_post", "client_secret_basic"]
    document: dict[str, Any] = {
        "issuer": base,
        "authorization_endpoint": f"{base}{at.AUTHORIZE}",
        "token_endpoint": f"{base}{at.TOKEN}",
        "revocation_endpoint": f"{base}{at.REVOKE}",
        "scopes_supported": ["mcp"],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
    }
    if registration:
        document["registration_endpoint"] = f"{base}{at.REGISTER}"
    return document
