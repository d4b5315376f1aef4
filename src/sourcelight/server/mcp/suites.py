"""The tools of each endpoint, their list as clients get it, and its OAuth metadata (RFC 9728)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from sourcelight.core.errors import ConfigurationError
from sourcelight.core.tools.catalog import TOOLS, is_conversation, mcp_tools
from sourcelight.core.tools.tool import DEFAULT_MAX_TOKENS, ROWS_SCHEMA, Tool, with_page_arguments
from sourcelight.repos.state import MCP, USER_ALL

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

SIZE_HINT = "anthropic/maxResultSizeChars"
"""Key of ``_meta`` with the most characters of an answer. The client that knows it puts longer ones into a file."""
_WITHOUT_HINT = 50_000
"""Characters that this client takes if there is no hint, which makes one for less needless."""
_MAX_HINT = 500_000
_CHARACTERS_OF_TOKEN = 6
"""More than code and prose have, which is 3 to 5 by our estimate of tokens."""


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
        Origins of pages that may call the endpoints, beside those of the service and of this machine.
    max_tokens
        Tokens of an answer for which a call gives no number; None: as many as it has.
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


def suite_tools(suite: str, options: McpOptions) -> dict[str, Tool[Any]]:
    """Return the tools of a suite by canonical name."""
    return {
        name: tool
        for name, tool in mcp_tools("all" if suite == "all" else "default").items()
        if name not in options.disabled_tools
        and (suite != "deepsearch" or is_conversation(name))
        and not (name == "deepsearch" and options.without_deepsearch and suite in {"default", "v1"})
    }


@dataclass(frozen=True, slots=True)
class StdioOptions:
    """The tools for a client that starts the program.

    Parameters
    ----------
    tools
        ``default`` for the tools of the specification, ``all``, or names of tools.
    max_tokens
        Tokens of an answer for which a call gives no number; None: as many as it has.
    with_structure
        Whether answers have structured content beside their text. Clients that read both pay for both.
    """

    tools: tuple[str, ...] = ("all",)
    max_tokens: int | None = DEFAULT_MAX_TOKENS
    with_structure: bool = False


def named_tools(names: Sequence[str]) -> dict[str, Tool[Any]]:
    """Return the tools of suites and names, in the order of the catalog.

    Raises
    ------
    ConfigurationError
        For a name that is neither a suite nor a tool.
    """
    available = mcp_tools("all")
    selected: set[str] = set()
    for name in names:
        if name in {"default", "all"}:
            selected |= set(mcp_tools("all" if name == "all" else "default"))
        elif name in available:
            selected.add(name)
        else:
            raise ConfigurationError(f"unknown tool {name!r}; available: default, all, {', '.join(available)}")
    return {name: tool for name, tool in available.items() if name in selected}


def find_tool(tools: Mapping[str, Tool[Any]], name: str) -> Tool[Any] | None:
    """Return the tool of a name; the prefix ``sg_`` of early 2026 is ignored."""
    return tools.get(name) or tools.get(name.removeprefix(_OLD_PREFIX))


def is_quick_tool(name: str) -> bool:
    """Return whether a tool is so quick that its caller needs no progress."""
    tool = TOOLS.get(name.removeprefix(_OLD_PREFIX))
    return tool is not None and tool.immediate


METADATA_PREFIX = "/.well-known/oauth-protected-resource"


def resource_metadata(base_url: str, path: str) -> dict[str, Any]:
    """Return the metadata of the endpoint at `path`; its addresses have no final ``/``."""
    return {
        "resource": f"{base_url}{path}",
        "authorization_servers": [base_url],
        # A token of either scope is good here; the challenge names the one that is enough.
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


def advertised_schemas(tools: Mapping[str, Tool[Any]], *, offers_pages: bool) -> dict[str, Mapping[str, Any]]:
    """Return the JSON Schema of each tool's arguments, with those of pages if they are to be named."""
    return {
        name: with_page_arguments(tool.advertised_schema) if offers_pages else tool.advertised_schema
        for name, tool in tools.items()
    }


def list_tools(
    tools: Mapping[str, Tool[Any]], *, offers_pages: bool, with_structure: bool, max_tokens: int | None
) -> dict[str, Any]:
    """Return the result of ``tools/list``.

    Parameters
    ----------
    tools
        Tools by name.
    offers_pages
        Whether schemas name the arguments of pages.
    with_structure
        Whether answers have structured content. If so, tools that return a table advertise its schema.
    max_tokens
        Tokens of an answer for which a call gives no number; None: as many as it has.
    """
    schemas = advertised_schemas(tools, offers_pages=offers_pages)
    size = _MAX_HINT if max_tokens is None else min(_MAX_HINT, _CHARACTERS_OF_TOKEN * max_tokens)
    hint = {"_meta": {SIZE_HINT: size}} if size > _WITHOUT_HINT else {}
    return {"tools": [_entry(tool, schemas[name], with_structure) | hint for name, tool in tools.items()]}


def stdio_tool_list(options: StdioOptions) -> bytes:
    """Return the result of ``tools/list`` over standard input and output as JSON without line breaks."""
    return orjson.dumps(
        list_tools(
            named_tools(options.tools),
            offers_pages=True,
            with_structure=options.with_structure,
            max_tokens=options.max_tokens,
        )
    )


def default_tool_list() -> str:
    """Return the text of `handshake.LIST_FILE`: the list for the default options, one tool a line."""
    entries = orjson.loads(stdio_tool_list(StdioOptions()))["tools"]
    return '{"tools":[\n' + ",\n".join(orjson.dumps(entry).decode() for entry in entries) + "\n]}\n"


def _entry(tool: Tool[Any], schema: Mapping[str, Any], with_structure: bool) -> dict[str, Any]:  # noqa: FBT001
    text = tool.mcp
    assert text is not None  # noqa: S101 - narrows for the type checker
    return {
        "name": tool.name,
        "title": text.title,
        "description": text.description,
        "inputSchema": dict(schema),
        **({"outputSchema": ROWS_SCHEMA} if with_structure and text.suite == "all" else {}),
        # The protocol gives the two other hints a meaning only for a tool that changes something.
        "annotations": {
            "readOnlyHint": text.read_only,
            **({} if text.read_only else {"destructiveHint": False}),
            "openWorldHint": False,
        },
    }
