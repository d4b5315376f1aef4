"""The service: searches over HTTP, MCP endpoints, identity and OAuth.

It protects and publishes engines; searching is their work, and the command line starts it. Start with `http.app`.
"""
