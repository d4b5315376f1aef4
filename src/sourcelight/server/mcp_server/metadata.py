"""The documents that tell OAuth clients where to get a token for an endpoint (RFC 9728)."""

from __future__ import annotations

from typing import Any

METADATA_PREFIX = "/.well-known/oauth-protected-resource"


def resource_metadata(base_url: str, path: str) -> dict[str, Any]:
    """The document of the endpoint at `path`; every address in it is plain text without a final ``/``."""
    return {
        "resource": f"{base_url}{path}",
        "authorization_servers": [base_url],
        "scopes_supported": ["mcp"],
        "bearer_methods_supported": ["header"],
        "resource_name": "sourcelight",
    }


def challenge(base_url: str, path: str, error: str = "", description: str = "") -> str:
    """The ``WWW-Authenticate`` header of an endpoint (RFC 6750, 3; RFC 9728, 5.1)."""
    parts = {"realm": "sourcelight", "resource_metadata": f"{base_url}{METADATA_PREFIX}{path}", "scope": "mcp"}
    if error:
        parts |= {"error": error, "error_description": description}
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parts.items())
