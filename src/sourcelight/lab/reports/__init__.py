"""The contributor report and the change report: sections of tables and figures, each number with its commits.

A report reads everything from a `Client`, never from an engine; charts are in `lab.plots`. `model` has the parts of a
report, `html` and `markdown` write them. Start reading in `contributors` or `changes`.
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
