"""MCP endpoints: the typed tools over Streamable HTTP and standard input and output.

`McpEndpoints` is an ASGI application for the paths of `ENDPOINTS`; it asks its caller who a request acts for. The SDK
of the protocol takes a second to load: only `protocol` and `protocol` import it, and they are imported when the first
message comes. Nothing here searches (that is `engines.tools`), and nothing here reads credentials.
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
