"""Answer a question for a value by the only line that covers all of its words, and whose value is of its kind.

The order of trial: a line that the words describe, unless a shell sets its value once more; the default that a document
states, if no code contradicts it; the default of the only parameter that is measured in the requested unit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.core.markup import code
from sourcelight.engines.deepsearch.evidence.model import MAX_NAMED, FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.lookups.defaults import follow_constant, state_values
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation, ValueCandidate, verb_after
from sourcelight.engines.deepsearch.lookups.prose_values.documents import contradicts, find_stated, is_null
from sourcelight.engines.deepsearch.lookups.prose_values.measured import find_measured_default
from sourcelight.engines.deepsearch.lookups.prose_values.names import default_function, last_part, owner_of
from sourcelight.engines.deepsearch.lookups.prose_values.question import read_value_question
from sourcelight.engines.deepsearch.lookups.prose_values.surroundings import is_of_case, is_set_in_shell
from sourcelight.engines.deepsearch.lookups.setting_defaults import default_constants, find_phrase_constant
from sourcelight.engines.deepsearch.lookups.value_lines.candidates import ValueLine, find_value_lines
from sourcelight.engines.deepsearch.lookups.value_lines.fits import ValueFit, fit_line, is_of_setting, verbs_in
from sourcelight.engines.deepsearch.lookups.value_lines.kinds import is_of_kind
from sourcelight.engines.deepsearch.lookups.value_lines.request import ValueRequest, loosened_requests, read_request
from sourcelight.engines.deepsearch.lookups.value_lines.words import covered_by
from sourcelight.engines.deepsearch.markdown import inline

_MAX_QUOTE = 160
"""Characters of a quoted text."""

_MAX_NAME = 3
"""Words of the name of a default."""
_ABOVE, _BELOW = 14, 30
"""Lines above and below a value that may have its texts."""

_GENERAL_VERBS = frozenset({"collected", "gathered", "connect", "connects", "serve", "serves", "registered", "loaded"})
"""Verbs of what anything is for: statistics are collected, and ports are connected to."""
_PAIR = re.compile(r"\b(\w+) and (?:the )?(\w+)\b")
_ALTERNATIVE = re.compile(r"\bor\b", re.IGNORECASE)
"""A choice in a question: "is it red or blue"."""


_OF_COUNTS = re.compile(
    r"\W*how many (?:[\w.+#*-]+ ){0,2}?(?:files?|director(?:y|ies)|folders?|class(?:es)?|functions?|methods?|tests?"
    r"|commits?|authors?|contributors?|modules?|packages?|dependencies) (?:are|is|does|do|have|has|were)\b"
    r"(?!.*\b(?:default|max(?:imum)?|min(?:imum)?|limit\w*|at (?:most|least|once)|up to|allowed|kept|shown|per)\b)",
    re.IGNORECASE,
)
"""Questions for a number of things that a repository has, which no value in it answers."""


def find_described_value(work: Work) -> Finding | None:
    """Return the value that the words of a question describe; None for none, or for several that fit."""
    if _OF_COUNTS.match(work.inquiry.words) is not None:
        return None
    request = read_request(work.inquiry.words, work.inquiry.pins.short_names)
    work = work.without_notes()
    if request is None:
        return find_phrase_constant(work)

    queries: list[str] = []
    lines, best = _find_best(work, request, queries)
    if not best and (finding := _find_documented(work, request, lines, queries)) is not None:
        return finding
    for other in loosened_requests(request) if not best else ():
        best = best or _find_best(work, other, queries)[1]
    if best:
        return _state(work, best, queries)
    return _find_constant(work, request, queries) or find_phrase_constant(work)


def _find_best(work: Work, request: ValueRequest, queries: list[str]) -> tuple[list[ValueLine], list[ValueFit]]:
    """Return the lines that may be meant, and the fits of the only value that is."""
    lines = find_value_lines(work, request, queries)
    fitting = [fit for line in _resolve_constants(lines) if (fit := fit_line(request, line)) is not None]
    best = _fits_of_best_value(fitting)
    matches = [line.match for line in lines if line.match is not None]
    is_set = bool(best) and best[0].line.match is not None and is_set_in_shell(best[0].line.match, matches)
    match = best[0].line.match if best else None
    is_set = is_set or (request.is_default and match is not None and is_of_case(work.texts, match))
    is_other = is_set or _is_half(work.inquiry.words, request, best)
    is_other = is_other or _is_repeated(work.inquiry.words, request, best) or _misses_verb(request, lines, best)
    return lines, [] if is_other else best


def _find_constant(work: Work, request: ValueRequest, queries: list[str]) -> Finding | None:
    """Return the value of the only constant that is called the default of all words, in a repository of any size."""
    if not request.is_default or request.names or request.setting or len(request.words) > _MAX_NAME:
        return None
    candidates = default_constants(work, "_".join(request.words), queries)
    values = {candidate.value for candidate in candidates if not candidate.rank}
    if len(values) != 1 or not is_of_kind(request.kind, next(iter(values))):
        return None
    finding = state_values(work, candidates, candidates[0].subject, queries, verb="is set to")
    follow_constant(work, candidates, finding)
    return finding


def _is_half(question: str, request: ValueRequest, best: Sequence[ValueFit]) -> bool:
    """Return whether a question asks for two values, as in "enclosure and escape", and a name is that of one."""
    if not best or best[0].is_named:
        return False
    pairs = [{match[1], match[2]} for match in _PAIR.finditer(question.lower())]
    name = best[0].line.name
    return any(pair <= {*request.words} and len(covered_by(tuple(pair), name)) == 1 for pair in pairs)


def _is_repeated(question: str, request: ValueRequest, best: Sequence[ValueFit]) -> bool:
    """Return whether a value is in the question, so that it can't be what is asked for; a choice may have it."""
    if request.kind != "thing" or not best or _ALTERNATIVE.search(question) is not None:
        return False
    value, line = best[0].value, best[0].line
    # The name alone may have all words: `deno_executable` is "deno".
    is_of_name = len(request.words) > 1 and len(covered_by(request.words, line.name)) == len(request.words)
    return len(value) > 1 and value in question.casefold() and not is_of_name


def _find_documented(
    work: Work, request: ValueRequest, lines: Sequence[ValueLine], queries: list[str]
) -> Finding | None:
    """Return the default that a document states, or that of the only parameter that a question describes."""
    question = read_value_question(work.inquiry.words, work.inquiry.pins.short_names)
    if question is None or not question.is_default or question.names:
        return None

    documented = find_stated(work, question, queries)
    value, subject = (documented[0].value, documented[0].subject) if documented else ("", "")
    # A document that is older than the code proves nothing.
    is_current = not any(
        line.is_default and code(line.name.lstrip("@$")) in subject and contradicts(value, line.value) for line in lines
    )
    if value and is_current and not is_null(value) and is_of_kind(request.kind, value):
        return state_values(work, documented, subject, queries, verb="is")
    return find_measured_default(work, question, queries)


def _misses_verb(request: ValueRequest, lines: Sequence[ValueLine], best: Sequence[ValueFit]) -> bool:
    """Return whether the verb of a question points at another line, or is all that says which thing is meant.

    "How many requests are pipelined" means a line about pipelining rather than one about requests.
    """
    if not best or best[0].is_named or is_of_setting(request, best[0].line):
        return False
    verbs_of_lines = frozenset().union(*(verbs_in(request, line) for line in lines))
    has_one_word = bool(request.verbs - _GENERAL_VERBS) and not request.setting and len(request.words) == 1
    return bool(verbs_of_lines - best[0].verbs - _GENERAL_VERBS) or (has_one_word and not best[0].verbs)


def _resolve_constants(lines: Sequence[ValueLine]) -> list[ValueLine]:
    """Return lines without options whose value is a constant of another line, which gets their texts."""
    by_name: dict[str, list[ValueLine]] = {}
    for line in lines:
        by_name.setdefault(line.name, []).append(line)

    remaining = []
    for line in lines:
        name = last_part(line.value) if re.fullmatch(r"[A-Za-z_][\w.:]*", line.value) else ""
        origins = by_name.get(name, []) if name and name != line.name else []
        if not origins:
            remaining.append(line)
        for origin in origins:
            origin.texts += [(0, text) for _, text in line.texts]
            origin.is_default = origin.is_default or line.is_default
    return remaining


def _fits_of_best_value(fits: Sequence[ValueFit]) -> list[ValueFit]:
    """Return the fits of the best value; none if another value may be meant as well."""
    candidates = [fit for fit in fits if fit.is_candidate]
    # A name in the question is meant before all that its words describe, and so is one that is their default.
    pool = [fit for fit in candidates if fit.is_named] or [fit for fit in candidates if fit.is_exact] or candidates
    if not pool:
        return []

    best = max(pool, key=lambda fit: fit.quality)
    rivals = [
        fit
        for fit in (pool if best.is_exact else fits)
        if (fit.is_named or not best.is_named) and fit.is_rival_of(best)
    ]
    if rivals:
        return [best, *rivals] if _are_of_defaults([best, *rivals]) else []
    return [best, *(fit for fit in pool if fit is not best and fit.value == best.value and fit.covered == best.covered)]


def _are_of_defaults(fits: Sequence[ValueFit]) -> bool:
    """Return whether fits of one name are in functions of their own that are called defaults: of a LAN, of a WAN."""
    functions = [default_function(fit.line.match.holders) if fit.line.match is not None else None for fit in fits]
    names = {function.name for function in functions if function is not None}
    is_one_name = len({fit.line.name for fit in fits}) == 1
    return is_one_name and None not in functions and len(names) == len(fits) <= MAX_NAMED


def _state(work: Work, best: Sequence[ValueFit], queries: list[str]) -> Finding:
    """Write the value with its line, and the comment or help text that has words of the question."""
    first = best[0]
    candidates = [_candidate(work.texts, fit.line) for fit in best if fit.line.name == first.line.name]
    subject = candidates[0].subject
    finding = state_values(work, candidates, subject, queries, verb=candidates[0].verb)
    number, quote = _quote(first)
    if quote:
        evidence = finding.headline.evidence
        is_cited = any(
            isinstance(item, FileEvidence) and item.begin_line <= number <= item.end_line for item in evidence
        )
        if not is_cited:
            line = first.line
            citation = work.texts.evidence(line.target, line.path, number, number, "definition", 1.0, (line.name,))
            evidence = (*evidence, citation)
        finding.headline = Statement(f"{finding.headline.text}; its description says “{inline(quote)}”", evidence)
    follow_constant(work, candidates, finding)
    return finding


def _quote(fit: ValueFit) -> tuple[int, str]:
    """Return the text of a line that has most of the words that only texts have, and its line; empty if none has."""
    if not fit.in_texts:
        return 0, ""

    texts = [(number, text) for number, text in fit.line.texts if number]
    number, best = max(texts, key=lambda item: len(covered_by(tuple(fit.in_texts), item[1])), default=(0, ""))
    # A line of prose may begin within a sentence.
    best = f"…{best}" if best[:1].islower() else best
    return number, best if len(best) <= _MAX_QUOTE else f"{best[: _MAX_QUOTE - 1].rstrip()}…"


def _candidate(texts: FileTexts, line: ValueLine) -> ValueCandidate:
    first, last = line.begin_line - _ABOVE, line.end_line + _BELOW
    described = [number for number, _ in line.texts if number and first <= number <= last]
    evidence = [texts.evidence(line.target, line.path, line.begin_line, line.end_line, "definition", 1.0, (line.name,))]
    declared_line = line.match.binding.declared_line if line.match is not None else 0
    if declared_line:
        evidence.append(
            texts.evidence(line.target, line.path, declared_line, declared_line, "definition", 1.0, (line.name,))
        )
    first, last = min([line.begin_line, *described]), max([line.end_line, *described])
    if (first, last) != (line.begin_line, line.end_line):
        evidence.append(texts.evidence(line.target, line.path, first, last, "definition", 1.0, (line.name,)))

    subject, holders = code(line.name), []
    parameter_of = line.match.parameter_of if line.match is not None else None
    function = default_function(line.match.holders) if line.match is not None else None
    if function is not None and parameter_of is None:
        holders = [DefinitionLocation(line.target, line.path, function)]
    if parameter_of is not None:
        holders = [DefinitionLocation(line.target, line.path, parameter_of)]
        subject = f"The default of {code(line.name)} of {code(parameter_of.name)}"
    elif line.match is not None and line.match.binding.form == "fallback" and "default" not in line.name.lower():
        subject = f"The default of {code(line.name)}{owner_of(line.match.binding.declared_line, line.match.holders)}"

    repository = line.target.repository.name
    return ValueCandidate(
        line.value, subject, line.path, evidence, 0, repository, verb_after(subject), locations=holders
    )
