"""Background builds of an engine: histories, definitions and terms; and how a search waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import SourcelightError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.wire.events import Skipped
from sourcelight.engines.execution.protocol import format_count, markdown_list
from sourcelight.engines.history import HEAD_ONLY, HistoryProgress, HistoryStore
from sourcelight.engines.search import IndexStore, Target
from sourcelight.engines.storage.background import BackgroundUpdater
from sourcelight.repos import Repository

HistoryKey: TypeAlias = tuple[str, tuple[str, ...]]
TargetKey: TypeAlias = tuple[str, str]

RETRY_S = 10.0
"""Seconds after which definitions that could not be found are searched for again: their files may have been deleted."""


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """A repository and the commits whose history is needed (40 hex digits)."""

    repository: Repository
    commits: tuple[str, ...]

    @property
    def key(self) -> HistoryKey:
        """The key of this request."""
        return self.repository.key, self.commits


# One thread: git is already parallel inside, and two histories at once would compete for the disk and for memory.
class HistoryUpdater:
    """Builds missing histories in one thread for all callers; stops with the process.

    What failed is tried again with every search: git may have been interrupted, or the disk full.

    Parameters
    ----------
    open_store
        Returns where histories are stored, the same each time; called when a history is needed.
    """

    def __init__(self, open_store: Callable[[], HistoryStore]) -> None:
        self._open_store = open_store
        self._latest: HistoryProgress | None = None
        self._updater: BackgroundUpdater[HistoryKey, HistoryRequest] = BackgroundUpdater(
            "history", self._update, is_ready=self._is_ready
        )

    @property
    def store(self) -> HistoryStore:
        """The store of the histories."""
        return self._open_store()

    def start(self, requests: Sequence[HistoryRequest]) -> None:
        """Begin with what is missing."""
        self._updater.request({request.key: request for request in requests})

    def wait(self, requests: Sequence[HistoryRequest], cancellation: Cancellation) -> Iterator[Skipped]:
        """Wait for histories, yielding how far that is from time to time; ends early when `cancellation` stops."""
        by_key = {request.key: request for request in requests}
        # The updater belongs to all callers. A cancelled search stops waiting, and the update continues.
        for missing in self._updater.wait(by_key, cancellation):
            yield self._item([request.repository.name for request in requests if request.key in missing])

    def failures(self, requests: Sequence[HistoryRequest]) -> Mapping[str, str]:
        """Return why a history could not be read, by the name of its repository."""
        reasons = self._updater.failures([request.key for request in requests])
        return {request.repository.name: reasons[request.key] for request in requests if request.key in reasons}

    def stop(self) -> None:
        """Stop at the next check; what is ready stays, and `start` begins again."""
        self._updater.stop()

    def _is_ready(self, request: HistoryRequest) -> bool:
        try:
            history = self.store.open(request.repository)
        except (SourcelightError, OSError):
            return False
        # By commit and not by age: a history may be newer than a request and still lack a commit of another branch.
        return all(history.position(oid) is not None for oid in request.commits)

    def _item(self, missing: Sequence[str]) -> Skipped:
        latest = self._latest
        far = ""
        if latest is not None and latest.commits_total:
            far = f" ({latest.commits_done:,} of {latest.commits_total:,} commits of `{latest.repository}` read)"

        return Skipped(
            reason="history-indexing",
            title=f"{format_count(len(missing))} reading history",
            message=f"The history of these repositories, or its new part, is being read{far}:\n"
            + markdown_list(missing),
        )

    def _note(self, progress: HistoryProgress) -> None:
        self._latest = progress

    def _update(self, requests: Sequence[HistoryRequest], cancellation: Cancellation) -> Mapping[HistoryKey, str]:
        failures = {}
        for request in requests:
            # HEAD too, so that the next ordinary search finds it read.
            refs = (*HEAD_ONLY, *request.commits)
            report = self.store.update([request.repository], refs=refs, progress=self._note, cancellation=cancellation)
            reason = report.failures.get(request.repository.name, "")
            # The update can succeed without the commit, for example when a force-push has removed it.
            if not reason and not report.cancelled and not self._is_ready(request):
                reason = "its history could not be read"
            if reason:
                failures[request.key] = reason

        return failures


class DefinitionUpdater:
    """Builds missing definitions in one thread for all callers; stops with the process.

    Parameters
    ----------
    store
        The index whose definitions are parsed.
    """

    def __init__(self, store: IndexStore) -> None:
        self._store = store
        self._updater: BackgroundUpdater[TargetKey, Target] = BackgroundUpdater(
            "definitions", self._update, is_ready=store.symbols_current, batch=True, retry_s=RETRY_S
        )

    def start(self, targets: Sequence[Target]) -> set[TargetKey]:
        """Start to build missing tables for `targets`; return the keys of targets that aren't ready."""
        return self._updater.request(_by_key(targets))

    def wait(self, targets: Sequence[Target], cancellation: Cancellation, wait_s: float | None) -> Iterator[int]:
        """Wait for the definitions of `targets`, yielding how many are not ready from time to time.

        Ends when all are ready or given up, after `wait_s` seconds (None: no limit), or when `cancellation` stops.
        """
        yield from map(len, self._updater.wait(_by_key(targets), cancellation, wait_s))

    def stop(self) -> None:
        """Stop at the next check; what is ready stays, and `start` begins again."""
        self._updater.stop()

    def _update(self, targets: Sequence[Target], cancellation: Cancellation) -> Mapping[TargetKey, str]:
        # A search reports itself which files have no definitions, so the failures aren't needed.
        self._store.update_symbols(targets, cancellation=cancellation)
        return {}


class TermUpdater:
    """Builds the terms of ranking in the background, so that no question waits for them.

    One repository after another, definitions first: a question that comes meanwhile builds those of its own
    repositories itself.

    Parameters
    ----------
    definitions
        Parses the definitions that a term table needs.
    prepare
        Builds the missing ranking tables of some targets.
    """

    def __init__(
        self, definitions: DefinitionUpdater, prepare: Callable[[Sequence[Target], Cancellation], object]
    ) -> None:
        self._definitions = definitions
        self._prepare = prepare
        # No `is_ready`: opening the tables of every repository would delay the opening of a client.
        self._updater: BackgroundUpdater[TargetKey, Target] = BackgroundUpdater("terms", self._update)

    def start(self, targets: Sequence[Target]) -> None:
        """Begin with `targets`, definitions first."""
        self._updater.request(_by_key(targets))

    def stop(self) -> None:
        """Stop at the next check; what is ready stays, and `start` begins again."""
        self._updater.stop()

    def _update(self, targets: Sequence[Target], cancellation: Cancellation) -> Mapping[TargetKey, str]:
        for _ in self._definitions.wait(targets, cancellation, None):
            pass
        self._prepare(targets, cancellation)
        return {}


def _by_key(targets: Sequence[Target]) -> dict[TargetKey, Target]:
    return {(target.repository.key, target.commit): target for target in targets}


def under_way(repositories: int) -> Skipped:
    """Return repositories whose definitions are being built while the search waits."""
    return Skipped(
        reason="symbols-pending",
        title=f"{format_count(repositories)} without definitions yet",
        message=f"Finding definitions in {count_of(repositories, 'repository')}.",
    )
