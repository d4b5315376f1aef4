"""Search targets in order, those without an index straight from their repositories.

Threads read the file ranges of commits ahead of the search that scans them.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import groupby

from sourcelight.core.arrays import BoolArray
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.cells import CellDocument
from sourcelight.core.errors import Cancelled, GitFailed, SourcelightError
from sourcelight.engines.search.direct.commit import (
    DEFAULT_READS,
    FileRange,
    RangeTexts,
    ReadLimits,
    UnindexedCommit,
    UnindexedCommits,
)
from sourcelight.engines.search.model import PreparedQuery, SearchOptions, SearchPart, Target, TextQuery, prepare
from sourcelight.engines.search.open_index import CorpusCache, OpenedTargets
from sourcelight.engines.search.scan.corpus import MAX_NAMED_MISSING, Corpus
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.search.searcher import SearchLoop
from sourcelight.engines.search.store import IndexStore
from sourcelight.engines.search.updates import commit_of
from sourcelight.engines.storage import worker_pool
from sourcelight.repos import ObjectReader, Repository
from sourcelight.repos.processes.blob_process import BlobProcess
from sourcelight.repos.worktree_files import WorktreeFiles

_AHEAD = 2
"""Pieces for each thread that are read ahead of the scan."""

_CHECK_S = 0.02
"""Seconds between two looks at the cancellation."""

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


class DirectSearch:
    """Searches targets with or without an index. Safe to share between threads.

    Parameters
    ----------
    store
        Searches those that have one.
    max_bytes, limits
        As of `UnindexedCommits`.
    """

    def __init__(self, store: IndexStore, max_bytes: int | None = None, limits: ReadLimits = DEFAULT_READS) -> None:
        self._store = store
        self._commits = UnindexedCommits(max_bytes, limits)

    def search(
        self, targets: Sequence[Target], query: TextQuery, options: SearchOptions, cancellation: Cancellation
    ) -> Generator[SearchPart, None, None]:
        """Yield the result in parts, as `IndexStore.search` does once all targets are indexed."""
        remaining = options.max_matches
        # Targets in their order, whatever is indexed by now: the first matches are those that the index would give.
        for is_indexed, group in groupby(targets, self._is_indexed):
            run = tuple(group)
            limited = replace(options, max_matches=remaining)
            search = self._store.search if is_indexed else self._search
            with closing(search(run, query, limited, cancellation)) as parts:
                for part in parts:
                    if remaining is not None:
                        remaining = max(0, remaining - part.matches)
                    yield part

            if cancellation.stopped or remaining == 0:
                return

    def read(self, target: Target, path: str) -> bytes | None:
        """Return the content of a file, or None when there is none or it is matched by name only."""
        if self._is_indexed(target):
            return self._store.read(target, path)
        open_file = self._file(target, path)
        return None if open_file is None else open_file.text_at(0)

    def cells_of(self, target: Target, path: str) -> CellDocument | None:
        """Return the cells of a file, or None without readable cells."""
        if self._is_indexed(target):
            return self._store.cells_of(target, path)
        open_file = self._file(target, path)
        return None if open_file is None else self._store.cells_at(target, open_file, 0)

    def _file(self, target: Target, path: str) -> OpenedCommit | None:
        commit = self._commits.get(target, commit_of(target), self._store.max_file_size)
        return commit.open_file(path.encode())

    def clear(self) -> None:
        """Drop all texts: everything is indexed."""
        self._commits.clear()

    def _is_indexed(self, target: Target) -> bool:
        is_indexed = self._store.is_current(target)
        if is_indexed:
            self._commits.forget(target, commit_of(target))
        return is_indexed

    def _search(
        self, targets: Sequence[Target], query: TextQuery, options: SearchOptions, cancellation: Cancellation
    ) -> Generator[SearchPart, None, None]:
        prepared = prepare(query)
        loop = SearchLoop(prepared, options, cancellation, _FileRangeCorpora())
        failed: set[int] = set()
        with (
            closing(FileRangeReader(self._commits)) as reader,
            closing(self._steps(targets, prepared, reader, failed)) as steps,
        ):
            ahead: deque[_TargetStep] = deque()
            summary = _Summary()
            while True:
                while len(ahead) < _AHEAD * reader.threads and (step := next(steps, None)) is not None:
                    ahead.append(step)

                if not ahead:
                    return

                step = ahead.popleft()
                if step.failure:
                    summary = _Summary()
                    ahead = deque(item for item in ahead if item.number != step.number)
                    yield SearchPart(failed={step.target.repository.name: step.failure})
                    continue

                if step.file_range is None:
                    yield summary.part(step.target)
                    summary = _Summary()
                    continue

                if not _is_ready(step.file_range, cancellation):
                    return

                try:
                    snapshot = step.file_range.result()
                except (SourcelightError, OSError) as error:
                    failed.add(step.number)
                    ahead.appendleft(replace(step, failure=str(error)))
                    continue

                # Each file range reports the repository as finished, which it is with the last one alone.
                for part in loop.parts(OpenedTargets([step.target], [step.commit], [snapshot])):
                    summary.add(part)
                    if part.batches:
                        yield replace(part, repositories_done=(), skipped={}, missing={})

                if loop.is_finished:
                    return

                summary.add(loop.pending.take())

    def _steps(
        self, targets: Sequence[Target], prepared: PreparedQuery, reader: FileRangeReader, failed: set[int]
    ) -> Generator[_TargetStep, None, None]:
        """Yield the file ranges to scan, whose reading has begun, and a step without one at the end of each target.

        Of targets whose number is in `failed`, nothing more is read.
        """
        query = prepared.query
        reads_contents = any(term.content for term in prepared.terms)
        for number, target in enumerate(targets):
            try:
                name = commit_of(target)
                commit = self._commits.get(target, name, self._store.max_file_size)
                for file_range in _file_ranges(commit, query, reader, reads_contents=reads_contents):
                    yield _TargetStep(number, target, name, file_range)
                    if number in failed:
                        break
                else:
                    yield _TargetStep(number, target)
            except (SourcelightError, OSError) as error:
                yield _TargetStep(number, target, failure=str(error))


@dataclass(slots=True)
class _TargetStep:
    """A file range of a target that is being read.

    Without a range, it is the end of the target, or the reason why the target can't be searched.
    """

    number: int
    target: Target
    commit: str = ""
    file_range: Future[OpenedCommit] | None = None
    failure: str = ""


def _file_ranges(
    commit: UnindexedCommit, query: TextQuery, reader: FileRangeReader, *, reads_contents: bool
) -> Iterator[Future[OpenedCommit]]:
    mask = commit.names.passing_files(query.files, query.languages)
    for file_range in commit.file_ranges():
        range_mask = None if mask is None else mask[file_range.first : file_range.end]
        if range_mask is not None and not range_mask.any():
            continue
        if file_range.snapshot is None and reads_contents:
            yield reader.submit(commit, file_range, range_mask)
        else:
            ready: Future[OpenedCommit] = Future()
            ready.set_result(file_range.snapshot or commit.open(file_range))
            yield ready


def _is_ready(file_range: Future[OpenedCommit], cancellation: Cancellation) -> bool:
    """Wait for a file range; False when the search is to stop."""
    while not cancellation.stopped:
        if file_range.done() or wait([file_range], _CHECK_S).done:
            return True
    return False


class _FileRangeCorpora(CorpusCache):
    """Keeps the corpus of each file range next to its texts, with the corpus's cache of patterns."""

    def get(self, members: Sequence[OpenedCommit]) -> Corpus:
        """Return the corpus of one file range."""
        return members[0].remember("corpus", lambda: Corpus(members))


@dataclass(slots=True)
class _Summary:
    """Sums over the file ranges of one target, besides their matches."""

    skipped: Counter[str] = field(default_factory=Counter)
    missing: tuple[str, ...] = ()

    def add(self, part: SearchPart) -> None:
        for counts in part.skipped.values():
            self.skipped.update(counts)
        for names in part.missing.values():
            self.missing = (self.missing + names)[:MAX_NAMED_MISSING]

    def part(self, target: Target) -> SearchPart:
        name = target.repository.name
        skipped = {name: dict(self.skipped)} if self.skipped else {}
        missing = {name: self.missing} if self.missing else {}
        return SearchPart(repositories_done=(name,), skipped=skipped, missing=missing)
