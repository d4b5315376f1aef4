"""Stands before the package of that name in `PYTHONPATH`, so that importing nbformat compiles no grammars.

jsonschema leaves out formats that no schema of notebooks has where the package is missing. With it, each process that
reads notebooks compiles 38 grammars when it starts: 1.3 s of a core.
"""

raise ImportError("not needed for notebooks")
