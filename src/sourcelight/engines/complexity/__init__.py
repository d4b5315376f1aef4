"""Sizes and complexities of the functions of a file, counted on its syntax tree.

Nothing here knows a repository. `control_flow` lists the nodes, `measure` counts them.
"""

from sourcelight.engines.complexity.measure import LANGUAGES, FileMeasures, measure_file

__all__ = ["LANGUAGES", "FileMeasures", "measure_file"]
