"""Contributor and change reports: tables, figures and files, each number traced to its commits.

Asks a `Client` for everything; never an engine.
"""

from typing import Any

from sourcelight.core.former_names import former_attribute
from sourcelight.lab.reports.changes import changes
from sourcelight.lab.reports.contributors import contributors
from sourcelight.lab.reports.model import Figure, Item, Listing, Metric, ReportTable, Section
from sourcelight.lab.reports.report import Report

__all__ = ["Figure", "Item", "Listing", "Metric", "Report", "ReportTable", "Section", "changes", "contributors"]


def __getattr__(name: str) -> Any:
    raise former_attribute("reports", name) or AttributeError(f"module {__name__!r} has no attribute {name!r}")
