"""The typed tools, defined once: MCP endpoints, clients and deep search serve these.

A tool checks its arguments, asks an engine for a viewer, and answers with a table; how the answer is put in words and
JSON for MCP stands beside it. No transport, no identity.
"""

from sourcelight.engines.tools.catalog import ANALYSES, TOOLS, answer, call
from sourcelight.engines.tools.model import Analysis, CallContext, Conversations, Tool

__all__ = ["ANALYSES", "TOOLS", "Analysis", "CallContext", "Conversations", "Tool", "answer", "call"]
