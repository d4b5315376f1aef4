"""Answers of the product as plain rows, and how they differ from the rows that must be there."""

from __future__ import annotations

from collections import Counter
from typing import Any

from oracles.meaning import Row

_TEXT = (
    "type",
    "repository",
    "revision",
    "path",
    "name_start",
    "name_end",
    "line_number",
    "line",
    "start",
    "end",
    "match_count",
)
_HISTORY = ("type", "repository", "commit", "path", "line_number", "side", "line", "start", "end")
_SHOWN = 3


def _columns(result: Any, names: tuple[str, ...]) -> Any:
    table = result.arrow
    return zip(*(table.column(name).to_pylist() for name in names), strict=True)


def text_rows(result: Any, select: str = "") -> Counter[Row]:
    """Rows of a search in text, in the form of `meaning.Reader.rows`."""
    rows: Counter[Row] = Counter()
    for cells in _columns(result, _TEXT):
        if cells[0] == "repo":
            rows[cells[:4]] += 1
        elif cells[0] == "path":
            rows[(*cells[:4], tuple(cells[4] or ()), tuple(cells[5] or ()))] += 1
        else:
            names = tuple(cells[4] or ()), tuple(cells[5] or ())
            rows[(*cells[:4], *names, cells[6], cells[7], tuple(cells[8]), tuple(cells[9]), cells[10])] += 1
    return unmarked(rows, select)


def unmarked(rows: Counter[Row], select: str) -> Counter[Row]:
    """Rows without their marks in names, where `select:` says nothing of these."""
    if not select.startswith("file"):
        return rows
    bare: Counter[Row] = Counter()
    for row, count in rows.items():
        bare[row[:4]] += count
    return bare


def history_rows(result: Any) -> Counter[Row]:
    """Rows of a search in history, in the form of `HistoryReader.rows`."""
    rows: Counter[Row] = Counter()
    for cells in _columns(result, _HISTORY):
        if cells[0] == "repo":
            rows[cells[:2]] += 1
        else:
            rows[(*cells[:7], tuple(cells[7] or ()), tuple(cells[8] or ()))] += 1
    return rows


def difference(want: Counter[Row], got: Counter[Row]) -> str:
    """Empty when both are the same, else the first rows of each that the other lacks."""
    if want == got:
        return ""
    out = []
    for sign, rows in (("-", want - got), ("+", got - want)):
        total = sum(rows.values())
        if total:
            out.append(f"{sign} {total} rows, such as")
            out += [f"    {shorter(row)}" for row in sorted(rows, key=repr)[:_SHOWN]]
    return "\n".join(out)


def shorter(value: object, limit: int = 500) -> str:
    """The text of a value, cut."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
