"""Answer small searches for words at once, with what an earlier search of the same shape has prepared.

`run` and `pipeline` can do all that the language says, and cost a search for a word more than its text. Searches that
differ in their words alone (`core.query.shapes`) share everything else: repositories, filters, compiled filters of
paths, and all that an answer says besides its matches. The first search of a shape takes the long way, and leaves that
here. Later ones compile their words, read the candidates, and write the same events.

What this can't do it leaves to the long way, by saying None: it never waits, never indexes, and reads few units, so
that the thread of an event loop may call it.
"""

from __future__ import annotations

import re
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from sourcelight.core.batches import Event, RepositoryInfo
from sourcelight.core.batches.codecs.raw_matches import RawMatchBatch, RawMatches
from sourcelight.core.caching import LruCache
from sourcelight.core.errors import SourcelightError
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.patterns.alternative_texts import alternative_texts
from sourcelight.core.query import Pattern, Query
from sourcelight.core.query.alternatives import patterns_of
from sourcelight.core.query.parse import parse_shape
from sourcelight.core.query.shapes import fill_text, has_stand_in, split_words
from sourcelight.core.wire.events import Alert, Done, Filters, Progress, Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import protocol
from sourcelight.engines.execution.advice import notices
from sourcelight.engines.execution.advice.proposals import advise
from sourcelight.engines.execution.indexes.repositories import IndexedRepositories
from sourcelight.engines.execution.local_source import LocalSource
from sourcelight.engines.execution.plan import Plan, can_vary, finds_repositories, is_brief, vary
from sourcelight.engines.execution.results.tally import Tally
from sourcelight.engines.search.model import FileTerm, PreparedQuery, prepare
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.small_search import SmallResult, SmallSearch
from sourcelight.repos import Repository, Viewer

MAX_UNITS = 1024
"""Units, of 16 KiB each as a rule, that are read at once: some milliseconds."""

MAX_UNITS_IN_THREAD = 2048
"""The same in a thread of its own: as many as the long way reads in one batch."""

_ALTERNATION = re.compile(r"(?:(?<= )|\A)/\(([a-z_]\w*(?:\|[a-z_]\w*)+)\)/(?= |\Z)", re.IGNORECASE | re.ASCII)
_MAX_SHAPES, _MAX_CHARACTERS = 64, 300
_ShapeKey: TypeAlias = tuple[str, str, str, Viewer]


@dataclass(frozen=True, slots=True)
class KnownShape:
    """All that an answer needs besides its words, from a search of the same shape.

    Attributes
    ----------
    plan
        That of the search which was first.
    prepared
        Its text query, with stand-ins for words.
    repositories, state
        What it holds for, by identity: the repositories of the catalog, and what else a report speaks of.
    corpus
        The corpus of its targets, by identity. It isn't kept open by a shape.
    names
        The names of its repositories in lower case, where the pattern is looked for in them; else empty.
    infos
        Attributes of repositories by name.
    worktrees
        Repositories at HEAD whose work trees may differ.
    skipped
        What is never searched of them.
    excluded
        What the query leaves out.
    if_nothing
        The alert of a search without a match; None: it depends on the words.
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
    if_nothing: tuple[Alert | None] | None


class FastPath:
    """Answers of small searches over the repositories of this machine. Safe to share between threads.

    Parameters
    ----------
    repositories
        What is searched.
    """

    def __init__(self, repositories: IndexedRepositories) -> None:
        self._repositories = repositories
        self._shapes: LruCache[_ShapeKey, KnownShape] = LruCache(_MAX_SHAPES)

    def clear(self) -> None:
        """Forget all shapes."""
        self._shapes.clear()

    def knows(self, request: SearchRequest, viewer: Viewer) -> bool:
        """Return whether a search of the same shape has left what an answer needs."""
        parts = _split(request)
        return parts is not None and _key(request, parts[0], viewer) in self._shapes

    def answer(self, request: SearchRequest, viewer: Viewer, max_units: int = MAX_UNITS) -> list[Event] | None:
        """Return all events of a search; None where only the long way can tell.

        The caller has made sure that the repositories are as they were when the catalog last looked.
        """
        started_s = time.monotonic()
        parts = _split(request)
        shape = None if parts is None else self._shapes.get(_key(request, parts[0], viewer))
        if parts is None or shape is None or not self._is_valid(shape):
            return None
        result = self._search(shape, parts[1], max_units)
        # Where nothing matches so, but may in another case, the long way says so.
        if result is None or not (result.matches or (shape.if_nothing is not None and result.absent_in_any_case)):
            return None
        return self._events(shape, result.matches, started_s)

    def _search(self, shape: KnownShape, words: Sequence[str], max_units: int) -> SmallResult | None:
        searchable = self._repositories.store.open_corpus(shape.plan.targets)
        prepared = _with_words(shape, words)
        if searchable is None or searchable[1] is not shape.corpus() or prepared is None:
            return None
        group, corpus = searchable
        selection = corpus.selection(prepared.query.files, prepared.query.languages)
        try:
            return SmallSearch(group, corpus, selection, prepared, max_units).run()
        except (SourcelightError, OSError):
            return None  # the long way names what can't be read

    def _events(self, shape: KnownShape, matches: RawMatches | None, started_s: float) -> list[Event]:
        """Return the events in the order of `SearchExecution`."""
        tally = Tally()
        events: list[Event] = []
        if matches is not None:
            tally.add_raw(matches)
            infos = [shape.infos[name] for name in _names(matches) if name in shape.infos]
            events.append(RawMatchBatch(matches, tuple(infos)))
        selection = shape.plan.selection
        filters = tally.filters(
            exhaustive=True, forks=len(selection.forks_left_out), archived=len(selection.archived_left_out)
        )
        if filters:
            events.append(Filters(filters))
        skipped = shape.skipped
        if shape.worktrees:
            skipped += tuple(notices.changed_worktrees(self._repositories.changes.count(shape.worktrees)))
        events.append(
            Progress(
                done=True,
                match_count=tally.matches,
                duration_ms=round((time.monotonic() - started_s) * 1000),
                repositories_count=len(tally.repositories) or None,
                skipped=skipped + shape.excluded,
            )
        )
        if matches is None and shape.if_nothing is not None and shape.if_nothing[0] is not None:
            events.append(shape.if_nothing[0])
        events.append(Done())
        return events

    def learn(self, source: LocalSource) -> None:
        """Keep what a search, which looked everywhere, has prepared for others of its shape."""
        task, cached = source.task, source.cached_plan
        parts = _split(task.request)
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
        # Both depend on filters and parentheses, which all queries of a shape share.
        if notices.without_effect(shape) is not None or notices.read_as_text(shape) is not None:
            return
        text = vary(plan, shape.plan[0]).text
        prepared = None if text is None else prepare(text)
        if prepared is None or not (is_alternation or all(_is_literal(term) for term in prepared.terms)):
            return
        names = ""
        if finds_repositories(plan.alternative):
            names = "\n".join(target.repository.info.name for target in plan.targets).lower()
        summary = source.summary
        self._shapes.put(
            _key(task.request, parts[0], task.viewer),
            KnownShape(
                plan,
                prepared,
                self._repositories.catalog.repositories,
                self._state(),
                weakref.ref(searchable[1]),
                names,
                summary.infos,
                cached.worktrees,
                tuple(source.missing_work()),
                tuple(protocol.left_out(summary.forks, summary.archived)),
                None if is_alternation else _if_nothing(shape),
            ),
        )

    def _is_valid(self, shape: KnownShape) -> bool:
        return shape.repositories is self._repositories.catalog.repositories and all(
            mine is theirs for mine, theirs in zip(shape.state, self._state(), strict=True)
        )

    def _state(self) -> tuple[object, ...]:
        return self._repositories.catalog.skipped, self._repositories.report


def _split(request: SearchRequest) -> tuple[str, list[str]] | None:
    """Return the shape of a query and its words; None where it isn't one for the fast path.

    The words of an alternation, ``/(foo|bar)/``, have a shape of their own, as the parser has none for them.
    """
    query = request.query
    if not _is_plain(request):
        return None
    match = _ALTERNATION.search(query) if "/(" in query else None
    if match is None:
        return split_words(query)
    words = match[1].split("|")
    remaining = f"{query[: match.start()]}/(|{len(words)})/{query[match.end() :]}"
    return (remaining, words) if split_words(remaining) is None else None


def _is_alternation(plan: Plan, words: Sequence[str]) -> bool:
    pattern = plan.alternative.pattern
    if not isinstance(pattern, Pattern) or pattern.kind != "regexp" or pattern.negated:
        return False
    return pattern.value == f"({'|'.join(words)})"


def _is_plain(request: SearchRequest) -> bool:
    """Whether a request asks for all matches, as lines, of a query that is read in a moment."""
    return (
        request.display < 0
        and not request.chunk_matches
        and not request.cells
        and not request.trace
        and request.timeout_s is None
        and len(request.query) <= _MAX_CHARACTERS
    )


def _key(request: SearchRequest, shape: str, viewer: Viewer) -> _ShapeKey:
    # The viewer is part of the key, so what one account may see is never used for another.
    return shape, request.pattern_type, request.version, viewer


def _is_answerable(plan: Plan) -> bool:
    """Whether a plan asks for all files with some literals, and nothing else."""
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
        and alternative.count_limit(0) is None
        and not alternative.ranks_all()
        and not any("@" in leaf.value for leaf in leaves)
        # A name without the text of a NOT is a match.
        and not (in_names and any(leaf.negated for leaf in leaves))
        and not (in_names and not all(target.repository.info.name.isascii() for target in plan.targets))
    )


def _is_literal(term: FileTerm) -> bool:
    return term.pattern.kind == "literal" and term.visible and term.pattern.text.isascii()


def _with_words(shape: KnownShape, words: Sequence[str]) -> PreparedQuery | None:
    """Return the text query of a shape with other words; None where a repository's name holds one, or two are equal."""
    if shape.prepared.has_regexp:
        alternation = None if any(word.lower() in shape.names for word in words) else alternative_texts(words)
        term = shape.prepared.terms[0]
        if alternation is None:
            return None
        return replace(shape.prepared, terms=(FileTerm(alternation, term.content, term.path),))
    terms = []
    texts = set()
    for term in shape.prepared.terms:
        pattern: Any = term.pattern
        text = fill_text(pattern.text, words)
        if text.lower() in shape.names:
            return None
        texts.add(text)
        pattern = compile_pattern(text, kind="literal", case_sensitive=pattern.case_sensitive)
        terms.append(FileTerm(pattern, term.content, term.path))
    # Equal terms are one term, in a tree that is another one then.
    return replace(shape.prepared, terms=tuple(terms)) if len(texts) == len(terms) else None


def _if_nothing(shape: Query) -> tuple[Alert | None] | None:
    """Return what `notices.nothing_found` says of each query of a shape without a match in any case; None: it depends.

    The words of a shape are letters, digits and underscores, of which no advice speaks alone.
    """
    advices = advise(shape)
    messages = [notices.sentence(advice) for advice in advices if advice.kind in notices.SHOWN]
    has_proposal = any(True for _ in notices.candidates(shape, advices, lambda: False))
    if has_proposal or any(map(has_stand_in, messages)):
        return None
    return (Alert("No results", "\n".join(messages), "info") if messages else None,)


def _names(matches: RawMatches) -> list[str]:
    """Return the repositories of matches, in the order of their locations."""
    indexes = np.flatnonzero(np.bincount(matches.location_index)).tolist()
    return list(dict.fromkeys(matches.locations[index].repository for index in indexes))
