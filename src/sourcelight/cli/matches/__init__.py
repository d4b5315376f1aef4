"""The output of a search: matches on standard output, and messages about the answer on standard error.

The command itself, its options and its exit status are in `sourcelight.cli.search`. Start with `printer`.
"""
