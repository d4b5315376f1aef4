"""Patterns of code, matched by ast-grep's engine in processes of their own.

A pattern is code with metavariables (``foo($A, $$$)``); a match is a node of a file's syntax tree. What chooses the
files stands in `search`, what compares versions of a file in `history`. Start with `pattern`, then `pool`, which runs
`worker`.
"""
