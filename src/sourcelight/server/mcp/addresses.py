"""The endpoints: their addresses, options and OAuth metadata (RFC 9728).

A service answers for these before it loads the definitions of tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from sourcelight.repos.state import MCP, USER_ALL

PREFIX = "/.api/mcp"
#: Endpoint to the name of its suite.
ENDPOINTS: Mapping[str, str] = {
    PREFIX: "default",
    f"{PREFIX}/v1": "v1",
    f"{PREFIX}/all": "all",
    f"{PREFIX}/deepsearch": "deepsearch",
}
METADATA_PREFIX = "/.well-known/oauth-protected-resource"

LISTS_FILE = Path(__file__).parent / "suite_lists.json"
"""The results of ``tools/list`` by suite for the default options. `scripts/docs` writes it."""


@dataclass(frozen=True, slots=True)
class McpOptions:
    """Settings of the endpoints.

    Parameters
    ----------
    enabled
        Whether there are MCP endpoints.
    disabled_tools
        Canonical names of tools that no endpoint has.
    without_deepsearch
        Whether `deepsearch` is absent from the default and the v1 endpoint; the others keep it.
    external_url
        Address of the service without a final ``/``; empty: the address of each request.
    timeout_s
        Timeout of a call.
    calls
        Concurrent calls; others wait.
    origins
        Origins of pages that may call the endpoints, in addition to the service and this machine.
    max_tokens
        Maximum tokens of an answer if a call gives no number; None: no limit.
    with_structure
        Whether answers have structured content beside their text.
    """

    enabled: bool = True
    disabled_tools: frozenset[str] = frozenset()
    without_deepsearch: bool = False
    external_url: str = ""
    timeout_s: float = 60.0
    calls: int = 16
    origins: frozenset[str] = frozenset()
    max_tokens: int | None = None
    with_structure: bool = True

    @property
    def are_default_for_lists(self) -> bool:
        """Whether the lists of tools come from `LISTS_FILE`."""
        return (
            not self.disabled_tools and not self.without_deepsearch and self.max_tokens is None and self.with_structure
        )


def read_tool_list(suite: str) -> bytes:
    """Return the result of ``tools/list`` at the endpoint of a suite for the default options as JSON."""
    return orjson.dumps(orjson.loads(LISTS_FILE.read_bytes())[suite])


def resource_metadata(base_url: str, path: str) -> dict[str, Any]:
    """Return the metadata of the endpoint at `path`; its addresses have no final ``/``."""
    return {
        "resource": f"{base_url}{path}",
        "authorization_servers": [base_url],
        # A token of either scope is valid here; the challenge names the narrower scope.
        "scopes_supported": [MCP, USER_ALL],
        "bearer_methods_supported": ["header"],
        "resource_name": "sourcelight",
    }


def challenge(base_url: str, path: str, error: str = "", description: str = "") -> str:
    """Return the ``WWW-Authenticate`` header of an endpoint (RFC 6750, 3; RFC 9728, 5.1)."""
    parts = {"realm": "sourcelight", "resource_metadata": f"{base_url}{METADATA_PREFIX}{path}", "scope": "mcp"}
    if error:
        parts |= {"error": error, "error_description": description}
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parts.items())
