"""Methods about history on a real engine, and matches joined with history."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.client import Client
from sourcelight.client.methods.history import HistoryMethods
from sourcelight.core.tools.catalog import TOOLS
from sourcelight.testing import RepositoryBuilder

BO = "Bo Boson <bo@example.org>"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    builder = RepositoryBuilder(tmp_path_factory.mktemp("methods") / "repo")
    builder.commit({"a.py": "one = 1\ntwo = 2\n", "b.py": "import a\n"}, "Begin")
    builder.commit({"a.py": "one = 1\ntwo = 22\n"}, "Change two", author=BO)
    return builder


@pytest.fixture(scope="module")
def folder(repo: RepositoryBuilder) -> Path:
    return repo.path


def test_one_text_is_a_list_of_one(code: Client) -> None:
    first = code.commit_search("repo", message_terms="change", use_regex=False)
    second = code.commit_search(["repo"], message_terms=["change"], use_regex=False)
    assert first.equals(second)
    assert list(first["subject"]) == ["Change two"]
    assert len(code.commit_search(after=date(2023, 1, 1))) == 2


def test_the_other_tools_give_frames(code: Client) -> None:
    assert list(code.diff_search("two", "repo", removed=True)["line"]) == ["two = 2"]
    frame = code.compare_revisions("repo", "HEAD~1", "HEAD")
    assert list(frame["path"]) == ["a.py"]
    assert frame.attrs["relation"] == "ahead"
    assert list(code.get_contributor_repos("bo@", min_commits=1)["repository"]) == ["repo"]
    assert len(code.get_contributor_repos(["bo@", "ada"])) == 1


def test_analyses_give_frames_and_lead_to_commits(code: Client) -> None:
    people = code.contributors(by="month")
    assert list(people["commits"]) == [1, 1]
    assert list(code.drill_down(people[people["author"] == "Bo Boson"], 0)["subject"]) == ["Change two"]
    assert list(code.churn(by=["path"])["path"]) == ["a.py", "b.py"]
    assert list(code.ownership("repo", by="total")["lines"]) == [2, 1]
    assert code.bus_factor("repo")[["path", "bus_factor"]].to_numpy().tolist() == [["/", 1], ["/*", 1]]
    assert code.survival("repo")["surviving_lines"].tolist() == [3]
    assert code.pickaxe("two", by="author")["net"].tolist() == [0, 1]
    assert code.hotspots()["path"].tolist() == ["a.py", "b.py"]
    assert code.coupling(min_commits=1)[["path", "other_path"]].to_numpy().tolist() == [["a.py", "b.py"]]
    assert code.identities()["commits"].tolist() == [1, 1]
    assert len(code.identity_suggestions()) == 0
    assert code.blame("repo", "a.py")["author"].tolist() == ["Ada Example", "Bo Boson"]
    details = code.commit_details("repo", "HEAD")
    assert details.attrs["subject"] == "Change two"
    assert code.last_changes("repo", ["a.py", "b.py"])["subject"].tolist() == ["Change two", "Begin"]


def test_every_call_about_history_has_a_method() -> None:
    names = {name for name in vars(HistoryMethods) if not name.startswith("_")}
    assert names - {"drill_down"} <= set(TOOLS)
    assert {"commit_search", "diff_search", "compare_revisions", "get_contributor_repos"} <= names


def test_matches_are_joined_with_blame(code: Client) -> None:
    result = code.search("two OR one OR import count:all")
    frame = result.with_blame()
    assert len(frame) == len(result.matches)
    results = dict(zip(frame["line"], frame["blame_author"], strict=True))
    assert results == {"one = 1": "Ada Example", "two = 22": "Bo Boson", "import a": "Ada Example"}
    assert str(frame["blame_commit_date"].dtype) == "datetime64[us, UTC]"
    assert frame.attrs["notices"] == []


def test_matches_are_joined_with_last_changes(code: Client) -> None:
    frame = code.search("file:py$ count:all").with_last_change()
    assert dict(zip(frame["path"], frame["last_subject"], strict=True)) == {"a.py": "Change two", "b.py": "Begin"}


def test_joins_of_nothing_keep_their_columns(code: Client) -> None:
    frame = code.search("no such text").with_blame()
    assert len(frame) == 0
    assert {"blame_commit", "blame_author_date"} <= set(frame.columns)


def test_a_work_tree_has_no_blame_where_it_was_changed(repo: RepositoryBuilder, tmp_path: Path) -> None:
    clone = repo.clone(tmp_path / "clone")
    clone.write({"a.py": "one = 1\ntwo = 333\n"})
    with sl.open(clone.path, index_dir=tmp_path / "index", worktree=True) as client:
        frame = client.search("two count:all").with_blame()
        assert frame["blame_commit"].isna().all()
        assert frame.attrs["notices"]
