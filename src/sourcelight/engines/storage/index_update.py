"""One update of indexes: small jobs run in this process, the others in workers; then a report by repository.

An update of text, definitions or terms is the same to it: jobs by repository, which say themselves whether they are
small. A job that fails ends no other, and its repository is reported with the reason. Progress is the sum of what each
job says that it has read in all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from sourcelight.core.batches.events import IndexProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled
from sourcelight.engines.storage import worker_pool
from sourcelight.engines.storage.folder import reason_of
from sourcelight.engines.storage.worker_pool import WorkerJob

Counts: TypeAlias = tuple[int, int]
"""Files and bytes that were read."""

Event: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class IndexReport:
    """Result of an update. `failures` maps a repository that could not be indexed to the reason."""

    built: tuple[str, ...] = ()
    current: tuple[str, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    files: int = 0
    text_bytes: int = 0
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class BuildCallbacks:
    """Callbacks of a build in this process: `check_cancelled` raises to end it, `on_progress` gets files and bytes."""

    check_cancelled: Callable[[], None]
    on_progress: Callable[[int, int], None]


LocalBuild: TypeAlias = Callable[[BuildCallbacks], Mapping[str, Any]]
"""Builds in this process; returns what a worker's ``done`` event would say."""


class IndexJob(Protocol):
    """A piece of an update. Killed at any moment, it must leave the previous index usable."""

    def local_build(self) -> LocalBuild | None:
        """Return how to build in this process, or None when a worker should. What it raises is the job's failure."""
        ...

    def worker_job(self, key: str) -> WorkerJob:
        """Return the job for a worker; called just before it is sent."""
        ...


J = TypeVar("J", bound=IndexJob)


def run_jobs(
    module: str,
    jobs: Sequence[J],
    workers: int,
    on_event: Callable[[J, Event], None],
    cancellation: Cancellation,
    *,
    is_serial: bool = False,
    done: str = "indexed",
) -> bool:
    """Run jobs, small ones first and here; False when `cancellation` ended them, which kills the workers.

    Parameters
    ----------
    module, workers, done
        As for `worker_pool.run`.
    on_event
        Gets the job and ``progress``, ``done`` or ``failed``, whichever process it ran in.
    is_serial
        Whether each worker's job must wait for the one before, since it depends on the disk space that one used.
    """

    def check_cancelled() -> None:
        if cancellation.cancelled:
            raise Cancelled("the update was stopped")

    def on_progress(job: J, files: int, size: int) -> None:
        on_event(job, {"event": "progress", "files": files, "bytes": size})

    large = []
    for job in jobs:
        if cancellation.cancelled:
            return False

        try:
            # Starting a worker takes longer than building a small repository.
            build = job.local_build()
            if build is None:
                large.append(job)
                continue
            result = build(BuildCallbacks(check_cancelled, partial(on_progress, job)))
        except Cancelled:
            return False
        except Exception as error:  # noqa: BLE001 - one repository must not end the others; the reason is reported
            on_event(job, {"event": "failed", "reason": reason_of(error)})
        else:
            on_event(job, {"event": "done", **result})

    def on_worker_event(key: str, event: Event) -> None:
        on_event(large[int(key)], event)

    def is_cancelled() -> bool:
        return cancellation.cancelled

    numbers = range(len(large))
    # Serial jobs are requested one at a time, because `worker_job` reads the remaining space when it is called.
    for group in [[number] for number in numbers] if is_serial else [numbers]:
        requests = [large[number].worker_job(str(number)) for number in group]
        if requests and not worker_pool.run(module, requests, workers, on_worker_event, is_cancelled, done=done):
            return False

    return True


class IndexUpdate(Generic[J]):
    """The jobs of an update by repository, its progress and its report.

    A repository is built when one of its jobs was, current when none had anything to do, and failed when one did.

    Parameters
    ----------
    module, workers
        As for `worker_pool.run`. A worker's ``done`` event has ``read``, the `Counts`, or None when there was nothing
        left to do.
    on_progress
        Called after each step.
    cancellation
        Stops the update; finished jobs stay.
    is_serial
        As for `run_jobs`.
    on_success
        Called with each job that didn't fail.
    """

    def __init__(
        self,
        module: str,
        workers: int,
        on_progress: Callable[[IndexProgress], None] | None,
        cancellation: Cancellation,
        *,
        is_serial: bool = False,
        on_success: Callable[[J], None] = lambda _: None,
    ) -> None:
        self._module = module
        self._workers = workers
        self._on_progress = on_progress
        self._cancellation = cancellation
        self._is_serial = is_serial
        self._on_success = on_success
        self._jobs: dict[J, str] = {}
        self._remaining: dict[str, int] = {}
        self._built: dict[str, None] = {}
        self._failures: dict[str, str] = {}
        self._counts: dict[J, Counts] = {}

    def add(self, repository: str, jobs: Sequence[J]) -> None:
        """Add the jobs of a repository; without any, it is current."""
        self._jobs.update(dict.fromkeys(jobs, repository))
        self._remaining[repository] = self._remaining.get(repository, 0) + len(jobs)

    def fail(self, repository: str, error: Exception) -> None:
        """Record that a repository can't be updated."""
        self._failures[repository] = reason_of(error)

    def run(self) -> IndexReport:
        """Run all jobs, and return a report of the update."""
        is_complete = run_jobs(
            self._module,
            list(self._jobs),
            self._workers,
            self._on_event,
            self._cancellation,
            is_serial=self._is_serial,
        )
        finished = [name for name, count in self._remaining.items() if not count and name not in self._failures]
        files, size = self._totals()
        return IndexReport(
            built=tuple(name for name in self._built if name in finished),
            current=tuple(name for name in finished if name not in self._built),
            failures=self._failures,
            files=files,
            text_bytes=size,
            cancelled=not is_complete,
        )

    def _on_event(self, job: J, event: Event) -> None:
        repository = self._jobs[job]
        if event["event"] == "progress":
            # By job, and replaced: events of progress give totals of their job, not differences.
            self._counts[job] = event["files"], event["bytes"]
        else:
            self._remaining[repository] -= 1
            if event["event"] == "failed":
                self._failures[repository] = event["reason"]
            else:
                # Another process built it in the meantime, so there was nothing left to do.
                if event["read"] is not None:
                    files, size = event["read"]
                    self._counts[job] = files, size
                    self._built[repository] = None
                self._on_success(job)

        if self._on_progress is not None:
            names = {*self._remaining, *self._failures}
            unfinished = sum(1 for count in self._remaining.values() if count)
            files, size = self._totals()
            self._on_progress(
                IndexProgress(
                    repositories_done=len(names) - unfinished,
                    repositories_total=len(names),
                    files=files,
                    text_bytes=size,
                    repository=repository,
                )
            )

    def _totals(self) -> Counts:
        return sum(files for files, _ in self._counts.values()), sum(size for _, size in self._counts.values())
