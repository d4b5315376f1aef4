"""Tools and analyses as data: arguments, columns, scope, limits, and the merge of tables of several services.

The code that does the work of a tool is in `sourcelight.engines.tools`, its typed method in
`sourcelight.client.methods`. Start at `tool`, the class of definitions, then at `catalog`, which lists all.
"""
