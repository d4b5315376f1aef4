"""Answer small searches for words without a pipeline, from what an earlier search of the same shape prepared.

The pipeline (`run` and `pipeline`) supports the whole query language, and takes longer to set up than a search for a
word takes to read its text. Searches that differ only in their words have the same shape (`core.query.shapes`). They
share everything else: repositories, filters, and all events besides the matches. The first search of a shape runs the
pipeline and stores what the others share. Later searches compile their words, read the candidates, and yield the same
events.

`FastPath` never waits, never indexes, and reads few units, so the thread of an event loop may call it. It returns None
for any search that needs the pipeline.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sourcelight.core.batches import Event
from sourcelight.core.batches.codecs.few_matches import FewMatchBatch, FewMatches
from sourcelight.core.batches.codecs.raw_matches import RawMatchBatch, RawMatches
from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import SourcelightError
from sourcelight.core.query import Query
from sourcelight.core.query.parse import parse_shape
from sourcelight.core.query.shapes import fill_text
from sourcelight.core.wire.events import Alert, Done, Filters, Progress, ProposedQuery
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import protocol
from sourcelight.engines.execution.advice import notices, skipped_items
from sourcelight.engines.execution.advice.notices import IGNORING_CASE, MAX_PROPOSED, nothing_found_alert
from sourcelight.engines.execution.fast_path import shapes
from sourcelight.engines.execution.indexes.repositories import IndexedRepositories
from sourcelight.engines.execution.local_source import LocalSource
from sourcelight.engines.execution.results.excludes import corpus_masks
from sourcelight.engines.execution.results.ranking import CANDIDATES, FileRanker
from sourcelight.engines.execution.results.raw_ranking import rank_raw
from sourcelight.engines.execution.results.tally import Tally
from sourcelight.engines.search.cells.rows import have_notebooks
from sourcelight.engines.search.definition_lookup import RankedDefinitions
from sourcelight.engines.search.few_lines import MAX_SPANS
from sourcelight.engines.search.model import SearchPart
from sourcelight.engines.search.scan.paths import MAX_LISTED_PATHS
from sourcelight.engines.search.small_search import SmallSearch, SmallSearchLimits
from sourcelight.repos import Viewer

_MAX_SHAPES, _MAX_SEARCHABLE = 64, 192
"""Shapes of queries that are cached, and those of them and of their variants that can be searched at once."""

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class FastPathLimits:
    """Limits of a search: of what it reads, and of the matches to rank."""

    search: SmallSearchLimits
    ranked: int


AT_ONCE = FastPathLimits(
    SmallSearchLimits(units=4096, matches=4096, text_bytes=2 << 20, few_spans=MAX_SPANS), ranked=500
)
"""On the thread of an event loop, which sends JSON: a few milliseconds."""

IN_THREAD = FastPathLimits(SmallSearchLimits(units=16_384, matches=32_768, text_bytes=8 << 20), ranked=CANDIDATES - 1)
"""In a separate thread: at most about 100 ms, in which the search can't be stopped and gives no rows."""


class FastPath:
    """Answers of small searches over the repositories of this machine. Safe to share between threads.

    Parameters
    ----------
    repositories
        The searched files.
    default_matches
        Matches after which a search stops that names no number.
    plan_at_once
        Plans a search without running it; None for one that may have to wait.
    """

    def __init__(
        self,
        repositories: IndexedRepositories,
        default_matches: int,
        plan_at_once: Callable[[SearchRequest, Viewer], LocalSource | None],
    ) -> None:
        self._repositories = repositories
        self._default_matches = default_matches
        self._plan_at_once = plan_at_once
        self._shapes: LruCache[shapes.ShapeKey, shapes.KnownShape] = LruCache(_MAX_SHAPES)
        # Also of queries that were only tried: a search without a match proposes others that have some.
        self._searchable: LruCache[shapes.ShapeKey, shapes.SearchableShape] = LruCache(_MAX_SEARCHABLE)
        self._families: LruCache[shapes.ShapeKey, bool] = LruCache(_MAX_SHAPES)

    def clear(self) -> None:
        """Forget all shapes."""
        self._shapes.clear()
        self._searchable.clear()
        self._families.clear()

    def knows(self, request: SearchRequest, viewer: Viewer) -> bool:
        """Return whether a search of the same shape has run before."""
        parts = shapes.split_request(request)
        return parts is not None and shapes.shape_key(request, parts[0], viewer) in self._shapes

    def answer(
        self,
        request: SearchRequest,
        viewer: Viewer,
        limits: FastPathLimits = AT_ONCE,
        advise: Callable[[], Alert | None] | None = None,
    ) -> list[Event] | None:
        """Return all events of a search, or None if it needs the pipeline.

        The caller must have made sure that the repositories haven't changed since the last scan of the catalog.
        `advise` returns the alert of a search without a match where it depends on the words; it may run other searches.
        Without it, such a search needs the pipeline.
        """
        started_s = time.monotonic()
        parts = shapes.split_request(request)
        shape = None if parts is None else self._shapes.get(shapes.shape_key(request, parts[0], viewer))
        if parts is None or shape is None or not self._is_valid(shape.search):
            return None

        words = parts[1]
        count_limit = shape.search.plan.alternative.count_limit(request.default_matches or self._default_matches)
        result = self._read(shape.search, words, _narrow(limits, count_limit, request.display), SmallSearch.run)
        if result is None:
            return None
        matches = result.matches
        if matches is not None:
            is_cut = 0 <= request.display < matches.total or (
                count_limit is not None and (matches.total >= count_limit or matches.total > limits.ranked)
            )
            # Cells are found by reading whole notebooks.
            if is_cut or (request.cells and have_notebooks(matches.paths)):
                return None
            if count_limit is not None:
                matches = self._rank(shape, words, matches if isinstance(matches, RawMatches) else matches.raw)
            return None if matches is None else self._events(shape, matches, started_s)

        alert = self._advise(shape.search, request, viewer, words, is_absent=result.absent_in_any_case)
        if alert is None:
            if advise is None:
                return None
            alert = (advise(),)

        events = self._events(shape, None, started_s)
        if alert[0] is not None:
            events.insert(-1, alert[0])
        return events

    def _advise(
        self,
        shape: shapes.SearchableShape,
        request: SearchRequest,
        viewer: Viewer,
        words: Sequence[str],
        *,
        is_absent: bool,
    ) -> tuple[Alert | None] | None:
        """Return the alert of a search without a match, in a tuple; None if it isn't known at once.

        `is_absent`: whether nothing matches in any case either.
        """
        if shape.advice is None:
            return None

        proposed = []
        for text, difference in shape.advice.variants:
            # Filters on paths ignore case then, too, and select more files.
            if is_absent and difference == IGNORING_CASE and not shape.prepared.query.files:
                continue
            variant = fill_text(text, words)
            has_match = self._variant_has_match(shape, request.with_query(variant), viewer)
            if has_match is None:
                return None
            proposed += [ProposedQuery(variant, difference)] if has_match else []
            if len(proposed) == MAX_PROPOSED:
                break

        return (nothing_found_alert(shape.advice.messages, proposed),)

    def _variant_has_match(self, shape: shapes.SearchableShape, request: SearchRequest, viewer: Viewer) -> bool | None:
        """Return whether a variant of a query of some shape has a match; None if that takes long to tell."""
        parts = shapes.split_request(request)
        if parts is None:
            return None

        variant = self._searchable.get(shapes.shape_key(request, parts[0], viewer))
        if variant is None or not self._is_valid(variant):
            # It is new. The indexes are open, as it differs from the query in filters on files alone.
            source = self._plan_at_once(request, viewer) if shapes.is_quick_to_vary(shape) else None
            learned = None if source is None else self.learn_search(source)
            if learned is None:
                return None
            variant = learned[1]
        return self._read(variant, parts[1], AT_ONCE.search, SmallSearch.has_match)

    def _rank(self, shape: shapes.KnownShape, words: Sequence[str], matches: RawMatches) -> RawMatches | None:
        """Rank matches as `ResultPipeline` does where no limit cuts them off."""
        alternative, targets = shape.search.plan.alternative, shape.search.targets
        definitions = RankedDefinitions(self._repositories.store, targets, None, Cancellation(), lambda _: None)
        ranker = FileRanker(
            phrases=(fill_text(shape.boost, words),) if shape.boost else (),
            case_sensitive=alternative.case_sensitive(),
            stars={name: info.stars for name, info in shape.infos.items()},
            limit=CANDIDATES,
            definitions=definitions.positions,
        )
        return rank_raw(matches, ranker)

    def _read(
        self,
        shape: shapes.SearchableShape,
        words: Sequence[str],
        limits: SmallSearchLimits,
        read: Callable[[SmallSearch], _Result | None],
    ) -> _Result | None:
        """Return what `read` returns for the search of some words; None also if it needs the pipeline."""
        searchable = self._repositories.store.open_corpus(shape.plan.targets)
        prepared = shapes.with_words(shape, words)

        # Another corpus was opened after the index changed, so targets that the shape reports as skipped may be indexed
        # by now. A corpus that was closed is gone from the weak reference, which then gives None.
        if searchable is None or searchable[1] is not shape.corpus() or prepared is None:
            return None
        group, corpus = searchable
        selection = corpus.selection(prepared.query.files, prepared.query.languages)
        try:
            return read(SmallSearch(group, corpus, selection, prepared, limits))
        except (SourcelightError, OSError):
            return None  # the pipeline names the repository that can't be read

    def _events(
        self, shape: shapes.KnownShape, matches: RawMatches | FewMatches | None, started_s: float
    ) -> list[Event]:
        """Return the events in the order of `SearchExecution`, without an alert."""
        tally = Tally()
        events: list[Event] = []
        if matches is not None:
            # Paths are listed once they were asked for a few times, so an answer asks for them once.
            masks = None if matches.path_json is None else corpus_masks(shape.search.corpus())
            infos = tuple([shape.infos[name] for name in matches.repositories if name in shape.infos])
            if isinstance(matches, FewMatches):
                tally.add_few(matches, masks)
                events.append(FewMatchBatch(matches, infos))
            else:
                tally.add_raw(matches, masks)
                events.append(RawMatchBatch(matches, infos))

        selection = shape.search.plan.selection
        filters = tally.filters(
            exhaustive=True, forks=len(selection.forks_left_out), archived=len(selection.archived_left_out)
        )
        if filters:
            events.append(Filters(filters))

        skipped = shape.skipped
        if shape.worktrees:
            skipped += tuple(skipped_items.changed_worktrees(self._repositories.changes.count(shape.worktrees)))

        events.append(
            Progress(
                done=True,
                match_count=tally.matches,
                duration_ms=round((time.monotonic() - started_s) * 1000),
                repositories_count=len(tally.repositories) or None,
                skipped=skipped + shape.excluded,
            )
        )
        events.append(Done())
        return events

    def learn(self, source: LocalSource) -> None:
        """Store the preparation of a complete search for later searches of its shape."""
        task, cached = source.task, source.cached_plan
        if cached is None or task.cancellation.stopped or source.failed or source.late_repositories():
            return

        # These notices depend on filters and parentheses, which all queries of a shape share. Those of this query were
        # made a moment ago.
        if notices.without_effect(task.query) is not None or notices.read_as_text(task.query) is not None:
            return

        learned = self.learn_search(source)
        if learned is None:
            return

        summary = source.summary
        key, search = learned
        family = shapes.family_of(key)
        if family is not None:
            self._families.put(family, value=True)
        self._shapes.put(
            key,
            shapes.KnownShape(
                search=search,
                infos=summary.infos,
                worktrees=cached.worktrees,
                skipped=tuple(source.missing_work()),
                excluded=tuple(protocol.excluded_items(summary.forks, summary.archived)),
            ),
        )

    def is_familiar(self, request: SearchRequest, viewer: Viewer) -> bool:
        """Return whether a search of a new shape differs from a known one only in its repositories and its words."""
        parts = shapes.split_request(request)
        if parts is None:
            return False
        key = shapes.shape_key(request, parts[0], viewer)
        family = shapes.family_of(key)
        return family is not None and family in self._families and key not in self._shapes

    def prepare(self, source: LocalSource) -> bool:
        """Learn the shape of a planned search before it runs; return whether `answer` may know it now.

        The thread of an event loop may call it if all indexes are open. Those of many files are left to the pipeline.
        """
        cached, store = source.cached_plan, self._repositories.store
        if cached is None or len(cached.plans) != 1 or not shapes.is_answerable(cached.plans[0]):
            return False
        plan = cached.plans[0]
        if plan.text is None:
            return False

        groups = list(store.open_targets(plan.targets, source.task.cancellation))
        # The tables of a corpus have an entry for each file.
        files = sum(snapshot.view.files for group in groups for snapshot in group.snapshots)
        searchable = store.open_corpus(plan.targets) if files <= MAX_LISTED_PATHS else None
        if len(groups) != 1 or groups[0].failed or searchable is None:
            return False

        # What a search reports of these files besides its matches.
        group, corpus = searchable
        notes = corpus.group_notes(corpus.selection(plan.text.files, plan.text.languages), group.names)
        source.note(SearchPart(repositories_done=notes.names, skipped=notes.skipped, missing=notes.missing))
        self.learn(source)
        return True

    def learn_search(self, source: LocalSource) -> tuple[shapes.ShapeKey, shapes.SearchableShape] | None:
        """Store and return what later searches of a shape need to find matches; None if they need the pipeline."""
        task, cached = source.task, source.cached_plan
        parts = shapes.split_request(task.request)

        # Several plans find the same file more than once, and only the pipeline unites their results.
        if parts is None or cached is None or len(cached.plans) != 1 or not shapes.is_answerable(cached.plans[0]):
            return None

        plan = cached.plans[0]
        alternates = shapes.is_alternation(plan, parts[1])
        shape: Query | None = task.query
        if not alternates:
            shape = parse_shape(parts[0], len(parts[1]), task.request.pattern_type, task.request.version)

        searchable = self._repositories.store.open_corpus(plan.targets)
        prepared = None if shape is None else shapes.prepare_shape(plan, shape, is_alternation=alternates)
        if searchable is None or prepared is None:
            return None

        search = shapes.SearchableShape(
            plan=plan,
            prepared=prepared,
            repositories=self._repositories.catalog.repositories,
            state=self._state(),
            corpus=weakref.ref(searchable[1]),
            names=shapes.matched_names(plan),
            query=None if alternates else shape,
        )
        key = shapes.shape_key(task.request, parts[0], task.viewer)
        self._searchable.put(key, search)
        return key, search

    def _is_valid(self, shape: shapes.SearchableShape) -> bool:
        # Scans and updates of the index publish new objects and never change old ones, so identity is enough.
        return shape.repositories is self._repositories.catalog.repositories and all(
            mine is theirs for mine, theirs in zip(shape.state, self._state(), strict=True)
        )

    def _state(self) -> tuple[object, ...]:
        return self._repositories.catalog.skipped, self._repositories.report


def _narrow(limits: FastPathLimits, count_limit: int | None, display: int) -> SmallSearchLimits:
    """Return the limits beyond which `FastPath.answer` would refuse all matches, so that they aren't collected."""
    search = limits.search
    if count_limit is None and not 0 <= display < search.matches:
        return search

    matches = search.matches if display < 0 else min(search.matches, display)
    # A ranking needs arrays.
    few_spans = search.few_spans
    if count_limit is not None:
        matches, few_spans = min(matches, count_limit - 1, limits.ranked), 0
    return SmallSearchLimits(search.units, matches, search.text_bytes, few_spans)
