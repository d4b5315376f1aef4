"""Search opened histories: commits and changed lines, newest first, as record batches.

Query text is parsed elsewhere (`engines/execution/commits`). Start with `query`, what is asked, then `find`.
"""
