"""Search of notebooks by cell: in the text that a reader sees, not in the JSON.

No index has the text of cells: notebooks are chosen by path and read whole, so no spelling of JSON loses a match, and
what was read stays in memory. Start with `search`; `reader` reads cells, `evaluate` matches, `rows` makes batches.
"""
