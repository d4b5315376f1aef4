"""Handlers of tools that help to judge code: how complex functions are, how that changed, and which tests belong to a file.

Measures of one file are in `sourcelight.engines.complexity`, without tables or commits. Start at `complexity`.
"""
