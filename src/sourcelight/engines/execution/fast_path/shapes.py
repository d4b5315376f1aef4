"""Shapes of searches: what an earlier search of the same shape prepared, and the words of a new one in it."""

from __future__ import annotations

import functools
import re
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sourcelight.core.batches import RepositoryInfo
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.patterns.alternative_texts import alternative_texts
from sourcelight.core.query import Pattern, Query
from sourcelight.core.query.alternatives import patterns_of
from sourcelight.core.query.shapes import fill_text, split_query
from sourcelight.core.wire.events import Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution.advice.notices import ShapeAdvice, advice_of_shape
from sourcelight.engines.execution.plan import Plan, can_vary, finds_repositories, is_brief, vary
from sourcelight.engines.execution.results.select import FileKey, file_key
from sourcelight.engines.execution.scope.selection import predicates_of
from sourcelight.engines.search import Target
from sourcelight.engines.search.model import FileTerm, PreparedQuery, prepare
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.paths import MAX_LISTED_PATHS
from sourcelight.repos import Repository, Viewer

MAX_CHARACTERS = 300
"""Characters of a query up to which it has a shape."""

_REPOSITORY = re.compile(r"(?<!\S)repo:(?!has|contains)\S+")
"""A filter on repositories, and no predicate, which may have to read files."""

ShapeKey: TypeAlias = tuple[str, str, str, Viewer]


@dataclass(frozen=True)
class SearchableShape:
    """Everything that a search needs except its words, from an earlier search of the same shape.

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
    query
        Query with stand-ins for words; None for an alternation.
    """

    plan: Plan
    prepared: PreparedQuery
    repositories: tuple[Repository, ...]
    state: tuple[object, ...]
    corpus: weakref.ref[Corpus]
    names: str
    query: Query | None

    @functools.cached_property
    def targets(self) -> Mapping[FileKey, Target]:
        """Targets by repository and revision."""
        return {file_key(target): target for target in self.plan.targets}

    @functools.cached_property
    def advice(self) -> ShapeAdvice | None:
        """Advice for a search without a match; None if only a query with words has it."""
        # Made when a search first needs it: it takes longer than a search, and most searches have matches.
        return None if self.query is None else advice_of_shape(self.query)


@dataclass(frozen=True)
class KnownShape:
    """Everything that an answer needs except its words, from an earlier search of the same shape.

    Attributes
    ----------
    search
        What finds the matches.
    infos
        Attributes of repositories by name.
    worktrees
        Repositories at HEAD whose work trees may differ.
    skipped
        Parts of the repositories that are never searched.
    excluded
        Repositories that the query leaves out.
    """

    search: SearchableShape
    infos: Mapping[str, RepositoryInfo]
    worktrees: Sequence[Repository]
    skipped: tuple[Skipped, ...]
    excluded: tuple[Skipped, ...]

    @property
    def boost(self) -> str | None:
        """Phrase that lifts files, with stand-ins for words."""
        return None if self.search.query is None else self.search.query.plan[0].boost


def split_request(request: SearchRequest) -> tuple[str, list[str]] | None:
    """Return the shape of a query and its words, or None if the fast path doesn't support the request."""
    asks_for_lines = not request.chunk_matches and not request.trace and request.timeout_s is None
    return split_query(request.query) if asks_for_lines and len(request.query) <= MAX_CHARACTERS else None


def family_of(key: ShapeKey) -> ShapeKey | None:
    """Return what a shape has in common with those of other repositories; None without one ``repo:`` filter."""
    shape, count = _REPOSITORY.subn("repo:", key[0])
    # A revision has to be indexed before it is searched, and an alternation may take long to compile.
    is_simple = count == 1 and "@" not in key[0] and "/(|" not in shape
    return (shape, *key[1:]) if is_simple else None


def is_quick_to_vary(shape: SearchableShape) -> bool:
    """Return whether a search of the same repositories with other filters on files is planned in a moment."""
    corpus, alternative = shape.corpus(), shape.plan.alternative
    # A filter on paths is matched against all of them.
    has_few_files = corpus is not None and corpus.files <= MAX_LISTED_PATHS
    return (
        has_few_files and not predicates_of(alternative) and not any(target.revision for target in shape.plan.targets)
    )


def is_alternation(plan: Plan, words: Sequence[str]) -> bool:
    """Return whether the pattern of a plan is an alternation of words."""
    pattern = plan.alternative.pattern
    if not isinstance(pattern, Pattern) or pattern.kind != "regexp" or pattern.negated:
        return False
    return pattern.value == f"({'|'.join(words)})"


def shape_key(request: SearchRequest, shape: str, viewer: Viewer) -> ShapeKey:
    """Return the key of a shape in caches."""
    # The viewer is part of the key, so what one account may see is never used for another.
    return shape, request.pattern_type, request.version, viewer


def is_answerable(plan: Plan) -> bool:
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


def prepare_shape(plan: Plan, shape: Query, *, is_alternation: bool) -> PreparedQuery | None:
    """Return the text query of a shape with stand-ins for words, or None if it has more than literals."""
    text = vary(plan, shape.plan[0]).text
    if text is None or (is_alternation and plan.alternative.boost):
        return None
    prepared = prepare(text)
    return prepared if is_alternation or all(map(_is_literal, prepared.terms)) else None


def matched_names(plan: Plan) -> str:
    """Return the names of repositories that the pattern is matched against, in lower case; empty if it isn't."""
    if not finds_repositories(plan.alternative):
        return ""
    return "\n".join(target.repository.info.name for target in plan.targets).lower()


def _is_literal(term: FileTerm) -> bool:
    return term.pattern.kind == "literal" and term.visible and term.pattern.text.isascii()


def with_words(shape: SearchableShape, words: Sequence[str]) -> PreparedQuery | None:
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
