"""Lay out a finding: a sentence that answers a question, with the lines that prove it.

The draft has the sentence and its quotes, the details below a heading, how they were found, and what was searched.
`adopt_parts` takes the parts of one draft over into another, whose evidence has other numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from sourcelight.core.markup import code
from sourcelight.engines.deepsearch.evidence.claims import UNREAD
from sourcelight.engines.deepsearch.evidence.model import EvidenceLedger, Finding, Statement
from sourcelight.engines.deepsearch.markdown import CITED, in_sentence, inline
from sourcelight.engines.deepsearch.requests import ResearchRequest
from sourcelight.engines.deepsearch.research.protocol import Draft, Paragraph, Part, Quote
from sourcelight.engines.deepsearch.research.search_scope import format_searched, scope_lines

_COMPLETE_UNITS = frozenset({"tests", "throws", "callers"})
"""Units whose sentence is about all of them, such as "It has one caller": it is uncertain if a file wasn't read.

A line proves itself even if other files could not be read.
"""

_CALL_PREFIX = "code."
"""The beginning of a query that is a call of the library, and no search."""

CUT_REASON = "reading the searched files took too long"
CUT_SHORT = (
    "This answer is incomplete: reading the searched files took too long, so counts and look-ups are missing. "
    "Name a repository or a path to search less."
)
"""The first paragraph of an answer whose facts were not looked up to the end."""


def write_cut_draft(inquiry: ResearchRequest) -> Draft:
    """Write an answer that says only that the question took too much time."""
    draft = Draft([Paragraph(CUT_SHORT)], confident=False)
    draft.add_section("Searched", Paragraph(format_searched(inquiry), says_no_model=True))
    draft.stats |= {"tool_calls": 1, "states_fact": False, "confident": False, "cut_short": CUT_REASON}
    return draft


def write_finding(finding: Finding, inquiry: ResearchRequest) -> Draft:
    """Write a finding as an answer."""
    draft = Draft(confident=True)
    headline = _headline_of(finding)
    draft.parts.append(Paragraph(f"{_cite(headline, draft)}.", _repositories_of(headline, inquiry)))
    draft.parts += [Quote(draft.ledger.add(quote)) for quote in finding.quotes]
    if finding.details:
        draft.add_section(finding.heading, _list([_cite(detail, draft) for detail in finding.details]))

    if method := list(_method_of(finding, inquiry)):
        draft.add_section("Method", _list(method))
    draft.add_section("Searched", Paragraph(format_searched(inquiry), says_no_model=True))
    draft.searches += [query for query in finding.queries if not query.startswith(_CALL_PREFIX)]
    draft.stats |= {
        "tool_calls": 1,
        "unit": finding.unit,
        "changes": False,
        "states_fact": True,
        "complete": not finding.notes,
        "not_applied": [],
    }
    return draft


def _headline_of(finding: Finding) -> Statement:
    """Return the sentence of a finding, with a reservation if files that it is about were not read."""
    headline = finding.headline
    if finding.notes and finding.unit in _COMPLETE_UNITS:
        return replace(headline, text=f"{UNREAD}{in_sentence(headline.text)}")
    return headline


def _method_of(finding: Finding, inquiry: ResearchRequest) -> Iterator[str]:
    """Yield how a finding was made, how to make it again, and what could not be read."""
    yield from finding.method
    yield from scope_lines(None, inquiry.scope)
    yield from (f"To reproduce: {code(query)}" for query in finding.queries if query)
    yield from (f"Not read: {inline(note)}" for note in dict.fromkeys(finding.notes))


def _cite(statement: Statement, draft: Draft) -> str:
    """Return a sentence with links to its evidence, which is added to the draft."""
    links = [f" [{draft.ledger.add(item)}]" for item in statement.evidence]
    return statement.text + "".join(links)


def _repositories_of(statement: Statement, inquiry: ResearchRequest) -> tuple[str, ...]:
    """Return the repositories that a sentence is about; a sentence about something missing is about all."""
    names = {item.repository for item in statement.evidence} or {pin.repository for pin in inquiry.pins}
    return tuple(sorted(names))


def _list(items: list[str]) -> Paragraph:
    return Paragraph("\n".join(f"- {item}" for item in items))


def adopt_parts(draft: Draft, ledger: EvidenceLedger) -> list[Part]:
    """Return the parts of a draft with its evidence numbered in another ledger."""
    new_names = {f"E{number}": ledger.add(item) for number, item in enumerate(draft.ledger.items, 1)}

    def rename(citation: re.Match[str]) -> str:
        names = [new_names.get(name.strip().upper(), "") for name in citation[1].split(",")]
        return f"[{', '.join(name for name in names if name)}]"

    def adopt(part: Part) -> Part:
        if isinstance(part, Paragraph):
            return replace(part, text=CITED.sub(rename, part.text))
        if isinstance(part, Quote):
            return Quote(new_names.get(part.evidence, part.evidence))
        return part

    return [adopt(part) for part in draft.parts]
