"""Compare two revisions live: the files that differ, with renames as git pairs them, and their patches.

git lists the changed files. Patches of one page are made in this process, those of all files by one git process; both
have the same text. Nothing here needs a stored history. Start with `comparison`.
"""

from sourcelight.engines.history.compare.changes import FileChange
from sourcelight.engines.history.compare.comparison import Comparison, compare, read_cursor, write_cursor
from sourcelight.engines.history.compare.patches import FileDiff

__all__ = ["Comparison", "FileChange", "FileDiff", "compare", "read_cursor", "write_cursor"]
