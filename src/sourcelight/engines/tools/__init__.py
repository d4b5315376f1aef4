"""Handlers of tools: the code that does the work of a definition of `sourcelight.core.tools`, and its text for MCP.

A handler gets checked arguments, an engine and a viewer, and answers with a table. No transport, no identity. Start at
`handler`, the class of handlers, then at `registry`, which finds and calls them.
"""

from sourcelight.engines.tools.context import Conversations, ToolContext
from sourcelight.engines.tools.handler import Handler, PartialResult, Split
from sourcelight.engines.tools.registry import answer, call, gather, register, render

__all__ = [
    "Conversations",
    "Handler",
    "PartialResult",
    "Split",
    "ToolContext",
    "answer",
    "call",
    "gather",
    "register",
    "render",
]
