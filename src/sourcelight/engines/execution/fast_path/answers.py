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

import functools
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sourcelight.core.batches import Event, RepositoryInfo
from sourcelight.core.batches.codecs.raw_matches import RawMatchBatch, RawMatches
from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import SourcelightError
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.patterns.alternative_texts import alternative_texts
from sourcelight.core.query import Pattern, Query
from sourcelight.core.query.alternatives import patterns_of
from sourcelight.core.query.parse import parse_shape
from sourcelight.core.query.shapes import fill_text, split_query
from sourcelight.core.wire.events import Alert, Done, Filters, Progress, Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import protocol
from sourcelight.engines.execution.advice import notices, skipped_items
from sourcelight.engines.execution.indexes.repositories import IndexedRepositories
from sourcelight.engines.execution.local_source import LocalSource
from sourcelight.engines.execution.plan import Plan, can_vary, finds_repositories, is_brief, vary
from sourcelight.engines.execution.results.excludes import corpus_masks
from sourcelight.engines.execution.results.ranking import CANDIDATES, FileRanker
from sourcelight.engines.execution.results.raw_ranking import rank_raw
from sourcelight.engines.execution.results.select import FileKey, file_key
from sourcelight.engines.execution.results.tally import Tally
from sourcelight.engines.search import Target
from sourcelight.engines.search.cells.rows import have_notebooks
from sourcelight.engines.search.definition_lookup import RankedDefinitions
from sourcelight.engines.search.model import FileTerm, PreparedQuery, prepare
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.small_search import SmallResult, SmallSearch, SmallSearchLimits
from sourcelight.repos import Repository, Viewer

_MAX_SHAPES, _MAX_CHARACTERS = 64, 300


@dataclass(frozen=True, slots=True)
class FastPathLimits:
    """Limits of a search: of what it reads, and of the matches to rank."""

    search: SmallSearchLimits
    ranked: int


AT_ONCE = FastPathLimits(SmallSearchLimits(units=2048, matches=4096, text_bytes=2 << 20), ranked=500)
"""On the thread of an event loop: a few milliseconds."""

IN_THREAD = FastPathLimits(SmallSearchLimits(units=16_384, matches=32_768, text_bytes=8 << 20), ranked=CANDIDATES - 1)
"""In a separate thread: at most about 100 ms, in which the search can't be stopped and gives no rows."""

_ShapeKey: TypeAlias = tuple[str, str, str, Viewer]


@dataclass(frozen=True)
class KnownShape:
    """Everything that an answer needs except its words, from a search of the same shape.

    Attributes
    ----------
    plan
        Plan of the first search.
    prepared
        Text query of the first search, with stand-ins for words.
    repositories, state
        Repositories of the catalog, and the other objects that events depend on. The shape is valid only for these
        objects themselves.
    corpus
        Corpus of the targets, for which alone the shape is valid. A shape doesn't keep it open.
    names
        Names of the repositories in lower case if the pattern is also matched against names, else empty.
    infos
        Attributes of repositories by name.
    worktrees
        Repositories at HEAD whose work trees may differ.
    skipped
        Parts of the repositories that are never searched.
    excluded
        Repositories that the query leaves out.
    query
        Query with stand-ins for words, from which `if_nothing` follows; None for an alternation.
    boost
        Phrase that lifts files, with stand-ins for words.
    """

    plan: Plan
    prepared: PreparedQuery
    repositories: tuple[Repository, ...]
    state: tuple[object, ...]
    corpus: weakref.ref[Corpus]
    names: str
    infos: Mapping[str, RepositoryInfo]
    worktrees: Sequence[Repository]
    skipped: tuple[Skipped, ...]
    excluded: tuple[Skipped, ...]
    query: Query | None
    boost: str | None

    @functools.cached_property
    def targets(self) -> Mapping[FileKey, Target]:
        """Targets by repository and revision."""
        return {file_key(target): target for target in self.plan.targets}

    @functools.cached_property
    def if_nothing(self) -> tuple[Alert | None] | None:
        """Alert of a search without a match, in a tuple; None if it depends on the words."""
        # Made when a search first needs it: it takes longer than a search, and most searches have matches.
        return None if self.query is None else notices.nothing_found_in_shape(self.query)


class FastPath:
    """Answers of small searches over the repositories of this machine. Safe to share between threads.

    Parameters
    ----------
    repositories
        The searched files.
    default_matches
        Matches after which a search stops that names no number.
    """

    def __init__(self, repositories: IndexedRepositories, default_matches: int) -> None:
        self._repositories = repositories
        self._default_matches = default_matches
        self._shapes: LruCache[_ShapeKey, KnownShape] = LruCache(_MAX_SHAPES)

    def clear(self) -> None:
        """Forget all shapes."""
        self._shapes.clear()

    def knows(self, request: SearchRequest, viewer: Viewer) -> bool:
        """Return whether a search of the same shape has run before."""
        parts = _split(request)
        return parts is not None and _key(request, parts[0], viewer) in self._shapes

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
        parts = _split(request)
        shape = None if parts is None else self._shapes.get(_key(request, parts[0], viewer))
        if parts is None or shape is None or not self._is_valid(shape):
            return None

        result = self._search(shape, parts[1], self._narrow(shape, request, limits))
        if result is None:
            return None

        matches = result.matches
        if matches is not None:
            matches = self._in_order(shape, request, parts[1], matches, limits)
            return None if matches is None else self._events(shape, matches, started_s)

        if_nothing = shape.if_nothing if result.absent_in_any_case else None
        if if_nothing is None and advise is None:
            return None

        events = self._events(shape, None, started_s)
        if if_nothing is None and advise is not None:
            if_nothing = (advise(),)
        if if_nothing is not None and if_nothing[0] is not None:
            events.insert(-1, if_nothing[0])
        return events

    def _in_order(
        self,
        shape: KnownShape,
        request: SearchRequest,
        words: Sequence[str],
        matches: RawMatches,
        limits: FastPathLimits,
    ) -> RawMatches | None:
        """Return matches in the order in which they are displayed; None if a limit may cut them off, or for cells."""
        total = int(matches.file_matches.sum())
        # Cells are found by reading whole notebooks.
        if 0 <= request.display < total or (request.cells and have_notebooks(matches.paths)):
            return None

        limit = self._count_limit(shape, request)
        if limit is None:
            return matches

        return None if total >= limit or total > limits.ranked else self._rank(shape, words, matches)

    def _count_limit(self, shape: KnownShape, request: SearchRequest) -> int | None:
        return shape.plan.alternative.count_limit(request.default_matches or self._default_matches)

    def _narrow(self, shape: KnownShape, request: SearchRequest, limits: FastPathLimits) -> SmallSearchLimits:
        """Return the limits beyond which `_in_order` would refuse all matches, so that they aren't collected."""
        matches = limits.search.matches
        if request.display >= 0:
            matches = min(matches, request.display)
        limit = self._count_limit(shape, request)
        if limit is not None:
            matches = min(matches, limit - 1, limits.ranked)
        return SmallSearchLimits(limits.search.units, matches, limits.search.text_bytes)

    def _rank(self, shape: KnownShape, words: Sequence[str], matches: RawMatches) -> RawMatches | None:
        """Rank matches as `ResultPipeline` does where no limit cuts them off."""
        alternative, targets = shape.plan.alternative, shape.targets
        definitions = RankedDefinitions(self._repositories.store, targets, None, Cancellation(), lambda _: None)
        ranker = FileRanker(
            phrases=(fill_text(shape.boost, words),) if shape.boost else (),
            case_sensitive=alternative.case_sensitive(),
            stars={name: info.stars for name, info in shape.infos.items()},
            limit=CANDIDATES,
            definitions=definitions.positions,
        )
        return rank_raw(matches, ranker)

    def _search(self, shape: KnownShape, words: Sequence[str], limits: SmallSearchLimits) -> SmallResult | None:
        searchable = self._repositories.store.open_corpus(shape.plan.targets)
        prepared = _with_words(shape, words)

        # Another corpus was opened after the index changed, so targets that the shape reports as skipped may be indexed
        # by now. A corpus that was closed is gone from the weak reference, which then gives None.
        if searchable is None or searchable[1] is not shape.corpus() or prepared is None:
            return None

        group, corpus = searchable
        selection = corpus.selection(prepared.query.files, prepared.query.languages)
        try:
            return SmallSearch(group, corpus, selection, prepared, limits).run()
        except (SourcelightError, OSError):
            return None  # the pipeline names the repository that can't be read

    def _events(self, shape: KnownShape, matches: RawMatches | None, started_s: float) -> list[Event]:
        """Return the events in the order of `SearchExecution`, without an alert."""
        tally = Tally()
        events: list[Event] = []
        if matches is not None:
            # Paths are listed once they were asked for a few times, so an answer asks for them once.
            tally.add_raw(matches, None if matches.path_json is None else corpus_masks(shape.corpus()))
            infos = [shape.infos[name] for name in matches.repositories if name in shape.infos]
            events.append(RawMatchBatch(matches, tuple(infos)))

        selection = shape.plan.selection
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
        parts = _split(task.request)

        # Several plans find the same file more than once, and only the pipeline unites their results.
        if parts is None or cached is None or len(cached.plans) != 1 or not _is_answerable(cached.plans[0]):
            return

        plan = cached.plans[0]
        is_alternation = _is_alternation(plan, parts[1])
        shape: Query | None = task.query
        if not is_alternation:
            shape = parse_shape(parts[0], len(parts[1]), task.request.pattern_type, task.request.version)

        searchable = self._repositories.store.open_corpus(plan.targets)
        if (
            shape is None
            or searchable is None
            or task.cancellation.stopped
            or source.failed
            or source.late_repositories()
        ):
            return

        # These notices depend on filters and parentheses, which all queries of a shape share. Those of this query were
        # made a moment ago.
        if notices.without_effect(task.query) is not None or notices.read_as_text(task.query) is not None:
            return

        prepared = _prepare(plan, shape, is_alternation=is_alternation)
        if prepared is None:
            return

        summary = source.summary
        self._shapes.put(
            _key(task.request, parts[0], task.viewer),
            KnownShape(
                plan=plan,
                prepared=prepared,
                repositories=self._repositories.catalog.repositories,
                state=self._state(),
                corpus=weakref.ref(searchable[1]),
                names=_matched_names(plan),
                infos=summary.infos,
                worktrees=cached.worktrees,
                skipped=tuple(source.missing_work()),
                excluded=tuple(protocol.excluded_items(summary.forks, summary.archived)),
                query=None if is_alternation else shape,
                boost=shape.plan[0].boost,
            ),
        )

    def _is_valid(self, shape: KnownShape) -> bool:
        # Scans and updates of the index publish new objects and never change old ones, so identity is enough.
        return shape.repositories is self._repositories.catalog.repositories and all(
            mine is theirs for mine, theirs in zip(shape.state, self._state(), strict=True)
        )

    def _state(self) -> tuple[object, ...]:
        return self._repositories.catalog.skipped, self._repositories.report


def _split(request: SearchRequest) -> tuple[str, list[str]] | None:
    """Return the shape of a query and its words, or None if the fast path doesn't support the request."""
    asks_for_lines = not request.chunk_matches and not request.trace and request.timeout_s is None
    return split_query(request.query) if asks_for_lines and len(request.query) <= _MAX_CHARACTERS else None


def _is_alternation(plan: Plan, words: Sequence[str]) -> bool:
    pattern = plan.alternative.pattern
    if not isinstance(pattern, Pattern) or pattern.kind != "regexp" or pattern.negated:
        return False
    return pattern.value == f"({'|'.join(words)})"


def _key(request: SearchRequest, shape: str, viewer: Viewer) -> _ShapeKey:
    # The viewer is part of the key, so what one account may see is never used for another.
    return shape, request.pattern_type, request.version, viewer


def _is_answerable(plan: Plan) -> bool:
    """Return whether a plan asks only for all files with some literals."""
    alternative = plan.alternative
    if alternative.pattern is None or not plan.targets or not can_vary(plan):
        return False

    leaves = list(patterns_of(alternative.pattern))
    if not is_brief(plan) and not (leaves[0].kind == "regexp" and alternative.case_sensitive()):
        return False

    in_names = finds_repositories(alternative)
    return (
        not alternative.select()
        and alternative.timeout_s() is None
        and alternative.count_limit(1) != 0
        and not alternative.ranks_all()
        and not any("@" in leaf.value for leaf in leaves)
        # A repository whose name doesn't have the text of a NOT is a match.
        and not (in_names and any(leaf.negated for leaf in leaves))
        # `lower` isn't the case folding of patterns beyond ASCII.
        and not (in_names and not all(target.repository.info.name.isascii() for target in plan.targets))
    )


def _prepare(plan: Plan, shape: Query, *, is_alternation: bool) -> PreparedQuery | None:
    """Return the text query of a shape with stand-ins for words, or None if it has more than literals."""
    text = vary(plan, shape.plan[0]).text
    if text is None or (is_alternation and plan.alternative.boost):
        return None
    prepared = prepare(text)
    return prepared if is_alternation or all(map(_is_literal, prepared.terms)) else None


def _matched_names(plan: Plan) -> str:
    """Return the names of repositories that the pattern is matched against, in lower case; empty if it isn't."""
    if not finds_repositories(plan.alternative):
        return ""
    return "\n".join(target.repository.info.name for target in plan.targets).lower()


def _is_literal(term: FileTerm) -> bool:
    return term.pattern.kind == "literal" and term.visible and term.pattern.text.isascii()


def _with_words(shape: KnownShape, words: Sequence[str]) -> PreparedQuery | None:
    """Return the text query of a shape with other words, or None if a repository's name has one, or two are equal."""
    if shape.prepared.has_regexp:
        alternation = None if any(word.lower() in shape.names for word in words) else alternative_texts(tuple(words))
        term = shape.prepared.terms[0]
        if alternation is None:
            return None
        return shape.prepared.with_terms((FileTerm(alternation, term.content, term.path),))

    terms = []
    texts = set()
    for term in shape.prepared.terms:
        pattern: Any = term.pattern
        text = fill_text(pattern.text, words)
        # Such a repository is a match itself, which only the pipeline reports.
        if text.lower() in shape.names:
            return None
        texts.add(text)
        pattern = compile_pattern(text, kind="literal", case_sensitive=pattern.case_sensitive)
        terms.append(FileTerm(pattern, term.content, term.path))

    # Equal terms would be one term, in a tree of another form than the shape's.
    return shape.prepared.with_terms(tuple(terms)) if len(texts) == len(terms) else None
