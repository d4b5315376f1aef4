"""MCP endpoints: the typed tools over Streamable HTTP, and over standard input and output.

`engines.tools` answers the calls, and `server.identity` checks credentials. The SDK takes a second to load, so only
`protocol` imports it, with the first message. Start with `endpoints`.
"""

from sourcelight.server.mcp.endpoints import McpEndpoints
from sourcelight.server.mcp.suites import ENDPOINTS, METADATA_PREFIX, McpOptions, resource_metadata

__all__ = [
    "ENDPOINTS",
    "METADATA_PREFIX",
    "McpEndpoints",
    "McpOptions",
    "resource_metadata",
]
