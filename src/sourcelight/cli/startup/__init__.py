"""The start of `serve` and `mcp`, whose clients wait for a first answer: no framework of commands is imported here.

The commands, their help and their errors are in `sourcelight.cli.serve`. Start with `first_answers`.
"""
