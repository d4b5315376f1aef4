"""The results of a search's plans as one run of record batches: each file once, selected, filtered and ranked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches import arrow_type
from sourcelight.core.batches.rows import MatchRows, boundaries, first_matches, match_count
from sourcelight.core.boolean import And
from sourcelight.core.cancellation import Cancellation, StepThread, steps_with_deadline
from sourcelight.core.query import Alternative, Pattern
from sourcelight.core.query.alternatives import patterns_of
from sourcelight.core.query.fields import COUNT_ALL
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution.commits.contributors import ContributorPredicate
from sourcelight.engines.execution.commits.search import CommitSearch
from sourcelight.engines.execution.plan import Plan, required_content
from sourcelight.engines.execution.results.owners import OwnerPredicate, OwnerSelector
from sourcelight.engines.execution.results.ranking import CANDIDATES, FileRanker
from sourcelight.engines.execution.results.select import Place, Selector, unite
from sourcelight.engines.search import IndexStore, SearchOptions, SearchPart, Target, TextQuery
from sourcelight.engines.search.definition_lookup import DefinitionPositions, definition_positions
from sourcelight.engines.search.missing_files import is_missing

ALTERNATIVE = "alternative"
"""Column of the number of the alternative that found a row, for another process that applies the counts of each."""

OWNERS = ("file", "owners")
_FEW = 50
"""Terms that are compiled and looked up in a moment together."""


@dataclass(slots=True)
class ResultPipeline:
    """Asks the engines for what the plans want and brings their answers together.

    Parameters
    ----------
    store
        The text index.
    histories
        Answers for commits.
    plans
        One for each alternative of the query.
    request
        How matches are to be shown.
    cancellation
        Ends the work early.
    limit
        Matches after which the caller stops; `sys.maxsize`: all are wanted, and they come in order.
    note
        Called with each part of an answer, for what it says besides its matches.
    for_another
        Whether somebody else brings this answer and others together: files then come by repository and path, each
        row with the column ``score`` that its file would be ranked by. Where alternatives have counts of their own,
        their rows come apart, with the column ``alternative``: which of them count is known where all answers are.
    unmade
        Whether matches may be given as `FoundLines`, where nothing here looks into them.

    Attributes
    ----------
    capped
        The largest ``count:`` of one alternative among several that was reached; 0: none.
    """

    store: IndexStore
    histories: CommitSearch
    plans: Sequence[Plan]
    request: SearchRequest
    cancellation: Cancellation
    limit: int
    note: Callable[[SearchPart], None]
    for_another: bool = False
    unmade: bool = False
    ownership: OwnerPredicate = field(init=False)
    contributors: ContributorPredicate = field(init=False)
    capped: int = field(init=False, default=0)
    _rooms: dict[int, int] = field(init=False)
    _apart: bool = field(init=False)
    _given: set[Place] = field(init=False, default_factory=set)
    _worker: StepThread = field(init=False, default_factory=StepThread)

    def __post_init__(self) -> None:
        self.ownership = OwnerPredicate(self.store.read, partial(is_missing, self.store))
        self.contributors = ContributorPredicate(self.histories)
        self._rooms = own_counts([plan.alternative for plan in self.plans])
        self._apart = self.for_another and bool(self._rooms)

    def batches(self) -> Generator[Any, None, None]:
        """Record batches of all alternatives."""
        try:
            yield from self._batches()
        finally:
            self._worker.shutdown()

    def _batches(self) -> Iterator[Any]:
        yield from self._repositories()
        yield from self._commits()
        searching = [plan for plan in self.plans if plan.searches]
        if not searching:
            return
        found = self._of_one(searching[0]) if len(searching) == 1 else self._united(searching)
        if self.limit == sys.maxsize or not any(plan.ranked for plan in searching):
            yield from found
            return
        of_place = {(t.repository.facts.name, t.revision): t for plan in searching for t in plan.targets}

        def definitions(repository: str, revision: str, paths: Sequence[str]) -> DefinitionPositions | None:
            return definition_positions(self.store, of_place[repository, revision], paths)

        ranking = FileRanker(
            phrases=tuple(plan.alternative.boost for plan in searching if plan.alternative.boost),
            case_sensitive=any(plan.alternative.case_sensitive() for plan in searching),
            stars={t.repository.facts.name: t.repository.facts.stars for plan in searching for t in plan.targets},
            limit=self.limit if self.request.display < 0 else min(self.limit, self.request.display),
            definitions=definitions,
        )
        pieces = (piece for batch in found for piece in by_place(batch))
        yield from ranking.scored(pieces) if self.for_another else ranking.ranked(pieces)

    def _repositories(self) -> Iterator[Any]:
        for plan in self.plans:
            if plan.alternative.select() not in {(), ("repo",)}:
                continue
            hits = [(t, s) for t, s in plan.repository_hits if (t.repository.facts.name, t.revision) not in self._given]
            if not self._apart:
                self._given.update((t.repository.facts.name, t.revision) for t, _ in hits)
            if hits:
                yield from self._within(plan, [repository_batch(hits)])

    def _commits(self) -> Iterator[Any]:
        plans = [plan for plan in self.plans if plan.commits is not None]
        if self._apart:
            for name in sorted({place.repository.name for plan in plans for place in plan.places}):
                for plan in plans:
                    own = tuple(place for place in plan.places if place.repository.name == name)
                    yield from self._within(plan, self._commits_of([replace(plan, places=own)]))
        elif self._rooms and len(plans) > 1:
            # Each alternative stops at its own count, so they come one by one; a commit comes with the first of them.
            given: set[tuple[str | None, ...]] = set()
            for plan in plans:
                for batch in self._within(plan, _not_in(given, self._commits_of([plan]))):
                    given.update(_commits_in(batch))
                    yield batch
        else:
            found = self._commits_of(plans)
            yield from self._within(plans[0], found) if len(plans) == 1 else found

    def _commits_of(self, plans: Sequence[Plan]) -> Iterator[Any]:
        asked = [(plan.commits, plan.places) for plan in plans if plan.commits is not None]
        for place, one, batch in self.histories.batches(asked):
            if not one.repositories_only:
                yield batch
                continue
            shown = {(t.repository.key, t.commit): t for plan in plans for t in plan.targets}
            targets = [t for t in shown.values() if t.repository.key == place.repository.key]
            hits = [t for t in targets if (t.repository.facts.name, t.revision) not in self._given]
            if not self._apart:
                self._given.update((t.repository.facts.name, t.revision) for t in hits)
            if hits:
                yield repository_batch([(target, ()) for target in hits])
        self.ownership.later.update(self.histories.without_owners)

    def _of_one(self, plan: Plan) -> Iterator[Any]:
        selector = self._selector(plan)
        mixed = plan.text is not None and plan.symbols is not None and bool(selector.path)
        if not selector.first_only and not mixed:
            yield from self._selected(plan, plan.targets, selector)
            return
        for target in plan.targets:
            yield from self._selected(plan, (target,), selector)
            if self.cancellation.stopped:
                return

    def _united(self, plans: Sequence[Plan]) -> Iterator[Any]:
        """Batches of several plans, repository after repository, so that files found by several are united."""
        targets = {(t.repository.key, t.revision, t.commit): t for plan in plans for t in plan.targets}
        selectors = [self._selector(plan) for plan in plans]
        for target in sorted(targets.values(), key=lambda t: (t.repository.facts.name, t.revision)):
            found = [
                list(self._selected(plan, (target,), selector))
                for plan, selector in zip(plans, selectors, strict=True)
                if target in plan.targets
            ]
            yield from (batch for batches in found for batch in batches) if self._apart else unite(found)
            if self.cancellation.stopped:
                return

    def _within(self, plan: Plan, batches: Iterable[Any]) -> Iterator[Any]:
        """As much of an alternative's results as its own ``count:`` allows."""
        yield from self._numbered(plan, batches) if self._apart else self._allowed(plan, batches)

    def _numbered(self, plan: Plan, batches: Iterable[Any]) -> Iterator[Any]:
        """Rows with the number of their alternative: as many as the counts of all may leave of one repository."""
        number = next(i for i, other in enumerate(self.plans) if other.alternative is plan.alternative)
        bounded = id(plan.alternative.first("count")) in self._rooms
        # Not its own count alone: rows that another alternative gives first take nothing of it.
        remaining = sum(self._rooms.values()) if bounded else sys.maxsize
        for batch in filter(len, batches):
            # Names of repositories are few, and those that a count leaves out are not given by others either.
            kept = batch if MatchRows(batch).first("type") == "repo" else first_matches(batch, remaining)
            remaining -= match_count(kept)
            if kept.num_rows:
                yield kept.append_column(ALTERNATIVE, pa.array(np.full(kept.num_rows, number, dtype=np.int32)))
            if remaining <= 0:
                return

    def _allowed(self, plan: Plan, batches: Iterable[Any]) -> Iterator[Any]:
        node = plan.alternative.first("count")
        if node is None or id(node) not in self._rooms:
            yield from batches
            return
        for batch in batches:
            room = self._rooms[id(node)]
            if room > 0:
                kept = first_matches(batch, room)
                self._rooms[id(node)] = room - match_count(kept)
                yield kept
            if self._rooms[id(node)] <= 0:
                self.capped = max(self.capped, int(node.value))
                return

    def _selector(self, plan: Plan) -> Selector:
        return Selector(plan.alternative.select(), self._given, once=plan.text is None or plan.symbols is None)

    def _selected(self, plan: Plan, targets: Sequence[Target], selector: Selector) -> Iterator[Any]:
        return self._within(plan, self._chosen(plan, targets, selector))

    def _chosen(self, plan: Plan, targets: Sequence[Target], selector: Selector) -> Iterator[Any]:
        owners = tuple(p for p in plan.alternative.predicates("file") if p.name == "has.owner")
        writers = tuple(p for p in plan.alternative.predicates("file") if p.name == "has.contributor")
        owning = OwnerSelector(self.ownership, self.request) if selector.path == OWNERS else None
        needs_target = bool(owners or writers or owning)
        of_place = {(t.repository.facts.name, t.revision): t for t in targets} if needs_target else {}
        for part in steps_with_deadline(
            self._parts(plan, targets, selector), self.cancellation, self._worker, brief=_brief(plan)
        ):
            self.note(part)
            whole = not (owners or writers or selector.path)
            for batch in part.batches if whole else (piece for b in part.batches for piece in by_place(b)):
                kept = batch
                target = _target(batch, of_place) if needs_target and batch.num_rows else None
                if target is not None and (owners or writers):
                    kept = self.ownership.filtered(batch, target, owners) if owners else batch
                    sensitive = plan.alternative.case_sensitive()
                    kept = self.contributors.filtered(kept, target, writers, case_sensitive=sensitive)
                    self.histories.failed.update(self.contributors.failed)
                if owning is None:
                    selected = selector.apply(kept)
                else:
                    selected = owning.of(kept, target) if target is not None and kept.num_rows else None
                if selected is not None:
                    yield selected
                    if selector.first_only:
                        self.note(SearchPart(repositories_done=tuple(t.repository.facts.name for t in targets)))
                        return

    def _parts(self, plan: Plan, targets: Sequence[Target], selector: Selector) -> Generator[SearchPart, None, None]:
        bounded = not plan.alternative.select() and not plan.alternative.predicates("file")
        options = SearchOptions(
            chunk_matches=self.request.chunk_matches and selector.needs_lines,
            context_lines=self.request.context_lines,
            max_line_len=self.request.max_line_len,
            max_matches=max(self.limit, CANDIDATES) if bounded and self.limit < sys.maxsize else None,
            lines=selector.needs_lines,
            in_path_order=True,  # what a limit keeps must not depend on how the work was cut into batches
            raw=self.unmade and self._passes_all(plan),
        )
        if plan.symbols is not None:
            yield from self._symbols(plan, plan.symbols, targets, options)
        if plan.text is not None:
            yield from self.store.search(targets, plan.text, options, self.cancellation)

    def _passes_all(self, plan: Plan) -> bool:
        """Whether all that is found is given as it is: neither ranked, cut, chosen from nor united with other plans."""
        alternative = plan.alternative
        return (
            self.limit == sys.maxsize
            and len(self.plans) == 1
            and plan.symbols is None
            and not alternative.select()
            and not alternative.predicates("file")
        )

    def _symbols(
        self, plan: Plan, query: TextQuery, targets: Sequence[Target], options: SearchOptions
    ) -> Iterator[SearchPart]:
        select = plan.alternative.select()
        kinds = select[1:] if select[:1] == ("symbol",) else ()
        content = required_content(plan.alternative)
        if not content:
            yield from self.store.search_symbols(targets, query, options, self.cancellation, kinds=kinds)
            return
        holding = TextQuery(And(tuple(content)), query.files, query.languages)
        for target in targets:
            named = SearchOptions(lines=False)
            parts = list(self.store.search((target,), holding, named, self.cancellation))
            paths = {path for part in parts for batch in part.batches for path in MatchRows(batch).texts("path")}
            yield from (SearchPart(skipped=part.skipped) for part in parts if part.skipped)
            for part in self.store.search_symbols((target,), query, options, self.cancellation, kinds=kinds):
                kept = (_with_paths(batch, paths) for batch in part.batches)
                yield replace(part, batches=tuple(batch for batch in kept if batch.num_rows))


def own_counts(alternatives: Sequence[Alternative]) -> dict[int, int]:
    """What each ``count:`` of several alternatives allows, by the filter's identity; nothing where all share one."""
    found = [alternative.first("count") for alternative in alternatives]
    if len({id(node) for node in found}) < 2:
        return {}
    return {id(node): int(node.value) for node in found if node is not None and int(node.value) < COUNT_ALL}


def limit_of(alternatives: Sequence[Alternative], default: int) -> int:
    """Matches after which a search stops; `sys.maxsize`: never. Each alternative may have a ``count:`` of its own."""
    asked = {id(a.first("count")): a.count_limit(default) for a in alternatives}
    if None in asked.values():
        return sys.maxsize
    own = sum(count or 0 for node, count in asked.items() if node != id(None))
    return max(own, default if id(None) in asked or not asked else 0)


def _target(batch: Any, of_place: Mapping[Place, Target]) -> Target:
    rows = MatchRows(batch)
    return of_place[rows.first("repository"), rows.first("revision")]


def _brief(plan: Plan) -> bool:
    """Whether no step takes long without a look at the time: a regular expression on one line of megabytes may."""
    leaves = list(_leaves(plan))
    return (
        len(leaves) <= _FEW
        and all(leaf.kind == "literal" for leaf in leaves)
        and not any(item.name == "has.content" for item in plan.alternative.predicates("file"))
    )


def _leaves(plan: Plan) -> Iterator[Pattern]:
    return patterns_of(plan.alternative.pattern) if plan.alternative.pattern is not None else iter(())


def by_place(batch: Any) -> Iterator[Any]:
    """Cut a batch into the rows of each repository and revision."""
    if not batch.num_rows or all(
        len(batch.column(batch.schema.get_field_index(name)).dictionary) == 1 for name in ("repository", "revision")
    ):
        yield batch
        return
    rows = MatchRows(batch)
    for start, stop in boundaries(len(rows), [rows.codes("repository"), rows.codes("revision")]):
        yield batch.slice(start, stop - start)


def _commits_in(batch: Any) -> list[tuple[str | None, ...]]:
    rows = MatchRows(batch)
    return list(zip(*(rows.texts(name) for name in ("type", "repository", "commit")), strict=True))


def _not_in(given: set[tuple[str | None, ...]], batches: Iterable[Any]) -> Iterator[Any]:
    """The rows of commits that are not in `given` when a batch comes; those of repositories all."""
    before = frozenset(given)
    for batch in batches:
        fresh = [key[2] is None or key not in before for key in _commits_in(batch)]
        kept = batch if all(fresh) else batch.filter(pa.array(fresh, pa.bool_()))
        if kept.num_rows:
            yield kept


def _with_paths(batch: Any, paths: set[str | None]) -> Any:
    return batch.filter(pa.array([path in paths for path in MatchRows(batch).texts("path")], pa.bool_()))


def repository_batch(hits: Sequence[tuple[Target, tuple[tuple[int, int], ...]]]) -> Any:
    """Rows of type ``repo``, with the spans of the match in each name."""
    facts = [target.repository.facts for target, _ in hits]

    def column(values: list[Any], kind: str) -> Any:
        return pa.array(values, type=arrow_type(kind))

    columns = {
        "type": column(["repo"] * len(hits), "dict8"),
        "repository": column([f.name for f in facts], "dict32"),
        "repository_id": column([f.id for f in facts], "int32"),
        "revision": column([target.revision for target, _ in hits], "dict32"),
        "match_count": column([1] * len(hits), "int32"),
        "name_start": column([[a for a, _ in spans] for _, spans in hits], "list"),
        "name_end": column([[b for _, b in spans] for _, spans in hits], "list"),
    }
    return pa.record_batch(columns)
