"""Calls: who calls a function and what it calls, from the call graph or from the forms of lines.

Other uses of a name, such as in tests and examples, are in `uses`. Start with `callers`.
"""
