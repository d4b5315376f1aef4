"""Patterns of code, matched by ast-grep's engine in processes of their own.

A pattern is code with metavariables (``foo($A, $$$)``); a match is a node of a file's syntax tree. `search`
chooses the files, `history` compares versions of a file. Start with `pattern`, then `pool`, which runs
`worker`.
"""
