"""Comparison of two definitions: their locations, their documentation, and the differences of their heads.

Bodies aren't compared. Where several things have a name, the two of one class count, else those of one file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sourcelight.core.markup import code, join_words
from sourcelight.core.query.file_kinds import is_test
from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.model import MAX_NAMED, FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries
from sourcelight.engines.deepsearch.lookups.defaults import value_at
from sourcelight.engines.deepsearch.lookups.definitions.documentation import summary_of
from sourcelight.engines.deepsearch.lookups.definitions.location import (
    DefinitionLocation,
    best_locations,
    head_at,
    location_text,
    noun_at,
)
from sourcelight.engines.deepsearch.lookups.definitions.search import find_definitions, with_overloads
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.source.values import parameter_names, parameters_of

_MAX_DESCRIBED = 6
_HEAD_LINES = 12
_BARE_METHOD = re.compile(r"\s*def\s+[\w.]+[?!]?\s*(?:#.*)?")


def find_purpose(work: Work, locations: Sequence[DefinitionLocation], name: str, queries: list[str]) -> Finding | None:
    """Return the documentation of the only documented definition of a name, or None."""
    described = [(location, _describe(work, name, location)) for location in best_locations(locations)[:_MAX_DESCRIBED]]
    documented = [(location, statement) for location, statement in described if "“" in statement.text]
    if len(documented) != 1 or len(described) == _MAX_DESCRIBED:
        return None

    location, statement = documented[0]
    finding = Finding(statement, "definition", queries=[join_queries(queries)])
    finding.quotes = [head_at(work.texts, location)]
    finding.details = [other for other_location, other in described if other_location is not location]
    finding.method.append("The sentence quotes its documentation. Its body was not read.")
    return finding


def find_parameters(
    work: Work, locations: Sequence[DefinitionLocation], name: str, queries: list[str]
) -> Finding | None:
    """Return the parameters that the heads of the functions of a name have, up to three; None if one can't be read."""
    texts = work.texts
    with_defaults = re.search(r"\bdefaults?\b", work.inquiry.words, re.IGNORECASE) is not None
    best = with_overloads(texts, best_locations(locations))
    if len(best) > MAX_NAMED or any(location.definition.kind not in FUNCTION_KINDS for location in best):
        return None

    parts: list[str] = []
    evidence: list[FileEvidence] = []
    for location in best:
        read = _parameters_at(texts, location, with_defaults=with_defaults)
        if read is None:
            return None

        definition = location.definition
        holder = f" of {code(definition.container)}" if len(best) > 1 and definition.container else ""
        parts.append(f"{_list_parameters(read.names)}, in {location_text(work, location)}{holder}")
        evidence.append(_cite_head(texts, location, read, name))

    text = f"{code(name)} has {parts[0]}"
    if len(parts) > 1:
        text = f"{code(name)} is the name of several functions: one has {'; one has '.join(parts)}"

    finding = Finding(Statement(text, tuple(evidence)), "parameters", queries=[join_queries(queries)])
    finding.quotes = [head_at(texts, best[0])]
    return finding


@dataclass(frozen=True, slots=True)
class _FunctionHead:
    """The names of a function's parameters, and the last line of its head."""

    names: Sequence[str]
    last_line: int


def _list_parameters(names: Sequence[str]) -> str:
    """Write parameters for a sentence: "the parameters `size` and `speed`"."""
    noun = "parameter" if len(names) == 1 else "parameters"
    return f"the {noun} {join_words([code(name) for name in names])}" if names else "no parameters"


def _cite_head(texts: FileTexts, location: DefinitionLocation, head: _FunctionHead, name: str) -> FileEvidence:
    start = location.definition.line
    return texts.evidence(location.target, location.path, start, head.last_line, "definition", 1.0, (name,))


def _parameters_at(
    texts: FileTexts, location: DefinitionLocation, *, with_defaults: bool = False
) -> _FunctionHead | None:
    """Return the parameters of a function, with their defaults if asked for; None if its head can't be read."""
    lines, definition = texts.lines(location.target, location.path), location.definition
    read = parameters_of(lines, definition.name, definition.line, location.path)
    if read is None:
        # A method of Ruby without parameters has no brackets.
        bare = location.path.endswith(".rb") and _BARE_METHOD.fullmatch(lines[definition.line - 1]) is not None
        return _FunctionHead([], definition.line) if bare else None

    names = parameter_names(read[0], location.path, is_method=_is_method(location))
    if names is None:
        return None
    values = {parameter.name: parameter.value for parameter in read[0] if parameter.value} if with_defaults else {}
    return _FunctionHead([f"{name} = {values[name]}" if name in values else name for name in names], read[1])


def _is_method(location: DefinitionLocation) -> bool:
    """Return whether a function has a class around it; Rust and others name the object in no other place."""
    is_python = location.path.endswith((".py", ".pyi"))
    return not is_python or location.definition.kind != "function" or bool(location.definition.container)


_BODY_LINES = 60
"""Lines of a function without a grammar that may use an option of a name."""


def find_lacking_parameter(
    work: Work, owners: list[DefinitionLocation], name: str, queries: list[str]
) -> Finding | None:
    """State that the only function of a name lacks a parameter; None if its header can't be read, or accepts any."""
    best = best_locations(owners)
    # A function of a test that is called as a thing of the program isn't meant.
    if (
        len(best) != 1
        or best[0].definition.kind not in FUNCTION_KINDS
        or not name.isidentifier()
        or re.search(rf"\bwhat {re.escape(name)}\b", work.inquiry.question, re.IGNORECASE) is not None
        or is_test(best[0].path)
    ):
        return None

    location, texts = best[0], work.texts
    definition, lines = location.definition, texts.lines(location.target, location.path)
    # Without a grammar, the end of a body isn't known.
    end = definition.end_line if definition.end_line > definition.line else definition.line + _BODY_LINES
    # A member of an options object isn't a parameter, but may be the subject of the question.
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    if any(word.search(line) for line in lines[definition.begin_line - 1 : end]):
        return None

    read = parameters_of(lines, definition.name, definition.line, location.path)
    names = None if read is None else parameter_names(read[0], location.path, is_method=_is_method(location))
    if read is None or names is None:
        return None

    # `*args`, `&block`, `...rest` and destructured objects accept names that the head doesn't list.
    if any(parameter.startswith(("*", "&", "...", "{")) or parameter == name for parameter in names):
        return None

    listing = f"its parameters are {join_words([code(parameter) for parameter in names])}" if names else "it has none"
    text = f"{code(definition.name)} has no parameter {code(name)}: {listing}, in {location_text(work, location)}"
    evidence = _cite_head(texts, location, _FunctionHead(names, read[1]), definition.name)
    return Finding(Statement(text, (evidence,)), "parameters", queries=[join_queries(queries)], notes=work.notes)


def find_difference(work: Work, first: str, second: str) -> Finding | None:
    """Return the definitions of two names; None if one has none, or the intended one is uncertain.

    Where several things have a name, those count that one class or file has of both names.
    """
    queries: list[str] = []
    candidates = [best_locations(find_definitions(work, name, queries, unparsed=True)) for name in (first, second)]
    pairs = _pairs_of(*candidates)
    if not pairs:
        return None

    pair = pairs[0]
    described = [_describe(work, name, location) for name, location in zip((first, second), pair, strict=True)]
    if any(len(locations) > 1 for locations in candidates) and pair[0].definition.container:
        owner = f" of {code(pair[0].definition.container)}"
        described = [
            replace(description, text=description.text.replace(" in `", f"{owner} in `", 1))
            for description in described
        ]

    text = "; ".join(statement.text for statement in described)
    if len(pairs) > 1:
        # The first of them is no more meant than the others.
        text += "; both names are defined elsewhere, too"
    headline = Statement(text, tuple(item for statement in described for item in statement.evidence))
    finding = Finding(headline, "difference", queries=[join_queries(queries)], notes=work.notes, heading="Differences")
    finding.quotes = [_short_head_at(work.texts, location) for location in pair]
    finding.details = _differences(work.texts, (first, second), pair)
    finding.method.append("The bodies of the definitions were not compared.")

    if len(pairs) > 1:
        locations = [
            f"{code(other[0].definition.container or other[0].path)} in {code(other[0].path)}" for other in pairs[1:]
        ]
        finding.method.append(f"Both names are also defined in {join_words(locations)}.")

    return finding


def _short_head_at(texts: FileTexts, location: DefinitionLocation) -> FileEvidence:
    """Make evidence of a head, of a long docstring with its first paragraph only: two have to fit on a screen."""
    quote = head_at(texts, location)
    below = location.definition.line - quote.begin_line + 1
    lines = quote.text.split("\n")
    blank = next((index for index, line in enumerate(lines) if index >= below and not line.strip()), len(lines))
    if len(lines) <= _HEAD_LINES or blank == len(lines):
        return quote

    end = quote.begin_line + blank - 1
    names = (location.definition.name,)
    return texts.evidence(location.target, location.path, quote.begin_line, end, "definition", 1.0, names)


def _pairs_of(
    firsts: Sequence[DefinitionLocation], seconds: Sequence[DefinitionLocation]
) -> list[tuple[DefinitionLocation, DefinitionLocation]]:
    """Return the pairs of definitions that two names may mean: of one class, else of one file, else the only ones."""
    if len(firsts) == 1 and len(seconds) == 1:
        return [(firsts[0], seconds[0])]

    for key in (_class_of, lambda location: (location.target.repository.key, location.path, "")):
        by_key = [{key(location): location for location in locations} for locations in (firsts, seconds)]
        counts = [Counter(map(key, locations)) for locations in (firsts, seconds)]
        # Two of one name in a file leave open which is meant.
        common_keys = [pair_key for pair_key in by_key[0] if counts[0][pair_key] == 1 and counts[1][pair_key] == 1]
        if common_keys:
            return [(by_key[0][pair_key], by_key[1][pair_key]) for pair_key in common_keys]

    return []


def _class_of(location: DefinitionLocation) -> tuple[str, str, str]:
    return location.target.repository.key, location.path, location.definition.container


def _describe(work: Work, name: str, location: DefinitionLocation) -> Statement:
    texts = work.texts
    candidate = None if location.definition.kind in FUNCTION_KINDS else value_at(texts, location)
    value = f" with the value {code(candidate.value[:120])}" if candidate is not None and candidate.value else ""
    evidence = [candidate.evidence[0] if candidate is not None and value else head_at(texts, location)]

    # Only text of the cited lines is quoted.
    summary = summary_of(
        texts.lines(location.target, location.path), location.definition, language_of(location.path) or ""
    )
    quoted = "" if summary is None else f": “{inline(summary.text, 200)}”"
    if (
        summary is not None
        and not evidence[0].begin_line <= summary.begin_line <= summary.end_line <= evidence[0].end_line
    ):
        target, path, names = location.target, location.path, (location.definition.name,)
        evidence.append(texts.evidence(target, path, summary.begin_line, summary.end_line, "definition", 1.0, names))

    noun = noun_at(texts, location) or "defined"
    return Statement(f"{code(name)} is {noun} in {location_text(work, location)}{value}{quoted}", tuple(evidence))


def _differences(texts: FileTexts, names: tuple[str, str], pair: Sequence[DefinitionLocation]) -> list[Statement]:
    """Compare the parameters of two functions."""
    if not all(location.definition.kind in FUNCTION_KINDS for location in pair):
        return []

    first, second = (_parameters_at(texts, location) for location in pair)
    if first is None or second is None:
        return []

    statements = []
    for name, location, head, other in zip(names, pair, (first, second), (second, first), strict=True):
        only_here = [parameter for parameter in head.names if parameter not in other.names]
        if only_here:
            text = f"Only {code(name)} has {_list_parameters(only_here)}"
            statements.append(Statement(text, (_cite_head(texts, location, head, name),)))

    return statements
