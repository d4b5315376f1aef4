"""The syntax of queries: characters to tokens, tokens to a tree, and how a value is quoted.

What a filter means is in `sourcelight.core.query.fields`; alternatives are in `sourcelight.core.query.alternatives`.
Start at `lexer`, then at `parser`; `nodes` has the tree that the others work on.
"""
