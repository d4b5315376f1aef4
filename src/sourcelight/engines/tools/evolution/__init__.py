"""Handlers of tools about former code: changes of a definition or of public symbols, and commits behind a count.

Histories are in `sourcelight.engines.history`; how a path changed is in `sourcelight.engines.tools.history`. Start at
`symbol_history`, then at `definition_walk`, which goes from commit to commit.
"""
