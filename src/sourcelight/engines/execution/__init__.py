"""The engine: plans a query, runs it over repositories, and reports what it skipped.

The scan is in `sourcelight.engines.search`, histories are in `sourcelight.engines.history`, and handlers of tools in
`sourcelight.engines.tools`; tables for people are made in `sourcelight.display.frames`. Start at `engine`, the port,
then at `local`, the engine of one machine, then at `run`, which has the order of a search's events.
"""

from sourcelight.core.explanation import Explanation
from sourcelight.engines.execution.engine import Engine
from sourcelight.engines.execution.local import LocalEngine
from sourcelight.engines.execution.protocol import Limits

__all__ = ["Engine", "Explanation", "Limits", "LocalEngine"]
