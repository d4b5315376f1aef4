"""The typed tools, defined once: MCP endpoints, clients and deep search serve these.

A tool checks its arguments, asks an engine for a viewer, and answers with a table; how the answer is put in words and
JSON for MCP stands beside it. No transport, no identity.
"""

from sourcelight.engines.tools.context import Analysis, Conversations, Tool, ToolContext
from sourcelight.engines.tools.handler import PartialResult, SplitHandler
from sourcelight.engines.tools.registry import ANALYSES, TOOLS, answer, call, named, part_of, steps_of

__all__ = [
    "ANALYSES",
    "TOOLS",
    "Analysis",
    "Conversations",
    "PartialResult",
    "SplitHandler",
    "Tool",
    "ToolContext",
    "answer",
    "call",
    "named",
    "part_of",
    "steps_of",
]
