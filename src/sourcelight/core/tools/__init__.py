"""Tools and analyses as data: the columns of their tables, the checks of their arguments. Pure.

What does the work of a tool stands in `sourcelight.engines.tools`, and its typed method in
`sourcelight.client.methods`. Start at `catalog`, which names all tables.
"""
