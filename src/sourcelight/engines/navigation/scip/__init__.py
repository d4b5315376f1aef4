"""Index files of compilers (SCIP): precise definitions and symbols of a commit that has one.

Building such files is the work of other programs. Start reading at `index`; `decode` reads the format.
"""

from sourcelight.engines.navigation.scip.index import precise_definitions, precise_symbols_at

__all__ = ["precise_definitions", "precise_symbols_at"]
