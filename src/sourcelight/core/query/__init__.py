"""The query language: text to a validated tree, its alternatives, and back to text.

Nothing here knows repositories or runs a search. Start with `parse`, which names all steps in their order, and
`fields`, the table of filters. The language table, dates and the regular expression library load when a query needs
them.
"""

from sourcelight.core.query.fields import PATTERN_TYPES
from sourcelight.core.query.parse import parse
from sourcelight.core.query.syntax.nodes import Alternative, And, Filter, Node, Or, Pattern, Predicate, Query, canonical

__all__ = [
    "PATTERN_TYPES",
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
]
