"""Write what a lookup found as an answer: the sentence, its lines, further places, and how it was found."""

from __future__ import annotations

import re
from dataclasses import replace

from sourcelight.core.markup import code
from sourcelight.engines.deepsearch.evidence.model import EvidenceLedger
from sourcelight.engines.deepsearch.lookups.model import Finding, Statement
from sourcelight.engines.deepsearch.markdown import CITED, inline
from sourcelight.engines.deepsearch.requests import ResearchRequest
from sourcelight.engines.deepsearch.research.counting import format_searched, scope_lines
from sourcelight.engines.deepsearch.research.protocol import Draft, Heading, Paragraph, Part, Quote


def write_finding(finding: Finding, inquiry: ResearchRequest, draft: Draft) -> None:
    """Write a finding as the parts of an answer."""
    draft.parts.append(Paragraph(f"{_cite(finding.headline, draft)}.", _about(finding.headline, inquiry)))
    draft.parts += [Quote(draft.ledger.add(quote)) for quote in finding.quotes]
    if finding.places:
        draft.parts.append(Heading(finding.heading))
        draft.parts.append(Paragraph("\n".join(f"- {_cite(place, draft)}" for place in finding.places)))
    draft.parts.append(Heading("Looked up"))
    lines = list(finding.method)
    lines += scope_lines(None, inquiry.scope)
    lines += [f"To get it again: {code(query)}" for query in finding.queries if query]
    lines += [f"Not read: {inline(note)}" for note in dict.fromkeys(finding.notes)]
    draft.parts.append(Paragraph("\n".join(f"- {line}" for line in lines) or "- As cited."))
    draft.parts.append(Heading("Searched"))
    draft.parts.append(Paragraph(format_searched(inquiry), says_no_model=True))
    draft.searches += [query for query in finding.queries if not query.startswith("code.")]
    draft.stats |= {
        "tool_calls": 1,
        "unit": finding.unit,
        "changes": False,
        "complete": not finding.notes,
        "not_applied": [],
    }
    draft.confident = True


def adopt_parts(draft: Draft, ledger: EvidenceLedger) -> list[Part]:
    """Return the parts of a draft with its evidence numbered in another ledger."""
    names = {f"E{number}": ledger.add(item) for number, item in enumerate(draft.ledger.items, 1)}

    def rename(match: re.Match[str]) -> str:
        ids = [names.get(name.strip().upper(), "") for name in match[1].split(",")]
        return f"[{', '.join(name for name in ids if name)}]"

    parts: list[Part] = []
    for part in draft.parts:
        if isinstance(part, Paragraph):
            parts.append(replace(part, text=CITED.sub(rename, part.text)))
        else:
            parts.append(Quote(names.get(part.evidence, part.evidence)) if isinstance(part, Quote) else part)
    return parts


def _cite(statement: Statement, draft: Draft) -> str:
    return statement.text + "".join(f" [{draft.ledger.add(item)}]" for item in statement.evidence)


def _about(statement: Statement, inquiry: ResearchRequest) -> tuple[str, ...]:
    """Return the repositories that a sentence speaks of; one that says what is nowhere speaks of all."""
    names = {item.repository for item in statement.evidence} or {pin.repository for pin in inquiry.pins}
    return tuple(sorted(names))
