"""Handlers of tools that help to judge code: complex functions, how they became so, and the tests of a file.

Measures of one file are in `sourcelight.engines.complexity`, without tables or commits. Start at `complexity`.
"""
