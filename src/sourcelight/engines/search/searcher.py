"""Running a query over many repositories, one after another, in parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from sourcelight.core.batches.events import Cancellation
from sourcelight.core.errors import Cancelled, IndexFault, SourcelightError
from sourcelight.core.patterns.halting import Halted
from sourcelight.engines.search.model import GroupBy, SearchOptions, SearchPart, Target, TextQuery
from sourcelight.engines.search.scan.collect import Collector
from sourcelight.engines.search.scan.evaluate import Found, Pace, RepositorySearch
from sourcelight.engines.search.scan.plan import plan
from sourcelight.engines.search.scan.render import NOTHING, Rendered, Source
from sourcelight.engines.search.scan.rows import rows_of
from sourcelight.engines.search.scan.snapshot import Snapshot

_QUIET_S = 0.05
"""Longest time for which finished repositories without a match wait to be told of together."""

_FIRST_S, _TOGETHER_S = 0.004, 0.06
"""Longest time for which the first matches, and later ones, wait for others to share a batch with."""

_COUNTED_UNITS = 128
"""Units that a count takes first: nothing is shown early, but a cancelled count must end soon."""

Opener = Callable[[Target], tuple[Snapshot, str]]
"""Opens a target and gives its commit; raises `IndexFault`, or another error of ours, when it can't."""


def search(
    open_target: Opener,
    targets: Sequence[Target],
    query: TextQuery,
    options: SearchOptions,
    cancellation: Cancellation,
) -> Iterator[SearchPart]:
    """Yield the answer in parts; see `model.Searcher.search`."""
    prepared = plan(query)
    pace = Pace()

    def stopped() -> bool:
        return cancellation.stopped

    waiting = Waiting()
    collector = Collector(options)
    limited = cancellation.remaining_s is not None and any(atom.pattern.kind == "regexp" for atom in prepared.atoms)
    matches = 0
    for target in targets:
        if stopped():
            break
        name = target.repository.name
        try:
            snapshot, commit = open_target(target)
        except (SourcelightError, OSError) as fault:
            waiting.failed[name] = fault.reason if isinstance(fault, IndexFault) else str(fault)
            continue
        try:
            running = RepositorySearch(snapshot, prepared, stopped)
            source = Source(running, target, commit)
            # What is held back is lost when a step that nothing stops is left behind at the time limit.
            hurried = limited and any(shard.has_long_lines for shard in snapshot.shards)
            if hurried and collector.any:
                yield waiting.part(collector.rendered())
            for found in running.found(pace, ordered=options.in_path_order):
                matches += collector.add(source, found)
                if collector.full or (collector.any and (hurried or waiting.due)):
                    yield waiting.part(collector.rendered())
                if options.max_matches is not None and matches >= options.max_matches:
                    collector.settle()
                    yield waiting.part(collector.rendered())
                    return
        except Halted:
            collector.settle()
            break
        collector.settle()
        waiting.done.append(name)
        if skipped := snapshot.skipped(running.filter):
            waiting.skipped[name] = skipped
        if waiting.long or collector.full or (collector.any and waiting.due):
            yield waiting.part(collector.rendered())
    if waiting.any or collector.any:
        yield waiting.part(collector.rendered())


class Waiting:
    """What is to be told with the next part."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._told = False
        self._clear()

    def _clear(self) -> None:
        self.done: list[str] = []
        self.skipped: dict[str, dict[str, int]] = {}
        self.failed: dict[str, str] = {}

    @property
    def any(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.done or self.failed)

    @property
    def long(self) -> bool:
        """Whether it has waited too long to wait for the next match."""
        return self.any and time.monotonic() - self._since > _QUIET_S

    @property
    def due(self) -> bool:
        """Whether matches have waited long enough for others to share a batch with; the first ones wait less."""
        return time.monotonic() - self._since > (_TOGETHER_S if self._told else _FIRST_S)

    def part(self, rendered: Rendered = NOTHING) -> SearchPart:
        """Make a part that tells it all."""
        done, skipped, failed = tuple(self.done), self.skipped, self.failed
        part = SearchPart(rendered.batches, done, rendered.matches, rendered.files, skipped, failed)
        self._told = self._told or bool(rendered.batches)
        self._since = time.monotonic()
        self._clear()
        return part


def count(
    open_target: Opener,
    targets: Sequence[Target],
    query: TextQuery,
    by: Sequence[GroupBy],
    cancellation: Cancellation,
) -> Any:
    """Count matches and files without reading lines; see `model.Searcher.count`.

    Raises the fault of the first target that can't be opened, and `Cancelled` when it is to stop, also for its time
    limit: half a count is none.
    """
    import pyarrow as pa

    prepared = plan(query)
    totals: dict[tuple[str | None, ...], list[int]] = {}
    for target in targets:
        cancellation.check()
        snapshot, _ = open_target(target)
        try:
            running = RepositorySearch(snapshot, prepared, lambda: cancellation.stopped)
            for found in running.found(Pace(_COUNTED_UNITS)):
                for files, matches in ((found.content_files, _matches(found)), (found.path_files, None)):
                    add_counts(totals, keys_of(snapshot, target.repository.name, files, by), files, matches)
        except Halted:
            raise Cancelled("stopped before all was counted") from None
        cancellation.check()
    columns: dict[str, Any] = {
        column: pa.array([key[place] for key in totals], pa.string()) for place, column in enumerate(by)
    }
    columns["matches"] = pa.array([total[0] for total in totals.values()], pa.int64())
    columns["files"] = pa.array([total[1] for total in totals.values()], pa.int64())
    return pa.table(columns)


def _matches(found: Found) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if found.shard is None or not len(found.content_files):
        return np.zeros(0, dtype=np.int64)
    rows = rows_of(found.shard, found.hits)
    before = np.concatenate(([0], np.cumsum(rows.count)))
    begins = found.shard.doc_start[found.documents].astype(np.int64)
    ends = begins + found.shard.doc_size[found.documents]
    counts: np.ndarray[tuple[int], np.dtype[np.int64]] = (
        before[np.searchsorted(rows.begin, ends)] - before[np.searchsorted(rows.begin, begins)]
    )
    return counts


def keys_of(
    snapshot: Snapshot, repository: str, files: Any, by: Sequence[GroupBy]
) -> tuple[list[tuple[str | None, ...]], Any]:
    """Give the distinct keys of some files, and which key each file has."""
    view = snapshot.view
    if "path" in by:
        chosen = np.arange(len(files))
    elif "language" in by:
        _, firsts, chosen = np.unique(view.language[files], return_index=True, return_inverse=True)
        files = files[firsts]
    else:
        files, chosen = files[:1], np.zeros(len(files), dtype=np.intp)
    keys = []
    for file in files.tolist():
        values: dict[str, str | None] = {"repository": repository}
        if "language" in by:
            values["language"] = view.languages[int(view.language[file])][0] or None
        if "path" in by:
            values["path"] = view.path(file)
        keys.append(tuple(values[column] for column in by))
    return keys, chosen


def add_counts(
    totals: dict[tuple[str | None, ...], list[int]],
    grouped: tuple[list[tuple[str | None, ...]], Any],
    files: Any,
    matches: Any,
) -> None:
    """Add files and their matches (None: one each) to the totals by key."""
    keys, chosen = grouped
    file_counts = np.bincount(chosen, minlength=len(keys)).tolist()
    weights = file_counts if matches is None else np.bincount(chosen, matches, len(keys)).astype(np.int64).tolist()
    if not len(files):
        return
    for key, matched, held in zip(keys, weights, file_counts, strict=True):
        total = totals.setdefault(key, [0, 0])
        total[0] += int(matched)
        total[1] += held
