"""``refs/replace``: no call follows it, all say so, and all agree with git when it does not follow it either."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.cli import main
from sourcelight.testing import RepositoryBuilder
from sourcelight.testing.repositories import git_environment

# Each call over these repositories warns of what it does not follow, which is what is tested.
pytestmark = pytest.mark.filterwarnings("ignore::sourcelight.IncompleteResultWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("replaced")
    repo = RepositoryBuilder(root / "old")
    first = repo.commit({"a.py": "needle = 1\n", "b.py": "kept\n"}, "first needle")
    second = repo.commit({"a.py": "needle = 2\n"}, "second needle")
    other = repo.git("hash-object", "-w", "--stdin", stdin=b"thread = 2\n")
    repo.git("replace", repo.git("rev-parse", "HEAD:a.py"), other)
    repo.git("replace", "--graft", second)
    repo.git("pack-refs", "--all")
    repo.git("replace", first, second)
    RepositoryBuilder(root / "plain").commit({"a.py": "needle\n"}, "plain needle")
    return root


def git(folder: Path, *arguments: str) -> list[str]:
    env = git_environment(GIT_NO_REPLACE_OBJECTS="1")
    argv = ["git", "-C", os.fspath(folder / "old"), *arguments]
    return subprocess.run(argv, capture_output=True, check=True, env=env, text=True, timeout=60).stdout.split("\n")[:-1]


@pytest.mark.parametrize("query", ["needle", "type:commit needle", "type:diff needle", "type:path a.py"])
def test_searches_tell_of_replaced_objects(code: sl.Client, query: str) -> None:
    result = code.search(query)
    notices = result.skipped[result.skipped["reason"] == "objects-replaced"]
    assert list(notices["title"]) == ["3 replaced objects"]
    assert "old" in notices["message"].iloc[0]
    assert "plain" not in notices["message"].iloc[0]
    assert result.status == "limited"
    assert "objects-replaced" not in set(code.search(f"repo:plain {query}").skipped["reason"])


def test_content_and_history_are_those_of_git_that_replaces_nothing(code: sl.Client, folder: Path) -> None:
    lines = code.search("repo:old needle").matches
    assert [f"{p}:{line}" for p, line in zip(lines["path"], lines["line"], strict=True)] == git(
        folder, "grep", "--no-line-number", "needle", "HEAD", "--", "a.py"
    )[0].removeprefix("HEAD:").splitlines()
    commits = code.commit_search(["old"])
    assert list(commits["commit"]) == git(folder, "log", "--format=%H")
    assert [len(parents) for parents in commits["parents"]] == [1, 0]
    assert list(code.blame("old", "a.py")["commit"].astype(str)) == git(folder, "log", "-1", "--format=%H")
    compared = code.compare_revisions("old", "HEAD~1", "HEAD")
    displayed = git(folder, "diff", "--no-color", "HEAD~1", "HEAD")
    assert compared["patch"].iloc[0].splitlines()[2:] == displayed[2:]


def test_every_call_tells_of_the_repositories_it_looked_at(code: sl.Client) -> None:
    answers = {
        "commit_search": code.commit_search(["old"]),
        "all": code.commit_search(),
        "diff_search": code.diff_search("needle", ["old"]),
        "blame": code.blame("old", "a.py"),
        "compare_revisions": code.compare_revisions("old", "HEAD~1", "HEAD"),
        "commit_details": code.commit_details("old", "HEAD"),
        "read_file": code.read_file("old", "a.py"),
        "list_files": code.list_files("old"),
        "ownership": code.ownership("old"),
        "contributors": code.contributors(["old"]),
        "pickaxe": code.pickaxe("needle", ["old"]),
    }
    for name, frame in answers.items():
        assert [n for n in frame.attrs["notices"] if "refs/replace replaces 3 objects" in n] != [], name
        assert frame.attrs["status"] == "limited", name  # as of a search of the same
    assert not any("refs/replace" in n for n in code.commit_search(["plain"]).attrs["notices"])


def test_the_list_of_repositories_marks_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repos", os.fspath(folder)]) == 0
    assert "3 replaced objects" in capsys.readouterr().out


def test_a_repository_in_which_git_follows_none_is_not_told_of(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "r")
    repo.commit({"a": "needle\n"})
    repo.git("replace", "--graft", repo.commit({"b": "more\n"}))
    with sl.open(tmp_path) as client:
        assert list(client.search("needle").skipped["reason"]) == ["objects-replaced"]
    repo.git("config", "core.useReplaceRefs", "false")
    with sl.open(tmp_path) as client:
        assert list(client.search("needle").skipped["reason"]) == []
