"""Reports on contributors, changes and the story of one thing: tables and figures, each number with its commits.

A report reads everything from a `Client`, never from an engine; charts are in `lab.plots`. `model` has the parts of a
report, `html`, `markdown` and `pdf` write them. Start reading in `contributors`, `changes` or `story`.
"""

from typing import Any

from sourcelight.core.former_names import former_attribute
from sourcelight.lab.reports.changes import changes
from sourcelight.lab.reports.contributors import contributors
from sourcelight.lab.reports.model import Figure, Item, Listing, Metric, ReportTable, Section
from sourcelight.lab.reports.report import Report
from sourcelight.lab.reports.story import directory, file, symbol

__all__ = [
    "Figure",
    "Item",
    "Listing",
    "Metric",
    "Report",
    "ReportTable",
    "Section",
    "changes",
    "contributors",
    "directory",
    "file",
    "symbol",
]


def __getattr__(name: str) -> Any:
    raise former_attribute("reports", name) or AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)  # without the modules of the room
