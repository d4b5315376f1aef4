"""Footnotes: what numbers leave out and what the reader has to know, each once, numbered in reading order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.lab.reports.report import Report


class Footnotes:
    """The footnotes of a report.

    Those of numbers and tables come first, in reading order, then the notices of the whole report.
    """

    def __init__(self, report: Report) -> None:
        self._numbers: dict[str, int] = {}
        for number in report.metrics:
            self._add(left_out(number.excludes))
        for section in report.sections:
            for table in section.tables:
                self._add(left_out(table.excludes))
        for notice in report.notices:
            self._add(notice)
        self.limits = sorted({self._numbers[_sentence(limit)] for limit in report.limits if self._add(limit)})

    def _add(self, text: str) -> int:
        note = _sentence(text)
        return self._numbers.setdefault(note, len(self._numbers) + 1) if note else 0

    def number(self, text: str) -> int:
        """The number of a footnote; 0 for an empty text."""
        return self._numbers.get(_sentence(text), 0)

    @property
    def texts(self) -> list[str]:
        """All footnotes; the first has number 1."""
        return list(self._numbers)


def left_out(text: str) -> str:
    """The footnote of a number or a table that leaves something out; empty for nothing."""
    return f"Left out: {text}" if text else ""


def _sentence(text: str) -> str:
    stripped = text.strip()
    return stripped if not stripped or stripped.endswith((".", "!", "?", ":")) else f"{stripped}."


def incomplete(report: Report, notes: Footnotes) -> str:
    """One line on top of a report that lacks something, and where it says what; empty for a complete one."""
    if report.complete:
        return ""
    unknown = [number.name for number in report.metrics if number.value is None]
    parts = [f"not known here: {', '.join(unknown)}"] if unknown else []
    if notes.limits:
        which = ", ".join(str(number) for number in notes.limits)
        parts.append(f"see {'note' if len(notes.limits) == 1 else 'notes'} {which}")
    return f"This report is incomplete: {'; '.join(parts)}."
