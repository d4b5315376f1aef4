"""Commits with dates in the future, and authors without a name: what reports say about them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.lab.reports import changes, contributors
from sourcelight.testing import RepositoryBuilder

DAY = 86_400
START = int(datetime(2023, 1, 1, tzinfo=UTC).timestamp())
FUTURE = int(datetime(2090, 1, 1, tzinfo=UTC).timestamp())
NOTE = "2 commits have dates in the future, up to 2 January 2090; no comparison of periods counts them."


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Three commits of two years, two of a wrong clock, and one of the right one."""
    repo = RepositoryBuilder(tmp_path / "demo")
    dates = [START, START + 400 * DAY, START + 410 * DAY, FUTURE, FUTURE + DAY, START + 420 * DAY]
    for number, date in enumerate(dates):
        repo.commit({"a.txt": f"{number}\n"}, f"commit {number}", date=date)
        repo.git("tag", f"v{number}")
    return repo.path


def test_no_wrong_clock_moves_the_periods(repository: Path) -> None:
    """The last year ended in 2090, and had two commits."""
    with sl.open(repository) as code:
        report = contributors(code, ownership=False, progress=False)
        comparison = (
            "The 12 months to 25 February 2024 had 3 commits, against 1 in the 12 months before; 0 people joined"
        )
        assert any(sentence.startswith(comparison) for sentence in report.lead), report.lead
        assert NOTE in report.lead
        totals = {metric.name: metric.value for metric in report.metrics}
        assert (totals["commits"], totals["commits before"]) == (6, 1)

        assert NOTE in contributors(code, after="2023-06-01", ownership=False, progress=False).lead


def test_a_period_in_the_future_has_a_report(repository: Path) -> None:
    """It was refused: no time was after 2033 and before 2030."""
    with sl.open(repository) as code:
        report = contributors(code, after="2080-01-01", ownership=False, progress=False)
    assert NOTE in report.lead
    assert len(report.drill_down("commits")) == 2


@pytest.mark.parametrize(("base", "head", "has_future"), [("v1", "v2", False), ("v2", "v3", True), ("v1", "v5", True)])
def test_changes_with_a_wrong_clock_are_compared_with_no_period(
    repository: Path, base: str, head: str, *, has_future: bool
) -> None:
    """It was "the 66 years since v2"."""
    with sl.open(repository) as code:
        report = changes(code, "demo", base, head, progress=False)
    names = {metric.name for metric in report.metrics}
    assert ("commits before" in names) is not has_future
    assert any("in the future" in sentence for sentence in report.lead) is has_future
    assert (
        any(sentence.startswith("The ") and f" since {base} " in sentence for sentence in report.lead) is not has_future
    )


def test_the_time_before_a_base_has_no_commit_after_it(tmp_path: Path) -> None:
    """Its history had one of 2090, which counted among those of the 20 days before."""
    repo = RepositoryBuilder(tmp_path / "demo")
    for number, date in enumerate([START, FUTURE, START + 90 * DAY, START + 100 * DAY, START + 120 * DAY]):
        repo.commit({"a.txt": f"{number}\n"}, f"commit {number}", date=date)
        repo.git("tag", f"v{number}")
    with sl.open(tmp_path) as code:
        report = changes(code, "demo", "v3", "v4", progress=False)
    assert {metric.name: metric.value for metric in report.metrics}["commits before"] == 2
    assert len(report.drill_down("commits before")) == 2


def test_authors_without_a_name_are_no_namesakes(tmp_path: Path) -> None:
    """They were "2 people named “”" who may be one person."""
    repo = RepositoryBuilder(tmp_path / "demo")
    stream = b""
    # `git commit` refuses such authors; imports from other systems have them.
    for number, address in enumerate(["one@x.example", "one@x.example", "two@x.example"], 1):
        people = "".join(f"{role} <{address}> {START + number} +0000\n" for role in ("author", "committer"))
        file = f"M 100644 inline a.txt\ndata 2\n{number}\n"
        stream += f"commit refs/heads/main\n{people}data 2\nhi\n{file}\n".encode()
    repo.git("fast-import", "--quiet", "--date-format=raw-permissive", stdin=stream)
    with sl.open(tmp_path / "demo") as code:
        sentence = contributors(code, ownership=False, progress=False).lead[1]
    assert sentence.startswith(
        "Of the commits by people, most are by an author without a name <one@x.example> (67%) and"
    )
    assert "may be one person" not in sentence
