"""Search commits that have no index yet: their files are read from the repository in file ranges and scanned.

A file range is like an opened commit of an index, with some of the files and without posting lists. So the search
itself is the same, and so are its matches. Start with `search.DirectSearch`.
"""

from sourcelight.engines.search.direct.search import DirectSearch

__all__ = ["DirectSearch"]
