"""Read the changes of new commits, in this process or in workers, and make a segment of them.

Commits are split into requests. Each is answered by files with *parts*: arrays of changes and lines, as
`parse_patches` returns them. The parts of all requests are then merged into one segment of the history.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sourcelight.core.arrays import AnyArray
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, SearchIndexError
from sourcelight.engines.history.store.allowance import EFFORT, AllowanceUse, Cost
from sourcelight.engines.history.store.commit_log import NewCommits
from sourcelight.engines.history.store.compaction import merge_parts, oid_order_section
from sourcelight.engines.history.store.worker import MODULE, ExtractionRequest, extract_to_files
from sourcelight.engines.storage.index_update import BuildCallbacks, Event, LocalBuild, run_jobs
from sourcelight.engines.storage.sections import SectionFile
from sourcelight.engines.storage.worker_pool import WorkerJob

MAX_REQUEST_COMMITS = 1000
"""Maximum commits of one request to a worker."""

_MIN_REQUEST_COMMITS = 50
"""Minimum commits of one request: git starts once for each."""

_REQUESTS_PER_WORKER = 8
"""Requests that each worker gets, about: with fewer, some would have nothing to do while the last ones work."""

MAX_LOCAL_COMMITS = 300
"""Commits up to which they are read in this process: starting workers takes longer."""


class ReadChanges(NamedTuple):
    """The parts in the order of their commits, and the numbers of the commits that could not be read, ascending."""

    parts: list[SectionFile]
    unread: list[int]


@dataclass(frozen=True, slots=True)
class ChangeReader:
    """Reads changes of commits into parts (see `parse_patches`).

    Parameters
    ----------
    git_dir
        The git directory.
    new_commits
        The commits that `read` gets numbers of.
    scratch
        Folder for the files of parts. Opened parts stay readable when it is deleted.
    workers
        Processes for more than `MAX_LOCAL_COMMITS` commits.
    cancellation
        Ends the reading.
    """

    git_dir: str
    new_commits: NewCommits
    scratch: Path
    workers: int
    cancellation: Cancellation

    def read(
        self, numbers: Sequence[int], account: AllowanceUse, on_done: Callable[[int], None] = lambda _: None
    ) -> ReadChanges:
        """Read the changes of some commits.

        Parameters
        ----------
        numbers
            Numbers of the commits, ascending, without merges.
        account
            Pays for what is read; what it can't pay for stays unread.
        on_done
            Called with how many of the commits are read.

        Raises
        ------
        Cancelled
            After ``cancellation.cancel()``.
        SearchIndexError
            When a worker failed.
        """
        # Keyed by the first commit, since answers of workers come in the order in which they finish.
        files_by_first: dict[int, list[str]] = {}
        unread: set[int] = set()
        done = 0

        def on_event(job: _ExtractionJob, event: Event) -> None:
            nonlocal done
            if event["event"] == "failed":
                # Nothing of a history that lacks commits is stored; the exception ends the workers too.
                raise SearchIndexError(str(self.scratch.parent), event["reason"])

            files_by_first[job.request.first] = event["files"]
            unread.update(event["unread"])
            done += len(job.request.oids)
            on_done(done)

        is_small = len(numbers) <= MAX_LOCAL_COMMITS
        requests = self._requests(numbers, account.allowance)
        jobs = [_ExtractionJob(request, is_small, self.cancellation) for request in requests]
        if not run_jobs(MODULE, jobs, self.workers, on_event, self.cancellation, done="read"):
            raise Cancelled("stopped on request")

        # Workers finish in any order. Paying in the order of commits makes the result the same in every run.
        parts: list[SectionFile] = []
        for first in sorted(files_by_first):
            for name in files_by_first[first]:
                part = SectionFile(Path(name), "history")
                if account.spend(_cost_of(part)):
                    parts.append(part)
                else:
                    unread.update(part.array("commit").tolist())

        return ReadChanges(parts, sorted(unread))

    def _requests(self, numbers: Sequence[int], allowance: Cost) -> Iterator[ExtractionRequest]:
        size = len(numbers) // (_REQUESTS_PER_WORKER * self.workers)
        size = max(_MIN_REQUEST_COMMITS, min(MAX_REQUEST_COMMITS, size))
        for start in range(0, len(numbers), size):
            request_numbers = tuple(numbers[start : start + size])
            yield ExtractionRequest(
                git_dir=self.git_dir,
                folder=str(self.scratch),
                first=request_numbers[0],
                numbers=request_numbers,
                oids=tuple(self.new_commits.oids[number].decode() for number in request_numbers),
                allowance=allowance,
                # All requests share the scratch folder, and with it the file that sums up the effort.
                effort=EFFORT * allowance.bytes,
            )


def _cost_of(part: SectionFile) -> Cost:
    metadata = part.metadata
    return Cost(metadata["files"], metadata["lines"], metadata["bytes"])


@dataclass(frozen=True, slots=True)
class _ExtractionJob:
    """The changes of some commits, written to files of the scratch folder."""

    request: ExtractionRequest
    is_small: bool
    cancellation: Cancellation

    def local_build(self) -> LocalBuild | None:
        return self._extract if self.is_small else None

    def _extract(self, _callbacks: BuildCallbacks) -> dict[str, Any]:
        files, unread = extract_to_files(self.request, self.cancellation)
        return {"files": files, "unread": unread}

    def worker_job(self, key: str) -> WorkerJob:
        return WorkerJob(key, self.request.line(), _identity(self.request))


def segment_arrays(new_commits: NewCommits, parts: Sequence[SectionFile], unread: Sequence[int]) -> dict[str, AnyArray]:
    """Return the arrays of a segment from its commits and the parts that hold their changes."""
    # A separate column, without dropping commits: a commit without readable changes still has a message and an author.
    is_unread = np.zeros(len(new_commits.oids), np.uint8)
    is_unread[list(unread)] = 1
    part_arrays = [{name: part.array(name) for name in part.names()} for part in parts]
    return {
        **new_commits.arrays,
        "unread": is_unread,
        **oid_order_section(new_commits.arrays["oid"]),
        **merge_parts(part_arrays, len(new_commits.oids)),
    }


def segment_counts(arrays: dict[str, AnyArray]) -> dict[str, int]:
    """Return the numbers of items of a segment, which its file keeps beside its sections."""
    return {
        "commits": len(arrays["author"]),
        "changes": len(arrays["status"]),
        "rows": len(arrays["rows"]),
        "blocks": len(arrays["block_row"]),
    }


def _identity(request: ExtractionRequest) -> str:
    """Return a name for the work of a request, so that one that killed its worker is not tried again."""
    digest = hashlib.sha256(repr((request.git_dir, request.oids)).encode()).hexdigest()
    return f"history {digest}"
