"""The query language: text to a validated tree, its alternatives, and back to text. No I/O, no engine.

Kept light: the language table, dates and the regular expression library load when a query needs them.
"""

from sourcelight.core.query.nodes import Alternative, And, Filter, Node, Or, Pattern, Predicate, Query, canonical
from sourcelight.core.query.parse import PATTERN_TYPES, parse
from sourcelight.core.query.printer import to_text
from sourcelight.core.query.printer__quoting import quote_value
from sourcelight.core.query.unsupported import TEXT_SEARCH, refuse_unsupported

__all__ = [
    "PATTERN_TYPES",
    "TEXT_SEARCH",
    "Alternative",
    "And",
    "Filter",
    "Node",
    "Or",
    "Pattern",
    "Predicate",
    "Query",
    "canonical",
    "parse",
    "quote_value",
    "refuse_unsupported",
    "to_text",
]
