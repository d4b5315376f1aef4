"""Name the function, the types and the list that a line belongs to, by the form of the lines around it.

This is for languages without a grammar, and for places where a grammar finds no definition. Nothing is searched here.
Start with `enclosing`.
"""

from sourcelight.engines.deepsearch.source.functions.enclosing import enclosing_function
from sourcelight.engines.deepsearch.source.functions.first_column import top_line
from sourcelight.engines.deepsearch.source.functions.heads_above import name_before_list, swift_head, types_around
from sourcelight.engines.deepsearch.source.functions.nesting import lines_around

__all__ = ["enclosing_function", "lines_around", "name_before_list", "swift_head", "top_line", "types_around"]
