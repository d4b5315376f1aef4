"""Every example of the pages about history and reports runs as it stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.core.batches.tables.history import TABLES

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


@pytest.fixture(scope="module")
def code(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sl.Client]:
    with sl.open(fleet, index=tmp_path_factory.mktemp("index")) as client:
        yield client


@pytest.mark.slow
@pytest.mark.parametrize("name", ["history", "reports"])
def test_the_examples_of_a_page_run_one_after_the_other(
    name: str, code: sl.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"^```python\n(.*?)^```", (DOCS / f"{name}.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(examples) >= 4
    names = {"sl": sl, "code": code}
    for example in examples:
        exec(compile(example, f"docs/{name}.md", "exec"), names)  # noqa: S102 - our own page


def test_every_table_about_history_has_its_call_on_the_page() -> None:
    page = (DOCS / "history.md").read_text("utf-8")
    called = {
        "commits": "commit_search",
        "diff_lines": "diff_search",
        "file_diffs": "compare_revisions",
        "contributor_repositories": "get_contributor_repos",
        "blame_lines": "blame",
    }
    for table in TABLES:
        assert f"code.{called.get(table, table)}(" in page, table


@pytest.mark.slow
def test_every_number_and_table_of_the_reports_is_explained(code: sl.Client) -> None:
    page = (DOCS / "reports.md").read_text("utf-8")
    explained = {name for row in re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE) for name in row.strip().split(", ")}
    made = [
        sl.reports.contributors(code, "example.org/tidewatch/hub"),
        sl.reports.changes(code, "example.org/tidewatch/hub", "v0.1.0", "v2.0.0"),
    ]
    for report in made:
        assert {number.name for number in report.numbers} <= explained
        assert set(report.tables) <= explained
