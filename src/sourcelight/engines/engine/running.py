"""One search under way: from plans to events, with what is counted and said on the way."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches import Cancellation, Event, MatchBatch, RepositoryFacts, arrow_type
from sourcelight.core.query import Query
from sourcelight.core.wire.events import Alert, Done, Filters, Progress, ProposedQuery, Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.engine import left_out
from sourcelight.engines.engine import limits as limit_items
from sourcelight.engines.engine.cut import first_matches, match_count
from sourcelight.engines.engine.plan import Plan, make_plan
from sourcelight.engines.engine.tally import Tally
from sourcelight.engines.engine.union import unite
from sourcelight.engines.search import SearchOptions, SearchPart
from sourcelight.repos import Repository, Viewer

if TYPE_CHECKING:
    from sourcelight.engines.engine.engine import Engine

PROGRESS_EVERY_S = 0.1


@dataclass(slots=True)
class Search:
    """One search under way."""

    engine: Engine
    query: Query
    request: SearchRequest
    viewer: Viewer
    cancellation: Cancellation
    started: float
    tally: Tally = field(default_factory=Tally)
    shown: int = 0
    limit_hit: bool = False
    done: set[str] = field(default_factory=set)
    name_only: dict[str, dict[str, int]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    introduced: set[str] = field(default_factory=set)
    facts: dict[str, RepositoryFacts] = field(default_factory=dict)
    last_progress: float = 0.0

    def events(self) -> Iterator[Event]:
        """Events in the order of the wire: matches and progress, the final filters and progress, an alert, done."""
        engine = self.engine
        engine.refresh(self.cancellation)
        plan = self.query.plan
        limit = max((a.count_limit(engine.limits.matches) or sys.maxsize for a in plan), default=engine.limits.matches)
        asked = [a.timeout_s() for a in plan]
        longest = max((t for t in asked if t is not None), default=None)
        if self.request.timeout_s is not None:
            longest = self.request.timeout_s if longest is None else min(longest, self.request.timeout_s)
        has_count = any(a.first("count") is not None for a in plan)
        allowed_s = engine.limits.timeout_s(longest, has_count=has_count)
        self.cancellation.limit(allowed_s)

        visible = engine.catalog.visible(self.viewer)
        plans = [make_plan(alternative, visible, engine.target_of) for alternative in plan]
        self.facts = {t.repository.facts.name: t.repository.facts for p in plans for t in p.targets}
        most = limit if self.request.display < 0 else min(limit, self.request.display)

        self.last_progress = time.monotonic()
        for batch in self._batches(plans, limit):
            if self.cancellation.cancelled:
                return
            kept = batch
            if self.tally.matches + match_count(batch) >= limit:
                kept = first_matches(batch, limit - self.tally.matches)
                self.limit_hit = True
            self.tally.add(kept)
            room = most - self.shown
            if room > 0:
                visible_part = first_matches(kept, room)
                if not self.shown:
                    yield from self._filters(plans, exhaustive=False)
                self.shown += match_count(visible_part)
                yield MatchBatch(visible_part, self._introduce(visible_part))
            if self.limit_hit:
                break
            if time.monotonic() - self.last_progress >= PROGRESS_EVERY_S:
                self.last_progress = time.monotonic()
                yield from self._filters(plans, exhaustive=False)
                yield self._progress(done=False)
        if self.cancellation.cancelled:
            return
        yield from self._closing(plans, limit, allowed_s)

    def _batches(self, plans: list[Plan], limit: int) -> Iterator[Any]:
        """Record batches of all alternatives, each file once."""
        seen: set[str] = set()
        for plan in plans:
            hits = [(r, s) for r, s in plan.repository_hits if r.facts.name not in seen]
            seen.update(r.facts.name for r, _ in hits)
            if hits:
                yield _repository_batch(hits)
        options = SearchOptions(
            chunk_matches=self.request.chunk_matches,
            context_lines=self.request.context_lines,
            max_line_len=self.request.max_line_len,
            max_matches=limit,
        )
        searching = [plan for plan in plans if plan.text is not None]
        if len(searching) == 1:
            text = searching[0].text
            assert text is not None  # noqa: S101 - said to the type checker; just filtered
            for part in self.engine.store.search(searching[0].targets, text, options, self.cancellation):
                self._note(part)
                yield from part.batches
            return
        targets = {t.repository.key: t for plan in searching for t in plan.targets}
        for target in sorted(targets.values(), key=lambda t: t.repository.facts.name):
            found = []
            for plan in searching:
                if target in plan.targets and plan.text is not None:
                    batches: list[Any] = []
                    for part in self.engine.store.search((target,), plan.text, options, self.cancellation):
                        self._note(part)
                        batches += part.batches
                    found.append(batches)
            yield from unite(found)
            if self.cancellation.stopped:
                return

    def _note(self, part: SearchPart) -> None:
        self.done.update(part.repositories_done)
        self.failed.update(part.failed)
        for name, counts in part.skipped.items():
            self.name_only.setdefault(name, {}).update(counts)

    def _introduce(self, batch: Any) -> tuple[RepositoryFacts, ...]:
        column = batch.column(batch.schema.get_field_index("repository"))
        codes = np.unique(column.indices.to_numpy(zero_copy_only=False))
        values = column.dictionary.to_pylist()
        new = [values[c] for c in codes if values[c] not in self.introduced]
        self.introduced.update(new)
        return tuple(self.facts[name] for name in new if name in self.facts)

    def _progress(self, *, done: bool, skipped: Sequence[Skipped] = ()) -> Progress:
        return Progress(
            done=done,
            match_count=self.tally.matches,
            duration_ms=round((time.monotonic() - self.started) * 1000),
            repositories_count=len(self.tally.repositories) or None,
            skipped=tuple(skipped),
        )

    def _filters(self, plans: list[Plan], *, exhaustive: bool) -> Iterator[Event]:
        forks, archived = _left_out_by_default(plans)
        filters = self.tally.filters(exhaustive=exhaustive, forks=len(forks), archived=len(archived))
        if filters:
            yield Filters(filters)

    def _closing(self, plans: list[Plan], limit: int, allowed_s: float | None) -> Iterator[Event]:
        forks, archived = _left_out_by_default(plans)
        targets = {t.repository.facts.name: t.repository for p in plans for t in p.targets if p.text is not None}
        late = sorted(set(targets) - self.done) if self.cancellation.expired and not self.limit_hit else []
        skipped = list(self._left_out(plans, targets))
        if self.limit_hit:
            skipped.append(limit_items.match_limit(limit))
        if late and self.tally.matches:
            skipped.append(limit_items.timed_out(late, allowed_s))
        if forks:
            skipped.append(limit_items.forks_left_out(forks))
        if archived:
            skipped.append(limit_items.archived_left_out(archived))
        if 0 <= self.request.display < self.tally.matches:
            skipped.append(limit_items.display_limit(self.request.display, self.tally.matches))
        exhaustive = not (self.limit_hit or late)
        yield from self._filters(plans, exhaustive=exhaustive)
        yield self._progress(done=True, skipped=skipped)
        alert = self._alert(plans, late, allowed_s, forks=bool(forks), archived=bool(archived))
        if alert is not None:
            yield alert
        yield Done()

    def _left_out(self, plans: list[Plan], targets: dict[str, Repository]) -> Iterator[Skipped]:
        engine = self.engine
        failures = {} if engine.report is None else dict(engine.report.failures)
        yield from left_out.not_indexed({n: why for n, why in (failures | self.failed).items() if n in targets})
        if self.viewer.sees_private:
            yield from left_out.unreadable(engine.catalog.skipped)
            yield from left_out.gone(engine.gone)
        if any(plan.text is not None and _reads_content(plan) for plan in plans):
            yield from left_out.named_only(self.name_only)
        if not engine.worktree:
            yield from left_out.changed(engine.changes.count(targets.values()))

    def _alert(
        self, plans: list[Plan], late: list[str], allowed_s: float | None, *, forks: bool, archived: bool
    ) -> Alert | None:
        if late and not self.tally.matches:
            longer = limit_items.longer_timeout(allowed_s)
            return Alert(
                title="Timed out while searching",
                description=f"Nothing was found in {len(late)} repositories that were not searched to their end.",
                kind="warning",
                proposed_queries=(ProposedQuery(f"timeout:{longer} {self.query.text}", "query with longer timeout"),),
            )
        if not any(plan.selection.repositories for plan in plans):
            proposals = []
            if forks:
                proposals.append(ProposedQuery(f"{self.query.text} fork:yes", "include forked repositories"))
            if archived:
                proposals.append(ProposedQuery(f"{self.query.text} archived:yes", "include archived repositories"))
            return Alert(
                title="No repositories found",
                description="No repository passes the filters of this query.",
                kind="warning",
                proposed_queries=tuple(proposals),
            )
        return None


def _left_out_by_default(plans: list[Plan]) -> tuple[list[str], list[str]]:
    """Forks and archived repositories that no plan searches only because nobody asked for them."""
    forks = {name for plan in plans for name in plan.selection.forks_left_out}
    archived = {name for plan in plans for name in plan.selection.archived_left_out}
    return sorted(forks), sorted(archived)


def _reads_content(plan: Plan) -> bool:
    return plan.alternative.pattern is not None and "file" in plan.alternative.types


def _repository_batch(hits: Sequence[tuple[Repository, tuple[tuple[int, int], ...]]]) -> Any:
    facts = [repository.facts for repository, _ in hits]

    def column(name: str, values: list[Any], kind: str) -> tuple[str, Any]:
        return name, pa.array(values, type=arrow_type(kind))

    columns = dict(
        (
            column("type", ["repo"] * len(hits), "dict8"),
            column("repository", [f.name for f in facts], "dict32"),
            column("repository_id", [f.id for f in facts], "int32"),
            column("revision", [""] * len(hits), "dict32"),
            column("match_count", [1] * len(hits), "int32"),
            column("name_start", [[a for a, _ in spans] for _, spans in hits], "list"),
            column("name_end", [[b for _, b in spans] for _, spans in hits], "list"),
        )
    )
    return pa.record_batch(columns)
