"""Index files of compilers (SCIP): precise answers where there is one for the commit."""

from sourcelight.engines.navigation.scip.index import precise_definitions, precise_symbols_at

__all__ = ["precise_definitions", "precise_symbols_at"]
