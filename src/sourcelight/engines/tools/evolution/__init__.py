"""Handlers of tools about former code: the changes of a definition, and the changes of public symbols.

Histories are in `sourcelight.engines.history`; how a path changed is in `sourcelight.engines.tools.history`. Start at
`symbol_history`, then at `definition_walk`, which goes from commit to commit.
"""
