"""A shallow clone doesn't know who was there before, so its reports say nothing of that."""

from __future__ import annotations

from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.lab.reports import changes, contributors
from sourcelight.testing import RepositoryBuilder

pytestmark = pytest.mark.filterwarnings("ignore::sourcelight.IncompleteResultWarning")

DAY = 86_400
START = 1_672_531_200  # 2023-01-01
COMPARISONS = {"commits before", "commits by people before", "joined", "left", "bus factor"}


@pytest.fixture
def origin(tmp_path: Path) -> RepositoryBuilder:
    """Ada and Ben wrote commits long ago, and again at the end."""
    repo = RepositoryBuilder(tmp_path / "origin" / "demo")
    for number, author in enumerate(["Ada <ada@x.example>", "Ben <ben@x.example>"] * 4):
        files = {f"{number}.txt": "line\n" * 10, "a.txt": f"{number}\n"}
        repo.commit(files, f"commit {number}", author=author, date=START + number * 200 * DAY)
    return repo


def shallow_clone(origin: RepositoryBuilder, folder: Path, depth: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    origin.git("clone", "-q", "--depth", str(depth), f"file://{origin.path}", str(folder / "demo"))
    return folder


@pytest.mark.parametrize("after", [None, "2025-06-01"])
def test_nobody_joins_leaves_or_owns_lines_in_a_shallow_clone(
    origin: RepositoryBuilder, tmp_path: Path, after: str | None
) -> None:
    """The author of the only commit owned all lines: the bus factor was 1."""
    with sl.open(origin.path) as code:
        full_report = contributors(code, after=after, progress=False)
    assert {metric.name for metric in full_report.metrics} >= COMPARISONS

    with sl.open(shallow_clone(origin, tmp_path / "shallow", 4)) as code:
        report = contributors(code, after=after, progress=False)
    assert not {metric.name for metric in report.metrics} & COMPARISONS
    assert not {"joined", "left", "ownership", "bus_factor", "retention"} & set(report.tables)
    assert any(sentence.startswith("demo is a shallow clone, without its older commits") for sentence in report.lead)
    assert not any("joined and" in sentence for sentence in report.lead)
    assert any("ownership of demo can't be determined: it is a shallow clone" in limit for limit in report.limits)
    assert not report.complete


def test_other_repositories_keep_their_owners(origin: RepositoryBuilder, tmp_path: Path) -> None:
    folder = shallow_clone(origin, tmp_path / "both", 4)
    origin.git("clone", "-q", f"file://{origin.path}", str(folder / "whole"))
    with sl.open(folder) as code:
        report = contributors(code, progress=False)
    assert set(report.tables["ownership"]["repository"]) == {"whole"}
    assert any(sentence.startswith("A repository is a shallow clone") for sentence in report.lead)


def test_nobody_is_new_in_a_shallow_clone(origin: RepositoryBuilder, tmp_path: Path) -> None:
    """The report called Ada and Ben new."""
    with sl.open(shallow_clone(origin, tmp_path / "shallow", 4)) as code:
        report = changes(code, "demo", "HEAD~2", "HEAD", progress=False)
    values = {metric.name: metric.value for metric in report.metrics}
    assert values["people"] == 2
    assert values["new people"] is None
    assert "commits before" not in values
    assert "new_people" not in report.tables
    assert "new" not in report.tables["people"]
    assert not any("new" in sentence or "before" in sentence for sentence in report.lead)
    assert "not known" in report.to_html()

    with sl.open(origin.path) as code:
        report = changes(code, "demo", "HEAD~2", "HEAD", progress=False)
    assert {metric.name: metric.value for metric in report.metrics}["new people"] == 0


def test_nothing_was_added_by_the_edge_of_a_shallow_clone(origin: RepositoryBuilder, tmp_path: Path) -> None:
    """The story of a file began with the oldest commit of the clone: "0.txt was added by Ada"."""
    with sl.open(shallow_clone(origin, tmp_path / "shallow", 4)) as code:
        for report in (sl.reports.file(code, "demo", "0.txt"), sl.reports.directory(code, "demo", ".")):
            assert report.lead[0].startswith("The oldest known commit with ")
            assert report.lead[0].endswith("older ones may be missing, because this is a shallow clone.")
    with sl.open(origin.path) as code:
        assert sl.reports.file(code, "demo", "0.txt").lead[0].startswith("0.txt was added by Ada on 1 January 2023")
