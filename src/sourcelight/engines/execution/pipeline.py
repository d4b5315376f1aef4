"""Run the plans of a search and merge their results into one stream: each file once, selected, filtered and ranked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sourcelight.core.batches.rows import MatchRows
from sourcelight.core.cancellation import Cancellation, StepThread, steps_with_deadline
from sourcelight.core.query import Alternative, Predicate
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution.contents import in_files_with_content, parts_with_cells
from sourcelight.engines.execution.plan import Plan, is_brief, names_of_histories, predicates_of_people, targets_of
from sourcelight.engines.execution.results.alternatives import CountLimits, CountPolicy
from sourcelight.engines.execution.results.owners import OwnerPredicate, OwnerSelector
from sourcelight.engines.execution.results.ranking import CANDIDATES, FileRanker
from sourcelight.engines.execution.results.select import FileKey, Selector, by_file, file_key, repository_batch
from sourcelight.engines.execution.results.union import unite
from sourcelight.engines.search import IndexStore, SearchOptions, SearchPart, Target, TextQuery
from sourcelight.engines.search.definition_lookup import RankedDefinitions, is_missing
from sourcelight.engines.search.direct import DirectSearch

if TYPE_CHECKING:
    from sourcelight.engines.execution.commits.contributors import ContributorPredicate
    from sourcelight.engines.execution.commits.search import CommitSearch

OWNERS = ("file", "owners")
"""The parts of ``select:file.owners``."""


@dataclass(slots=True)
class ResultPipeline:
    """Runs the plans on the engines and merges their results.

    Parameters
    ----------
    store
        The text index.
    commits
        Returns the search of commits, the same each time; called only for queries that read histories.
    plans
        One plan for each alternative of the query.
    request
        The request, with the display of matches.
    cancellation
        Cancellation of the search.
    limit
        Number of matches after which the caller stops; `sys.maxsize` if it reads all, which then come in order.
    note
        Called with each part of the results, for its counts and warnings.
    order
        Method of the ranker for batches of files if their order matters. `FileRanker.rank` yields the best first. If a
        coordinator ranks the rows of several workers, `FileRanker.add_scores` leaves them by repository and path, and
        adds their scores.
    counts
        Policy for alternatives with a ``count:`` of their own; None: surplus rows are dropped here.
    raw_rows
        Rows up to which batches are `RawMatches` if no stage of the pipeline has to read them; 0: none are.
    direct
        Search of text without an index, used instead of `store` while repositories are indexed for the first time.
    request_definitions
        Called with targets whose definitions decide which matches a limit keeps, to index them in the background for
        later searches; None if the choice doesn't matter.
    """

    store: IndexStore
    commits: Callable[[], CommitSearch]
    plans: Sequence[Plan]
    request: SearchRequest
    cancellation: Cancellation
    limit: int
    note: Callable[[SearchPart], None]
    order: Callable[[FileRanker, Iterable[Any]], Iterator[Any]] = FileRanker.rank
    counts: CountPolicy | None = None
    raw_rows: int = 0
    direct: DirectSearch | None = None
    request_definitions: Callable[[Sequence[Target]], object] | None = None
    ownership: OwnerPredicate = field(init=False)
    _contributors: ContributorPredicate | None = field(init=False, default=None)
    _counts: CountPolicy = field(init=False)
    _yielded_files: set[FileKey] = field(init=False, default_factory=set)
    _worker: StepThread = field(init=False, default_factory=StepThread)

    def __post_init__(self) -> None:
        self.ownership = OwnerPredicate(self.store.read, partial(is_missing, self.store))
        self._counts = self.counts or CountLimits([plan.alternative for plan in self.plans])

    @property
    def capped(self) -> int:
        """The largest ``count:`` of one alternative among several that was reached; 0: none."""
        return self._counts.capped

    def batches(self) -> Generator[Any, None, None]:
        """Yield record batches of all alternatives: repositories, then commits, then files."""
        try:
            # A search of text alone, by far the most frequent one, goes through none of the other stages.
            if any(plan.repository_hits for plan in self.plans):
                yield from self._repositories()
            if any(plan.commits is not None for plan in self.plans):
                yield from self._commits()
            yield from self._files()
        finally:
            self._worker.shutdown()

    def newest_commits(self) -> Iterator[Any]:
        """Yield batches of the newest commits alone, before a history is built; `batches` then has the others."""
        plan = self.plans[0]
        # With several alternatives, other rows may have to come first. Workers don't ask: there are rows of others.
        if len(self.plans) == 1 and plan.commits is not None and plan.history_commits:
            yield from (batch for _, _, batch in self.commits().newest(plan.commits, plan.history_commits))

    def _files(self) -> Iterable[Any]:
        """Return batches of files and definitions, ranked where their order matters."""
        searching = [plan for plan in self.plans if plan.searches]
        if not searching:
            return ()

        batches = self._search_plan(searching[0]) if len(searching) == 1 else self._unite(searching)
        if self.limit == sys.maxsize or not any(plan.ranked for plan in searching):
            return batches

        targets = targets_of(searching)
        definitions = RankedDefinitions(
            store=self.store,
            targets={file_key(target): target for target in targets},
            request=self.request_definitions,
            cancellation=self.cancellation,
            note=self.note,
        )
        ranking = FileRanker(
            phrases=tuple(plan.alternative.boost for plan in searching if plan.alternative.boost),
            case_sensitive=any(plan.alternative.case_sensitive() for plan in searching),
            stars={target.repository.info.name: target.repository.info.stars for target in targets},
            limit=self.limit if self.request.display < 0 else min(self.limit, self.request.display),
            definitions=definitions.positions,
            complete=definitions.complete,
            is_settled=any(plan.alternative.ranks_all() for plan in searching),
        )
        blocks = chain.from_iterable(map(by_file, batches))
        return self.order(ranking, blocks)

    def _repositories(self) -> Iterator[Any]:
        for plan in self.plans:
            if plan.alternative.select() not in {(), ("repo",)}:
                continue

            name_matches = [
                (target, spans) for target, spans in plan.repository_hits if file_key(target) not in self._yielded_files
            ]
            if not self._counts.is_separate:
                self._yielded_files.update(file_key(target) for target, _ in name_matches)

            if name_matches:
                yield from self._counts.within(plan.alternative, [repository_batch(name_matches)])

    def _commits(self) -> Iterator[Any]:
        plans = [plan for plan in self.plans if plan.commits is not None]
        if self._counts.is_separate:
            # Repository by repository, as a coordinator merges the rows of its workers by name.
            for name in sorted(names_of_histories(plans)):
                for plan in plans:
                    commit_batches = self._commits_of([_narrow_histories(plan, name)])
                    yield from self._counts.within(plan.alternative, commit_batches)
        elif self._counts.has_limits and len(plans) > 1:
            # Each alternative stops at its own count, so they run one by one. A commit of several alternatives is
            # yielded for the first, but once per type: a message and a changed line are different rows.
            yielded_keys: set[tuple[str | None, ...]] = set()
            for plan in plans:
                for batch in self._counts.within(plan.alternative, _not_in(yielded_keys, self._commits_of([plan]))):
                    yielded_keys.update(_commits_in(batch))
                    yield batch
        elif len(plans) == 1:
            yield from self._counts.within(plans[0].alternative, self._commits_of(plans))
        else:
            yield from self._commits_of(plans)

    def _commits_of(self, plans: Sequence[Plan]) -> Iterator[Any]:
        pairs = [(plan.commits, plan.history_commits) for plan in plans if plan.commits is not None]
        commits = self.commits()
        for history_commit, commit_plan, batch in commits.batches(pairs):
            if not commit_plan.repositories_only:
                yield batch
                continue

            new_targets = self._new_targets(plans, history_commit.repository.key)
            if not self._counts.is_separate:
                self._yielded_files.update(map(file_key, new_targets))

            if new_targets:
                yield repository_batch([(target, ()) for target in new_targets])

        self.ownership.later.update(commits.without_owners)
        self.ownership.missing.update(commits.unread_owners)

    def _new_targets(self, plans: Sequence[Plan], repository_key: str) -> list[Target]:
        """Return the targets of a repository that were not yielded yet, one for each commit."""
        # Two revisions of a query may resolve to one commit, which is one repository result.
        targets = {target.commit: target for target in targets_of(plans) if target.repository.key == repository_key}
        return [target for target in targets.values() if file_key(target) not in self._yielded_files]

    def _search_plan(self, plan: Plan) -> Iterable[Any]:
        selector = self._selector(plan)
        # Text and definitions of one file come from two engines. With `select:` they must be merged before the next
        # file, so the targets are searched one at a time.
        mixed = plan.text is not None and plan.symbols is not None and bool(selector.path)
        if not selector.first_only and not mixed:
            return self._select(plan, plan.targets, selector)
        return self._target_by_target(plan, selector)

    def _target_by_target(self, plan: Plan, selector: Selector) -> Iterator[Any]:
        for target in plan.targets:
            yield from self._select(plan, (target,), selector)
            if self.cancellation.stopped:
                return

    def _unite(self, plans: Sequence[Plan]) -> Iterator[Any]:
        """Yield batches of several plans, repository after repository, so that duplicate files merge."""
        targets = {(target.repository.key, target.revision, target.commit): target for target in targets_of(plans)}
        selectors = [self._selector(plan) for plan in plans]

        # One target at a time, because the batches of all alternatives for a target are in memory together.
        for target in sorted(targets.values(), key=file_key):
            file_batches = []
            for plan, selector in zip(plans, selectors, strict=True):
                if target in plan.targets:
                    file_batches.append(list(self._select(plan, (target,), selector)))

            if self._counts.is_separate:
                yield from chain.from_iterable(file_batches)
            else:
                yield from unite(file_batches)
            if self.cancellation.stopped:
                return

    def _selector(self, plan: Plan) -> Selector:
        return Selector(plan.alternative.select(), self._yielded_files, once=plan.text is None or plan.symbols is None)

    def _select(self, plan: Plan, targets: Sequence[Target], selector: Selector) -> Iterable[Any]:
        found_parts = self._parts(plan, targets, selector)
        if self.request.cells:
            found_parts = parts_with_cells(self.direct or self.store, targets, found_parts)

        parts = steps_with_deadline(found_parts, self.cancellation, self._worker, brief=is_brief(plan))
        by_people = predicates_of_people(plan.alternative)
        if selector.path or by_people:
            return self._counts.within(
                plan.alternative, self._choose(plan, parts, targets=targets, selector=selector, by_people=by_people)
            )

        return self._counts.within(plan.alternative, self._note_all(parts))

    def _note_all(self, parts: Iterable[SearchPart]) -> Iterator[Any]:
        for part in parts:
            self.note(part)
            yield from (batch for batch in part.batches if batch.num_rows)

    def _choose(
        self,
        plan: Plan,
        parts: Iterable[SearchPart],
        *,
        targets: Sequence[Target],
        selector: Selector,
        by_people: Sequence[Predicate],
    ) -> Iterator[Any]:
        """Yield the rows that pass the filters of owners and contributors, as ``select:`` wants them."""
        owners = tuple(predicate for predicate in by_people if predicate.name == "has.owner")
        writers = tuple(predicate for predicate in by_people if predicate.name == "has.contributor")
        owning = OwnerSelector(self.ownership, self.request) if selector.path == OWNERS else None

        # Looked up only when needed: building the table costs more than the whole search of a small query.
        needs_target = bool(owners or writers or owning)
        target_of_file = {file_key(target): target for target in targets} if needs_target else {}
        for part in parts:
            self.note(part)
            for batch in chain.from_iterable(map(by_file, part.batches)):
                filtered_batch = batch
                target = _target(batch, target_of_file) if needs_target and batch.num_rows else None
                if target is not None and (owners or writers):
                    filtered_batch = self.ownership.filter_rows(batch, target, owners) if owners else batch
                    # `case:` applies to contributors as it does to patterns; owners are names of CODEOWNERS, which
                    # ignore case.
                    sensitive = plan.alternative.case_sensitive()
                    if writers:
                        filtered_batch = self._filter_by_contributor(
                            filtered_batch, target, writers, case_sensitive=sensitive
                        )

                if owning is None:
                    selected = selector.apply(filtered_batch)
                elif target is not None and filtered_batch.num_rows:
                    selected = owning.of(filtered_batch, target)
                else:
                    selected = None

                if selected is not None:
                    yield selected
                    if selector.first_only:
                        self.note(
                            SearchPart(repositories_done=tuple(target.repository.info.name for target in targets))
                        )
                        return

    def _filter_by_contributor(
        self, batch: Any, target: Target, predicates: Sequence[Predicate], *, case_sensitive: bool
    ) -> Any:
        if self._contributors is None:
            from sourcelight.engines.execution.commits.contributors import ContributorPredicate

            self._contributors = ContributorPredicate(self.commits())

        rows = self._contributors.filter_rows(batch, target, predicates, case_sensitive=case_sensitive)
        # A history that can't be read leaves its rows out. Noted here, so that the result isn't called complete.
        self.commits().failed.update(self._contributors.failed)
        return rows

    def _parts(self, plan: Plan, targets: Sequence[Target], selector: Selector) -> Generator[SearchPart, None, None]:
        # Predicates and `select:` drop or merge rows later, so the scan can't know how many matches are enough.
        bounded = not plan.alternative.select() and not plan.alternative.predicates("file")
        options = SearchOptions(
            chunk_matches=self.request.chunk_matches and selector.needs_lines,
            context_lines=self.request.context_lines,
            max_line_len=self.request.max_line_len,
            max_matches=max(self.limit, CANDIDATES) if bounded and self.limit < sys.maxsize else None,
            lines=selector.needs_lines,
            in_path_order=True,  # the rows within a limit must not depend on the size of batches
            raw_rows=self.raw_rows if self._passes_all(plan) else 0,
        )
        if plan.symbols is None and plan.text is not None and not plan.text.cells:
            return (self.direct or self.store).search(targets, plan.text, options, self.cancellation)

        return self._with_symbols(plan, targets, options)

    def _with_symbols(
        self, plan: Plan, targets: Sequence[Target], options: SearchOptions
    ) -> Generator[SearchPart, None, None]:
        if plan.symbols is not None:
            yield from self._symbols(plan, plan.symbols, targets, options)
        if plan.text is not None and plan.text.cells:
            yield from self._cells(plan, plan.text, targets, options)
        elif plan.text is not None:
            yield from self.store.search(targets, plan.text, options, self.cancellation)

    def _cells(
        self, plan: Plan, query: TextQuery, targets: Sequence[Target], options: SearchOptions
    ) -> Iterator[SearchPart]:
        def search(targets: Sequence[Target]) -> Iterator[SearchPart]:
            return self.store.search(targets, query, options, self.cancellation)

        return in_files_with_content(self.store, plan, query, targets, search, self.cancellation)

    def _passes_all(self, plan: Plan) -> bool:
        """Return whether all matches pass unchanged: no ranking, limit, selection or merge with other plans."""
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

        def search(targets: Sequence[Target]) -> Iterator[SearchPart]:
            return self.store.search_symbols(targets, query, options, self.cancellation, kinds=kinds)

        return in_files_with_content(self.store, plan, query, targets, search, self.cancellation)


def limit_of(alternatives: Sequence[Alternative], default: int) -> int:
    """Return the matches after which a search stops, `sys.maxsize` for never. Each alternative may have a count."""
    # By identity of the filter: alternatives that share one share its limit. `id(None)` is the key without a filter.
    counts = {id(alternative.first("count")): alternative.count_limit(default) for alternative in alternatives}
    if None in counts.values():
        return sys.maxsize
    total = sum(count or 0 for node, count in counts.items() if node != id(None))
    return max(total, default if id(None) in counts or not counts else 0)


def _narrow_histories(plan: Plan, name: str) -> Plan:
    """Return a plan that searches only the history of one repository."""
    commits = tuple(history_commit for history_commit in plan.history_commits if history_commit.repository.name == name)
    return replace(plan, history_commits=commits)


def _target(batch: Any, target_of_file: Mapping[FileKey, Target]) -> Target:
    rows = MatchRows(batch)
    return target_of_file[rows.first("repository"), rows.first("revision")]


def _commits_in(batch: Any) -> list[tuple[str | None, ...]]:
    rows = MatchRows(batch)
    return list(zip(*(rows.texts(name) for name in ("type", "repository", "commit")), strict=True))


def _not_in(yielded_keys: set[tuple[str | None, ...]], batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the rows of commits that are not yet in `yielded_keys` when a batch arrives; all rows of repositories."""
    # A copy: the caller adds the keys of each batch while this generator is suspended, and rows of one commit may be in
    # several batches of the same alternative.
    before = frozenset(yielded_keys)
    for batch in batches:
        # Repositories have no commit (`key[2]`); `_yielded_files` keeps those apart.
        new = [key[2] is None or key not in before for key in _commits_in(batch)]
        new_rows = batch if all(new) else batch.filter(pa.array(new, pa.bool_()))
        if new_rows.num_rows:
            yield new_rows
