"""The default of a parameter that is named without its function, and proof that a function has no such parameter."""

from __future__ import annotations

from sourcelight.core.markup import code, join_words
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.lookups.defaults import ValueCandidate, default_at, state_values
from sourcelight.engines.deepsearch.lookups.model import Finding, Statement
from sourcelight.engines.deepsearch.lookups.names import SHOWN, NamedPlace, best_places, rank_of, with_repository
from sourcelight.engines.deepsearch.lookups.values import parameter_names, parameters_of

_FUNCTIONS = frozenset({"function", "method", "constructor"})
_MAX_ROWS = 200
_HEAD_LINES = 40
"""Lines above a parameter in which the head of its function begins."""


def find_any_default(work: Work, name: str, queries: list[str], notes: list[str]) -> Finding | None:
    """Return the default of a parameter by the heads of all functions that give it one, if they agree on up to three.

    Tests and examples don't count.
    """
    if not name.isidentifier():
        return None
    texts = FileTexts(work.context)
    searches = make_queries(work, rf"case:yes type:file /\b{escape_regexp(name)}\s*(:[^=\n]*)?=/")
    queries += searches
    candidates: dict[tuple[str, str, int], ValueCandidate] = {}
    rows = [row for row in run_searches(work, searches, notes) if row["type"] == "content"]
    for row in [row for row in rows if rank_of(row["path"]) == 0][:_MAX_ROWS]:
        target = work.inquiry.pins.of(row["repository"])
        definitions = None if target is None else texts.engine.store.definitions_of(target, row["path"])
        for definition in definitions.each() if definitions is not None else ():
            is_near = definition.line <= row["line_number"] <= definition.line + _HEAD_LINES
            if definition.kind not in _FUNCTIONS or not is_near or row["line_number"] > definition.end_line:
                continue
            if target is None or (row["repository"], row["path"], definition.line) in candidates:
                continue
            candidate = default_at(texts, NamedPlace(target, row["path"], definition), name)
            if candidate is not None and candidate.value:
                candidates[row["repository"], row["path"], definition.line] = candidate
    if not candidates or len({each.value for each in candidates.values()}) > SHOWN:
        return None
    return state_values(work, list(candidates.values()), f"The default of {code(name)}", "value", queries, notes)


def find_lacking_parameter(
    work: Work, owners: list[NamedPlace], name: str, queries: list[str], notes: list[str]
) -> Finding | None:
    """Say that the one function of a name has no such parameter; None if its head can't be read, or takes any."""
    best = best_places(owners)
    if len(best) != 1 or best[0].definition.kind not in _FUNCTIONS or not name.isidentifier():
        return None
    place, texts = best[0], FileTexts(work.context)
    definition = place.definition
    read = parameters_of(texts.lines(place.target, place.path), definition.name, definition.line, place.path)
    names = None if read is None else parameter_names(read[0], place.path)
    if read is None or names is None or any(each.startswith(("*", "&", "...", "{")) or each == name for each in names):
        return None
    listed = f"its parameters are {join_words([code(each) for each in names])}" if names else "it has none"
    where = f"{code(place.path)}{with_repository(work, place)}, line {definition.line:,}"
    text = f"{code(definition.name)} has no parameter {code(name)}: {listed}, in {where}"
    evidence = texts.evidence(place.target, place.path, definition.line, read[1], "definition", 1.0, (definition.name,))
    return Finding(Statement(text, (evidence,)), "parameters", queries=[join_queries(queries)], notes=notes)
