"""Tables of facts in an answer: the numbers of repositories, and counted rows with their citations.

| path | line_number | source |
|---|---|---|
| gate.py | 12 | [E1] |
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sourcelight.engines.deepsearch.evidence.model import CommitEvidence
from sourcelight.engines.deepsearch.evidence.pins import Pin
from sourcelight.engines.deepsearch.facts.model import CitedLine, Fact, Rows
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.requests import ResearchRequest
from sourcelight.engines.deepsearch.research.protocol import CountTable, Draft, Paragraph

SHOWN_ROWS = 25
"""Maximum rows of a table that the answer shows; the table itself has all."""

_CITED_ROWS = 20
"""Maximum rows with a citation: each is read again and checked."""

_MAX_SHOWN_REPOSITORIES = 50
"""Maximum rows of the table of repositories that the answer shows."""

_MAX_CELL_CHARACTERS = 160
"""Maximum characters of a cell of a table."""

_PLACE_COLUMNS = frozenset({"repository", "path", "line_number", "commit"})
"""Columns that a citation has, too."""


def write_repositories(fact: Fact, draft: Draft, about: tuple[str, ...], inquiry_pins: Sequence[Pin]) -> None:
    """Write the numbers of the repositories; an answer over one repository has its number in the first sentence."""
    counts = sorted(fact.repositories.items(), key=lambda pair: (-pair[1], pair[0]))
    if not counts:
        return

    unit = fact.per or fact.unit
    if unit == "repositories":
        unit = "matches"
    elif unit == "date":
        # The commits that have the date.
        unit = "commits"
    columns = ("repository", unit)
    draft.tables.append(CountTable("By repository", fact.query, columns, tuple(counts), len(counts)))
    if len(inquiry_pins) == 1:  # the first sentence has the number
        return

    visible_rows = [(_format_cell(name), f"{number:,}") for name, number in counts[:_MAX_SHOWN_REPOSITORIES]]
    draft.add_section("By repository", Paragraph(_format_table(columns, visible_rows)))
    if len(counts) > len(visible_rows):
        draft.parts.append(Paragraph(f"The table shows the first {len(visible_rows)} of {len(counts):,} rows.", about))


def write_rows(table: Rows, fact: Fact, inquiry: ResearchRequest, draft: Draft, *, is_visible: bool) -> None:
    """Add a table of a fact, and show its first rows if it `is_visible`."""
    if not table.rows:
        return

    draft.tables.append(CountTable(table.title, fact.query, table.columns, tuple(table.rows), table.total))
    if not is_visible:
        return

    sources = [cite(citation, inquiry, draft) for citation in table.citations[:_CITED_ROWS]]
    sources += [""] * (len(table.citations[:SHOWN_ROWS]) - len(sources))

    # A source shows the full location; columns that repeat it would make the table too wide to read.
    hidden: Collection[str] = ()
    if sources and all(sources) and len(inquiry.pins) == 1:
        hidden = _PLACE_COLUMNS

    visible = [index for index, column in enumerate(table.columns) if column not in hidden]
    columns = [table.columns[index] for index in visible]
    lines = [[_format_cell(row[index]) for index in visible] for row in table.rows[:SHOWN_ROWS]]
    if any(citation is not None for citation in table.citations):
        columns.append("source")
        for line, source in zip(lines, sources, strict=True):
            line.append(source)

    draft.add_section(table.title, Paragraph(_format_table(columns, lines)))
    if table.total > SHOWN_ROWS:
        truncation = ""
        if len(table.rows) < table.total:
            truncation = f"; only {len(table.rows):,} are stored"
        about = tuple(sorted(fact.repositories))
        draft.parts.append(
            Paragraph(f"The table shows the first {SHOWN_ROWS} of {table.total:,} rows{truncation}.", about)
        )


def _format_cell(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if value is None:
        return ""
    return inline(str(value), _MAX_CELL_CHARACTERS)


def cite(citation: CitedLine | CommitEvidence | None, inquiry: ResearchRequest, draft: Draft) -> str:
    """Return the citation of a line or a commit; empty for a line that can't be read again."""
    if isinstance(citation, CommitEvidence):
        return f"[{draft.ledger.add(citation)}]"
    if citation is None:
        return ""

    target = inquiry.pins.of(citation.repository, citation.commit)
    if target is None or not inquiry.texts.lines(target, citation.path)[citation.line - 1 : citation.line]:
        return ""
    evidence = inquiry.texts.evidence(target, citation.path, citation.line, citation.line, "read")
    return f"[{draft.ledger.add(evidence)}]"


def _format_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of Markdown."""
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)
