"""Tools and analyses as data: arguments, columns, scope, limits, and how tables of several services merge. Pure.

The code that does the work of a tool is in `sourcelight.engines.tools`, its typed method in
`sourcelight.client.methods`. Start at `tool`, the class of definitions, then at `catalog`, which lists all.
"""
