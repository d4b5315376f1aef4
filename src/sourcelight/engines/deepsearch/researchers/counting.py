"""Answers to questions for a count or a whole list: a query over everything, its exact count, and every row."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from sourcelight.core.batches import MatchBatch, conform
from sourcelight.core.completeness import is_limiting
from sourcelight.core.markup import code
from sourcelight.core.query import parse, quote_value
from sourcelight.core.query.narrowing import conjoined
from sourcelight.core.query.regexps import exact_name
from sourcelight.core.wire.events import Alert, Done, Progress
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.deepsearch.citations.pins import Pin
from sourcelight.engines.deepsearch.evidence.choose import Texts
from sourcelight.engines.deepsearch.question import CountedQuery, counted_query
from sourcelight.engines.deepsearch.researchers.markdown import inline
from sourcelight.engines.deepsearch.researchers.protocol import (
    Draft,
    Emit,
    Happening,
    Heading,
    Inquiry,
    Paragraph,
    Table,
)

MOST_ROWS = 10_000
"""Rows that a table of an answer keeps; what is beyond is said, and the count stays exact."""

SHOWN_ROWS = 25
_CITED_ROWS = 20
_UNITS = {"lines": "line", "files": "file", "definitions": "definition", "repositories": "repository"}


@dataclass(slots=True)
class _Tally:
    """What was counted."""

    total: int = 0
    repositories: Counter[str] = field(default_factory=Counter)
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def count(inquiry: Inquiry, draft: Draft, emit: Emit) -> bool:
    """Answer a counted question into `draft`; False when its query can't be run, so that it is answered otherwise."""
    counted = counted_query(inquiry.question)
    if counted is None:
        return False
    tally = _Tally(notes=[f"{name}: {why}" for name, why in sorted(inquiry.pins.failed.items())])
    for pin in inquiry.pins:
        inquiry.context.cancellation.check()
        _add(pin, counted, inquiry, tally)
    query = f"{counted.query} count:all"
    emit(Happening("turn", {"tool": "keyword_search", "query": query, "result": f"{tally.total:,} {counted.unit}"}))
    _write(counted, query, tally, inquiry, draft)
    return True


def _add(pin: Pin, counted: CountedQuery, inquiry: Inquiry, tally: _Tally) -> None:
    context = inquiry.context
    where = f"repo:{quote_value(exact_name(pin.repository))}"
    target = inquiry.pins.of(pin.repository, pin.commit)
    at = f" rev:{pin.commit}" if target is not None and target.revision not in {"", "WORKTREE"} else ""
    filters = " ".join(f"{where}{at} fork:yes archived:yes {inquiry.filters} count:all".split())
    request = SearchRequest(conjoined(parse(counted.query, "keyword"), filters), pattern_type="keyword")
    found: list[Any] = []
    finished = False
    matches = 0
    with closing(context.engine.stream(request, context.viewer, context.cancellation)) as events:  # type: ignore[type-var]
        for event in events:
            if isinstance(event, MatchBatch):
                found.append(event.batch)
            elif isinstance(event, Progress) and event.done:
                matches = event.match_count
                tally.notes += [
                    " ".join(f"{pin.repository}: {item.message}".split()) for item in event.skipped if is_limiting(item)
                ]
            elif isinstance(event, Alert) and event.kind != "info":
                tally.notes.append(f"{pin.repository}: {event.title}")
            finished = finished or isinstance(event, Done)
    context.cancellation.check()
    if not finished:
        tally.notes.append(f"{pin.repository}: the search did not end")
    rows = conform(found).to_pylist() if found else []
    _note(pin, counted, matches, rows, tally)


def _note(pin: Pin, counted: CountedQuery, matches: int, rows: list[dict[str, Any]], tally: _Tally) -> None:
    if counted.unit == "files":
        rows = list({row["path"]: row for row in rows}.values())
    own = matches if counted.unit == "lines" else len(rows)
    tally.total += bool(rows) if counted.unit == "repositories" else own
    if rows:
        tally.repositories[pin.repository] = own
    for row in rows[: max(0, MOST_ROWS - len(tally.rows))]:
        row["commit"] = pin.commit
        tally.rows.append(row)


def _write(counted: CountedQuery, query: str, tally: _Tally, inquiry: Inquiry, draft: Draft) -> None:
    unit = _UNITS[counted.unit]
    many = "" if tally.total == 1 else "s"
    plural = "repositories" if unit == "repository" and many else f"{unit}{many}"
    spread = len(tally.repositories)
    where = (
        f" in {spread:,} of {len(inquiry.pins):,} repositories"
        if counted.unit != "repositories"
        else (f" of {len(inquiry.pins):,}")
    )
    verb = "match" if many else "matches"
    draft.parts.append(
        Paragraph(f"**{tally.total:,}** {plural}{where} {verb} this query, all of them counted: {code(query)}")
    )
    if counted.calls and tally.total:
        draft.parts.append(Paragraph("Lines that define the name match this query as calls of it do."))
    if counted.ignored:
        words = ", ".join(code(word) for word in counted.ignored)
        draft.parts.append(Paragraph(f"The query makes nothing of these words of the question: {words}."))
    per = sorted(tally.repositories.items(), key=lambda pair: (-pair[1], pair[0]))
    if per:
        rows = tuple((name, number) for name, number in per)
        draft.tables.append(Table("By repository", query, ("repository", "matches"), rows, len(rows)))
        draft.parts.append(Heading("By repository"))
        draft.parts.append(Paragraph(_table(("repository", "matches"), rows)))
    if counted.lists and counted.unit != "repositories" and tally.rows:
        _write_rows(counted, query, tally, inquiry, draft)
    if tally.notes:
        draft.parts.append(Heading("Not counted"))
        draft.parts.append(Paragraph("\n".join(f"- {inline(note)}" for note in dict.fromkeys(tally.notes))))
    draft.parts.append(Heading("Searched"))
    pins = list(inquiry.pins)
    shown = ", ".join(f"{code(pin.repository)} at {code(pin.commit[:12])}" for pin in pins[:10])
    more = f" and {len(pins) - 10:,} further repositories" if len(pins) > 10 else ""
    draft.parts.append(Paragraph(f"- {shown}{more}.\n- No model was asked; nothing left this machine."))
    draft.searches.append(query)
    draft.followups = [f"Which repositories have them: {query}"] if counted.unit == "lines" and spread > 1 else []
    draft.stats |= {"tool_calls": len(pins), "count": tally.total, "unit": counted.unit}


def _write_rows(counted: CountedQuery, query: str, tally: _Tally, inquiry: Inquiry, draft: Draft) -> None:
    texts = Texts(inquiry.context)
    columns: tuple[str, ...] = ("repository", "path")
    if counted.unit == "lines":
        columns = ("repository", "path", "line_number", "line")
    elif counted.unit == "definitions":
        columns = ("repository", "path", "line_number", "symbol", "symbol_kind")
    rows = tuple(tuple(row.get(name) for name in columns) for row in tally.rows)
    title = f"All {counted.unit}"
    draft.tables.append(Table(title, query, columns, rows, tally.total))
    lines = []
    for at, row in enumerate(tally.rows[:SHOWN_ROWS]):
        cells = [inline(str("" if row.get(name) is None else row.get(name)), 160) for name in columns]
        target = inquiry.pins.of(row["repository"], row["commit"])
        number = row.get("line_number") or 1
        if at < _CITED_ROWS and target is not None and texts.lines(target, row["path"])[number - 1 : number]:
            cells.append(f"[{draft.ledger.add(texts.evidence(target, row['path'], number, number, 'read'))}]")
        else:
            cells.append("")
        lines.append(tuple(cells))
    draft.parts.append(Heading(title))
    draft.parts.append(Paragraph(_markup((*columns, "source"), lines)))
    if len(rows) > SHOWN_ROWS:
        kept = "" if len(rows) == tally.total else f" (the table keeps the first {len(rows):,})"
        draft.parts.append(Paragraph(f"The first {SHOWN_ROWS} of {len(rows):,} rows are shown{kept}."))


def _table(columns: tuple[str, ...], rows: tuple[tuple[Any, ...], ...]) -> str:
    shown = [
        tuple(inline(str(cell), 160) if at == 0 else f"{cell:,}" for at, cell in enumerate(row)) for row in rows[:50]
    ]
    return _markup(columns, shown)


def _markup(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    head = f"| {' | '.join(columns)} |\n|{'|'.join('---' for _ in columns)}|"
    return "\n".join([head, *(f"| {' | '.join(row)} |" for row in rows)])
