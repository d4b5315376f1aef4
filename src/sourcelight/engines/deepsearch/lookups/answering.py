"""Answer questions that lines of code answer: choose the engine, and leave to the ranking what none can prove."""

from __future__ import annotations

import re

from sourcelight.core.errors import QueryError, RepositoryError, ToolError, UnsupportedTool
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import PathNames
from sourcelight.engines.deepsearch.lookups.authors import find_line_author
from sourcelight.engines.deepsearch.lookups.calls import find_callers
from sourcelight.engines.deepsearch.lookups.defaults import find_parameter_default, find_setting, find_value
from sourcelight.engines.deepsearch.lookups.dependencies import find_dependency, find_runtime
from sourcelight.engines.deepsearch.lookups.model import Finding, Statement
from sourcelight.engines.deepsearch.lookups.names import find_absence, find_definitions, state_definitions
from sourcelight.engines.deepsearch.question.lookups import Lookup, read_lookup
from sourcelight.engines.deepsearch.question.request import FactRequest
from sourcelight.engines.deepsearch.requests import Emit, ResearchRequest

_PLAIN_WORD = re.compile(r"[a-z]+")


def find_lookup(inquiry: ResearchRequest, emit: Emit) -> Finding | None:
    """Answer a question by lines that prove the answer; None if it asks for none, or none proves it."""
    lookup = read_lookup(inquiry.scope.remaining_text or inquiry.question)
    if lookup is None:
        return None
    work = Work(FactRequest("lookup"), inquiry, emit)
    try:
        return _find(lookup, work)
    except (ToolError, QueryError, RepositoryError, UnsupportedTool):
        inquiry.context.cancellation.check()
        return None


def _find(lookup: Lookup, work: Work) -> Finding | None:
    notes: list[str] = []
    if lookup.kind == "line":
        return find_line_author(work, PathNames(work.inquiry), lookup.path, lookup.line)
    if lookup.kind == "dependency":
        return find_dependency(work, lookup.name, notes)
    if lookup.kind == "runtime":
        return find_runtime(work, lookup.name, notes)
    if lookup.kind == "default":
        return _find_default(lookup, work, notes)
    return _find_named(lookup, work, notes)


def _find_named(lookup: Lookup, work: Work, notes: list[str]) -> Finding | None:
    queries: list[str] = []
    places = find_definitions(work, lookup.name, lookup.symbol_kind, notes, queries)
    if not places:
        # A plain word of prose that is nowhere says nothing: "where is authentication implemented?"
        if _PLAIN_WORD.fullmatch(lookup.name) and not (lookup.kind == "existence" or lookup.symbol_kind):
            return None
        if lookup.kind in {"callers", "value"}:
            absence = find_absence(work, lookup.name, notes)
            return absence if absence is not None and not absence.headline.evidence else None
        return find_absence(work, lookup.name, notes, noun=lookup.symbol_kind)
    if lookup.kind == "callers":
        return find_callers(work, places, lookup.name, notes)
    if lookup.kind == "value":
        return find_value(work, places, lookup.name, queries, notes) or state_definitions(
            work, lookup.name, places, queries, notes
        )
    finding = state_definitions(work, lookup.name, places, queries, notes)
    if lookup.kind == "existence":
        finding.headline = Statement(f"Yes: {finding.headline.text}", finding.headline.evidence)
    return finding


def _find_default(lookup: Lookup, work: Work, notes: list[str]) -> Finding | None:
    queries: list[str] = []
    if lookup.owner:
        owners = find_definitions(work, lookup.owner, "", notes, queries)
        found = find_parameter_default(work, owners, lookup.name, lookup.owner, queries, notes) if owners else None
        return found or find_setting(work, lookup.name, lookup.owner, queries, notes)
    setting = find_setting(work, lookup.name, "", queries, notes)
    if setting is not None:
        return setting
    if re.fullmatch(r"[A-Za-z_$][\w$.]*", lookup.name) is None:
        return None
    places = find_definitions(work, lookup.name, "", notes, queries)
    if places and not _PLAIN_WORD.fullmatch(lookup.name):
        return find_value(work, places, lookup.name, queries, notes)
    if not places and not _PLAIN_WORD.fullmatch(lookup.name):
        absence = find_absence(work, lookup.name, notes)
        return absence if absence is not None and not absence.headline.evidence else None
    return None
