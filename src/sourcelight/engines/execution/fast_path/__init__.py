"""The fast path: answers to small searches, from what an earlier search of the same shape prepared.

Nothing here parses or plans a query: what has no known shape is left to the pipeline. Start at `answers`; `shapes` has
what the searches of a shape share.
"""
