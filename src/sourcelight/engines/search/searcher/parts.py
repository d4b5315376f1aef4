"""The parts of a result: which repositories are finished, and when a part is sent."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from sourcelight.engines.search.model import GroupNotes, SearchPart, add_maxima, add_maximum
from sourcelight.engines.search.open_index import OpenedTargets
from sourcelight.engines.search.scan.columns import NO_BATCHES, CollectedBatches
from sourcelight.engines.search.scan.evaluate import CorpusSearch

_MAX_DONE_DELAY_S = 0.05
"""Maximum time that finished repositories without a match wait, so that one part reports many of them."""

_MAX_FIRST_DELAY_S = 0.02
"""Maximum time that the first matches wait for others to share a batch with: a reader waits for these."""

_MAX_DELAY_S = 0.06
"""Maximum time that later matches wait for others."""


class PendingPart:
    """Notes for the next part; `has_sent` once a part had matches."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self.has_sent = False
        self._clear()

    def _clear(self) -> None:
        self.done: list[str] = []
        self.skipped: dict[str, Mapping[str, int]] = {}
        self.failed: dict[str, str] = {}
        self.missing: dict[str, tuple[str, ...]] = {}

    def add_skipped(self, name: str, counts: Mapping[str, int]) -> None:
        """Add counts of files that were matched by name only; of several revisions, the maximum counts."""
        if counts:
            add_maximum(self.skipped, name, counts)

    def add_group(self, notes: GroupNotes) -> None:
        """Add all repositories of a group, which are finished."""
        self.done += notes.names
        self.missing.update(notes.missing)
        add_maxima(self.skipped, notes.skipped)

    @property
    def has_notes(self) -> bool:
        """Whether a repository is finished or has failed."""
        return bool(self.done or self.failed)

    @property
    def is_overdue(self) -> bool:
        """Whether the notes have waited too long to wait for the next match."""
        return self.has_notes and time.monotonic() - self._since > _MAX_DONE_DELAY_S

    @property
    def is_batch_due(self) -> bool:
        """Whether matches have waited long enough for others; the first ones wait less."""
        max_delay_s = _MAX_DELAY_S if self.has_sent else _MAX_FIRST_DELAY_S
        return time.monotonic() - self._since > max_delay_s

    def take(self, collected: CollectedBatches = NO_BATCHES) -> SearchPart:
        """Return a part with all notes and batches, and start the next one."""
        part = SearchPart(
            collected.batches,
            tuple(self.done),
            collected.matches,
            collected.files,
            self.skipped,
            self.failed,
            self.missing,
        )
        self.has_sent = self.has_sent or bool(collected.batches)
        self._since = time.monotonic()
        self._clear()
        return part


class FinishedRepositories:
    """Reports the repositories of a group that are finished."""

    def __init__(self, group: OpenedTargets, search: CorpusSearch) -> None:
        self._group = group
        self._search = search
        self._reported = 0

    def report(self, pending: PendingPart, finished_up_to: int | None) -> None:
        """Add the repositories whose files are all below `finished_up_to` to a part; None: all of them."""
        corpus = self._search.corpus
        targets = self._group.targets
        end = len(targets)
        if finished_up_to is not None:
            # A repository is finished if the files of the next one begin below.
            end = int(corpus.file_base[1:].searchsorted(finished_up_to, side="right"))

        if end <= self._reported:
            return

        unread = self._search.unread_counts()
        if not self._reported and end == len(targets) and not unread:
            # All at once, as most searches end: the notes of a whole group depend on its files alone.
            pending.add_group(corpus.group_notes(self._search.selection, self._group.names))
            self._reported = end
            return

        skipped = corpus.skipped_counts(self._search.selection)
        missing_files: Sequence[tuple[str, ...]] = ()
        if any("missing" in counts for counts in skipped):
            missing_files = corpus.missing_files(self._search.selection)

        for index in range(self._reported, end):
            name = targets[index].repository.name
            pending.done.append(name)
            counts = skipped[index]
            if unread:
                counts = counts | unread[index]

            pending.add_skipped(name, counts)
            if missing_files and missing_files[index]:
                pending.missing[name] = missing_files[index]

        self._reported = end
