"""A history that isn't built answers from its commits, as the one that is built."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sourcelight as sl
from engines.history.histories import build_many_kinds, opened, repository_of
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ToolError
from sourcelight.engines.history import LocalHistoryStore
from sourcelight.engines.history.model import CommitNumbers
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


def rows(frame: Any) -> list[str]:
    """Rows of a table as text."""
    text: str = frame.to_json(orient="records", date_format="iso", date_unit="s", lines=True)
    return text.splitlines()


def test_changes_of_some_commits_are_those_of_the_build(repo: RepositoryBuilder, tmp_path: Path) -> None:
    repository = repository_of(repo.path)
    head = resolve(repository, "")
    unbuilt = LocalHistoryStore(tmp_path / "a").open_unbuilt(repository, [head])
    assert unbuilt is not None
    built = opened(LocalHistoryStore(tmp_path / "b"), repo.path)
    assert unbuilt.history.commits.oid.tolist() == built.commits.oid.tolist()
    assert unbuilt.history.identities.mapped_emails == built.identities.mapped_emails
    some = CommitNumbers(np.arange(0, len(built.commits), 2))
    partial = unbuilt.with_changes(some, Cancellation())
    expected = np.flatnonzero(np.isin(built.changes.commit, some))
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
    counted = client.contributors(join_addresses=False, progress=False)
    same = [column for column in frame if column not in {"additions", "deletions", "files"}]
    assert rows(frame[same]) == rows(counted[same])


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
    assert not is_built(tmp_path)


def test_a_missing_object_is_told_only_of_commits_that_are_shown(repo: RepositoryBuilder, tmp_path: Path) -> None:
    copy = tmp_path / "repo"
    shutil.copytree(repo.path, copy, symlinks=True)
    argv = ["git", "-C", str(copy), "rev-parse", "HEAD:late.txt"]
    blob = subprocess.run(argv, capture_output=True, check=True, env=git_environment(), text=True).stdout.strip()
    (copy / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with sl.open(copy, index_dir=tmp_path / "index", background_index=False, progress=False) as client:
        with pytest.warns(sl.IncompleteResultWarning, match="changes of 1 commits"):
            shown = client.commit_search(repos="repo", message_terms="hundred years", progress=False)
        others = client.commit_search(repos="repo", message_terms="move only", progress=False)
    assert shown.attrs["status"] != "complete"
    assert shown["additions"].isna().all()
    assert others.attrs["status"] == "complete"
