"""People of a drawn history as the contributor report counts them, recomputed from ``git log`` alone."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime
from typing import NamedTuple

import pytest

import sourcelight as sl
from sourcelight.lab.reports import Report, contributors
from sourcelight.testing import RepositoryBuilder

AFTER, BEFORE = "2022-01-01", "2023-01-01"
PEOPLE = [
    ("Ada", "ada@corp.example"),
    ("Ben", "ben@lab.corp.example"),
    ("Cleo", "cleo@gmail.com"),
    ("Dan", "1+dan@users.noreply.github.com"),
    ("Eve", "eve@other.example"),
    ("Fay", "fay"),
    ("dependabot[bot]", "bot@corp.example"),
]
# The domains here, by hand: what an organization is has tests of its own.
ORGANIZATIONS = {
    "ada@corp.example": "corp.example",
    "ben@lab.corp.example": "corp.example",
    "cleo@gmail.com": "public mail providers",
    "1+dan@users.noreply.github.com": "addresses hidden by code hosts",
    "eve@other.example": "other.example",
    "fay": "no domain",
    "ada@example.org": "personal domains",  # Ada Example makes the merges
}
DAY_S = 86_400


class Commit(NamedTuple):
    name: str
    email: str
    committer_email: str
    time: datetime
    merge: bool
    reviewers: tuple[str, ...]
    agent: bool

    @property
    def bot(self) -> bool:
        return self.name.endswith("[bot]")


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    """Sixty commits over four years, by people who come and go, some merged, reviewed or named by an assistant."""
    draw = random.Random(20261124)  # noqa: S311 - examples, no secrets
    repo = RepositoryBuilder(tmp_path_factory.mktemp("src") / "drawn")
    moment = int(datetime(2020, 1, 1, tzinfo=UTC).timestamp())
    repo.commit({"a": "0\n"}, "begin", author="Ada <ada@corp.example>", date=moment)
    for number in range(1, 60):
        moment += draw.randrange(5, 40) * DAY_S
        active = PEOPLE[:3] if number < 20 else PEOPLE[2:5] if number < 45 else PEOPLE[3:]
        name, email = draw.choice(active)
        message = f"change {number}"
        trailers = []
        if draw.random() < 0.3:
            reviewer = draw.choice(PEOPLE[:5])
            trailers.append(f"Reviewed-by: {reviewer[0]} <{reviewer[1]}>")
        if draw.random() < 0.2:
            trailers.append("Co-authored-by: Claude <noreply@anthropic.com>")
        text = message + ("\n\n" + "\n".join(trailers) if trailers else "")
        files = {draw.choice("abc"): f"{number}\n", f"d/{number}": "x\n"}
        if draw.random() < 0.15:
            repo.branch("side")
            repo.commit(files, text, author=f"{name} <{email}>", date=moment)
            repo.switch("main")
            repo.commit({"main": f"{number}\n"}, f"main {number}", author=f"{name} <{email}>", date=moment + 1)
            repo.merge("side", f"Merge {number}")
            repo.git("branch", "-D", "side")
        else:
            repo.commit(files, text, author=f"{name} <{email}>", date=moment)
    return repo


@pytest.fixture(scope="module")
def commits(repo: RepositoryBuilder) -> list[Commit]:
    """The commits as git tells them."""
    form = "%an%x1f%ae%x1f%ce%x1f%ct%x1f%P%x1f%(trailers:key=Reviewed-by,valueonly,separator=%x1e)%x1f%b%x00"
    result = []
    for record in repo.git("log", f"--format={form}").split("\0"):
        if not record.strip():
            continue
        name, email, committer_email, seconds, parents, reviewers, body = record.strip("\n").split("\x1f")
        time = datetime.fromtimestamp(int(seconds), UTC)
        names = tuple(filter(None, reviewers.split("\x1e")))
        is_named = "noreply@anthropic.com" in body
        result.append(Commit(name, email, committer_email, time, " " in parents, names, is_named))
    return result


@pytest.fixture(scope="module")
def full_report(code: sl.Client) -> Report:
    return contributors(code, period="year", ownership=False)


@pytest.fixture(scope="module")
def year(code: sl.Client) -> Report:
    return contributors(code, after=AFTER, before=BEFORE, period="month", ownership=False)


def test_joiners_and_leavers_are_those_of_git(year: Report, commits: list[Commit]) -> None:
    start, end = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (AFTER, BEFORE))
    human = [commit for commit in commits if not commit.bot]
    within = Counter(c.email for c in human if start <= c.time < end)
    earlier = {c.email for c in human if c.time < start}
    span_before = Counter(c.email for c in human if start - (end - start) <= c.time < start)
    joiners, leavers = (year.tables[name] for name in ("joined", "left"))
    assert dict(zip(joiners["author_email"], joiners["commits"], strict=True)) == {
        email: count for email, count in within.items() if email not in earlier
    }
    assert dict(zip(leavers["author_email"], leavers["commits"], strict=True)) == {
        email: count for email, count in span_before.items() if email not in within
    }
    assert len(joiners)
    assert len(leavers)


def test_organizations_are_sums_over_addresses(full_report: Report, commits: list[Commit]) -> None:
    human = [commit for commit in commits if not commit.bot]
    counts = Counter(ORGANIZATIONS[commit.email] for commit in human)
    frame = full_report.tables["organizations"]
    assert dict(zip(frame["organization"], frame["commits"], strict=True)) == dict(counts)
    shares = {name: count / len(human) for name, count in counts.items()}
    assert dict(zip(frame["organization"], frame["share"], strict=True)) == pytest.approx(shares)
    people = {name: {c.email for c in human if ORGANIZATIONS[c.email] == name} for name in counts}
    expected = {name: len(emails) for name, emails in people.items()}
    assert dict(zip(frame["organization"], frame["people"], strict=True)) == expected


def test_retention_is_that_of_the_years_of_each_person(full_report: Report, commits: list[Commit]) -> None:
    years: dict[str, set[int]] = {}
    for commit in commits:
        if not commit.bot:
            years.setdefault(commit.email, set()).add(commit.time.year)
    last = max(map(max, years.values()))
    expected = {
        (cohort, later - cohort): (len(members), sum(later in of for of in members))
        for cohort in {min(of) for of in years.values()}
        for members in [[of for of in years.values() if min(of) == cohort]]
        for later in range(cohort, last + 1)
    }
    frame = full_report.tables["retention"]
    rows = zip(frame["cohort"], frame["years_later"], frame["people"], frame["active"], strict=True)
    assert {(cohort, later): (people, active) for cohort, later, people, active in rows} == expected


def test_reviews_merges_and_assistants_are_those_of_messages(full_report: Report, commits: list[Commit]) -> None:
    reviewers = full_report.tables["reviewers"]
    expected = Counter(name for commit in commits for name in set(commit.reviewers))
    assert dict(zip(reviewers["reviewer"], reviewers["commits"], strict=True)) == dict(expected)
    integrators = full_report.tables["integrators"]
    merges = sum(commit.merge for commit in commits)
    of_others = sum(not c.merge and c.committer_email != c.email for c in commits)
    assert (integrators["merges"].sum(), integrators["commits_of_others"].sum()) == (merges, of_others)
    assert merges
    agents = full_report.tables["agents"]
    agent_commits = sum(commit.agent for commit in commits)
    assert agents["commits"].tolist() == [agent_commits]
    assert agents["share"].tolist() == pytest.approx([agent_commits / len(commits)])
    activity = full_report.tables["agent_activity"]
    by_year = Counter(commit.time.year for commit in commits if commit.agent)
    yearly_counts = zip(activity["period"].dt.year, activity["agent_commits"], strict=True)
    assert {year: count for year, count in yearly_counts if count} == dict(by_year)


def test_commits_of_assistants_are_said_once(full_report: Report, code: sl.Client, commits: list[Commit]) -> None:
    agent_commits = sum(commit.agent for commit in commits)
    (metric,) = [metric for metric in full_report.metrics if metric.name == "commits with an assistant"]
    assert metric.value == agent_commits
    assert "a lower bound" in metric.counts
    assert not [notice for notice in full_report.notices if "name a coding assistant" in notice]
    # Each commit changes two files: it is in two rows of the finest table.
    for by in (["repository"], ["repository", "directory"], ["repository", "path"]):
        notices = [text for text in code.churn(by=by).attrs["notices"] if "coding assistant" in text]
        assert [text.partition(" ")[0] for text in notices] == [str(agent_commits)]


def test_the_window_is_counted_alone(year: Report, commits: list[Commit]) -> None:
    start, end = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (AFTER, BEFORE))
    within = [commit for commit in commits if start <= commit.time < end]
    (metric,) = [metric for metric in year.metrics if metric.name == "commits"]
    assert metric.value == len(within)
    frame = year.tables["organizations"]
    assert frame["commits"].sum() == sum(not commit.bot for commit in within)
