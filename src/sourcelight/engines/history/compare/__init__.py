"""Compare two revisions live: the files that differ, with renames as git pairs them, and their patches.

git lists the changed files. This process makes the patches of one page, and a git process the patches of all files;
both have the same text. Nothing here needs a stored history. Start with `comparison`.
"""

from sourcelight.engines.history.compare.changes import FileChange
from sourcelight.engines.history.compare.comparison import Comparison, compare, read_cursor, write_cursor
from sourcelight.engines.history.compare.patches import FileDiff

__all__ = ["Comparison", "FileChange", "FileDiff", "compare", "read_cursor", "write_cursor"]
