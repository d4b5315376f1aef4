"""Definitions, references, imports and call graphs, resolved when asked; each answer says how sure it is.

Reads blobs through `repos`, tables of definitions and imports through `symbols`, candidate files through `search`. No
index of its own.
"""
