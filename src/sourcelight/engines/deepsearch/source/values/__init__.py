"""Values in source text: of constants, of parameters, of arguments. Nothing is executed; text is read with bounds.

`expressions` reads an expression from a place on, `parameters` the lists of functions and calls, and `assignments` the
value that a definition gives to a name. Literals and comments are told by `source.literals`. Start with `expressions`.
"""

from sourcelight.engines.deepsearch.source.values.assignments import (
    attribute_value,
    haskell_value,
    is_counter,
    is_of_itself,
    lisp_value,
    value_of,
)
from sourcelight.engines.deepsearch.source.values.expressions import (
    blank_angles,
    blank_brackets,
    goes_on,
    in_one_line,
    read_expression,
    split_items,
)
from sourcelight.engines.deepsearch.source.values.parameters import (
    Parameter,
    parameter_names,
    parameters_of,
    read_parameters,
)

__all__ = [
    "Parameter",
    "attribute_value",
    "blank_angles",
    "blank_brackets",
    "goes_on",
    "haskell_value",
    "in_one_line",
    "is_counter",
    "is_of_itself",
    "lisp_value",
    "parameter_names",
    "parameters_of",
    "read_expression",
    "read_parameters",
    "split_items",
    "value_of",
]
