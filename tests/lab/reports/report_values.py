"""The numbers at the head of a report, by their names."""

from __future__ import annotations

from typing import Any

from sourcelight.lab.reports import Report


def values(report: Report) -> dict[str, Any]:
    """All of them."""
    return {metric.name: metric.value for metric in report.metrics}


def value(report: Report, name: str) -> Any:
    """One of them."""
    return values(report)[name]
