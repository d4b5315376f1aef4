"""Read file ranges of commits in threads, ahead of the search that scans them."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor

from sourcelight.core.arrays import BoolArray
from sourcelight.core.errors import Cancelled, GitFailed
from sourcelight.engines.search.direct.commit import FileRange, RangeTexts, UnindexedCommit, UnindexedCommits
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.storage import worker_pool
from sourcelight.repos import ObjectReader, Repository
from sourcelight.repos.processes.blob_process import BlobProcess
from sourcelight.repos.worktree_files import WorktreeFiles

# Elsewhere the memory of a process can't be limited, and an object may expand to any size.
_HAS_LIMITS = sys.platform == "linux"


class FileRangeReader:
    """Reads file ranges in a thread and a git process for each core; closed by its owner, which ends the processes.

    Parameters
    ----------
    commits
        Keeps the texts of file ranges that were read whole.
    """

    def __init__(self, commits: UnindexedCommits) -> None:
        self._commits = commits
        self.threads = worker_pool.usable_cores()
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="sourcelight-read")
        self._idle: list[BlobProcess] = []
        self._busy: list[BlobProcess] = []
        self._guard = threading.Lock()
        self._is_closed = False

    def submit(self, commit: UnindexedCommit, file_range: FileRange, mask: BoolArray | None) -> Future[OpenedCommit]:
        """Read the texts of a file range in a thread; `mask`: of these files alone.

        Raises
        ------
        Cancelled
            When the process ends, which takes no new work for any thread.
        """
        try:
            return self._pool.submit(self._read, commit, file_range, mask)
        except RuntimeError as exc:
            raise Cancelled("the process is ending") from exc

    def close(self) -> None:
        """End the processes and the threads."""
        with self._guard:
            self._is_closed = True
            # Killed first, so that no thread waits for the output of a process any more.
            for process in (*self._busy, *self._idle):
                process.kill()

        self._pool.shutdown(wait=True, cancel_futures=True)
        for process in self._idle:
            process.close()

    def _read(self, commit: UnindexedCommit, file_range: FileRange, mask: BoolArray | None) -> OpenedCommit:
        texts = RangeTexts(commit.sizes(file_range, mask))
        self._read_files(commit, file_range, texts)
        remaining = {name: size for name, size in texts.sizes.items() if name not in texts.numbers}
        size = sum(remaining.values())
        if mask is None and len(remaining) == len(texts.sizes):
            # The first range of a large commit is small, but those behind it need the process too.
            size = max(size, commit.text_bytes)

        if _HAS_LIMITS and commit.repository.kind == "git" and size >= commit.limits.min_git_bytes:
            self._read_with_git(commit.repository, remaining, texts)

        self._read_in_process(commit, texts)
        snapshot = commit.open(file_range, texts)
        if mask is None or bool(mask.all()):
            self._commits.keep(commit, file_range, snapshot)

        return snapshot

    def _read_files(self, commit: UnindexedCommit, file_range: FileRange, texts: RangeTexts) -> None:
        """Add what the files of the work tree have."""
        with WorktreeFiles(commit.repository) as files:
            if files:
                for path, name in commit.files(file_range):
                    if name in texts.sizes and name not in texts.numbers:
                        self._check()
                        content = files.read(path, name, texts.sizes[name])
                        if content is not None:
                            texts.add(name, content)

    def _read_with_git(self, repository: Repository, sizes: dict[bytes, int], texts: RangeTexts) -> None:
        """Add what git can read; after a failure, libgit2 reads the rest, and reports the reason for each object."""
        try:
            process = self._take(repository)
        except GitFailed:
            return

        is_complete = True
        # Not kept after a failure: the rest of its pipe would be taken for the next answer.
        try:
            for name, content in process.views(sizes):
                if content is not None:
                    texts.add(name, content)
            is_complete = False
        except GitFailed:
            pass
        finally:
            with self._guard:
                self._busy.remove(process)
                if not is_complete:
                    self._idle.append(process)
            if is_complete:
                process.close()

    def _read_in_process(self, commit: UnindexedCommit, texts: RangeTexts) -> None:
        missing = [name for name in texts.sizes if name not in texts.numbers]
        if missing:
            with ObjectReader(commit.repository) as reader:
                for name in missing:
                    self._check()
                    texts.add(name, reader.read(name, commit.limit))

    def _take(self, repository: Repository) -> BlobProcess:
        """Return an idle process of the repository, or start one; end the processes of the previous repository."""
        with self._guard:
            idle, self._idle = self._idle, []

        process = None
        for worker in idle:
            if process is None and worker.git_dir == repository.git_dir:
                process = worker
            elif worker.git_dir == repository.git_dir:
                with self._guard:
                    self._idle.append(worker)
            else:
                worker.close()

        process = process or BlobProcess(repository)
        with self._guard:
            self._busy.append(process)
            if self._is_closed:
                process.kill()

        return process

    def _check(self) -> None:
        if self._is_closed:
            raise Cancelled("the search has ended")
