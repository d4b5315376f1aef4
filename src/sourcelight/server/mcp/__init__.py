"""MCP endpoints: the typed tools over Streamable HTTP, and over standard input and output.

`engines.tools` answers the calls, and `server.identity` checks credentials. The SDK takes a second to load, so only
`protocol` imports it, with the first message. `handshake` answers before anything else is loaded, which is why nothing
is imported here. Start with `endpoints`.
"""
