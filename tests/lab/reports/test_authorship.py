"""Tables of the contributor report on assistants, reviewers, integrators, time zones and retention, against git."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from sourcelight.lab.reports import Report, contributors
from sourcelight.testing import RepositoryBuilder

BO, CY = "Bo Boson <bo@example.org>", "Cy Q <cy@example.org>"
BOT = "dependabot[bot] <bot@example.org>"
CLAUDE = "Co-authored-by: Claude <noreply@anthropic.com>"
YEAR_S = 366 * 86_400


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    """Four years: Ada writes in the first and third, Bo in all, Cy in the last; a merge, a foreign commit, a bot."""
    repo = RepositoryBuilder(tmp_path_factory.mktemp("src") / "demo")
    start = 1_600_000_000  # 2020-09-13
    repo.commit({"a": "1\n"}, "begin", date=start)
    repo.commit({"a": "2\n"}, "two", author=BO, date=start + 1)
    repo.commit({"a": "3\n"}, f"three\n\nReviewed-by: {CY}\nAcked-by: {BO}", author=BO, date=start + YEAR_S)
    repo.branch("side")
    repo.commit({"b": "1\n"}, f"side\n\n{CLAUDE}", author=BO, date=start + 2 * YEAR_S)
    repo.switch("main")
    repo.commit({"c": "1\n"}, f"four\n\nReviewed-by: {CY}", date=start + 2 * YEAR_S + 60)
    repo.merge("side", "Merge side")
    repo.commit({"go.sum": "1\n"}, "bump", author=BOT, date=start + 2 * YEAR_S + 120)
    message = f"five\n\n{CLAUDE}\nCo-authored-by: Cursor <cursoragent@cursor.com>"
    repo.write({"a": "4\n"})
    repo.git("add", "-A")
    moment = f"{start + 3 * YEAR_S} +0530"
    repo.git(
        "commit", "-q", "-m", message,
        env={
            "GIT_AUTHOR_NAME": "Bo Boson", "GIT_AUTHOR_EMAIL": "bo@example.org", "GIT_AUTHOR_DATE": moment,
            "GIT_COMMITTER_NAME": "Cy Q", "GIT_COMMITTER_EMAIL": "cy@example.org", "GIT_COMMITTER_DATE": moment,
        },
    )  # fmt: skip
    repo.commit({"a": "5\n"}, "six", author=CY, date=start + 3 * YEAR_S + 60)
    return repo


@pytest.fixture(scope="module")
def report(code: sl.Client) -> Report:
    return contributors(code, period="year", ownership=False)


def log(repo: RepositoryBuilder, form: str) -> list[list[str]]:
    """Fields of each commit, as git has them."""
    return [line.split("|") for line in repo.git("log", f"--format={form}").splitlines()]


def rows(report: Report, name: str) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [dict(row) for _, row in report.tables[name].iterrows()]
    return records


def test_assistants_are_counted_and_say_that_there_may_be_more(report: Report, repo: RepositoryBuilder) -> None:
    results = {row["agent"]: (row["commits"], row["share"], row["authors"]) for row in rows(report, "agents")}
    count = len(log(repo, "%H"))
    assert results == {"Claude Code": (1, 1 / count, 1), "Claude Code, Cursor": (1, 1 / count, 1)}
    commits = repo.git("log", "--format=%H", "-i", "--grep=<noreply@anthropic.com>").split()
    assert set(report.drill_down("commits with an assistant")["commit"]) == set(commits)
    (metric,) = [metric for metric in report.metrics if metric.name == "commits with an assistant"]
    assert metric.value == len(commits) == 2
    tables = [table for section in report.sections for table in section.tables if table.name.startswith("agent")]
    assert all("lower bound" in text for text in [metric.counts, *(table.counts for table in tables)])
    by_year = Counter(year for (year,) in log(repo, "%cd") for year in [year.split()[4]])
    activity = {str(row["period"].year): row["commits"] for row in rows(report, "agent_activity")}
    assert activity == dict(by_year)
    assert sum(row["agent_commits"] for row in rows(report, "agent_activity")) == 2
    for row in range(2):
        agent = report.tables["agents"]["agent"][row]
        assert len(report.drill_down("agents", agent=agent)) == 1


def test_reviewers_and_integrators_are_those_of_trailers_and_committers(
    report: Report, repo: RepositoryBuilder
) -> None:
    trailers = repo.git("log", "--format=%(trailers:key=Reviewed-by,key=Acked-by,valueonly)").splitlines()
    expected = Counter(line for line in trailers if line)
    assert {row["reviewer"]: row["commits"] for row in rows(report, "reviewers")} == dict(expected)
    assert set(report.drill_down("reviewers", reviewer=CY)["subject"]) == {"three", "four"}
    merges, other_commits = Counter[str](), Counter[str]()
    for parents, author, email, committer, committer_email in log(repo, "%P|%an|%ae|%cn|%ce"):
        if " " in parents:
            merges[f"{author} <{email}>"] += 1
        elif email != committer_email:
            other_commits[f"{committer} <{committer_email}>"] += 1
    results = {row["integrator"]: (row["merges"], row["commits_of_others"]) for row in rows(report, "integrators")}
    assert results == {name: (merges[name], other_commits[name]) for name in {*merges, *other_commits}}
    assert report.drill_down("integrators", integrator=CY)["subject"].tolist() == ["five"]


def test_an_integrator_is_one_person_as_in_the_table_of_contributors(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "src" / "demo")
    # One address under three names and in two spellings, as author, as merger and as committer.
    names = ("Martti Tee <martti@example.org>", "toim <Martti@example.org>", "Martti T <martti@example.org>")
    repo.commit({"a": "1\n"}, "begin", author=BO)
    for position, name in enumerate([names[0], names[0], *names[1:]]):
        who, _, address = name.partition(" <")
        environment = {"GIT_COMMITTER_NAME": who, "GIT_COMMITTER_EMAIL": address.rstrip(">")}
        repo.commit({"own": f"{position}\n"}, "own", author=name)
        repo.write({"a": f"{position + 2}\n"})
        repo.git("add", "-A")
        repo.git("commit", "-q", "-m", "of another", f"--author={BO}", env=environment)
        repo.git("commit", "-q", "--allow-empty", "-m", "own again", f"--author={names[0]}", env=environment)
    with sl.open(tmp_path / "src", index_workers=1, background_index=False) as client:
        by_address, by_name = (
            contributors(client, ownership=False, join_addresses=is_joined) for is_joined in (True, False)
        )
        of_file = contributors(client, ownership=False, join_addresses=True, only="a")
    authors = {f"{row['author']} <{row['author_email']}>" for row in rows(by_address, "contributors")}
    for report in (by_address, of_file):
        results = {row["integrator"]: row["commits_of_others"] for row in rows(report, "integrators")}
        addresses = [name.partition("<")[2].lower() for name in results]
        assert len(addresses) == len(set(addresses))
        assert results[names[0]] == 4
    assert names[0] in authors
    assert len(by_address.drill_down("integrators", integrator=names[0])) == 4
    assert {name: row["commits_of_others"] for row in rows(by_name, "integrators") for name in names
            if row["integrator"] == name} == {names[0]: 2, names[1]: 1, names[2]: 1}  # fmt: skip


def test_time_zones_are_those_of_authors(report: Report, repo: RepositoryBuilder) -> None:
    zones = Counter(zone for name, zone in log(repo, "%an|%ad") for zone in [zone.split()[-1]] if "[bot]" not in name)
    results = {row["author_utc_offset_min"]: row["commits"] for row in rows(report, "time_zones")}
    assert results == {0: zones["+0000"], 330: zones["+0530"]}
    assert [row["time_zone"] for row in rows(report, "time_zones")] == ["UTC+00:00", "UTC+05:30"]
    page = report.to_html()
    # No text of a time zone begins like a formula, which would get an apostrophe in pages and exports.
    assert "UTC+05:30" in page
    assert "&#x27;+05:30" not in page
    assert "'+05:30" not in page
    assert len(report.drill_down("time_zones", author_utc_offset_min=330)) == 1


def test_a_page_has_years_without_separators(report: Report) -> None:
    page = report.to_html()
    years = {int(row["cohort"]) for row in rows(report, "retention")}
    assert years
    assert all(f">{year}<" in page and f">{year:,}<" not in page for year in years)


def test_retention_follows_people_over_the_years(report: Report, code: sl.Client, repo: RepositoryBuilder) -> None:
    years: dict[str, set[int]] = {}
    for name, date in log(repo, "%an|%cI"):
        if "[bot]" not in name:
            years.setdefault(name, set()).add(int(date[:4]))
    last = max(max(of) for of in years.values())
    expected = {}
    for cohort in {min(of) for of in years.values()}:
        members = [of for of in years.values() if min(of) == cohort]
        for year in range(cohort, last + 1):
            active = sum(year in of for of in members)
            expected[cohort, year - cohort] = (len(members), active, active / len(members))
    results = {
        (row["cohort"], row["years_later"]): (row["people"], row["active"], row["share"])
        for row in rows(report, "retention")
    }
    assert results == expected
    assert results[2020, 1] == (2, 1, 0.5)
    (axes,) = report.figures["retention"].axes
    # The one year that has later ones; Ada paused for a year.
    assert axes.get_xlabel() == "years after 2020 (2)"
    (curve,) = axes.lines
    assert list(curve.get_ydata()) == [100 * results[2020, later][2] for later in range(last - 2020 + 1)]
    # Who wrote before the time would seem to have joined in it.
    later = contributors(code, after="2021-01-01", ownership=False)
    assert "retention" not in later.tables


def test_a_history_without_assistants_and_reviews_has_no_empty_tables(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "src" / "plain").commit({"a": "1\n"})
    with sl.open(tmp_path / "src", index_workers=1, background_index=False) as client:
        plain_report = contributors(client, ownership=False)
    assert not {"agents", "agent_activity", "reviewers", "integrators"} & set(plain_report.tables)
    assert "commits with an assistant" not in {metric.name for metric in plain_report.metrics}
    assert plain_report.tables["retention"].to_numpy().tolist() == [[2023, 0, 1, 1, 1.0]]
    assert "retention" not in plain_report.figures
