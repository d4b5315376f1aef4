"""Handlers of tools that show changes as diffs: of two revisions, of a commit, and of lines that match.

Diffs are made by `sourcelight.engines.history.compare`. Start at `file_diffs`, their table;
`diff_search` has a row per line instead.
"""
