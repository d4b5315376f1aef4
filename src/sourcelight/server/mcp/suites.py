"""Which tools each endpoint has.

The documents that tell OAuth clients where to get a token for an endpoint (RFC 9728).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sourcelight.core.tools.catalog import TOOLS, is_conversation, mcp_tools

if TYPE_CHECKING:
    from sourcelight.core.tools.tool import Tool


PREFIX = "/.api/mcp"
#: Endpoint to the name of its suite.
ENDPOINTS: Mapping[str, str] = {
    PREFIX: "default",
    f"{PREFIX}/v1": "v1",
    f"{PREFIX}/all": "all",
    f"{PREFIX}/deepsearch": "deepsearch",
}
_OLD_PREFIX = "sg_"


@dataclass(frozen=True, slots=True)
class McpOptions:
    """What an operator can choose of the endpoints.

    Parameters
    ----------
    enabled
        Whether there are any.
    disabled_tools
        Canonical names of tools that no endpoint has.
    without_deepsearch
        Whether `deepsearch` is absent from the default and the v1 endpoint; the others keep it.
    external_url
        Address at which readers reach the service, without a final ``/``; empty: that of each request.
    timeout_s
        Longest time that a call may take.
    calls
        Calls that work at the same time; others wait for their turn.
    """

    enabled: bool = True
    disabled_tools: frozenset[str] = frozenset()
    without_deepsearch: bool = False
    external_url: str = ""
    timeout_s: float = 60.0
    calls: int = 16


def suite_tools(suite: str, options: McpOptions) -> dict[str, Tool[Any]]:
    """The tools of a suite by canonical name."""
    return {
        name: tool
        for name, tool in mcp_tools().items()
        if name not in options.disabled_tools
        and (suite != "deepsearch" or is_conversation(name))
        and not (name == "deepsearch" and options.without_deepsearch and suite in {"default", "v1"})
    }


def find_tool(tools: Mapping[str, Tool[Any]], name: str) -> Tool[Any] | None:
    """The tool of a name; the names of early 2026, with ``sg_`` in front, mean the same."""
    return tools.get(name) or tools.get(name.removeprefix(_OLD_PREFIX))


def is_quick_tool(name: str) -> bool:
    """Whether a tool answers so soon that its caller needs no signs of life meanwhile."""
    tool = TOOLS.get(name.removeprefix(_OLD_PREFIX))
    return tool is not None and tool.immediate


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
