"""A query's plan, its dispatch by result type, union, dedupe and limits.

No scanning lives here (that is `search`), no protocol (that is `service`), and no table for people (that is `frames`).
"""

from sourcelight.engines.execution.explain import Explanation
from sourcelight.engines.execution.local import LocalEngine
from sourcelight.engines.execution.protocol import DEFAULT_MATCH_LIMIT, Limits

__all__ = ["DEFAULT_MATCH_LIMIT", "Explanation", "Limits", "LocalEngine"]
