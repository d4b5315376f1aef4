"""The repositories and revisions of a query: contexts, filters and predicates become targets of the index.

No text is read here. Start at `scope`, which resolves the alternatives of a query.
"""
