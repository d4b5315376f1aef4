"""Histories brought up to date in the background, and how a search waits for those that it needs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import SourcelightError
from sourcelight.core.wire.events import Skipped
from sourcelight.engines.engine.limits import amount, names
from sourcelight.engines.history import HEAD_ONLY, HistoryProgress, HistoryStore
from sourcelight.repos import Repository

_STEP_S = 0.1


@dataclass(frozen=True, slots=True)
class Wanted:
    """A repository and the commits whose history is needed (40 hex digits)."""

    repository: Repository
    commits: tuple[str, ...]

    @property
    def key(self) -> tuple[str, tuple[str, ...]]:
        """What tells this from other wishes."""
        return self.repository.key, self.commits


class Histories:
    """Builds what is missing in one thread, whoever asks; stops with the process.

    Parameters
    ----------
    store
        Where histories are kept.
    """

    def __init__(self, store: HistoryStore) -> None:
        self.store = store
        self._waiting: dict[tuple[str, tuple[str, ...]], Wanted] = {}
        self._failed: dict[tuple[str, tuple[str, ...]], str] = {}
        self._running = False
        self._latest: HistoryProgress | None = None
        self._cancellation = Cancellation()
        self._changed = threading.Condition()

    def start(self, wanted: Sequence[Wanted]) -> list[Wanted]:
        """Begin with what is missing; give what is not ready. What failed before is tried again."""
        stale = [one for one in wanted if not self.ready(one)]
        with self._changed:
            for one in stale:
                self._failed.pop(one.key, None)
                self._waiting[one.key] = one
            if self._waiting and not self._running:
                self._running = True
                threading.Thread(target=self._work, name="sourcelight-history", daemon=True).start()
        return stale

    def ready(self, wanted: Wanted) -> bool:
        """Tell whether the history behind all its commits is there."""
        try:
            history = self.store.open(wanted.repository)
        except (SourcelightError, OSError):
            return False
        return all(history.position(oid) is not None for oid in wanted.commits)

    def wait(self, wanted: Sequence[Wanted], cancellation: Cancellation) -> Iterator[Skipped]:
        """Wait for histories, saying how far that is from time to time; ends early when `cancellation` stops."""
        missing = self.start(wanted)
        while missing and not cancellation.stopped:
            yield self._item(missing)
            with self._changed:
                self._changed.wait(_STEP_S)
                missing = [one for one in missing if one.key in self._waiting]

    def failures(self, wanted: Sequence[Wanted]) -> Mapping[str, str]:
        """Name the repositories whose history could not be had, and why."""
        return {one.repository.name: self._failed[one.key] for one in wanted if one.key in self._failed}

    def stop(self, wait_s: float = 2.0) -> None:
        """End the work at its next check, and wait so long for that; what is ready stays, and `start` begins again."""
        with self._changed:
            self._waiting.clear()
            self._cancellation.cancel()
            self._changed.wait_for(lambda: not self._running, wait_s)
            self._cancellation = Cancellation()

    def _item(self, missing: Sequence[Wanted]) -> Skipped:
        latest = self._latest
        far = ""
        if latest is not None and latest.commits_total:
            far = f" ({latest.commits_done:,} of {latest.commits_total:,} commits of `{latest.repository}` read)"
        return Skipped(
            reason="history-indexing",
            title=f"{amount(len(missing))} reading history",
            message=f"The history of these repositories is read for the first time, or what is new in it{far}:\n"
            + names([one.repository.name for one in missing]),
        )

    def _note(self, progress: HistoryProgress) -> None:
        self._latest = progress

    def _work(self) -> None:
        while True:
            with self._changed:
                wanted, cancellation = next(iter(self._waiting.values()), None), self._cancellation
                if wanted is None:
                    self._running = False
                    self._changed.notify_all()
                    return
            why = self._built(wanted, cancellation)
            with self._changed:
                if why:
                    self._failed[wanted.key] = why
                self._waiting.pop(wanted.key, None)
                self._changed.notify_all()

    def _built(self, wanted: Wanted, cancellation: Cancellation) -> str:
        """Build one history; give why that failed."""
        refs = (*HEAD_ONLY, *wanted.commits)
        try:
            report = self.store.update([wanted.repository], refs=refs, progress=self._note, cancellation=cancellation)
        except Exception as fault:  # noqa: BLE001 - one repository must not end the others; the reason is reported
            return f"{type(fault).__name__}: {fault}"
        why = report.failures.get(wanted.repository.name, "")
        if not why and not report.cancelled and not self.ready(wanted):
            return "its history could not be read"
        return why
