"""Two revisions compared, live: which files differ as git pairs them, and their patches.

git gives the list of changed files; patches of a page are made in this process, and those of everything come from one
git process. Both look the same to the reader. Nothing here needs the store.
"""

from sourcelight.engines.history.compare.changes import FileChange, FileDiff
from sourcelight.engines.history.compare.comparison import Comparison, compare, read_cursor, write_cursor

__all__ = ["Comparison", "FileChange", "FileDiff", "compare", "read_cursor", "write_cursor"]
