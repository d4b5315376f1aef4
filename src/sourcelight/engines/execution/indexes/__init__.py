"""The indexes of an engine: which repositories have one, and how they follow commits and work trees.

Nothing here knows a query, and index files are written in `sourcelight.engines.search`. Start at `repositories`;
`background` builds what no search waits for.
"""
