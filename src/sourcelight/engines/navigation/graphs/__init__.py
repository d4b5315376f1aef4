"""Graphs over whole repositories: calls of functions, imports of files, and the map of the most important definitions.

What one name means is decided by `definitions` and `references`; the graphs ask them for many names. Start reading at
`imports`, then `calls`.
"""
