"""A history that isn't built answers from its commits, as the one that is built."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sourcelight as sl
from engines.history.histories import build_many_kinds, open_history, repository_of
from sourcelight.core.cancellation import Cancellation, ScanStopped
from sourcelight.core.errors import ToolError
from sourcelight.engines.execution.commits import histories as searched_histories
from sourcelight.engines.execution.commits.histories import SearchedHistories
from sourcelight.engines.execution.indexes.background import HistoryRequest, HistoryUpdater
from sourcelight.engines.history import LocalHistoryStore
from sourcelight.engines.history.model import CommitNumbers
from sourcelight.engines.history.store import unbuilt as unbuilt_history
from sourcelight.engines.history.store.unbuilt import FREE_COMMITS
from sourcelight.repos import resolve
from sourcelight.testing import RepositoryBuilder
from sourcelight.testing.repositories import git_environment, identity

COLUMNS = ("path", "status", "additions", "deletions", "binary", "old_blob", "new_blob", "old_mode", "new_mode")


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    return build_many_kinds(tmp_path_factory.mktemp("unbuilt") / "repo")


@pytest.fixture
def client(repo: RepositoryBuilder, tmp_path: Path) -> Iterator[sl.Client]:
    with sl.open(repo.path, index_dir=tmp_path / "index", background_index=False, progress=False) as client:
        yield client


def is_built(tmp_path: Path) -> bool:
    """Whether a history was written."""
    return any((tmp_path / "index-history").glob("*/segment-*"))


def copy_without(name: str, repo: RepositoryBuilder, tmp_path: Path) -> Path:
    """A copy of the repository that lacks one object."""
    copy = tmp_path / "repo"
    shutil.copytree(repo.path, copy, symlinks=True)
    argv = ["git", "-C", str(copy), "rev-parse", name]
    oid = subprocess.run(argv, capture_output=True, check=True, env=git_environment(), text=True).stdout.strip()
    (copy / ".git/objects" / oid[:2] / oid[2:]).unlink()
    return copy


def rows(frame: Any) -> list[str]:
    """Rows of a table as text."""
    text: str = frame.to_json(orient="records", date_format="iso", date_unit="s", lines=True)
    return text.splitlines()


def test_changes_of_some_commits_are_those_of_the_build(repo: RepositoryBuilder, tmp_path: Path) -> None:
    repository = repository_of(repo.path)
    head = resolve(repository, "")
    unbuilt = LocalHistoryStore(tmp_path / "a").open_unbuilt(repository, [head])
    assert unbuilt is not None
    built = open_history(LocalHistoryStore(tmp_path / "b"), repo.path)
    assert unbuilt.history.commits.oid.tolist() == built.commits.oid.tolist()
    assert unbuilt.history.identities.mapped_emails == built.identities.mapped_emails
    numbers = CommitNumbers(np.arange(0, len(built.commits), 2))
    partial = unbuilt.with_changes(numbers, Cancellation())
    expected = np.flatnonzero(np.isin(built.changes.commit, numbers))
    assert partial.changes.commit.tolist() == built.changes.commit[expected].tolist()
    for name in COLUMNS:
        if name == "path":
            assert [partial.paths[n] for n in partial.changes.path] == [
                built.paths[n] for n in built.changes.path[expected]
            ]
        else:
            assert getattr(partial.changes, name).tolist() == getattr(built.changes, name)[expected].tolist(), name
    lines = [built.line(row) for n in expected for row in range(*built.changes.row_starts[n : n + 2])]
    assert [partial.line(row) for row in range(partial.bases.rows[-1])] == lines


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("contributors", {"lines": False}),
    ("commit_search", {"repos": ["repo"]}),
    ("commit_search", {"repos": ["repo"], "authors": ["Zo"]}),
    ("commit_search", {"repos": ["repo"], "message_terms": ["needle"], "limit": 2}),
    ("commit_search", {"repos": ["repo"], "after": "2023-11-01"}),
    ("commit_search", {"repos": ["repo"], "revisions": ["one", "^two"]}),
    ("get_contributor_repos", {"authors": ["ada", "bob"]}),
    ("identities", {}),
    ("identity_suggestions", {"join_addresses": False}),
]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_an_answer_from_commits_alone_is_the_one_of_the_build(
    client: sl.Client, tmp_path: Path, name: str, arguments: dict[str, Any]
) -> None:
    before = getattr(client, name)(progress=False, **arguments)
    assert not is_built(tmp_path)
    client.churn(progress=False)
    assert is_built(tmp_path)
    after = getattr(client, name)(progress=False, **arguments)
    assert rows(before) == rows(after)
    assert before.attrs["status"] == after.attrs["status"]
    assert len(before) or name == "identity_suggestions"


def test_contributors_without_lines_are_those_of_shortlog(client: sl.Client, repo: RepositoryBuilder) -> None:
    argv = ["git", "-C", str(repo.path), "shortlog", "-sne", "HEAD"]
    done = subprocess.run(argv, capture_output=True, check=True, env=git_environment(), timeout=60)
    expected = sorted(int(line.split(b"\t")[0]) for line in done.stdout.splitlines())
    frame = client.contributors(lines=False, join_addresses=False, progress=False)
    assert sorted(int(count) for count in frame["commits"] if count) == expected
    assert frame[["additions", "deletions", "files"]].isna().all(axis=None)
    full_frame = client.contributors(join_addresses=False, progress=False)
    same = [column for column in frame if column not in {"additions", "deletions", "files"}]
    assert rows(frame[same]) == rows(full_frame[same])


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of more commits than are read without a build, each with a change."""
    builder = RepositoryBuilder(tmp_path_factory.mktemp("many") / "tower")
    commands = []
    for number in range(FREE_COMMITS + 100):
        person = "Bob <b@x>" if number % 3 == 0 else "Ada <a@x>"
        commands.append(f"commit refs/heads/main\ncommitter {person} {10**9 + number} +0000\ndata 2\nc\n\n")
        commands.append(f"M 100644 inline a.txt\ndata {len(str(number))}\n{number}\n")
    builder.git("fast-import", "--quiet", stdin="".join(commands).encode())
    builder.git("symbolic-ref", "HEAD", "refs/heads/main")
    return builder.path


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many commits are there?", "**1,100** commits"),
        ("Who has the most commits?", "Ada has the most commits: 733"),
        ("Who maintains it?", "Ada has the most commits: 733"),
        ("When was the first commit?", "The first commit is “c” by Bob on 2001-09-09"),
        ("What changed recently?", "The last commit is “c” by Ada on 2001-09-09"),
    ],
)
def test_questions_about_commits_build_no_history(many: Path, tmp_path: Path, question: str, expected: str) -> None:
    with sl.open(many, index_dir=tmp_path / "index", background_index=False, progress=False) as client:
        assert expected in str(client.deepsearch(question, progress=False))
        assert not is_built(tmp_path)
        # Rows of a table have counts of lines, and so a history.
        assert client.commit_search(repos=["tower"], progress=False)["additions"].notna().all()
        assert is_built(tmp_path)


def test_kinds_of_files_need_lines(client: sl.Client) -> None:
    with pytest.raises(ToolError, match="file_kinds selects lines"):
        client.contributors(lines=False, file_kinds="source", progress=False)


def test_commits_that_were_pulled_are_seen(repo: RepositoryBuilder, tmp_path: Path) -> None:
    copy = tmp_path / "repo"
    shutil.copytree(repo.path, copy, symlinks=True)
    with sl.open(copy, index_dir=tmp_path / "index", background_index=False, progress=False) as client:
        first = client.contributors(lines=False, progress=False)["commits"].sum()
        argv = ["git", "-C", str(copy), "commit", "-q", "--allow-empty", "-m", "news"]
        subprocess.run(
            argv, check=True, env=git_environment() | identity("Ada <a@x>", "Ada <a@x>", 1_700_500_000), timeout=60
        )
        assert client.contributors(lines=False, progress=False)["commits"].sum() == first + 1
        assert client.commit_search(repos="repo", message_terms="news", progress=False)["subject"].tolist() == ["news"]
        argv[-1] = "later news"
        subprocess.run(
            argv, check=True, env=git_environment() | identity("Ada <a@x>", "Ada <a@x>", 1_700_500_001), timeout=60
        )
        assert client.search("type:commit news", progress=False).match_count == 2
    assert not is_built(tmp_path)


def test_a_missing_object_is_told_only_of_commits_that_are_shown(repo: RepositoryBuilder, tmp_path: Path) -> None:
    copy = copy_without("HEAD:late.txt", repo, tmp_path)
    with sl.open(copy, index_dir=tmp_path / "index", background_index=False, progress=False) as client:
        with pytest.warns(sl.IncompleteResultWarning, match="changes of 1 commit are"):
            rows_of_it = client.commit_search(repos="repo", message_terms="hundred years", progress=False)
        other_frame = client.commit_search(repos="repo", message_terms="move only", progress=False)
    assert rows_of_it.attrs["status"] != "complete"
    assert rows_of_it["additions"].isna().all()
    assert other_frame.attrs["status"] == "complete"


TEXTS = ("", "needle", "on", "needle OR empty", "needle AND NOT twice", r"/^o\w+ /", "case:yes Needle", "no such words")
FILTERS = (
    "author:ada", "author:Zo", "-author:bob", "committer:cy", "message:needle", "-message:on", "after:2023-11-15",
    "before:2023-11-16", "repo:repo rev:one", "count:3", "select:repo",
)  # fmt: skip


def drawn_queries(seed: int, count: int) -> list[str]:
    """Searches of commits: a text, and up to three filters."""
    draw = random.Random(seed)  # noqa: S311 - draws test queries, no secrets
    queries = (
        " ".join(["type:commit", draw.choice(TEXTS), *draw.sample(FILTERS, draw.randrange(4))]) for _ in range(count)
    )
    return sorted({query for query in queries if len(query.split()) > 1})


def answer(client: sl.Client, query: str) -> tuple[Any, ...]:
    """All that a search says."""
    result = client.search(query, progress=False)
    # `detail` says how long ago a commit was made.
    matches = result.matches.drop(columns="detail", errors="ignore")
    counts = client.count_by(query, by="author", progress=False)
    summary = result.status, result.match_count, result.reasons, list(matches), rows(counts), counts.attrs["status"]
    return *summary, rows(matches)


def test_searches_of_commits_are_those_of_the_build(client: sl.Client, tmp_path: Path) -> None:
    queries = [*drawn_queries(230, 40), "type:commit needle or type:commit on"]
    before = {query: answer(client, query) for query in queries}
    assert not is_built(tmp_path)
    client.churn(progress=False)
    assert is_built(tmp_path)
    for query in queries:
        assert before[query] == answer(client, query), query
    assert sum(result[0] == "complete" and result[1] > 0 for result in before.values()) > len(queries) // 4


LINES = ("needle", "on", "needle OR line", "needle AND NOT twice", r"/^\w+ /", "", "no such lines")
CHANGES = (
    "type:diff", "type:diff select:commit.diff.added", "type:diff select:commit", "type:diff -file:late",
    r"type:commit file:\.txt$", "type:commit file:late",
)  # fmt: skip


@pytest.mark.parametrize(("fraction", "newest"), [(1, 3), (2, 3), (1, 1)])
def test_searches_of_changes_are_those_of_the_build(
    repo: RepositoryBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fraction: int, newest: int
) -> None:
    """Whether the newest commits come before a build, or those that filters leave are read without one."""
    monkeypatch.setattr(unbuilt_history, "MAX_FRACTION", fraction)
    monkeypatch.setattr(searched_histories, "NEWEST_COMMITS", newest)
    draw = random.Random(fraction + newest)  # noqa: S311 - draws test queries, no secrets
    queries = sorted(
        {
            " ".join([draw.choice(CHANGES), draw.choice(LINES), *draw.sample(FILTERS[:10], draw.randrange(3))])
            for _ in range(9)
        }
    )
    before: dict[str, tuple[Any, ...]] = {}
    for number, query in enumerate(queries):
        # The first question builds a history, so that each has a folder of its own.
        with sl.open(repo.path, index_dir=tmp_path / f"{number}", background_index=False, progress=False) as client:
            result = client.search(query, progress=False)
            before[query] = result.status, result.match_count, result.reasons, rows(result.matches)
    with sl.open(repo.path, index_dir=tmp_path / "built", background_index=False, progress=False) as client:
        client.churn(progress=False)
        for query in queries:
            result = client.search(query, progress=False)
            assert before[query] == (result.status, result.match_count, result.reasons, rows(result.matches)), query
    assert any(result[1] for result in before.values())


def test_a_date_reads_only_the_changes_behind_it(
    repo: RepositoryBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unbuilt_history, "MAX_FRACTION", 2)
    index = tmp_path / "index"
    with sl.open(repo.path, index_dir=index, background_index=False, progress=False) as client:
        narrow = client.search("type:diff after:2023-11-18", progress=False)
        assert narrow.match_count
        assert narrow.status == "complete"
        assert not is_built(tmp_path)
        client.search("type:diff needle", progress=False)
        assert is_built(tmp_path)


def test_rows_of_the_newest_commits_come_before_the_build(
    repo: RepositoryBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searched_histories, "NEWEST_COMMITS", 2)
    with sl.open(repo.path, index_dir=tmp_path / "index", background_index=False, progress=False) as client:
        limited = client.search("type:diff count:1", progress=False)
        assert limited.match_count
        assert not is_built(tmp_path)


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("type:commit needle count:all", ["-i", "-F", "--grep=needle"]),
        ("type:commit author:zo count:all", ["-i", "--author=zo"]),
        ("type:commit needle author:ada repo:repo rev:one count:all", ["-i", "--author=ada", "--grep=needle", "one"]),
        ("type:commit before:1700250000 count:all", ["--before=@1700250000"]),
    ],
)
def test_searches_of_commits_are_those_of_git_log(
    client: sl.Client, repo: RepositoryBuilder, tmp_path: Path, query: str, arguments: list[str]
) -> None:
    argv = ["git", "-C", str(repo.path), "log", "--format=%H", *arguments]
    done = subprocess.run(argv, capture_output=True, check=True, env=git_environment(), text=True, timeout=60)
    matches = client.search(query, progress=False).matches
    assert set(matches["commit"].astype(str)) == set(done.stdout.split()) != set()
    assert matches["commit_date"].is_monotonic_decreasing
    assert not is_built(tmp_path)


def test_a_missing_object_is_none_of_a_search_of_messages(repo: RepositoryBuilder, tmp_path: Path) -> None:
    copy = copy_without("HEAD:late.txt", repo, tmp_path)
    query = "type:commit hundred"
    with sl.open(copy, index_dir=tmp_path / "index", background_index=False, progress=False) as client:
        before = answer(client, query)
        assert before[:2] == ("complete", 1)
        assert not is_built(tmp_path)
        # What looks into changes still tells it, also beside a search of messages.
        for other in ("type:diff needle", "type:commit file:late", "(type:commit hundred) or (type:commit file:late)"):
            assert client.search(other, progress=False).reasons[0].startswith("history-incomplete"), other
        assert is_built(tmp_path)
        assert answer(client, query) == before


def test_a_missing_commit_is_told_as_by_the_build(repo: RepositoryBuilder, tmp_path: Path) -> None:
    copy = copy_without("HEAD~2", repo, tmp_path)
    with sl.open(copy, index_dir=tmp_path / "index", background_index=False, progress=False) as client:
        commits, diffs = (client.search(f"type:{kind} needle", progress=False) for kind in ("commit", "diff"))
    assert commits.status == diffs.status == "limited"
    assert commits.reasons == diffs.reasons == ("history-missing: 1 without history",)


def test_a_stopped_search_reads_no_commits(repo: RepositoryBuilder, tmp_path: Path) -> None:
    repository = repository_of(repo.path)
    request = HistoryRequest(repository, (resolve(repository, ""),))
    store = LocalHistoryStore(tmp_path / "store")
    updater = HistoryUpdater(lambda: store)
    cancelled, expired = Cancellation(), Cancellation(-1)
    cancelled.cancel()
    for cancellation in (cancelled, expired):
        histories = SearchedHistories(updater, cancellation)
        assert list(histories.wait([], [request])) == []
        with pytest.raises(ScanStopped):
            histories.open(request, commits_alone=True)
    assert not updater.store.is_current(repository)


def test_commits_that_had_to_make_room_are_built(repo: RepositoryBuilder, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(repo.path, copy, symlinks=True)
    repositories = [repository_of(repo.path), repository_of(copy)]
    store = LocalHistoryStore(tmp_path / "store", max_unbuilt_bytes=1)
    for repository in repositories:
        assert store.open_unbuilt(repository, [resolve(repository, "")]) is not None
    assert [store.reads_unbuilt(repository) for repository in repositories] == [False, True]


def test_a_revision_that_no_history_has_is_counted(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repo")
    repo.commit({"a": "1\n"}, "one")
    with sl.open(repo.path, index_dir=tmp_path / "index", background_index=False, progress=False) as client:
        assert len(client.churn()) == 1
        # A parent that isn't there: git can't walk the commit's history, so the update fails.
        person = b"A <a@example.org> 1700000000 +0000"
        raw = b"tree %b\nparent %b\nauthor %b\ncommitter %b\n\nbroken\n" % (
            repo.git("rev-parse", "HEAD^{tree}").strip().encode(), b"1" * 40, person, person
        )  # fmt: skip
        commit = repo.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=raw).strip()
        repo.git("update-ref", "refs/heads/broken", commit)
        with pytest.warns(sl.IncompleteResultWarning, match="lacks 1 revision"):
            frame = client.churn(revisions=["HEAD", "broken"])
    assert len(frame) == 1
    assert "The history of repo lacks 1 revision." in frame.attrs["notices"]
