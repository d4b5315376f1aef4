"""Explain a query: its tree, the effect of each filter, what the index rules out, and likely mistakes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from sourcelight.core.boolean import fold
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.explanation import Advice, AlternativeMeaning, Explanation, FilterMeaning, PatternMeaning
from sourcelight.core.patterns.formula import RequiredTree
from sourcelight.core.query import Alternative, Predicate, Query, canonical
from sourcelight.core.query.fields import FIELDS, PATH_REGEXPS
from sourcelight.core.query.parse import effective_type
from sourcelight.core.query.syntax.nodes import filter_text, tree_text
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution.advice.proposals import advise
from sourcelight.engines.execution.plan import Plan
from sourcelight.engines.execution.protocol import Limits
from sourcelight.engines.search.estimate import Estimate, PatternShare, estimate
from sourcelight.engines.search.model import FileTerm
from sourcelight.engines.search.model import prepare as numbered
from sourcelight.engines.search.open_index import Opener

MAX_NAMES = 20
"""Repositories that an explanation names; it counts all of them."""

LOOK_S = 3.0
"""Seconds in which an explanation looks at indexes; later ones aren't counted."""


def explain(
    open_target: Opener,
    limits: Limits,
    query: Query,
    request: SearchRequest,
    plans: Sequence[Plan],
    cancellation: Cancellation,
) -> Explanation:
    """Explain `query`, whose alternatives resolved to `plans`; reads indexes but no text."""
    # An explanation must be quick. After the time limit, its numbers cover the repositories so far.
    cancellation.limit(LOOK_S)
    return Explanation(
        query=query.text,
        pattern_type=query.pattern_type,
        pattern_type_source=_source(query, request),
        tree=canonical(query.root),
        tree_text=tree_text(query.root),
        alternatives=tuple(
            _alternative(open_target, limits, request=request, plan=plan, cancellation=cancellation) for plan in plans
        ),
        warnings=_warnings(query, plans),
    )


def combine_explanations(
    limits: Limits, query: Query, request: SearchRequest, plans: Sequence[Plan], parts: Sequence[Explanation]
) -> Explanation:
    """Combine explanations of `query`, each over some of the repositories.

    `plans` select the repositories, without their indexes. `parts` has at least one item.
    """
    # Each part has the same alternatives in the same order, as all come from the same query.
    meanings = zip(*(part.alternatives for part in parts), strict=True)
    alternatives = []
    for plan, same_alternative in zip(plans, meanings, strict=True):
        alternatives.append(
            replace(
                _add_up(same_alternative),
                forks_left_out=len(plan.selection.forks_left_out),
                archived_left_out=len(plan.selection.archived_left_out),
                **_bounds(limits, request, plan.alternative),
            )
        )

    return replace(
        parts[0],
        pattern_type_source=_source(query, request),
        alternatives=tuple(alternatives),
        warnings=_warnings(query, plans),
    )


def _warnings(query: Query, plans: Sequence[Plan]) -> tuple[Advice, ...]:
    """Return likely mistakes, each once."""
    warnings = list(advise(query))
    for plan in plans:
        warnings += _plan_advice(plan)
    return tuple(dict.fromkeys(warnings))


def _bounds(limits: Limits, request: SearchRequest, alternative: Alternative) -> dict[str, Any]:
    has_count = request.default_matches is not None or alternative.first("count") is not None
    return {
        "limit": alternative.count_limit(request.default_matches or limits.matches),
        "timeout_s": limits.timeout_s(alternative.timeout_s(), has_count=has_count),
    }


def _add_up(parts: Sequence[AlternativeMeaning]) -> AlternativeMeaning:
    """Add up the numbers of one alternative over several sets of repositories."""
    # A worker without a repository of this query has compiled no pattern, so its lists are shorter.
    nonempty = [part for part in parts if part.repositories] or [parts[0]]
    names = sorted(chain.from_iterable(part.names for part in parts))
    without_index = chain.from_iterable(part.without_index for part in parts)
    return replace(
        nonempty[0],
        repositories=sum(part.repositories for part in parts),
        repository_hits=sum(part.repository_hits for part in parts),
        files=sum(part.files for part in parts),
        passing=sum(part.passing for part in parts),
        read_units=sum(part.read_units for part in parts),
        units=sum(part.units for part in parts),
        read_bytes=sum(part.read_bytes for part in parts),
        text_bytes=sum(part.text_bytes for part in parts),
        looked_at=sum(part.looked_at for part in parts),
        names=tuple(names[:MAX_NAMES]),
        filters=tuple(map(_add_up_filter, *(part.filters for part in nonempty))),
        patterns=tuple(map(_add_up_pattern, *(part.patterns for part in nonempty))),
        without_index=tuple(dict.fromkeys(without_index)),
    )


def _add_up_filter(*meanings: FilterMeaning) -> FilterMeaning:
    """Add up the numbers of one filter."""
    return replace(
        meanings[0],
        files=_sum(meaning.files for meaning in meanings),
        repositories=_sum(meaning.repositories for meaning in meanings),
    )


def _add_up_pattern(*meanings: PatternMeaning) -> PatternMeaning:
    """Add up the numbers of one pattern."""
    return replace(
        meanings[0],
        candidate_units=sum(meaning.candidate_units for meaning in meanings),
        candidate_bytes=sum(meaning.candidate_bytes for meaning in meanings),
        units=sum(meaning.units for meaning in meanings),
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    """Add up the numbers that are known; None without any."""
    known_numbers = [number for number in numbers if number is not None]
    return sum(known_numbers) if known_numbers else None


def _source(query: Query, request: SearchRequest) -> str:
    pattern_types = (part.first("patterntype") for part in query.plan)
    if any(item is not None and effective_type(item.value) is not None for item in pattern_types):
        return "patternType: in the query"
    default = replace(request, pattern_type="").effective_pattern_type
    if request.effective_pattern_type == default:
        if request.version == "V3":
            return "the default"
        return f"the default of version {request.version}"
    return "requested beside the query"


def _plan_advice(plan: Plan) -> list[Advice]:
    if plan.selection.repositories:
        return []
    left_out = len(plan.selection.forks_left_out) + len(plan.selection.archived_left_out)
    fix = "add fork:yes archived:yes" if left_out else "check the repo: filters"
    return [Advice("no-repositories", "no repository passes the filters", fix)]


def _alternative(
    open_target: Opener, limits: Limits, *, request: SearchRequest, plan: Plan, cancellation: Cancellation
) -> AlternativeMeaning:
    alternative = plan.alternative
    query = plan.text
    if query is None and plan.symbols is not None:
        query = replace(plan.symbols, tree=None)  # names of definitions are read, no text

    sums = Estimate() if query is None else estimate(open_target, plan.targets, query, cancellation)
    atoms = () if query is None else numbered(query).terms
    patterns = [_pattern(atom, share, sums.units) for atom, share in zip(atoms, sums.candidates, strict=False)]
    if plan.symbols is not None:
        patterns += [_pattern_of_field(atom, "symbol") for atom in numbered(plan.symbols).terms]

    if plan.commits is not None:
        field, commit_patterns = plan.commits.terms()
        patterns += [_pattern_of_field(FileTerm(pattern), field) for pattern in commit_patterns]

    names = sorted({target.repository.info.name for target in plan.targets})
    return AlternativeMeaning(
        types=alternative.types,
        filters=tuple(_filters(alternative, sums, len(names))),
        patterns=tuple(patterns),
        repositories=len(names),
        names=tuple(names[:MAX_NAMES]),
        forks_left_out=len(plan.selection.forks_left_out),
        archived_left_out=len(plan.selection.archived_left_out),
        repository_hits=len(plan.repository_hits),
        files=sums.files,
        passing=sums.passing_files,
        read_units=sums.to_read.units,
        units=sums.units,
        read_bytes=sums.to_read.size_bytes,
        text_bytes=sums.size_bytes,
        **_bounds(limits, request, alternative),
        select=".".join(alternative.select()),
        phrase=alternative.boost or "",
        looked_at=sums.repositories,
        without_index=tuple(sums.without_index),
    )


def _filters(alternative: Alternative, sums: Estimate, repositories: int) -> list[FilterMeaning]:
    files, languages = iter(sums.file_filters), iter(sums.language_filters)
    meanings = []
    for item in alternative.filters:
        text = filter_text(item)
        sign = "not " if item.negated else ""
        if isinstance(item, Predicate):
            meanings.append(FilterMeaning(text, _predicate_text(item)))
        elif item.name == "file" and item.value:
            verb = "do not match" if item.negated else "match"
            meaning = f"paths that {verb} /{item.value}/"
            meanings.append(FilterMeaning(text, meaning, next(files, None)))
        elif item.name in PATH_REGEXPS and item.value:
            meanings.append(FilterMeaning(text, f"{sign}{FIELDS[item.name].meaning}", next(files, None)))
        elif item.name == "lang" and item.value:
            meanings.append(FilterMeaning(text, f"files {sign}in {item.value}", next(languages, None)))
        elif item.name == "repo":
            revisions = "" if item.negated else ", ".join(alternative.revisions(item))
            suffix = f" at {revisions}" if revisions else ""
            meaning = f"repositories {sign}named /{item.value}/{suffix}"
            meanings.append(FilterMeaning(text, meaning, repositories=repositories))
        else:
            meanings.append(FilterMeaning(text, FIELDS[item.name].meaning))

    return meanings


def _predicate_text(item: Predicate) -> str:
    arguments = " ".join(f"{key} {value}" for key, value in item.args.items() if value is not True)
    if item.on == "rev":
        return f"the newest commit before {item.args['time']} behind {item.args['rev']}"
    kind = "repositories" if item.on == "repo" else "files"
    subject = item.name.removeprefix("has.").replace(".", " ")
    value = arguments.removeprefix(subject).strip() or "anyone"
    return f"{kind} {'without' if item.negated else 'with'} {subject}: {value}"


def _pattern_of_field(atom: FileTerm, field: str) -> PatternMeaning:
    """Return a pattern that another field than contents and paths is searched for, for which no unit is read."""
    return replace(_pattern(atom, PatternShare(), 0), fields=(field,))


def _pattern(atom: FileTerm, share: PatternShare, units: int) -> PatternMeaning:
    pattern = atom.pattern
    fields = ("content",) if atom.content else ()
    if atom.path:
        fields = (*fields, "path")

    return PatternMeaning(
        text=pattern.text,
        kind=pattern.kind,
        fields=fields,
        required=formula_text(pattern.required),
        evaluated="document" if pattern.multi_line else "line",
        candidate_units=share.units,
        candidate_bytes=share.size_bytes,
        units=units,
    )


def formula_text(tree: RequiredTree) -> str:
    """Describe the text that every match contains; empty when unknown."""
    return fold(
        tree,
        lambda leaf: json.dumps(leaf.text.decode(errors="replace"), ensure_ascii=False),
        all_of=lambda texts: _join(texts, " AND "),
        any_of=lambda texts: _join(texts, " OR ") or "(nothing matches)",
    )


def _join(texts: Iterable[str], word: str) -> str:
    return word.join(map(_in_parentheses, texts))


def _in_parentheses(text: str) -> str:
    return f"({text})" if " AND " in text or " OR " in text else text
