"""Handlers of tools about definitions, references and symbols, as tables and as text for MCP.

How a name is resolved is the matter of `sourcelight.engines.navigation`. Start at `calls`, which all handlers share.
"""
