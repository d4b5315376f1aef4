"""Answer a question for a value by the only line that covers all of its words, and whose value is of its kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sourcelight.core.markup import code
from sourcelight.engines.deepsearch.evidence.model import Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.lookups.defaults import follow_constant, state_values
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation, ValueCandidate
from sourcelight.engines.deepsearch.lookups.prose_values.names import last_part
from sourcelight.engines.deepsearch.lookups.prose_values.surroundings import is_set_in_shell
from sourcelight.engines.deepsearch.lookups.value_lines.candidates import ValueLine, find_value_lines
from sourcelight.engines.deepsearch.lookups.value_lines.coverage import ValueFit, fit_line, verbs_in
from sourcelight.engines.deepsearch.lookups.value_lines.request import ValueRequest, read_request
from sourcelight.engines.deepsearch.lookups.value_lines.words import covered_by
from sourcelight.engines.deepsearch.markdown import inline

_MAX_QUOTE, _ABOVE, _BELOW = 160, 14, 30
"""Characters of a quoted text, and lines above and below a value that may have its texts."""


def find_described_value(work: Work) -> Finding | None:
    """Return the value that the words of a question describe; None for none, or for several that fit."""
    request = read_request(work.inquiry.words, work.inquiry.pins.short_names)
    if request is None:
        return None

    queries: list[str] = []
    notes: list[str] = []
    texts = work.texts
    lines = find_value_lines(work, texts, request, queries, notes)
    fitting = [fit for line in _with_aliases(lines) if (fit := fit_line(request, line)) is not None]
    best = [] if _is_repeated(work.inquiry.words, request, best := _best(fitting)) else best
    if best and not best[0].is_named:
        # "How many requests are pipelined": a line about pipelining is meant rather than one about requests.
        verbs = frozenset().union(*(verbs_in(request, line) for line in lines))
        best = [] if verbs - best[0].verbs or (_is_short(request) and not best[0].verbs) else best

    matches = [line.match for line in lines if line.match is not None]
    if not best or (best[0].line.match is not None and is_set_in_shell(best[0].line.match, matches)):
        return None
    return _state(work, texts, best, queries, notes)


_ALTERNATIVE = re.compile(r"\bor\b", re.IGNORECASE)


def _is_repeated(question: str, request: ValueRequest, best: Sequence[ValueFit]) -> bool:
    """Return whether a value is in the question, so that it can't be what is asked for; a choice may have it."""
    if request.kind != "thing" or not best or _ALTERNATIVE.search(question) is not None:
        return False
    value = _bare(best[0])
    return len(value) > 1 and value in question.casefold()


def _is_short(request: ValueRequest) -> bool:
    """Return whether a question has one word, beside a verb that says which thing is meant."""
    return bool(request.verbs) and not request.setting and len(request.words) == 1


def _with_aliases(lines: Sequence[ValueLine]) -> list[ValueLine]:
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


_MIN_SHARE, _MIN_MARGIN, _MIN_OWN = 0.55, 0.12, 2
"""Share of the words, its distance to that of another value, and words that the line itself covers, to be stated."""


def _best(fitting: Sequence[ValueFit]) -> list[ValueFit]:
    """Return the fits of the only best value; none if another value is covered as well."""
    # A name in the question is meant before all that its words describe.
    pool = _maximal([fit for fit in fitting if fit.is_named], lambda fit: fit.weight) or _find_described(fitting)
    keys: Sequence[Callable[[ValueFit], float]] = (
        lambda fit: -fit.spread, lambda fit: -fit.extras, lambda fit: -fit.keys,
    )  # fmt: skip
    for key in keys:
        if len({_bare(fit) for fit in pool}) > 1:
            pool = _maximal(pool, key)
    return pool if len({_bare(fit) for fit in pool}) == 1 else []


def _find_described(fitting: Sequence[ValueFit]) -> list[ValueFit]:
    """Return the fits that cover the words best, and those of other values that cover them nearly as well."""
    best = _maximal([fit for fit in fitting if fit.is_whole] or list(fitting), lambda fit: fit.weight)
    if not best:
        return []

    is_whole = best[0].is_whole
    is_weak = best[0].weight < _MIN_SHARE or min(fit.own_count for fit in best) < _MIN_OWN
    if not is_whole and (is_weak or max(fit.lacking for fit in best) > 1):
        return []

    values = {_bare(fit) for fit in best}
    near = [fit for fit in fitting if fit.weight > best[0].weight - _MIN_MARGIN and _bare(fit) not in values]
    return [*best, *(fit for fit in near if fit.is_whole or not is_whole)]


def _maximal(fits: Sequence[ValueFit], key: Callable[[ValueFit], float]) -> list[ValueFit]:
    """Return the fits with the greatest key."""
    greatest = max(map(key, fits), default=0.0)
    return [fit for fit in fits if key(fit) == greatest]


def _bare(fit: ValueFit) -> str:
    return fit.line.value.strip("\"'`").casefold()


def _state(work: Work, texts: FileTexts, best: Sequence[ValueFit], queries: list[str], notes: list[str]) -> Finding:
    """Write the value with its line, and the comment or help text that has words of the question."""
    first = best[0]
    candidates = [_candidate(texts, fit.line) for fit in best if fit.line.name == first.line.name]
    subject = candidates[0].subject
    verb = "is" if subject.startswith("The ") else "is set to"
    finding = state_values(work, candidates, subject, queries, notes, verb=verb)
    quote = _quote(first)
    if quote:
        evidence = finding.headline.evidence
        finding.headline = Statement(f"{finding.headline.text}; its description says “{inline(quote)}”", evidence)
    follow_constant(work, candidates, finding, notes)
    return finding


def _quote(fit: ValueFit) -> str:
    """Return the text of a line that has most of the words that only texts have; empty if none is needed."""
    if not fit.in_texts:
        return ""

    first, last = fit.line.begin_line - _ABOVE, fit.line.end_line + _BELOW
    texts = [text for number, text in fit.line.texts if number and first <= number <= last]
    best = max(texts, key=lambda text: len(covered_by(tuple(fit.in_texts), text)), default="")
    return best if len(best) <= _MAX_QUOTE else f"{best[: _MAX_QUOTE - 1].rstrip()}…"


def _candidate(texts: FileTexts, line: ValueLine) -> ValueCandidate:
    first, last = line.begin_line - _ABOVE, line.end_line + _BELOW
    described = [number for number, _ in line.texts if number and first <= number <= last]
    evidence = [texts.evidence(line.target, line.path, line.begin_line, line.end_line, "definition", 1.0, (line.name,))]
    first, last = min([line.begin_line, *described]), max([line.end_line, *described])
    if (first, last) != (line.begin_line, line.end_line):
        evidence.append(texts.evidence(line.target, line.path, first, last, "definition", 1.0, (line.name,)))

    subject, holders = code(line.name), []
    parameter_of = line.match.parameter_of if line.match is not None else None
    if parameter_of is not None:
        holders = [DefinitionLocation(line.target, line.path, parameter_of)]
        subject = f"The default of {code(line.name)} of {code(parameter_of.name)}"
    elif line.match is not None and line.match.binding.form == "fallback":
        subject = f"The default of {code(line.name)}"

    verb = "is" if subject.startswith("The ") else "is set to"
    repository = line.target.repository.name
    return ValueCandidate(line.value, subject, line.path, evidence, 0, repository, verb, locations=holders)
