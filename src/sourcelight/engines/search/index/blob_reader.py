"""Read the files that a build indexes, with git in a separate process whose memory can be limited.

A build reads nearly all files of a commit, one after the other. On kafka (6,431 files, 70 MB), libgit2 takes 1.1
CPU-seconds for that: half computes SHA-1, which git doesn't when it reads a file, and a third checks each chain of
differences before it is expanded, which a memory limit makes unnecessary. ``git cat-file`` takes 0.5, beside the build.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import islice

from sourcelight.core.errors import GitFailed
from sourcelight.repos import ObjectReader, Repository
from sourcelight.repos.objects import MAX_CONTENT_BYTES
from sourcelight.repos.processes.blob_process import BlobProcess

MIN_PROCESS_BYTES = 1 << 20
"""Bytes below which reading them in this process takes less time than starting git."""

BATCH_FILES = 1000
"""Files whose sizes are read before their contents."""

# Elsewhere the memory of a process can't be limited, and an object may expand to any size.
_HAS_LIMITS = sys.platform == "linux"


class BlobReader(ObjectReader):
    """Reads one repository, and many of its files at once; for one thread, and closed by its owner.

    Parameters
    ----------
    repository
        The repository.
    """

    def __init__(self, repository: Repository) -> None:
        super().__init__(repository)
        # Without a process it reads as its base class does: small repositories, and all on a system where the memory of
        # a process has no limit.
        self._process: BlobProcess | None = None
        # After a failure of git, libgit2 reads the rest, and reports for each object why it can't be read.
        self._may_start = _HAS_LIMITS and repository.kind == "git"

    def close(self) -> None:
        """Close the object store's files and end the process."""
        super().close()
        self._end_process()

    def blobs(self, ids: Iterable[bytes], limit: int = MAX_CONTENT_BYTES) -> Iterator[tuple[bytes, bytes | None]]:
        """Read many contents, in the order given; None as for `read`."""
        remaining = iter(ids)
        batch = list(islice(remaining, BATCH_FILES))
        while batch:
            sizes = self._sizes_within(batch, limit)
            contents = self._contents_from_git(sizes)
            for blob_id in batch:
                # In step with `sizes`, which has the order of the batch.
                content = next(contents, None) if blob_id in sizes else None
                if content is None:
                    content = self.read(blob_id, limit)
                yield blob_id, content
            batch = list(islice(remaining, BATCH_FILES))

    def _sizes_within(self, ids: Iterable[bytes], limit: int) -> dict[bytes, int]:
        """Return the sizes of the blobs that have at most `limit` bytes."""
        sizes: dict[bytes, int] = {}
        for blob_id in ids:
            size = self.size(blob_id)
            if size is not None and size <= limit:
                sizes[blob_id] = size
        return sizes

    def _contents_from_git(self, sizes: dict[bytes, int]) -> Iterator[bytes | None]:
        """Yield contents in order; None if git can't read one, and nothing after git failed."""
        if self._process is None and self._may_start and sum(sizes.values()) >= MIN_PROCESS_BYTES:
            try:
                self._process = BlobProcess(self.repository)
            except GitFailed:
                self._may_start = False

        if self._process is None:
            return

        try:
            for _, content in self._process.read(sizes):
                yield content
        except GitFailed:
            self._may_start = False
            self._end_process()

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None
