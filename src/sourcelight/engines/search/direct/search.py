"""Search targets in order, those without an index straight from their repositories."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import groupby

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.cells import CellDocument
from sourcelight.core.errors import SourcelightError
from sourcelight.engines.search.direct.commit import DEFAULT_READS, ReadLimits, UnindexedCommit, UnindexedCommits
from sourcelight.engines.search.direct.reader import FileRangeReader
from sourcelight.engines.search.model import PreparedQuery, SearchOptions, SearchPart, Target, TextQuery, prepare
from sourcelight.engines.search.open_index import CorpusCache, OpenedTargets
from sourcelight.engines.search.scan.corpus import MAX_NAMED_MISSING, Corpus
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.search.searcher import SearchLoop
from sourcelight.engines.search.store import IndexStore
from sourcelight.engines.search.updates import commit_of

_AHEAD = 2
"""Pieces for each thread that are read ahead of the scan."""

_CHECK_S = 0.02
"""Seconds between two looks at the cancellation."""


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
