"""The pages about history and reports name every table and number that there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.core.tools import analyses, blame, commits

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def test_every_table_about_history_has_its_call_on_the_page() -> None:
    page = (DOCS / "history.md").read_text("utf-8")
    called = {
        "commits": "commit_search",
        "diff_lines": "diff_search",
        "file_diffs": "compare_revisions",
        "contributor_repositories": "get_contributor_repos",
        "blame_lines": "blame",
    }
    for table in {**commits.COLUMNS, **blame.COLUMNS, **analyses.COLUMNS}:
        assert f"code.{called.get(table, table)}(" in page, table


@pytest.mark.slow
def test_every_number_and_table_of_the_reports_is_explained(embedded: sl.Client) -> None:
    page = (DOCS / "reports.md").read_text("utf-8")
    explained = {name for row in re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE) for name in row.strip().split(", ")}
    result = [
        sl.reports.contributors(embedded, "example.org/tidewatch/hub"),
        sl.reports.changes(embedded, "example.org/tidewatch/hub", "v0.1.0", "v2.0.0"),
    ]
    for report in result:
        assert {number.name for number in report.metrics} <= explained
        assert set(report.tables) <= explained
