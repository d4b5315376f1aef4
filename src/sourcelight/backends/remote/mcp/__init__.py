"""The tools of a service, asked over MCP: the connection, arguments fitted to what the server takes, answers read.

The MCP SDK and its HTTP library stand here and nowhere else in this room, and are loaded with the first call: that
takes about a second.
"""

from sourcelight.backends.remote.mcp.tools import RemoteTools

__all__ = ["RemoteTools"]
