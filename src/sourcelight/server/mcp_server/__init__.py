"""The MCP endpoints over Streamable HTTP, and the same server over stdio. Tools come from `engines.tools`."""
