"""What two definitions are, side by side: where they stand, what they say of themselves, how their heads differ."""

from __future__ import annotations

from collections.abc import Sequence

from sourcelight.core.markup import code, join_words
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.surroundings import first_sentence
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries
from sourcelight.engines.deepsearch.lookups.defaults import value_at
from sourcelight.engines.deepsearch.lookups.model import Finding, Statement
from sourcelight.engines.deepsearch.lookups.names import (
    NamedPlace,
    find_definitions,
    head_of_place,
    noun_with_article,
    with_repository,
)
from sourcelight.engines.deepsearch.lookups.values import parameter_names, parameters_of
from sourcelight.engines.deepsearch.markdown import inline

_FUNCTIONS = frozenset({"function", "method", "constructor"})


def find_purpose(work: Work, places: Sequence[NamedPlace], name: str, queries: list[str]) -> Finding | None:
    """Return what the documentation of the one definition of a name says that it is; None without any."""
    lowest = min(place.rank for place in places)
    best = [place for place in places if place.rank == lowest]
    texts = FileTexts(work.context)
    described = _describe(work, texts, name, best[0])
    if len(best) != 1 or "“" not in described.text:
        return None
    finding = Finding(described, "definition", queries=[join_queries(queries)])
    finding.quotes = [head_of_place(texts, best[0])]
    finding.method.append("The sentence is that of its documentation; its body was not read.")
    return finding


def find_parameters(work: Work, places: Sequence[NamedPlace], name: str, queries: list[str]) -> Finding | None:
    """Return the parameters that the head of the one function of a name has."""
    lowest = min(place.rank for place in places)
    best = [place for place in places if place.rank == lowest]
    if len(best) != 1 or best[0].definition.kind not in _FUNCTIONS:
        return None
    place, texts = best[0], FileTexts(work.context)
    read = parameters_of(
        texts.lines(place.target, place.path), place.definition.name, place.definition.line, place.path
    )
    if read is None:
        return None
    names = parameter_names(read[0], place.path)
    if names is None:
        return None
    listed = f"the parameter{'s' * (len(names) > 1)} {join_words([code(each) for each in names])}"
    evidence = texts.evidence(
        place.target, place.path, place.definition.line, read[1], "definition", 1.0, (place.definition.name,)
    )
    where = f"{code(place.path)}{with_repository(work, place)}, line {place.definition.line:,}"
    finding = Finding(
        Statement(f"{code(name)} has {listed if names else 'no parameters'}, in {where}", (evidence,)),
        "parameters",
        queries=[join_queries(queries)],
    )
    finding.quotes = [head_of_place(texts, place)]
    return finding


def find_difference(work: Work, first: str, second: str, notes: list[str]) -> Finding | None:
    """Return what two names are defined as; None if one of them is not, or several things have its name."""
    queries: list[str] = []
    pair: list[NamedPlace] = []
    for name in (first, second):
        places = find_definitions(work, name, "", notes, queries)
        lowest = min((place.rank for place in places), default=0)
        best = [place for place in places if place.rank == lowest]
        if len(best) != 1:
            return None
        pair.append(best[0])
    texts = FileTexts(work.context)
    described = [_describe(work, texts, name, place) for name, place in zip((first, second), pair, strict=True)]
    headline = Statement(
        "; ".join(statement.text for statement in described),
        tuple(item for statement in described for item in statement.evidence),
    )
    finding = Finding(headline, "difference", queries=[join_queries(queries)], notes=notes, heading="How they differ")
    finding.quotes = [head_of_place(texts, place) for place in pair]
    finding.places = _differences(texts, (first, second), pair)
    finding.method.append("What the definitions do in their bodies was not compared.")
    return finding


def _describe(work: Work, texts: FileTexts, name: str, place: NamedPlace) -> Statement:
    lines = texts.lines(place.target, place.path)
    head = head_of_place(texts, place)
    summary = first_sentence(lines, place.definition)
    # Only text of the cited lines is quoted.
    quoted = (
        f": “{inline(summary, 200)}”"
        if summary and " ".join(summary.split()[:3]) in " ".join(head.text.split())
        else ""
    )
    candidate = value_at(texts, place)
    value = f" with the value {code(candidate.value[:120])}" if candidate is not None and candidate.value else ""
    evidence = candidate.evidence[0] if candidate is not None and value else head
    where = f"{code(place.path)}{with_repository(work, place)}, line {place.definition.line:,}"
    return Statement(
        f"{code(name)} is {noun_with_article(place.definition, place.path)} in {where}{value}{quoted}", (evidence,)
    )


def _differences(texts: FileTexts, names: tuple[str, str], pair: list[NamedPlace]) -> list[Statement]:
    """Compare the parameters of two functions."""
    if not all(place.definition.kind in _FUNCTIONS for place in pair):
        return []
    read = [
        parameters_of(texts.lines(place.target, place.path), place.definition.name, place.definition.line, place.path)
        for place in pair
    ]
    if read[0] is None or read[1] is None:
        return []
    lists = [
        parameter_names(parameters, place.path) for (parameters, _), place in zip((read[0], read[1]), pair, strict=True)
    ]
    if lists[0] is None or lists[1] is None:
        return []
    own_names, other_names = lists[0], lists[1]
    statements = []
    for own, other, name, place, (_, last) in zip(
        (own_names, other_names), (other_names, own_names), names, pair, (read[0], read[1]), strict=True
    ):
        only_here = [parameter for parameter in own if parameter not in other]
        if only_here:
            evidence = texts.evidence(place.target, place.path, place.definition.line, last, "definition", 1.0, (name,))
            listed = join_words([code(parameter) for parameter in only_here])
            statements.append(
                Statement(f"{code(name)} alone has the parameter{'s' * (len(only_here) > 1)} {listed}", (evidence,))
            )
    return statements
