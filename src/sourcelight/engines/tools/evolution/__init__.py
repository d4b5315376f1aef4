"""Handlers of tools about what one thing was before: a definition's changes, and the names that a revision lost.

Histories and their files are in `sourcelight.engines.history`; how a path changed is in `sourcelight.engines.tools.history`.
Start at `symbol_history`, then at `definition_walk`, which goes from commit to commit.
"""
