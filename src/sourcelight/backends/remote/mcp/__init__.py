"""The tools of a service over MCP: connections, arguments in the server's shape, results as tables.

Streams and conversations are in the parent room. Only this room loads the MCP SDK and its HTTP library, with the first
call, which takes about a second. Start with `tools`.
"""

from sourcelight.backends.remote.mcp.tools import RemoteTools

__all__ = ["RemoteTools"]
