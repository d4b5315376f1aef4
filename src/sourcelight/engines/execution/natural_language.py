"""Questions in words over the repositories that a viewer may see: ranked chunks of code.

The text may hold the filters on repositories, revisions and files, and ``case:`` (negated ones too, and alternatives
such as ``(repo:a OR repo:b)``); what remains is the question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sourcelight.core.arrays import BoolArray
from sourcelight.core.batches.results import CallObserver, ToolProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import QueryError, SourcelightError
from sourcelight.core.query import Query, parse
from sourcelight.core.query.fields import ALIASES, FilterScope, names_of
from sourcelight.core.query.narrowing import add_filter
from sourcelight.core.query.parse import refuse_unsupported
from sourcelight.engines.execution.indexes.repositories import IndexedRepositories, label_of
from sourcelight.engines.execution.plan import SUPPORTED, make_plan
from sourcelight.engines.execution.scope.contexts import resolve_context
from sourcelight.engines.execution.scope.scope import ScopeResolver
from sourcelight.engines.execution.scope.selection import check_dates
from sourcelight.engines.search import Target, TextQuery
from sourcelight.engines.search.ranking import Ranking, Scorer
from sourcelight.engines.search.ranking.model import LOCAL_ONLY, RankLimits, StatsExchange
from sourcelight.engines.search.ranking.paths import kind_of
from sourcelight.engines.search.ranking.question import RankQuery, analyze
from sourcelight.engines.search.ranking.ranker import Ranker
from sourcelight.engines.search.ranking.terms.term_files import OpenedTerms
from sourcelight.repos import Viewer, resolve

__all__ = ["RankedSearch", "kind_of", "rank", "rank_nothing", "split_filters", "targets_of"]

_NARROWING = names_of(FilterScope.REPOSITORY, FilterScope.FILE) | {"case"}
_FIELDS = "|".join(spelling for spelling, name in ALIASES.items() if name in _NARROWING)
_VALUE = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|/(?:[^/\\\s]|\\.)+/(?=\s|$)|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)"""
# Two colons join the parts of a name, such as `File::Spec`.
_FILTER = re.compile(rf"(?<![\w:])-?(?:{_FIELDS}):(?!:){_VALUE}", re.IGNORECASE)
_GROUP = re.compile(
    rf"\(\s*+-?(?:{_FIELDS}):{_VALUE}(?:\s++(?:(?:OR|AND)\s*+)?-?(?:{_FIELDS}):{_VALUE})*\s*+\)", re.IGNORECASE
)
"""Filters in parentheses: ``(repo:a OR repo:b)``."""


@dataclass(frozen=True, slots=True)
class RankedSearch:
    """A ranked search.

    Parameters
    ----------
    text
        The question with its filters.
    limit
        Most chunks to give; None: all that share a word with the question.
    files
        Most files to give chunks of; None: no limit.
    per_file
        Most chunks of one file; None: no limit.
    targets
        Where to look instead of what the filters ``repo:`` and ``rev:`` choose; repositories that the viewer may not
        see are left out. None: from the filters.
    scorers
        Further lists of scores.
    exchange
        Where these repositories are a part of those asked: gives the numbers of all; no `scorers` then.
    question, filters
        When the question is analysed already: the question, and filters that hold beside `targets`; `text` is then
        not read.
    """

    text: str
    limit: int | None = None
    files: int | None = None
    per_file: int | None = None
    targets: Sequence[Target] | None = None
    scorers: Sequence[Scorer] = field(default=())
    exchange: StatsExchange = LOCAL_ONLY
    question: RankQuery | None = None
    filters: str = ""


def split_filters(text: str) -> tuple[str, str]:
    """Return the filters of a text, as a query, and the question without them."""
    groups = [match[0] for match in _GROUP.finditer(text)]
    remaining = _GROUP.sub(" ", text)
    filters = [match[0] for match in _FILTER.finditer(remaining)]
    return " ".join((*groups, *filters)), " ".join(_FILTER.sub(" ", remaining).split(" ")).strip()


def rank(
    repositories: IndexedRepositories,
    request: RankedSearch,
    viewer: Viewer,
    cancellation: Cancellation,
    observer: CallObserver | None = None,
) -> Ranking:
    """Rank chunks of code for a question; missing terms are built first and reported to `observer`.

    Ranks the repositories that `viewer` may see; `Ranking.failed` names repositories that can't be ranked.

    Raises
    ------
    QueryError
        For filters that can't be read, and a text without a word to look for.
    Cancelled
        After ``cancellation.cancel()``.
    """
    filters, question = _read_question(request)
    # Terms are built from the index. The wait for its first build is bounded, so some repositories may still lack one.
    for item in repositories.indexing.wait(cancellation):
        if observer is not None:
            observer(ToolProgress(item.title, 0, 0))

    queried_targets, failed = _filtered_targets(
        repositories, request, filters=filters, viewer=viewer, cancellation=cancellation
    )
    pending = set(repositories.pending([target for target, _ in queried_targets]))
    failed.update(dict.fromkeys(pending, "it is being indexed for the first time; ask again in a moment"))
    queried_targets = [pair for pair in queried_targets if pair[0].repository.name not in pending]
    targets = [target for target, _ in queried_targets]
    failed.update(repositories.update_terms(targets, cancellation, observer))
    open_terms: list[OpenedTerms] = []
    masks: list[BoolArray | None] = []
    for target, texts in queried_targets:
        try:
            opened_terms = repositories.terms.open(target)
            mask = _mask(opened_terms, texts)
        # One damaged index must not cost the answer over the others.
        except (SourcelightError, OSError) as exc:
            failed.setdefault(label_of(target), str(exc))
            continue

        open_terms.append(opened_terms)
        masks.append(mask)
        missing = opened_terms.snapshot.missing_count(mask)
        if missing:
            files = "1 of its files is" if missing == 1 else f"{missing:,} of its files are"
            failed.setdefault(label_of(target), f"{files} not in this clone, or can't be read")

    cancellation.check()
    limits = RankLimits(request.limit, request.files, request.per_file)
    ranking = Ranker(scorers=request.scorers, exchange=request.exchange).rank(
        question, open_terms, masks, limits, cancellation
    )
    return replace(ranking, failed=failed)


def rank_nothing(text: str) -> Ranking:
    """Rank no repository for a question; raises `QueryError` for a text without a word to look for."""
    _, question = _read_question(RankedSearch(text))
    return Ranker().rank(question, [], [], RankLimits(), Cancellation())


def _read_question(request: RankedSearch) -> tuple[str, RankQuery]:
    """Return the filters of a request, and its question."""
    filters, words = split_filters(request.text) if request.question is None else (request.filters, "")
    question = request.question or analyze(words)
    if not question.terms:
        raise QueryError("the query has no words", query=request.text, hint="describe the code in words")
    return filters, question


def _filtered_targets(
    repositories: IndexedRepositories,
    request: RankedSearch,
    *,
    filters: str,
    viewer: Viewer,
    cancellation: Cancellation,
) -> tuple[list[tuple[Target, tuple[TextQuery, ...]]], dict[str, str]]:
    """Return the targets with the file filters of each (one must pass), and repositories that can't be searched.

    Repositories come by name, a revision once however often it was requested.
    """
    query = filters_query(filters)
    repositories.refresh(cancellation)
    scopes = [item for part in query.plan for item in resolve_context(part, repositories.catalog.contexts, query.text)]
    for item in scopes:
        check_dates(item.alternative, query.text)
    scoper = ScopeResolver(repositories, viewer, cancellation)
    queries_by_target: dict[tuple[str, str], tuple[Target, list[TextQuery]]] = {}
    for scope in scoper.scopes(scopes):
        plan = make_plan(scope)
        for target in _visible_targets(repositories, request, plan.targets, viewer):
            text = plan.text or TextQuery(None)
            # By commit: `rev:main:v2` may be the same commit twice, and its chunks would then count twice.
            pair = queries_by_target.setdefault((target.repository.key, target.commit), (target, []))
            if text not in pair[1]:
                pair[1].append(text)

    ordered = sorted(queries_by_target.values(), key=lambda pair: (pair[0].repository.name, pair[0].revision))
    failed = dict(scoper.unsearchable) | dict(scoper.invalid)
    return [(target, tuple(texts)) for target, texts in ordered], failed


def filters_query(filters: str) -> Query:
    """Read filters as a query of files; raises `QueryError`."""
    # `type:file` excludes repository names from the plan.
    query = parse(add_filter(parse(filters, "regexp"), "type:file", at_end=True), "regexp")
    for part in query.plan:
        refuse_unsupported(part, SUPPORTED)
    return query


def _visible_targets(
    repositories: IndexedRepositories, request: RankedSearch, targets: Sequence[Target], viewer: Viewer
) -> Sequence[Target]:
    if request.targets is None:
        return targets
    seen = {repository.key for repository in repositories.catalog.visible(viewer)}
    return [target for target in request.targets if target.repository.key in seen]


def _mask(terms: OpenedTerms, texts: Sequence[TextQuery]) -> BoolArray | None:
    """Return a mask of the files that pass one of the filters, or None for all."""
    masks = [terms.snapshot.passing_files(text.files, text.languages) for text in texts]
    # None means all files, so one None among alternatives lets all files pass.
    narrow = [mask for mask in masks if mask is not None]
    return np.logical_or.reduce(narrow) if len(narrow) == len(masks) else None


def targets_of(
    repositories: IndexedRepositories, filters: str, viewer: Viewer, cancellation: Cancellation
) -> tuple[list[Target], dict[str, str]]:
    """Return the repositories and commits that filters choose, by name, and what can't be searched and why.

    Every target has its commit, so that later requests read the same text.
    """
    queried_targets, failed = _filtered_targets(
        repositories, RankedSearch(""), filters=filters, viewer=viewer, cancellation=cancellation
    )
    targets = []
    for target, _ in queried_targets:
        try:
            commit = target.commit or resolve(target.repository, target.revision or "HEAD")
        except SourcelightError as exc:
            failed[label_of(target)] = str(exc)
            continue
        targets.append(replace(target, commit=commit))

    return targets, failed
