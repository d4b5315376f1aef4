"""The object store of a repository: trees, blobs, commits, and the limits within which they are read.

Work trees and refs are not read here, and nothing is written or run. Start with `reader.StoreReader`.
"""

from sourcelight.repos.objects.commit_files import CommitFiles, FileDifference
from sourcelight.repos.objects.pack_files import packed_objects, store_size
from sourcelight.repos.objects.reader import (
    MAX_CONTENT_BYTES,
    MAX_FOLDER_BYTES,
    StoreReader,
    TreeEntry,
    find_entry,
    list_folder,
)
from sourcelight.repos.objects.trees import CommitTree

__all__ = [
    "MAX_CONTENT_BYTES",
    "MAX_FOLDER_BYTES",
    "CommitFiles",
    "CommitTree",
    "FileDifference",
    "StoreReader",
    "TreeEntry",
    "find_entry",
    "list_folder",
    "packed_objects",
    "store_size",
]
