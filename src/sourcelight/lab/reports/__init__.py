"""Contributor and change reports: tables, figures and files, each number traced to its commits.

Asks a `Client` for everything; never an engine.
"""

from sourcelight.lab.reports.changes import changes
from sourcelight.lab.reports.contributors import contributors
from sourcelight.lab.reports.model import Figure, Item, Listing, Number, Section, Table
from sourcelight.lab.reports.report import Report

__all__ = ["Figure", "Item", "Listing", "Number", "Report", "Section", "Table", "changes", "contributors"]
